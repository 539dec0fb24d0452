"""The native kernels of `masked` against numpy: algorithm 1 from given normals, masks, sums; the normals themselves."""

import math

import numpy as np
import pytest

from vfxgb import _native


def naive_noise(bins, start, shaped, bin_, missing_left, sigma1, sigma2, normals):
    """One normal per row: a moving average over the rows on the left, cyclic; see cpp/noise/masked_noise.h."""
    most = math.sqrt(4 * sigma1**2 + sigma2**2)
    a, at = (most + sigma2) / 2, (most - sigma2) / 2
    out = math.sqrt(2 * sigma1**2 + sigma2**2) * normals
    left = (bins <= bin_) | (bins == missing_left)
    for node in range(len(start) - 1):
        rows = start[node] + np.flatnonzero(left[start[node] : start[node + 1]])
        if shaped[node]:
            out[rows] = a * normals[rows] - at * np.roll(normals[rows], 1)
    return out


@pytest.fixture
def level():
    """Nodes below, at and above the size of a piece, one of them empty."""
    rng = np.random.default_rng(3)
    start = np.cumsum([0, 5000, 0, 4096, 3, 12000, 1])
    bins = rng.integers(0, 9, start[-1]).astype(np.uint16)
    return bins, start, np.array([True, False, True, False, True, False])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("bin_", "missing"), [(3, -1), (0, 8), (7, 8), (8, -1)])
@pytest.mark.parametrize(("sigma1", "sigma2"), [(1.0, 0.0), (0.5, 2.0), (0.0, 1.5)])
def test_noise(level, bin_, missing, sigma1, sigma2, threads) -> None:
    bins, start, shaped = level
    normals = np.random.default_rng(4).normal(size=len(bins))
    found = _native.masked_noise(bins, start, shaped, bin_, missing, sigma1, sigma2, normals, threads)
    assert np.allclose(found, naive_noise(bins, start, shaped, bin_, missing, sigma1, sigma2, normals), atol=1e-13)


def test_drawn_noise_has_the_covariance_of_algorithm_1() -> None:
    """Many nodes of six rows, four of them on the left: the covariance within five standard errors."""
    nodes = 40_000
    bins = np.tile(np.array([1, 0, 0, 1, 0, 0], dtype=np.uint16), nodes)
    start = np.arange(nodes + 1) * 6
    drawn = _native.masked_noise(bins, start, np.ones(nodes, bool), 0, -1, 1.0, 1.0, None, 2).reshape(nodes, 6)
    wanted = 3 * np.eye(6)
    ring = [1, 2, 4, 5]
    for i, j in zip(ring, np.roll(ring, 1), strict=True):
        wanted[i, j] = wanted[j, i] = -1
    assert np.abs(drawn.T @ drawn / nodes - wanted).max() < 5 * math.sqrt(18 / nodes)
    again = _native.masked_noise(bins, start, np.ones(nodes, bool), 0, -1, 1.0, 1.0)
    assert not np.array_equal(drawn.ravel(), again)


@pytest.mark.parametrize("threads", [1, 3])
def test_masks_and_sums(level, threads) -> None:
    bins, start, _ = level
    rng = np.random.default_rng(5)
    base, noise, factor = rng.normal(size=(2, len(bins))), rng.normal(size=len(bins)), rng.normal(size=(2, 6))
    wanted = base + np.repeat(factor, np.diff(start), axis=1) * noise
    out = np.empty_like(base)
    _native.add_noise(base, noise, start, factor, out, threads)
    assert np.allclose(out, wanted, rtol=1e-15, atol=1e-15)
    _native.add_noise(base, noise, start, factor, base, threads)
    assert np.array_equal(base, out)
    sums = _native.masked_sums(bins, start, 4, 8, out, threads)
    left = (bins <= 4) | (bins == 8)
    for node in range(6):
        here = slice(start[node], start[node + 1])
        for vector in range(2):
            assert sums[node, vector] == math.fsum(out[vector, here][left[here]])


def test_sums_are_rounded_once() -> None:
    values = np.array([[1e16, 1.0, -1e16, 1.0, 3.0]])
    bins = np.zeros(5, dtype=np.uint16)
    assert _native.masked_sums(bins, np.array([0, 5]), 0, -1, values).tolist() == [[5.0]]


def test_normals() -> None:
    """Moments within four standard errors, tails, and every draw anew."""
    n = 400_000
    x = _native.random_normals(n)
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((x**power).mean() - mean) < 4 * math.sqrt(variance / n)
    for edge in (0.5, 2.0, 3.0, 3.6541528853610088):
        p = math.erfc(edge / math.sqrt(2))
        assert abs((np.abs(x) > edge).mean() - p) < 4 * math.sqrt(p * (1 - p) / n)
    assert len(np.unique(x)) == n
    assert _native.random_normals(0).shape == (0,)


def test_key_stream_is_chacha20() -> None:
    key = bytes(range(32))
    for blocks in (0, 1, 7, 8, 9, 24, 29):
        wanted = b"".join(_native.chacha20_block(key, i, bytes(12)) for i in range(blocks))
        assert _native.chacha20_keystream(key, blocks) == wanted


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": np.array([0, 3])}, "start"),
        ({"start": np.array([1, 4])}, "start"),
        ({"start": np.array([0, 5, 4])}, "start"),
        ({"start": np.zeros(0, np.int64)}, "start"),
        ({"shaped": np.array([True, True])}, "shaped"),
        ({"cut": -1}, "bin"),
        ({"cut": 1 << 16}, "bin"),
        ({"missing_left": 1 << 16}, "missing_left"),
        ({"sigma1": -1.0}, "sigma1"),
        ({"sigma2": math.nan}, "sigma1 and sigma2"),
        ({"normals": np.zeros(3)}, "normals"),
        ({"threads": 0}, "threads"),
    ],
)
def test_bad_arguments(change, message) -> None:
    given = {
        "bins": np.zeros(4, np.uint16),
        "start": np.array([0, 4]),
        "shaped": np.array([True]),
        "cut": 0,
        "missing_left": -1,
        "sigma1": 1.0,
        "sigma2": 1.0,
    }
    with pytest.raises(ValueError, match=message):
        _native.masked_noise(**(given | change))


def test_bad_masks_and_sums() -> None:
    start, noise = np.array([0, 4]), np.zeros(4)
    with pytest.raises(ValueError, match="factor"):
        _native.add_noise(np.zeros((2, 4)), noise, start, np.zeros((2, 2)), np.zeros((2, 4)))
    with pytest.raises(ValueError, match="base"):
        _native.add_noise(np.zeros((2, 5)), noise, start, np.zeros((2, 1)), np.zeros((2, 4)))
    with pytest.raises(ValueError, match="out"):
        _native.add_noise(np.zeros((2, 4)), noise, start, np.zeros((2, 1)), np.zeros((4, 2)).T)
    with pytest.raises(ValueError, match="masked"):
        _native.masked_sums(np.zeros(4, np.uint16), start, 0, -1, np.zeros((2, 3)))
