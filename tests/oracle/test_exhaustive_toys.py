"""Toy keys small enough to try everything, against the textbook formulas."""

from math import gcd

import pytest

from vfxgb.crypto import CiphertextArray, PrivateKey
from vfxgb.errors import InvalidCiphertextError


def centred(value: int, modulus: int) -> int:
    value %= modulus
    return value - modulus if value > modulus // 2 else value


@pytest.fixture(params=[(7, 11), (11, 13)], ids=str)
def factors(request: pytest.FixtureRequest) -> tuple[int, int]:
    return request.param


@pytest.fixture
def paillier(factors: tuple[int, int]) -> PrivateKey:
    return PrivateKey.from_primes("paillier", *factors, insecure=True)


@pytest.fixture
def okamoto_uchiyama(factors: tuple[int, int]) -> PrivateKey:
    return PrivateKey.from_primes("ou", *factors, insecure=True)


def test_paillier_every_plaintext(paillier: PrivateKey) -> None:
    bound = (paillier.public_key.n - 1) // 2
    assert paillier.max_plaintext == bound
    values = list(range(-bound, bound + 1))
    assert paillier.decrypt(paillier.encrypt(values)) == values
    assert paillier.decrypt(paillier.public_key.encrypt(values)) == values


def test_paillier_every_sum_is_centred_modulo_n(paillier: PrivateKey) -> None:
    n = paillier.public_key.n
    values = list(range(-(n - 1) // 2, (n - 1) // 2 + 1))
    c = paillier.encrypt(values)
    for shift in values:
        found = paillier.decrypt(c + paillier.public_key.encrypt([shift]))
        assert found == [centred(value + shift, n) for value in values]
        assert paillier.decrypt(c.add_plain([shift])) == found


def test_paillier_every_product(paillier: PrivateKey) -> None:
    n = paillier.public_key.n
    values = list(range(-(n - 1) // 2, (n - 1) // 2 + 1))
    c = paillier.encrypt(values)
    for factor in values:
        assert paillier.decrypt(c.scale(factor)) == [centred(value * factor, n) for value in values]


def test_paillier_every_ciphertext(paillier: PrivateKey, factors: tuple[int, int]) -> None:
    p, q = factors
    n = p * q
    exponent = (p - 1) * (q - 1)
    inverse = pow(exponent, -1, n)
    units = [c for c in range(1, n * n) if gcd(c, n) == 1]
    expected = [centred((pow(c, exponent, n * n) - 1) // n * inverse, n) for c in units]
    array = CiphertextArray.from_ints(paillier.public_key, units)
    assert paillier.decrypt(array) == expected
    assert array.tolist() == units
    assert CiphertextArray.from_bytes(paillier.public_key, array.to_bytes()).tolist() == units


def test_paillier_every_non_unit_is_refused(paillier: PrivateKey) -> None:
    n = paillier.public_key.n
    for bad in [c for c in range(n * n) if gcd(c, n) != 1] + [n * n, n * n + 1, -1]:
        with pytest.raises(InvalidCiphertextError) as caught:
            CiphertextArray.from_ints(paillier.public_key, [1, bad])
        assert caught.value.index == 1


def test_ou_every_plaintext(okamoto_uchiyama: PrivateKey) -> None:
    bound = okamoto_uchiyama.max_plaintext
    values = list(range(-bound, bound + 1))
    for encryptor in (okamoto_uchiyama, okamoto_uchiyama.public_key):
        assert okamoto_uchiyama.decrypt(encryptor.encrypt(values)) == values


def test_ou_every_ciphertext(okamoto_uchiyama: PrivateKey, factors: tuple[int, int]) -> None:
    p, q = factors
    n = p * p * q
    g = okamoto_uchiyama.public_key.parameters.bases[0]

    def log(x: int) -> int:
        return (pow(x, p - 1, p * p) - 1) // p

    units = [c for c in range(1, n) if gcd(c, n) == 1]
    expected = [centred(log(c) * pow(log(g), -1, p), p) for c in units]
    array = CiphertextArray.from_ints(okamoto_uchiyama.public_key, units)
    assert okamoto_uchiyama.decrypt(array) == expected
    assert array.tolist() == units
