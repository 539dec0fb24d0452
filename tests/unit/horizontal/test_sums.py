"""The layout of sums in a vector: packed, added up, and unpacked they are the sums of the pooled rows."""

import numpy as np
import pytest

from vfxgb.horizontal.sums import NodeSums

N_BINS = np.array([2, 5, 1, 3], dtype=np.int32)
HAS_MISSING = np.array([False, True, False, True])


def some_sums(rng: np.random.Generator, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Histograms and totals that go together: without missing values a feature's bins add up to the total."""
    sums = rng.integers(-(2**50), 2**50, size=(n_nodes, int(N_BINS.sum()), 2))
    totals = rng.integers(-(2**50), 2**50, size=(n_nodes, 2))
    ends = np.cumsum(N_BINS)
    for feature, end in enumerate(ends):
        if not HAS_MISSING[feature]:
            begin = end - N_BINS[feature]
            sums[:, end - 1] = totals - sums[:, begin : end - 1].sum(axis=1)
    return sums, totals


def packed(layout: NodeSums, sums: np.ndarray, totals: np.ndarray, allowed: np.ndarray | None) -> np.ndarray:
    vector = np.zeros(layout.entries(len(totals), allowed), np.int64)
    layout.pack(sums, totals, allowed, vector)
    return vector


@pytest.mark.parametrize("n_nodes", [1, 3])
def test_what_is_packed_comes_back(n_nodes: int) -> None:
    sums, totals = some_sums(np.random.default_rng(1), n_nodes)
    layout = NodeSums(N_BINS, HAS_MISSING)
    # Totals; one bin less for features without missing values.
    assert layout.entries(n_nodes, None) == 2 * n_nodes * (1 + 1 + 5 + 0 + 3)
    vector = packed(layout, sums, totals, None)
    found, found_totals = layout.unpack(vector, n_nodes, None)
    assert np.array_equal(found, sums)
    assert np.array_equal(found_totals, totals)


def test_features_that_may_not_be_used_do_not_travel() -> None:
    sums, totals = some_sums(np.random.default_rng(2), 2)
    allowed = np.array([[True, False, True, True], [False, True, False, False]])
    layout = NodeSums(N_BINS, HAS_MISSING)
    assert layout.entries(2, allowed) == 2 * (2 + (1 + 0 + 3) + 5)
    vector = packed(layout, sums, totals, allowed)
    found, _ = layout.unpack(vector, 2, allowed)
    ends = np.cumsum(N_BINS)
    for node in range(2):
        for feature, end in enumerate(ends):
            part = slice(end - N_BINS[feature], end)
            if allowed[node, feature]:
                assert np.array_equal(found[node, part], sums[node, part])
            else:
                # No row left of any cut: no split.
                assert not found[node, part][:-1].any()


def test_no_features_at_all() -> None:
    layout = NodeSums(np.zeros(0, np.int32), np.zeros(0, np.bool_))
    vector = packed(layout, np.zeros((1, 0, 2), np.int64), np.array([[3, 4]]), None)
    found, totals = layout.unpack(vector, 1, None)
    assert found.shape == (1, 0, 2)
    assert totals.tolist() == [[3, 4]]
