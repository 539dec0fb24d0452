"""Known answer 8 of ERRATA section 4."""

from itertools import combinations

import numpy as np
import pytest

from vfxgb import _native
from vfxgb.errors import ShareError
from vfxgb.secagg import shamir

PRIME = 257
POINTS = [1, 2, 3, 4, 5]
WANTED = [126, 60, 182, 235, 219]


def rows(values: list[int]) -> np.ndarray:
    return np.array(values, dtype="<u2").view(np.uint8).reshape(len(values), 2)


def test_shares_of_a_known_polynomial() -> None:
    shares = _native.crypto.shamir_share(
        PRIME.to_bytes(2, "little"), rows([123]), 3, np.array(POINTS, np.uint32), 1, rows([166, 94])[None]
    )
    assert np.array_equal(shares, rows(WANTED)[None])


def test_any_three_give_the_secret_and_two_do_not() -> None:
    for chosen in combinations(range(5), 3):
        shares = rows([WANTED[i] for i in chosen])[None]
        assert shamir.reconstruct([POINTS[i] for i in chosen], shares, 3, PRIME) == [123]
    for chosen in combinations(range(5), 2):
        points = [POINTS[i] for i in chosen]
        shares = rows([WANTED[i] for i in chosen])[None]
        with pytest.raises(ShareError, match="found 2 shares, wanted at least the threshold, 3"):
            shamir.reconstruct(points, shares, 3, PRIME)
        # Whoever believed in a threshold of 2 would get something else.
        assert shamir.reconstruct(points, shares, 2, PRIME) != [123]


def test_a_secret_of_the_prime_s_size_is_refused() -> None:
    for secret in (PRIME, PRIME + 1, 2**510, -1):
        with pytest.raises(ShareError, match="use a larger prime"):
            shamir.share([secret], 3, POINTS, PRIME)
