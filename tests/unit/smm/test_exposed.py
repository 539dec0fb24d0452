"""Rows that sums expose, against ranks of dense matrices, and the cuts that are withheld for them."""

from dataclasses import replace

import numpy as np
import pytest

from vfxgb import _native
from vfxgb.protocols.smm.cells import NodeMatrix
from vfxgb.protocols.smm.exposed import exposed_rows, withheld_cuts
from vfxgb.protocols.smm.kernel import dummy_features, shared_cuts


def node(rng: np.random.Generator) -> NodeMatrix:
    """A few coarse features with missing values, some cuts and missing cells of them not shown."""
    n, n_features = int(rng.integers(8, 60)), int(rng.integers(1, 5))
    widths = rng.integers(2, 9, n_features).astype(np.int32)
    bins = np.stack([rng.integers(0, width, n) for width in widths]).astype(np.uint16)
    missing = rng.random(n_features) < 0.4
    for feature in np.flatnonzero(missing):
        bins[feature, rng.random(n) < 0.15] = widths[feature]
    feature, cut, default_left = _native.gbdt.candidates(widths, missing)
    cuts_gone, cells_gone = rng.random((n_features, 9)) < 0.2, rng.random(n_features) < 0.2
    shown = ~cuts_gone[feature, cut] & ~(cells_gone[feature] & default_left)
    return NodeMatrix(bins, widths, feature, cut, default_left, shown, 1)


def naive(matrix: NodeMatrix) -> list[int]:
    """Row i is exposed if e_i adds nothing to the rank of M."""
    own = matrix.bins[matrix.feature]
    is_missing = own == matrix.n_bins[matrix.feature][:, None]
    columns = ((own <= matrix.bin[:, None]) | (is_missing & matrix.default_left[:, None])) & matrix.shown[:, None]
    rank = np.linalg.matrix_rank(columns.astype(float))
    units = np.eye(matrix.rows)
    return [i for i in range(matrix.rows) if np.linalg.matrix_rank(np.vstack([columns, units[i]])) == rank]


@pytest.mark.parametrize("seed", range(40))
def test_exposed_rows_and_what_hides_them(seed) -> None:
    rng = np.random.default_rng(seed)
    found = [node(rng) for _ in range(3)]
    for matrix in found:
        assert exposed_rows(matrix).tolist() == naive(matrix)
        withheld = withheld_cuts([matrix])
        assert naive(replace(matrix, shown=matrix.shown & ~withheld)) == []
        assert withheld.any() == bool(naive(matrix))
        assert not (withheld & ~matrix.shown).any()


def test_a_family_withholds_the_same_cuts() -> None:
    """Row 0 is exposed in the first node alone, by cells of two features that differ by it."""
    first = np.repeat([0, 0, 1, 1], 5).astype(np.uint16)
    second = first.copy()
    second[0] = 1
    widths = np.array([2, 2], dtype=np.int32)
    listed = _native.gbdt.candidates(widths, np.zeros(2, dtype=bool))
    shown = np.ones(2, dtype=bool)
    exposing = NodeMatrix(np.stack([first, second]), widths, *listed, shown, 1)
    hiding = NodeMatrix(np.stack([first, first]), widths, *listed, shown, 1)
    assert exposed_rows(exposing).tolist() == [0]
    assert exposed_rows(hiding).tolist() == []
    # The smaller of the two cells, that of the second feature, does not hold row 0.
    assert withheld_cuts([hiding, exposing]).tolist() == [True, False]
    assert withheld_cuts([hiding]).tolist() == [False, False]
    assert withheld_cuts([]).tolist() == []


def test_no_dummy_cell_holds_a_single_row() -> None:
    rng = np.random.default_rng(0)
    real = np.stack([rng.integers(0, 12, 40), np.append(0, np.ones(39, dtype=int))]).astype(np.uint16)
    bins, widths = dummy_features(real, np.array([12, 2], dtype=np.int32), 30, _native.rand.random_bytes)
    assert (widths - 1).sum() == 30
    for column, width in zip(bins, widths, strict=True):
        assert (np.bincount(column, minlength=int(width)) != 1).all()
    assert shared_cuts(np.array([1, 1, 0, 3, 1])).tolist() == [1]
    assert shared_cuts(np.array([5, 1])).tolist() == []
