import copy
import pickle

import pytest

from vfxgb.crypto import CiphertextArray, PrivateKey, PublicKey
from vfxgb.crypto.schemes import scheme_by_name
from vfxgb.errors import KeyMismatchError


def test_properties(key: PrivateKey) -> None:
    public = key.public_key
    assert key.scheme == public.scheme
    assert key.bits == public.bits == 1024
    assert key.fingerprint == public.fingerprint
    assert len(bytes.fromhex(public.fingerprint)) == 32
    assert public.fingerprint_bytes.hex() == public.fingerprint
    assert key.max_plaintext == public.max_plaintext
    assert public.ciphertext_modulus == (public.n**2 if key.scheme == "paillier" else public.n)
    assert 8 * public.wire_bytes >= public.ciphertext_modulus.bit_length()


def test_keys_survive_bytes(key: PrivateKey) -> None:
    private = PrivateKey.from_bytes(key.to_bytes(), insecure=True)
    public = PublicKey.from_bytes(key.public_key.to_bytes(), insecure=True)
    assert private == key
    assert public == key.public_key == private.public_key
    assert hash(private) == hash(key)
    assert hash(public) == hash(key.public_key)
    assert private.to_bytes() == key.to_bytes()
    assert public.to_bytes() == key.public_key.to_bytes()
    assert private.export_primes() == key.export_primes()
    values = [5, -6, key.max_plaintext]
    assert key.decrypt(private.encrypt(values)) == values
    assert private.decrypt(key.encrypt(values)) == values
    assert private.decrypt(public.encrypt(values)) == values


def test_equal_keys_read_twice_go_together(key: PrivateKey) -> None:
    other = PublicKey.from_bytes(key.public_key.to_bytes(), insecure=True)
    a, b = key.encrypt([1, 2]), other.encrypt([10, 20])
    assert key.decrypt(a + b) == key.decrypt(b + a) == [11, 22]
    assert key.decrypt(a.concat(b)) == [1, 2, 10, 20]
    assert key.decrypt(b.concat(a).sum()) == [33]


def test_bytes_may_be_any_buffer(key: PrivateKey) -> None:
    data = key.public_key.to_bytes()
    for buffer in (bytearray(data), memoryview(data)):
        assert PublicKey.from_bytes(buffer, insecure=True) == key.public_key


def test_equality(make_key) -> None:
    a, b = make_key("paillier"), make_key("paillier", randomness="short")
    assert a != b
    assert a.public_key != b.public_key
    assert a != a.public_key
    assert a.public_key != a
    assert a != "key"
    assert len({a, b, a.public_key, b.public_key}) == 4


def test_repr_shows_scheme_bits_and_fingerprint_only(key: PrivateKey) -> None:
    fingerprint = key.fingerprint[:16]
    assert repr(key) == str(key) == f"PrivateKey({key.scheme}, 1024 bits, {fingerprint})"
    assert repr(key.public_key) == f"PublicKey({key.scheme}, 1024 bits, {fingerprint})"
    assert repr(key.encrypt([1])) == f"CiphertextArray(1 of {key.scheme}, 1024 bits, key {fingerprint})"


def test_secret_records_do_not_print_secrets() -> None:
    private = scheme_by_name("paillier").generate(256, "djn")
    for secret in (private.p, private.q, private.order_p, private.order_q):
        assert str(secret) not in repr(private)


@pytest.mark.parametrize("operation", [pickle.dumps, copy.copy, copy.deepcopy])
def test_pickling_and_copying_are_refused(key: PrivateKey, operation) -> None:
    for thing in (key, key.public_key, key.encrypt([1])):
        with pytest.raises(TypeError, match="to_bytes"):
            operation(thing)


def test_keys_have_no_dictionary_to_leak(key: PrivateKey) -> None:
    for thing in (key, key.public_key, key.encrypt([1])):
        assert not hasattr(thing, "__dict__")


def test_decrypting_with_another_key(make_key) -> None:
    a, b = make_key("paillier"), make_key("paillier", randomness="short")
    with pytest.raises(KeyMismatchError, match=r"decrypting: found ciphertexts of key .*, wanted"):
        a.decrypt(b.encrypt([1]))


@pytest.mark.parametrize("thing", [None, 5, [1], b""])
def test_decrypting_something_else(key: PrivateKey, thing: object) -> None:
    with pytest.raises(TypeError, match="wanted a CiphertextArray"):
        key.decrypt(thing)


def test_from_modulus(make_key) -> None:
    key = make_key("paillier")
    public = PublicKey.from_modulus(key.public_key.n, insecure=True)
    assert public.scheme == "paillier"
    assert public.max_plaintext == key.max_plaintext
    # A fresh h makes another key of the same modulus.
    assert public != key.public_key
    moved = CiphertextArray.from_ints(key.public_key, public.encrypt([3, -4]).tolist())
    assert key.decrypt(moved) == [3, -4]


def test_from_primes(make_key) -> None:
    for scheme in ("paillier", "ou"):
        p, q = make_key(scheme, 2048).export_primes()
        key = PrivateKey.from_primes(scheme, p, q)
        assert key.bits == 2048
        assert key.decrypt(key.encrypt([-9])) == [-9]
