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
    """Nodes below, at and above the size of a piece, one of them empty; two features; five candidates."""
    rng = np.random.default_rng(3)
    start = np.cumsum([0, 5000, 0, 4096, 3, 12000, 1])
    columns = rng.integers(0, 9, (2, start[-1])).astype(np.uint16)
    chosen = {
        "columns": columns,
        "start": start,
        "column": np.array([0, 1, 0, 1, 1]),
        "cut": np.array([3, 0, 7, 8, 3]),
        "missing_left": np.array([-1, 8, 8, -1, 8]),
    }
    return chosen, rng.random((5, 6)) < 0.6


def each(chosen):
    """(bins, cut, missing_left) of each candidate."""
    for column, cut, missing in zip(chosen["column"], chosen["cut"], chosen["missing_left"], strict=True):
        yield chosen["columns"][column], cut, missing


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("sigma1", "sigma2"), [(1.0, 0.0), (0.5, 2.0), (0.0, 1.5)])
def test_noise(level, sigma1, sigma2, threads) -> None:
    chosen, shaped = level
    start = chosen["start"]
    normals = np.random.default_rng(4).normal(size=(5, start[-1]))
    found = _native.noise.masked_noise(
        **chosen, shaped=shaped, sigma1=sigma1, sigma2=sigma2, normals=normals, threads=threads
    )
    for j, (bins, cut, missing) in enumerate(each(chosen)):
        wanted = naive_noise(bins, start, shaped[j], cut, missing, sigma1, sigma2, normals[j])
        assert np.allclose(found[j], wanted, atol=1e-13)


def test_drawn_noise_has_the_covariance_of_algorithm_1() -> None:
    """Many nodes of six rows, four of them on the left, two candidates: the covariance within five standard errors."""
    nodes = 40_000
    columns = np.tile(np.array([1, 0, 0, 1, 0, 0], dtype=np.uint16), nodes)[None]
    start, zeros = np.arange(nodes + 1) * 6, np.zeros(2, np.int64)
    given = (columns, start, zeros, zeros, zeros - 1, np.ones((2, nodes), bool), 1.0, 1.0)
    both = _native.noise.masked_noise(*given, None, 2).reshape(2, nodes, 6)
    wanted = 3 * np.eye(6)
    ring = [1, 2, 4, 5]
    for i, j in zip(ring, np.roll(ring, 1), strict=True):
        wanted[i, j] = wanted[j, i] = -1
    first, second = both
    for drawn in both:
        assert np.abs(drawn.T @ drawn / nodes - wanted).max() < 5 * math.sqrt(18 / nodes)
    assert np.abs(first.T @ second / nodes).max() < 5 * math.sqrt(9 / nodes)
    assert not np.isin(both.ravel(), _native.noise.masked_noise(*given)).any()


@pytest.mark.parametrize("threads", [1, 3])
def test_masks_and_sums(level, threads) -> None:
    chosen, _ = level
    start = chosen["start"]
    rng = np.random.default_rng(5)
    base, noise = rng.normal(size=(2, start[-1])), rng.normal(size=(5, start[-1]))
    factor = rng.normal(size=(5, 2, 6))
    spread = np.repeat(factor, np.diff(start), axis=2) * noise[:, None]
    out = np.empty((5, *base.shape))
    _native.noise.add_noise(base, noise, start, factor, out, threads)
    assert np.allclose(out, base + spread, rtol=1e-15, atol=1e-15)
    sums = _native.noise.masked_sums(**chosen, masked=out, threads=threads)
    assert sums.shape == (5, 6, 2)
    for j, (bins, cut, missing) in enumerate(each(chosen)):
        left = (bins <= cut) | (bins == missing)
        for node in range(6):
            here = slice(start[node], start[node + 1])
            for vector in range(2):
                assert sums[j, node, vector] == math.fsum(out[j, vector, here][left[here]])
    before = out.copy()
    _native.noise.add_noise(out, noise, start, factor, out, threads)
    assert np.allclose(out, before + spread, rtol=1e-15, atol=1e-15)


def test_sums_are_rounded_once() -> None:
    values = np.array([[[1e16, 1.0, -1e16, 1.0, 3.0]]])
    columns, zero = np.zeros((1, 5), dtype=np.uint16), np.zeros(1, np.int64)
    assert _native.noise.masked_sums(columns, np.array([0, 5]), zero, zero, zero - 1, values).tolist() == [[[5.0]]]


