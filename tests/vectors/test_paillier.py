"""Known answers 3, 4 and 5 of ERRATA section 4."""

from math import gcd

import pytest

from vfxgb.crypto import CiphertextArray, PrivateKey

N, N2 = 143, 20449


def test_known_encryptions_product_and_sum(toy: PrivateKey) -> None:
    randomness = CiphertextArray.from_ints(toy.public_key, [pow(23, N, N2), pow(5, N, N2)])
    c = randomness.add_plain([42, -7])
    assert c.tolist() == [9637, 5273]
    total = c.sum()
    assert total.tolist() == [136]
    assert toy.decrypt(total) == [35]
    assert toy.decrypt(c) == [42, -7]


def test_crt_of_powers_encrypts_zero(toy: PrivateKey) -> None:
    assert pow(2, 11, 121) == 14511 % 121
    assert pow(3, 13, 169) == 14511 % 169
    assert toy.decrypt(CiphertextArray.from_ints(toy.public_key, [14511])) == [0]


def test_set_of_nth_powers_equals_set_of_crt_products(toy: PrivateKey) -> None:
    powers = {pow(r, N, N2) for r in range(1, N) if gcd(r, N) == 1}
    products = {
        next(z for z in range(a, N2, 121) if z % 169 == b)
        for a in {pow(x, 11, 121) for x in range(1, 11)}
        for b in {pow(y, 13, 169) for y in range(1, 13)}
    }
    assert len(powers) == 120
    assert powers == products
    zeros = CiphertextArray.from_ints(toy.public_key, sorted(powers))
    assert toy.decrypt(zeros) == [0] * 120
    # What the encryptors draw must lie in that set.
    for encryptor in (toy, toy.public_key):
        assert set(encryptor.encrypt([0] * 200).tolist()) <= powers


@pytest.mark.parametrize("encryptor", ["owner", "public", "owner pool", "public pool"])
def test_every_encryptor_agrees(key: PrivateKey, encryptor: str) -> None:
    bound = key.max_plaintext
    values = [0, 1, -1, bound, -bound]
    who = key.public_key if encryptor.startswith("public") else key
    if encryptor.endswith("pool"):
        with who.pool(16, threads=1):
            first, second = who.encrypt(values), who.encrypt(values)
    else:
        first, second = who.encrypt(values), who.encrypt(values)
    assert key.decrypt(first) == values
    assert key.decrypt(second) == values
    assert not set(first.tolist()) & set(second.tolist())
