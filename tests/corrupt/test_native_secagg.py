"""The native boundary of secure aggregation refuses what the Python layer would never send: nothing crashes."""

import numpy as np
import pytest

from vfxgb import _native

REFUSALS = (ValueError, TypeError)
ONE = np.ones(1, np.int8)
KEY = np.zeros((1, 32), np.uint8)
P = (257).to_bytes(2, "little")


def rows(*shape: int) -> np.ndarray:
    return np.ones(shape, np.uint8)


@pytest.mark.parametrize(
    ("keys", "signs", "values"),
    [
        (KEY[:, :31], ONE, np.zeros(3, np.uint64)),
        (KEY[0], ONE, np.zeros(3, np.uint64)),
        (KEY, np.ones(2, np.int8), np.zeros(3, np.uint64)),
        (KEY, ONE * 2, np.zeros(3, np.uint64)),
        (KEY, ONE * 0, np.zeros(3, np.uint64)),
        (KEY, ONE, np.zeros(3, np.int64)),
        (KEY, ONE, np.zeros(3)),
        (KEY, ONE, np.zeros((3, 1), np.uint64)),
        (KEY, ONE, np.zeros(6, np.uint64)[::2]),
        (KEY.astype(np.int32), ONE, np.zeros(3, np.uint64)),
    ],
)
def test_masks(keys: np.ndarray, signs: np.ndarray, values: np.ndarray) -> None:
    with pytest.raises(REFUSALS):
        _native.crypto.add_masks(keys, signs, values)


def test_masks_into_what_cannot_be_written() -> None:
    values = np.zeros(3, np.uint64)
    values.setflags(write=False)
    with pytest.raises(REFUSALS):
        _native.crypto.add_masks(KEY, ONE, values)


@pytest.mark.parametrize(
    ("count", "modulus", "threads"), [(-1, P, 1), (1, b"", 1), (1, bytes(8), 1), (1, P, 0), (1, b"\1" * 4000, 1)]
)
def test_wide_masks(count: int, modulus: bytes, threads: int) -> None:
    with pytest.raises(REFUSALS):
        _native.crypto.wide_masks(KEY, ONE, count, modulus, threads)


@pytest.mark.parametrize(
    ("prime", "secrets", "threshold", "points", "coefficients"),
    [
        (P, rows(1, 1), 1, [1], None),
        (P, rows(2), 1, [1], None),
        (P, rows(1, 2), 0, [1], None),
        (P, rows(1, 2) * 255, 1, [1], None),
        (P, rows(1, 2) * 0, 2, [1], rows(1, 2, 2)),
        (P, rows(1, 2) * 0, 2, [1], rows(1, 1, 2) * 255),
        ((256).to_bytes(2, "little"), rows(1, 2) * 0, 1, [1], None),
        (b"", rows(1, 0), 1, [1], None),
        (b"\1" * 1025, rows(1, 1025), 1, [1], None),
    ],
)
def test_shares(
    prime: bytes, secrets: np.ndarray, threshold: int, points: list[int], coefficients: np.ndarray | None
) -> None:
    with pytest.raises(REFUSALS):
        _native.crypto.shamir_share(prime, secrets, threshold, np.array(points, np.uint32), 1, coefficients)


@pytest.mark.parametrize(
    ("points", "shares"),
    [
        ([1, 1], rows(1, 2, 2) * 0),
        ([0, 1], rows(1, 2, 2) * 0),
        ([1, 258], rows(1, 2, 2) * 0),
        ([1, 2], rows(1, 3, 2) * 0),
        ([1, 2], rows(1, 2, 1) * 0),
        ([1, 2], rows(1, 2, 2) * 255),
        ([1, 2], rows(2, 2)),
    ],
)
def test_reconstruction(points: list[int], shares: np.ndarray) -> None:
    with pytest.raises(REFUSALS):
        _native.crypto.shamir_reconstruct(P, np.array(points, np.uint32), shares)