def test_no_rows() -> None:
    columns, zero, start = np.zeros((1, 0), dtype=np.uint16), np.zeros(1, np.int64), np.zeros(3, np.int64)
    noise = _native.noise.masked_noise(columns, start, zero, zero, zero, np.ones((1, 2), bool), 1.0, 1.0)
    assert noise.shape == (1, 0)
    assert not _native.noise.masked_sums(columns, start, zero, zero, zero, np.zeros((1, 2, 0))).any()


def test_normals() -> None:
    """Moments within four standard errors, tails, and every draw anew."""
    n = 400_000
    x = _native.noise.random_normals(n)
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((x**power).mean() - mean) < 4 * math.sqrt(variance / n)
    for edge in (0.5, 2.0, 3.0, 3.6541528853610088):
        p = math.erfc(edge / math.sqrt(2))
        assert abs((np.abs(x) > edge).mean() - p) < 4 * math.sqrt(p * (1 - p) / n)
    assert len(np.unique(x)) == n
    assert _native.noise.random_normals(0).shape == (0,)


def test_key_stream_is_chacha20() -> None:
    key = bytes(range(32))
    for blocks in (0, 1, 7, 8, 9, 24, 29):
        wanted = b"".join(_native.rand.chacha20_block(key, i, bytes(12)) for i in range(blocks))
        assert _native.rand.chacha20_keystream(key, blocks) == wanted


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": np.array([0, 3])}, "start"),
        ({"start": np.array([1, 4])}, "start"),
        ({"start": np.array([0, 5, 4])}, "start"),
        ({"start": np.zeros(0, np.int64)}, "start"),
        ({"shaped": np.array([[True, True]])}, "shaped"),
        ({"shaped": np.array([True])}, "shaped"),
        ({"columns": np.zeros(4, np.uint16)}, "columns"),
        ({"column": np.array([1])}, "column must be a row"),
        ({"column": np.array([-1])}, "column must be a row"),
        ({"cut": np.array([-1])}, "a bin"),
        ({"cut": np.array([1 << 16])}, "a bin"),
        ({"cut": np.array([0, 0])}, "cut"),
        ({"missing_left": np.array([1 << 16])}, "missing_left"),
        ({"missing_left": np.array([-2])}, "missing_left"),
        ({"sigma1": -1.0}, "sigma1"),
        ({"sigma2": math.nan}, "sigma1 and sigma2"),
        ({"normals": np.zeros((1, 3))}, "normals"),
        ({"threads": 0}, "threads"),
    ],
)
def test_bad_arguments(change, message) -> None:
    given = {
        "columns": np.zeros((1, 4), np.uint16),
        "start": np.array([0, 4]),
        "column": np.array([0]),
        "cut": np.array([0]),
        "missing_left": np.array([-1]),
        "shaped": np.array([[True]]),
        "sigma1": 1.0,
        "sigma2": 1.0,
    }
    with pytest.raises(ValueError, match=message):
        _native.noise.masked_noise(**(given | change))


def test_bad_masks_and_sums() -> None:
    start, noise, zero = np.array([0, 4]), np.zeros((1, 4)), np.zeros(1, np.int64)
    with pytest.raises(ValueError, match="factor"):
        _native.noise.add_noise(np.zeros((2, 4)), noise, start, np.zeros((1, 2, 2)), np.zeros((1, 2, 4)))
    with pytest.raises(ValueError, match="base"):
        _native.noise.add_noise(np.zeros((2, 5)), noise, start, np.zeros((1, 2, 1)), np.zeros((1, 2, 4)))
    with pytest.raises(ValueError, match="base"):
        _native.noise.add_noise(np.zeros((2, 2, 4)), noise, start, np.zeros((1, 2, 1)), np.zeros((1, 2, 4)))
    with pytest.raises(ValueError, match="out"):
        _native.noise.add_noise(np.zeros((2, 4)), noise, start, np.zeros((1, 2, 1)), np.zeros((4, 2, 1)).T)
    with pytest.raises(ValueError, match="masked"):
        _native.noise.masked_sums(np.zeros((1, 4), np.uint16), start, zero, zero, zero, np.zeros((1, 2, 3)))
