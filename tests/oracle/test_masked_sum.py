"""The masked form against the formulas of papers/003 (corrected: ERRATA E11, E15) in plain integers, and its breaks."""

import hashlib
import hmac
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb import _native
from vfxgb.crypto import masked_sum
from vfxgb.crypto.bresson import BressonGroup
from vfxgb.crypto.masked_sum import MaskedSum, blinding_exponents, mask
from vfxgb.errors import InvalidCiphertextError, InvalidKeyError, LengthMismatchError, PlaintextRangeError

CALL = b"run 1, call 2"


@pytest.fixture(scope="module")
def group() -> BressonGroup:
    return BressonGroup.generate(256, insecure=True)


@pytest.fixture(scope="module")
def server(group: BressonGroup) -> tuple[int, bytes]:
    private = group.random_exponent()
    return private, group.power_of_g([private])[0].tobytes()


def integers(group: BressonGroup, rows: np.ndarray) -> list[int]:
    return [group.integer(row.tobytes()) for row in rows]


def naive_exponents(group: BressonGroup, r: int, call: bytes, count: int) -> list[int]:
    blinder = group.element(pow(group.g, r, group.n**2))
    key = hmac.new(blinder, b"vfxgb masked form" + call, hashlib.sha256).digest()
    blocks = [_native.rand.chacha20_block(key, i, bytes(12)) for i in range((count + 1) // 2)]
    stream = b"".join(blocks)
    return [int.from_bytes(stream[32 * e : 32 * e + 32], "little") for e in range(count)]


@pytest.mark.parametrize("count", [0, 1, 2, 5, 130])
def test_mask_is_the_formula(group: BressonGroup, server: tuple[int, bytes], count: int) -> None:
    r, values = group.random_exponent(), list(range(count))
    found = integers(group, mask(group, server[1], r, CALL, group.plaintexts(values)))
    n, square, h = group.n, group.n**2, group.integer(server[1])
    exponents = naive_exponents(group, r, CALL, count)
    assert found == [(1 + v * n) * pow(h, r * e, square) % square for v, e in zip(values, exponents, strict=True)]


@given(data=st.data(), users=st.integers(1, 4), count=st.integers(1, 6), threads=st.integers(1, 2))
def test_sum_of_users(
    group: BressonGroup, server: tuple[int, bytes], data: st.DataObject, users: int, count: int, threads: int
) -> None:
    entry = st.one_of(st.integers(0, group.n - 1), st.sampled_from([0, 1, group.n - 1]))
    vectors = data.draw(st.lists(st.lists(entry, min_size=count, max_size=count), min_size=users, max_size=users))
    total = MaskedSum(group, count)
    randomness = [group.random_exponent() for _ in vectors]
    for r, vector in zip(randomness, vectors, strict=True):
        total.add(mask(group, server[1], r, CALL, group.plaintexts(vector), threads), threads)
    opened = total.open(server[0], group.power_of_g(randomness), CALL, threads)
    assert group.numbers(opened) == [sum(column) % group.n for column in zip(*vectors, strict=True)]


def test_many_users_come_in_portions(
    group: BressonGroup, server: tuple[int, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(masked_sum, "USERS_AT_ONCE", 3)
    randomness = [group.random_exponent() for _ in range(8)]
    total = MaskedSum(group, 2)
    for u, r in enumerate(randomness):
        total.add(mask(group, server[1], r, CALL, group.plaintexts([u, -1])))
    assert group.centred(total.open(server[0], group.power_of_g(randomness), CALL)) == [28, -8]


def test_vectors_may_arrive_on_several_threads(group: BressonGroup, server: tuple[int, bytes]) -> None:
    randomness = [group.random_exponent() for _ in range(12)]
    vectors = [mask(group, server[1], r, CALL, group.plaintexts([1] * 50)) for r in randomness]
    total = MaskedSum(group, 50)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(total.add, vectors))
    assert group.numbers(total.open(server[0], group.power_of_g(randomness), CALL)) == [12] * 50


@given(window=st.sampled_from([0, 1, 4, 16]), users=st.integers(0, 5), count=st.integers(1, 9), width=st.integers(1, 9))
def test_products_of_powers(group: BressonGroup, window: int, users: int, count: int, width: int) -> None:
    exponents = np.frombuffer(_native.rand.random_bytes(users * count * width), np.uint8).reshape(users, count, width)
    bases = [pow(group.g, 3 + u, group.n**2) for u in range(users)]
    products = _native.crypto.PowerProducts(group.native, count, 8 * width, window)
    products.multiply(group.rows([group.element(base) for base in bases]), exponents, 2)
    wanted = [1] * count
    for e in range(count):
        for u, base in enumerate(bases):
            power = pow(base, int.from_bytes(exponents[u, e].tobytes(), "little"), group.n**2)
            wanted[e] = wanted[e] * power % group.n**2
    assert integers(group, products.elements()) == wanted


def test_exponents_differ_by_entry_call_and_user(group: BressonGroup) -> None:
    blinders = group.power_of_g([5, 6])
    first, second = blinding_exponents(blinders, b"1", 40), blinding_exponents(blinders, b"2", 40)
    assert first.shape == (2, 40, 32)
    assert len({row.tobytes() for both in (first, second) for user in both for row in user}) == 160
    assert np.array_equal(blinding_exponents(blinders, b"1", 7), first[:, :7])


def test_ratio_of_two_entries_is_no_plaintext(group: BressonGroup, server: tuple[int, bytes]) -> None:
    """ERRATA E15: with one exponent for all entries, anybody reads x1 - x2 off c1 / c2."""
    n, square, r = group.n, group.n**2, group.random_exponent()
    h = group.integer(server[1])
    blinding = pow(h, r, square)
    printed = [(1 + x * n) * blinding % square for x in (1000, 958)]
    assert (printed[0] * pow(printed[1], -1, square) % square) == 1 + 42 * n
    c = integers(group, mask(group, server[1], r, CALL, group.plaintexts([1000, 958])))
    assert c[0] * pow(c[1], -1, square) % n != 1


def test_opening_needs_the_blinders_of_exactly_those_users(group: BressonGroup, server: tuple[int, bytes]) -> None:
    randomness = [group.random_exponent() for _ in range(3)]
    total = MaskedSum(group, 2)
    for r in randomness[:2]:
        total.add(mask(group, server[1], r, CALL, group.plaintexts([1, 2])))
    blinders = group.power_of_g(randomness)
    for wrong in (blinders[:1], blinders, blinders[1:], blinders[:0]):
        with pytest.raises(InvalidCiphertextError):
            total.open(server[0], wrong, CALL)
    with pytest.raises(InvalidCiphertextError):
        total.open(server[0], blinders[:2], b"another call")
    with pytest.raises(InvalidCiphertextError):
        total.open(server[0] + 1, blinders[:2], CALL)
    assert group.numbers(total.open(server[0], blinders[:2], CALL)) == [2, 4]


def test_vectors_that_are_refused_change_nothing(group: BressonGroup, server: tuple[int, bytes]) -> None:
    r = group.random_exponent()
    good = mask(group, server[1], r, CALL, group.plaintexts([3, 4]))
    total = MaskedSum(group, 2)
    for wrong in (good[:1], good[:, 1:], good[0], good.astype(np.int32)):
        with pytest.raises(LengthMismatchError):
            total.add(wrong)
    zero = good.copy()
    zero[1] = 0
    with pytest.raises(InvalidCiphertextError, match="element 1 is outside the group"):
        total.add(zero)
    total.add(good)
    assert group.numbers(total.open(server[0], group.power_of_g([r]), CALL)) == [3, 4]
    with pytest.raises(PlaintextRangeError):
        mask(group, server[1], r, CALL, np.full((1, group.number_bytes), 255, np.uint8))
    with pytest.raises(InvalidKeyError):
        mask(group, bytes(group.element_bytes), r, CALL, group.plaintexts([1]))
