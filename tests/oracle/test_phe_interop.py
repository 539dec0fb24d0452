"""Ciphertexts made here decrypt in phe 1.5, and the other way round."""

import phe
import pytest
from phe.util import mulmod

from vfxgb.crypto import CiphertextArray, PrivateKey, PublicKey

BITS = [1024, 2048, 3072]


def values_for(bound: int) -> list[int]:
    return [0, 1, -1, 123456789, -(2**100), bound, -bound]


def as_phe(key: PrivateKey) -> phe.PaillierPrivateKey:
    p, q = key.export_primes()
    return phe.PaillierPrivateKey(phe.PaillierPublicKey(p * q), p, q)


def centred(value: int, n: int) -> int:
    return value - n if value > n // 2 else value


@pytest.fixture(params=BITS)
def bits(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(params=["djn", "short"])
def key(request: pytest.FixtureRequest, make_key, bits: int) -> PrivateKey:
    return make_key("paillier", bits, request.param)


def test_ours_decrypt_in_phe(key: PrivateKey) -> None:
    theirs = as_phe(key)
    n = key.public_key.n
    values = values_for(key.max_plaintext)
    for encryptor in (key, key.public_key):
        found = [centred(theirs.raw_decrypt(c), n) for c in encryptor.encrypt(values).tolist()]
        assert found == values


def test_theirs_decrypt_here(key: PrivateKey) -> None:
    theirs = as_phe(key)
    n = key.public_key.n
    values = values_for(key.max_plaintext)
    numbers = [theirs.public_key.raw_encrypt(value % n) for value in values]
    assert key.decrypt(CiphertextArray.from_ints(key.public_key, numbers)) == values


def test_sums_across(key: PrivateKey) -> None:
    theirs = as_phe(key)
    n = key.public_key.n
    ours = key.encrypt([1000, -5])
    numbers = [theirs.public_key.raw_encrypt(value % n) for value in (-1, 12)]
    sums = ours + CiphertextArray.from_ints(key.public_key, numbers)
    assert key.decrypt(sums) == [999, 7]
    by_phe = [mulmod(a, b, n * n) for a, b in zip(ours.tolist(), numbers, strict=True)]
    assert by_phe == sums.tolist()
    assert [centred(theirs.raw_decrypt(c), n) for c in sums.tolist()] == [999, 7]


def test_scaling_agrees(key: PrivateKey) -> None:
    theirs = as_phe(key)
    c = key.encrypt([-37])
    number = phe.EncryptedNumber(theirs.public_key, c.tolist()[0], 0)
    assert [number._raw_mul(54321)] == c.scale(54321).tolist()
    assert theirs.decrypt(number * 54321) == -37 * 54321


def test_a_key_of_phe_works_here(bits: int) -> None:
    public, private = phe.generate_paillier_keypair(n_length=bits)
    insecure = bits < 2048
    ours = PrivateKey.from_primes("paillier", private.p, private.q, insecure=insecure)
    values = values_for(public.n // 2 - 1)
    numbers = [public.raw_encrypt(value % public.n) for value in values]
    assert ours.decrypt(CiphertextArray.from_ints(ours.public_key, numbers)) == values
    sender = PublicKey.from_modulus(public.n, insecure=insecure)
    found = [centred(private.raw_decrypt(c), public.n) for c in sender.encrypt(values).tolist()]
    assert found == values