def element(value: int) -> np.ndarray:
    return np.array([[value % 161, value // 161]], np.uint8)


@pytest.fixture
def group() -> _native.crypto.BressonGroup:
    return _native.crypto.BressonGroup(bytes([161]))


def test_group_of_an_even_modulus() -> None:
    for n in (b"", b"\0", b"\1", b"\x10"):
        with pytest.raises(REFUSALS):
            _native.crypto.BressonGroup(n)
    with pytest.raises(REFUSALS):
        _native.crypto.BressonGroup(bytes([161]), "no such path")


def test_group(group: _native.crypto.BressonGroup) -> None:
    g, zero, factor = element(8594), element(0), element(7)
    exponent, message = rows(1, 1), rows(1, 1)
    for call in (
        lambda: group.check(rows(1, 3)),
        lambda: group.check(rows(2)),
        lambda: group.check(g, 0),
        lambda: group.powers(zero, exponent),
        lambda: group.powers(factor, exponent),
        lambda: group.powers(rows(1, 2) * 161, exponent),
        lambda: group.powers(np.concatenate([g, g]), exponent),
        lambda: group.powers(g, rows(1, 0)),
        lambda: group.powers(g, rows(1)),
        lambda: group.powers(g, rows(1, 5000)),
        lambda: group.powers(g, exponent, rows(2, 1)),
        lambda: group.powers(g, exponent, rows(1, 2)),
        lambda: group.powers(g, exponent, message * 161),
        lambda: group.open(b"\1", g, np.concatenate([g, g])),
        lambda: group.open(b"\1", zero, g),
        lambda: group.open(b"\1", rows(2), g),
        lambda: group.open(b"\1", g, factor),
        lambda: _native.crypto.BressonBase(group, zero),
        lambda: _native.crypto.BressonBase(group, rows(3)),
        lambda: _native.crypto.BressonBase(group, g).powers(np.array([[0, 1]], np.uint8)),
        lambda: _native.crypto.ElementProducts(group, -1),
        lambda: _native.crypto.ElementProducts(group, 2).multiply(g),
        lambda: _native.crypto.ElementProducts(group, 1).multiply(rows(1, 3)),
        lambda: _native.crypto.PowerProducts(group, -1, 8),
        lambda: _native.crypto.PowerProducts(group, 1, -1),
        lambda: _native.crypto.PowerProducts(group, 1, 8, 17),
        lambda: _native.crypto.PowerProducts(group, 1, 4).multiply(g, rows(1, 1, 1) * 16),
        lambda: _native.crypto.PowerProducts(group, 1, 8).multiply(g, rows(1, 2, 1)),
        lambda: _native.crypto.PowerProducts(group, 1, 8).multiply(g, rows(2, 1, 1)),
        lambda: _native.crypto.PowerProducts(group, 1, 8).multiply(zero, rows(1, 1, 1)),
    ):
        with pytest.raises(REFUSALS):
            call()
    assert group.check(np.concatenate([g, factor])) == 1
    assert group.open(b"\1", g, element(1))[1] == 0
    assert _native.crypto.ElementProducts(group, 1).multiply(factor) == 0


def test_nothing_at_all(group: _native.crypto.BressonGroup) -> None:
    none = np.zeros((0, 2), np.uint8)
    assert group.check(none) == -1
    assert group.powers(element(8594), rows(0, 1)).shape == (0, 2)
    assert group.open(b"\1", none, none)[0].shape == (0, 1)
    products = _native.crypto.ElementProducts(group, 0)
    assert products.multiply(none) == -1
    assert products.elements().shape == (0, 2)
    powers = _native.crypto.PowerProducts(group, 0, 8)
    powers.multiply(element(8594), rows(1, 0, 1))
    assert powers.elements().shape == (0, 2)
    some = _native.crypto.PowerProducts(group, 3, 8)
    some.multiply(none, np.zeros((0, 3, 1), np.uint8))
    assert some.elements().tolist() == [[1, 0]] * 3
