"""Bresson's group, keys and encryption: what they do and what they refuse."""

import copy
import pickle

import numpy as np
import pytest

from vfxgb.crypto import bresson
from vfxgb.crypto.bresson import BressonGroup
from vfxgb.errors import (
    FormatError,
    InvalidCiphertextError,
    InvalidKeyError,
    KeySizeError,
    LengthMismatchError,
    PlaintextRangeError,
)


@pytest.fixture(scope="module")
def group() -> BressonGroup:
    return BressonGroup.generate(256, insecure=True)


@pytest.fixture
def keys(group: BressonGroup) -> tuple[int, bytes]:
    private = group.random_exponent()
    return private, group.power_of_g([private])[0].tobytes()


def test_generated_group(group: BressonGroup) -> None:
    assert group.bits == 256
    assert group.element_bytes == 2 * group.number_bytes == 64
    # g = -alpha**(2N) is an N-th residue up to sign: order (q1 - 1)(q2 - 1)/2 and no part in 1 + N.
    assert pow(group.g, 1, group.n**2) != 1
    assert group != BressonGroup.generate(64, insecure=True)


@pytest.mark.parametrize("bits", [64, 66, 128, 200])
def test_sizes_are_exact(bits: int) -> None:
    assert BressonGroup.generate(bits, insecure=True).bits == bits


def test_sizes_that_are_refused() -> None:
    for bits in (2046, 1024, 512):
        with pytest.raises(KeySizeError, match="insecure=True"):
            BressonGroup.generate(bits)
    for bits in (4098, 65, 62, 2048.0):
        with pytest.raises(KeySizeError):
            BressonGroup.generate(bits, insecure=True)
    with pytest.raises(KeySizeError, match="insecure=True"):
        BressonGroup.from_primes(7, 23)


@pytest.mark.parametrize("factors", [(7, 13), (7, 7), (11, 23), (7, 15), (7, 22), (5, 7), (7, 47.0)])
def test_factors_that_are_refused(factors: tuple[int, int]) -> None:
    """Not safe, equal, one of them half of the other (ERRATA E4), composite, even, tiny, no integer."""
    with pytest.raises(InvalidKeyError):
        BressonGroup.from_primes(*factors, insecure=True)


def test_alpha_without_full_order() -> None:
    for alpha in (1, 160, 7, 0):
        with pytest.raises(InvalidKeyError, match="order"):
            BressonGroup.from_primes(7, 23, alpha=alpha, insecure=True)


def test_every_alpha_that_is_taken_has_the_order_of_the_paper() -> None:
    n, orders = 161, set()
    for alpha in range(2, 40):
        try:
            g = BressonGroup.from_primes(7, 23, alpha=alpha, insecure=True).g
        except InvalidKeyError:
            continue
        orders.add(next(k for k in range(1, n**2) if pow(g, k, n**2) == 1))
    assert orders == {66}


def test_bytes(group: BressonGroup) -> None:
    data = group.to_bytes()
    again = BressonGroup.from_bytes(data, insecure=True)
    assert again == group
    assert hash(again) == hash(group)
    assert BressonGroup.from_bytes(bytearray(data), insecure=True) is again
    with pytest.raises(KeySizeError, match="insecure=True"):
        BressonGroup.from_bytes(data)
    for damaged in (data[:-1], data + b"x", b"", data[:30] + bytes([data[30] ^ 1]) + data[31:]):
        with pytest.raises(FormatError):
            BressonGroup.from_bytes(damaged, insecure=True)


def test_bytes_of_other_numbers(group: BressonGroup) -> None:
    n = group.n
    for bad in (
        bresson.wire.dump_group(n, 1 + n),
        bresson.wire.dump_group(n, n * n - 1),
        bresson.wire.dump_group(n, n),
    ):
        with pytest.raises(InvalidKeyError, match="large order"):
            BressonGroup.from_bytes(bad, insecure=True)
    with pytest.raises(InvalidKeyError, match="even"):
        BressonGroup.from_bytes(bresson.wire.dump_group(n + 1, group.g), insecure=True)
    wide = bresson.wire.seal(4, 3, (1).to_bytes(4, "little"), bytes([161, 161, 0]))
    with pytest.raises(FormatError, match="digit of g"):
        BressonGroup.from_bytes(wide, insecure=True)
    with pytest.raises(FormatError, match="scheme 1"):
        BressonGroup.from_bytes(bresson.wire.seal(4, 1, bytes(7)), insecure=True)


