"""Generated keys have the shape ERRATA section 3 asks for."""

from dataclasses import replace
from math import gcd

import gmpy2
import pytest

from vfxgb.crypto import PrivateKey, PublicKey, generate, scheme_names
from vfxgb.crypto.ints import from_fixed
from vfxgb.crypto.parameters import PrivateParameters
from vfxgb.errors import InvalidKeyError, KeySizeError, UnknownNameError


def secrets(key: PrivateKey) -> tuple[int, int, int, int]:
    p, q, order_p, order_q = map(from_fixed, key.native.secrets())
    return p, q, order_p, order_q


def test_schemes() -> None:
    assert scheme_names() == ["ou", "paillier"]


@pytest.mark.parametrize("bits", [64, 66, 128, 510, 1024, 2048])
@pytest.mark.parametrize("randomness", ["djn", "short"])
def test_paillier(make_key, bits: int, randomness: str) -> None:
    key = make_key("paillier", bits, randomness)
    p, q, order_p, order_q = secrets(key)
    n = key.public_key.n
    (h,) = key.public_key.parameters.bases
    assert n == p * q
    assert key.bits == n.bit_length() == bits
    assert p.bit_length() == q.bit_length() == bits // 2
    assert p != q
    assert p % 4 == q % 4 == 3
    assert gcd(p - 1, q - 1) == 2
    assert gcd(n, (p - 1) * (q - 1)) == 1
    assert gmpy2.is_prime(p)
    assert gmpy2.is_prime(q)
    assert key.max_plaintext == (n - 1) // 2
    assert pow(h, order_p, p) == pow(h, order_q, q) == 1
    exponent_bits = key.public_key.parameters.exponent_bits
    if randomness == "djn":
        assert (order_p, order_q) == (p - 1, q - 1)
        assert exponent_bits == bits // 2
        assert gmpy2.jacobi(h, n) == 1
        assert gmpy2.legendre(h, p) == -1
    else:
        check_prime_orders(h, key, exponent_bits)


@pytest.mark.parametrize("bits", [64, 66, 128, 512, 1024, 2048])
@pytest.mark.parametrize("randomness", ["djn", "short", "weak"])
def test_okamoto_uchiyama(make_key, bits: int, randomness: str) -> None:
    key = make_key("ou", bits, randomness)
    p, q, order_p, order_q = secrets(key)
    n = key.public_key.n
    g, h = key.public_key.parameters.bases
    assert n == p * p * q
    assert key.bits == n.bit_length() == bits
    assert p.bit_length() == -(-bits // 3)
    assert gcd(p - 1, q - 1) == 2
    assert gcd(n, (p - 1) * (q - 1)) == 1
    assert h == pow(g, n, n)
    assert pow(g, p - 1, p * p) != 1
    assert pow(h, order_p, p * p) == pow(h, order_q, q) == 1
    assert key.max_plaintext == 2 ** (p.bit_length() - 2) - 1
    exponent_bits = key.public_key.parameters.exponent_bits
    if randomness == "djn":
        assert (order_p, order_q) == (p - 1, q - 1)
        assert exponent_bits == min(2 * p.bit_length() + 128, 2 * bits)
        return
    longest = max(order_p, order_q).bit_length()
    check_prime_orders(h, key, longest)
    assert exponent_bits == (longest if randomness == "short" else min(longest, 110 if bits == 2048 else 80))


def check_prime_orders(h: int, key: PrivateKey, exponent_bits: int) -> None:
    p, q, u_p, u_q = secrets(key)
    assert gmpy2.is_prime(u_p)
    assert gmpy2.is_prime(u_q)
    assert u_p != u_q
    assert h % p != 1
    assert h % q != 1
    assert exponent_bits == max(u_p, u_q).bit_length()
    if key.bits >= 2048:
        assert u_p.bit_length() == u_q.bit_length() == exponent_bits == 320


def test_two_keys_differ(make_key) -> None:
    assert generate("paillier", 128, insecure=True) != generate("paillier", 128, insecure=True)


@pytest.mark.parametrize("scheme", ["paillier", "ou"])
@pytest.mark.parametrize("bits", [64, 512, 1024, 2046, 4098, 8192])
def test_sizes_out_of_range(scheme: str, bits: int) -> None:
    with pytest.raises(KeySizeError, match=f"found a modulus of {bits} bits"):
        generate(scheme, bits)


def test_too_small_says_the_floor_and_the_flag() -> None:
    with pytest.raises(KeySizeError, match=r"2048.*insecure=True"):
        generate("paillier", 1024)


@pytest.mark.parametrize("bits", [0, -2, 8, 62, 65, 1025, 4098])
def test_sizes_refused_even_when_insecure(bits: int) -> None:
    with pytest.raises(KeySizeError):
        generate("paillier", bits, insecure=True)


@pytest.mark.parametrize("bits", ["2048", 2048.0, None, True])
def test_sizes_of_wrong_type(bits: object) -> None:
    with pytest.raises(KeySizeError, match="even integer"):
        generate("ou", bits)


@pytest.mark.parametrize("scheme", ["Paillier", "rsa", "", None, ["ou"]])
def test_unknown_scheme(scheme: object) -> None:
    with pytest.raises(UnknownNameError, match="wanted one of ou, paillier"):
        generate(scheme)


@pytest.mark.parametrize(
    ("scheme", "randomness", "known"),
    [("paillier", "none", "djn, short"), ("ou", "none", "djn, short, weak"), ("paillier", "weak", "djn, short")],
)
def test_unknown_randomness(scheme: str, randomness: str, known: str) -> None:
    with pytest.raises(UnknownNameError, match=f"found randomness='{randomness}', wanted one of {known}, which"):
        generate(scheme, 128, randomness=randomness, insecure=True)


@pytest.mark.parametrize(("bits", "exponent_bits", "products"), [(2048, 110, 55), (3072, 128, 64)])
def test_weak_randomness_needs_consent(make_key, bits: int, exponent_bits: int, products: int) -> None:
    """Of whoever makes the key, and of everybody who reads it."""
    cost = rf"random exponents of {exponent_bits} bits are computed in about 2\*\*{products} products.*insecure=True"
    with pytest.raises(InvalidKeyError, match=f"generating a key: found randomness='weak'.*{cost}"):
        generate("ou", bits, randomness="weak")
    key = make_key("ou", bits, "weak")
    assert key.public_key.parameters.exponent_bits == exponent_bits
    for reader, data in ((PublicKey, key.public_key.to_bytes()), (PrivateKey, key.to_bytes())):
        with pytest.raises(InvalidKeyError, match=f"reading a .* key: found random exponents.*{cost}"):
            reader.from_bytes(data)
        assert reader.from_bytes(data, insecure=True).to_bytes() == data


def test_the_owner_draws_from_the_whole_group(make_key) -> None:
    """Short exponents are what those draw who encrypt by the public key alone; here they have 3 bits."""
    owner = make_key("ou", 512, "short")
    public = replace(owner.public_key.parameters, exponent_bits=3)
    key = PrivateKey(PrivateParameters(public, *secrets(owner)))
    assert len(set(key.public_key.encrypt([1] * 200).tolist())) <= 2**3
    assert len(set(key.encrypt([1] * 200).tolist())) == 200


def test_default_size_is_3072() -> None:
    key = generate("ou")
    assert key.bits == 3072
