"""Candidates against a slow twin."""

import numpy as np
import pytest

from vfxgb import _native
from vfxgb.errors import MessageError
from vfxgb.rows.memory import MemoryPartition, MemoryRows
from vfxgb.tree.candidates import CandidateList

CUTS = [np.array([-0.5, 0.0, 0.7]), np.array([0.1]), np.array([-1.0, -0.2, 0.3, 0.9])]


def _binned(seed: int, n: int = 60) -> tuple[MemoryRows, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[rng.random(X.shape) < 0.3] = np.nan
    X[:, 1] = rng.normal(size=n)
    bins = _native.gbdt.Bins(n, CUTS)
    for feature in range(3):
        bins.fill(feature, np.ascontiguousarray(X[:, feature]))
    pairs = rng.integers(-1000, 1000, size=(n, 2))
    return MemoryRows(bins), X, np.isnan(X).any(axis=0), pairs


def _partition(X: np.ndarray) -> tuple[MemoryPartition, list[np.ndarray]]:
    partition = MemoryPartition(_native.gbdt.RowPartition(len(X)))
    left = X[:, 1] < 0.1
    partition.split(
        np.array([0], np.int32), np.array([1], np.int32), np.array([2], np.int32), np.packbits(left, bitorder="little")
    )
    return partition, [np.flatnonzero(left), np.flatnonzero(~left)]


def _naive_left(X, rows, pairs, feature, cut, default_left) -> np.ndarray:
    values = X[rows, feature]
    goes = values < cut
    if default_left:
        goes |= np.isnan(values)
    return pairs[rows[goes]].sum(axis=0)


@pytest.mark.parametrize("features", [[0, 1, 2], [0, 2], [1], []])
@pytest.mark.parametrize("secret", [False, True])
def test_left_sums_and_resolve_against_a_naive_twin(features, secret) -> None:
    bins, X, has_missing, pairs = _binned(1)
    partition, members = _partition(X)
    rng = np.random.default_rng(0)
    chosen = CandidateList(
        bins, has_missing, np.array(features, np.int32), None, rng.bytes if secret else None, threads=1
    )
    sums = chosen.left_sums(partition, np.array([1, 2], np.int32), pairs)
    assert sums.shape == (2, len(chosen), 2)
    seen = set()
    for token in range(len(chosen)):
        found = chosen.resolve(np.array([0, 1]), np.array([token]))
        feature, place, default_left = int(found.feature[0]), int(found.bin[0]), bool(found.default_left[0])
        seen.add((feature, place, default_left))
        for node, rows in enumerate(members):
            expected = _naive_left(X, rows, pairs, feature, CUTS[feature][place], default_left)
            assert np.array_equal(sums[node, token], expected)
    wanted = {
        (feature, place, way)
        for feature in features
        for place in range(len(CUTS[feature]))
        for way in ((False, True) if has_missing[feature] else (False,))
    }
    assert seen == wanted


def test_resolve_takes_the_first_in_true_order() -> None:
    bins, _, has_missing, _ = _binned(2)
    features = np.arange(3, dtype=np.int32)
    true = CandidateList(bins, has_missing, features, None, None, 1)
    secret = CandidateList(bins, has_missing, features, None, np.random.default_rng(4).bytes, 1)
    everything = np.arange(len(true))
    found = secret.resolve(np.array([0, len(true), 2 * len(true)]), np.tile(everything, 2))
    assert found.feature.tolist() == [0, 0]
    assert found.bin.tolist() == [0, 0]
    assert found.default_left.tolist() == [False, False]
    # Missing left comes after missing right, from the last cut down.
    ways = [true.resolve(np.array([0, 1]), np.array([token])) for token in range(6)]
    assert [(int(way.bin[0]), bool(way.default_left[0])) for way in ways] == [
        (0, False),
        (1, False),
        (2, False),
        (2, True),
        (1, True),
        (0, True),
    ]


@pytest.mark.parametrize(
    ("start", "tokens", "match"),
    [
        ([0, 1], [999], "outside"),
        ([0, 1], [-1], "outside"),
        ([0, 0], [], "divided"),
        ([0, 2], [1], "divided"),
        ([1, 1], [1], "divided"),
        ([0, 2], [1, 1], "more than once"),
    ],
)
def test_bad_tokens(start, tokens, match) -> None:
    bins, _, has_missing, _ = _binned(2)
    candidates = CandidateList(bins, has_missing, np.arange(3, dtype=np.int32), None, None, 1)
    with pytest.raises(MessageError, match=match):
        candidates.resolve(np.array(start), np.array(tokens, dtype=np.int64))


def test_unavailable_candidates_have_no_sums() -> None:
    bins, X, has_missing, pairs = _binned(3)
    partition, _ = _partition(X)
    candidates = CandidateList(bins, has_missing, np.arange(3, dtype=np.int32), None, None, 1)
    nodes = np.array([1, 2], np.int32)
    whole = candidates.left_sums(partition, nodes, pairs)
    allowed = np.array([[True, False, True], [False, True, False]])
    sums = candidates.left_sums(partition, nodes, pairs, allowed)
    for token in range(len(candidates)):
        feature = int(candidates.resolve(np.array([0, 1]), np.array([token])).feature[0])
        for node in range(2):
            expected = whole[node, token] if allowed[node, feature] else np.zeros(2, np.int64)
            assert np.array_equal(sums[node, token], expected)