def test_exponents(group: BressonGroup) -> None:
    drawn = {group.random_exponent() for _ in range(50)}
    assert len(drawn) == 50
    assert all(1 <= r <= group.n // 4 for r in drawn)
    seed = bytes(32)
    r = group.exponent_from_seed(seed, b"call 1")
    assert r == group.exponent_from_seed(seed, b"call 1")
    assert 1 <= r <= group.n // 4
    others = {group.exponent_from_seed(*pair) for pair in ((seed, b"call 2"), (seed[:-1], b"\0call 1"), (b"", b""))}
    assert r not in others


def test_encrypt_and_decrypt(group: BressonGroup, keys: tuple[int, bytes]) -> None:
    private, public = keys
    values = [0, 1, group.n - 1, -5, 2**200]
    c1, c2 = group.encrypt(public, group.plaintexts(values))
    assert c1.shape == c2.shape == (5, group.element_bytes)
    assert group.numbers(group.decrypt(private, c1, c2)) == [value % group.n for value in values]
    assert group.centred(group.decrypt(private, c1, c2)) == [0, 1, -1, -5, 2**200]
    again, _ = group.encrypt(public, group.plaintexts(values))
    assert not (again == c1).all(axis=1).any()
    empty = group.encrypt(public, group.plaintexts([]))
    assert group.decrypt(private, *empty).shape == (0, group.number_bytes)


def test_another_key_is_noticed(group: BressonGroup, keys: tuple[int, bytes]) -> None:
    private, public = keys
    c1, c2 = group.encrypt(public, group.plaintexts([1, 2, 3]))
    with pytest.raises(InvalidCiphertextError, match="ciphertext 0 is none of this key"):
        group.decrypt(private + 1, c1, c2)
    swapped = c1.copy()
    swapped[1:] = c1[:0:-1]
    with pytest.raises(InvalidCiphertextError) as caught:
        group.decrypt(private, swapped, c2)
    assert caught.value.index == 1
    with pytest.raises(LengthMismatchError):
        group.decrypt(private, c1, c2[:2])


def test_plaintexts_that_are_refused(group: BressonGroup, keys: tuple[int, bytes]) -> None:
    _, public = keys
    large = np.frombuffer(group.n.to_bytes(group.number_bytes, "little"), np.uint8).reshape(1, -1)
    with pytest.raises(PlaintextRangeError, match="index 1 is not below N"):
        group.encrypt(public, np.concatenate([group.plaintexts([1]), large]))
    for wrong in (large[:, 1:], large[0], large.astype(np.int64)):
        with pytest.raises(LengthMismatchError):
            group.encrypt(public, wrong)


def test_elements_that_are_refused(group: BressonGroup) -> None:
    good = group.power_of_g([1, 2, 3])
    group.check_elements(good, "reading")
    zero, factor = good.copy(), good.copy()
    zero[2] = 0
    factor[1] = np.frombuffer(group.n.to_bytes(group.number_bytes, "little") + bytes(group.number_bytes), np.uint8)
    for bad, index in ((zero, 2), (factor, 1)):
        with pytest.raises(InvalidCiphertextError, match=f"reading: element {index} is outside") as caught:
            group.check_elements(bad, "reading")
        assert caught.value.index == index
    for wrong in (good[:, 1:], good[0], good.astype(np.int16)):
        with pytest.raises(LengthMismatchError):
            group.check_elements(wrong, "reading")


def test_both_sides_agree(group: BressonGroup, keys: tuple[int, bytes]) -> None:
    private, public = keys
    other = group.random_exponent()
    other_public = group.power_of_g([other])[0].tobytes()
    shared = group.agree(private, other_public, b"mask")
    assert len(shared) == 32
    assert shared == group.agree(other, public, b"mask")
    assert shared != group.agree(private, other_public, b"encryption")


def test_a_public_key_of_1_plus_n_learns_nothing(group: BressonGroup, keys: tuple[int, bytes]) -> None:
    """ERRATA E9: printed, the shared value for 1 + N is 1 + a N, which is the private key."""
    private, _ = keys
    n = group.n
    evil = group.element(1 + n)
    assert group.integer(group.power_of_public(evil, [private])[0].tobytes()) == 1 + private * n
    for element in (evil, group.element(1 + 7 * n), group.element(1), group.element(n * n - 1)):
        with pytest.raises(InvalidKeyError, match="order of 1 \\+ N"):
            group.agree(private, element, b"mask")
    # Hidden in an honest looking key it cannot be noticed, and changes nothing.
    other = group.random_exponent()
    honest = pow(group.g, other, n * n)
    mixed = group.element(honest * (1 + n) % (n * n))
    assert group.agree(private, mixed, b"mask") == group.agree(private, group.element(honest), b"mask")


def test_public_keys_outside_the_group(group: BressonGroup, keys: tuple[int, bytes]) -> None:
    _, public = keys
    for bad in (public[:-1], public + b"\0", b"", bytes(group.element_bytes), b"\xff" * group.element_bytes):
        with pytest.raises(InvalidKeyError, match=r"whose key: found \d+ bytes"):
            group.check_public_key(bad, "whose key")
    group.check_public_key(public, "whose key")


def test_no_secrets_and_no_pickles(group: BressonGroup) -> None:
    assert repr(group) == "BressonGroup(256 bits)"
    for refuse in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="from_bytes"):
            refuse(group)
    assert group != "group"
