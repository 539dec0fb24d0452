"""Shamir's sharing: properties, edges, and shares that are wrong."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb import _native
from vfxgb.errors import ShareError
from vfxgb.secagg import shamir

FIELDS = [shamir.PRIME, 2**521 - 1, 2**127 - 1, 65537, 11]


def naive_value(coefficients: list[int], point: int, prime: int) -> int:
    return sum(c * point**i for i, c in enumerate(coefficients)) % prime


def as_rows(values: list[int], prime: int) -> np.ndarray:
    width = shamir.share_bytes(prime)
    return np.frombuffer(b"".join(v.to_bytes(width, "little") for v in values), np.uint8).reshape(-1, width)


@given(data=st.data(), prime=st.sampled_from(FIELDS), threshold=st.integers(1, 10), threads=st.integers(1, 2))
def test_shares_of_given_polynomials(data: st.DataObject, prime: int, threshold: int, threads: int) -> None:
    point = st.integers(1, min(prime - 1, shamir.MAX_POINT))
    points = data.draw(st.lists(point, min_size=threshold, max_size=12 if prime > 20 else 10, unique=True))
    polynomial = st.lists(st.integers(0, prime - 1), min_size=threshold, max_size=threshold)
    polynomials = data.draw(st.lists(polynomial, min_size=1, max_size=3))
    rows = np.stack([as_rows(polynomial, prime) for polynomial in polynomials])
    shares = _native.crypto.shamir_share(
        prime.to_bytes(shamir.share_bytes(prime), "little"),
        rows[:, 0],
        threshold,
        np.array(points, np.uint32),
        threads,
        rows[:, 1:],
    )
    for one, found in zip(polynomials, shares, strict=True):
        assert np.array_equal(found, as_rows([naive_value(one, x, prime) for x in points], prime))
    chosen = data.draw(st.permutations(range(len(points))))[:threshold]
    secrets = shamir.reconstruct([points[i] for i in chosen], shares[:, list(chosen)], threshold, prime, threads)
    assert secrets == [polynomial[0] for polynomial in polynomials]


@pytest.mark.parametrize("prime", FIELDS)
def test_any_threshold_of_the_shares(prime: int) -> None:
    secrets = [0, 1, prime - 1]
    shares = shamir.share(secrets, 3, [2, 3, 5, 7, 9], prime)
    assert shares.shape == (3, 5, shamir.share_bytes(prime))
    for chosen in combinations(range(5), 3):
        points = [[2, 3, 5, 7, 9][i] for i in chosen]
        assert shamir.reconstruct(points, shares[:, list(chosen)], 3, prime) == secrets
    assert shamir.reconstruct([2, 3, 5, 7, 9], shares, 3, prime) == secrets


def test_many_points() -> None:
    """Enough for several threads, and for every width of points."""
    points = [*range(1, 600), 2**20, 2**31, 2**32 - 1]
    secret = 2**256 - 1
    shares = shamir.share([secret], 400, points, threads=2)
    assert shamir.reconstruct(points[-400:], shares[:, -400:], 400, threads=2) == [secret]


def test_fewer_shares_say_nothing() -> None:
    """In a field of 11 elements every value of a share is as likely for one secret as for another."""
    counts = np.zeros((2, 11))
    for secret in (0, 1):
        for _ in range(1100):
            counts[secret, shamir.share([secret], 2, [1, 2], 11)[0, 0, 0]] += 1
    assert np.abs(counts - 100).max() < 6 * np.sqrt(100)


def test_nothing_and_one() -> None:
    assert shamir.share([], 2, [1, 2]).shape == (0, 2, 33)
    assert shamir.reconstruct([1, 2], np.zeros((0, 2, 33), np.uint8), 2) == []
    assert (shamir.share([5], 1, [1, 9]) == as_rows([5, 5], shamir.PRIME)).all()


@pytest.mark.parametrize("points", [[0, 1], [1, 1], [-1, 2], [2**32, 1], [1.0, 2], [True, 2], [1, 12], [11, 1]])
def test_points_that_cannot_be(points: list[int]) -> None:
    with pytest.raises(ShareError, match="point"):
        shamir.share([1], 2, points, 11)
    with pytest.raises(ShareError, match="point"):
        shamir.reconstruct(points, np.zeros((1, 2, 1), np.uint8), 2, 11)


@pytest.mark.parametrize("threshold", [0, -1, 3, 1.5, True])
def test_thresholds_that_cannot_be(threshold: int) -> None:
    with pytest.raises(ShareError, match="threshold"):
        shamir.share([1], threshold, [1, 2])
    with pytest.raises(ShareError, match="threshold"):
        shamir.reconstruct([1, 2], np.zeros((1, 2, 33), np.uint8), threshold)


@pytest.mark.parametrize("prime", [0, 1, 2, 4, 15, 2**256, 2**8192 + 1, -7, 7.0])
def test_primes_that_cannot_be(prime: int) -> None:
    with pytest.raises(ShareError, match="prime"):
        shamir.share([1], 1, [1], prime)


def test_shares_that_are_wrong() -> None:
    shares = shamir.share([7], 2, [1, 2, 3])
    for wrong, match in (
        (shares[..., :-1], "shape"),
        (shares[:, :2], "shape"),
        (shares[0], "shape"),
        (shares.astype(np.int64), "uint8"),
    ):
        with pytest.raises(ShareError, match=match):
            shamir.reconstruct([1, 2, 3], wrong, 2)
    large = shares.copy()
    large[0, 1] = as_rows([shamir.PRIME], shamir.PRIME)[0]
    with pytest.raises(ShareError, match="secret 0 at position 1 is not below the prime"):
        shamir.reconstruct([1, 2, 3], large, 2)
    for position in range(3):
        damaged = shares.copy()
        damaged[0, position, 0] ^= 1
        with pytest.raises(ShareError, match="do not lie on one polynomial"):
            shamir.reconstruct([1, 2, 3], damaged, 2)
    with pytest.raises(ShareError, match="do not lie on one polynomial"):
        shamir.reconstruct([1, 2, 4], shares, 2)


def test_another_field_gives_another_secret_or_an_error() -> None:
    shares = shamir.share([7], 2, [1, 2], 2**521 - 1)
    with pytest.raises(ShareError, match="another field"):
        shamir.reconstruct([1, 2], shares, 2)
