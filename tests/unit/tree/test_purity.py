"""What the leaves of the first tree say about labels: the formula against the labels themselves."""

import numpy as np
import pytest

from simulated_runs import fit_tables
from vfxgb.data.table import Table
from vfxgb.model.shares import TreeShape
from vfxgb.params import TrainParams
from vfxgb.runtime.ledger import LeafPurity
from vfxgb.train.simulate import FitResult
from vfxgb.tree.purity import known_leaves, known_purity, positive_share

N, DEPTH = 400, 4


def train(n_parties: int = 3, **params) -> tuple[FitResult, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 6)).astype(np.float32)
    y = (X[:, 0] + X[:, 2] - X[:, 4] + 0.7 * rng.normal(size=N) > 0.4).astype(np.float64)
    parts = np.array_split(np.arange(6), n_parties)
    tables = {
        f"p{i}": Table.read(X[:, part], names=[f"f{j}" for j in part], party=f"p{i}") for i, part in enumerate(parts)
    }
    settings = {
        "objective": "binary:logistic",
        "n_estimators": 1,
        "max_depth": DEPTH,
        "gamma": 3.0,
        "n_jobs": 1,
    } | params
    return fit_tables(tables, "p0", y, None, N, TrainParams(**settings)), X, y


def leaf_of_rows(result: FitResult, X: np.ndarray) -> np.ndarray:
    from vfxgb.model.pooled import PooledModel

    return PooledModel(result.active_share, result.passive_shares).leaves(X)[:, 0]


def true_purity(leaves: np.ndarray, y: np.ndarray, known: np.ndarray) -> tuple[int, float]:
    """Rows in known leaves, and their mean purity, counted."""
    rows, pure = 0, 0.0
    for leaf in np.unique(leaves):
        if known[leaf]:
            labels = y[leaves == leaf]
            rows += len(labels)
            pure += max(labels.sum(), (1 - labels).sum())
    return rows, pure / rows


@pytest.mark.parametrize(
    "params",
    [{}, {"learning_rate": 0.05}, {"reg_lambda": 7.0}, {"reg_alpha": 2.0}, {"base_score": 0.2}, {"max_depth": 6}],
)
def test_the_ledger_tells_the_truth(params) -> None:
    result, X, y = train(**params)
    tree = result.active_share.trees[0]
    leaves = leaf_of_rows(result, X)
    assert set(result.ledger.purity) == {"p1", "p2"}
    for place, party in ((1, "p1"), (2, "p2")):
        known = known_leaves(tree, place, params.get("max_depth", DEPTH))
        rows, purity = true_purity(leaves, y, known)
        found = result.ledger.purity[party]
        assert (found.rows, found.total) == (rows, N)
        assert found.purity == pytest.approx(purity, abs=1e-5)
        assert f"{party} knows the rows of first-tree leaves with {rows:,} of {N:,}" in result.ledger.text()


def test_weights_count_by_weight() -> None:
    """Two rows of weight 3, one of them positive, and two of weight 1, both negative: three eighths are positive."""
    rate, reg_lambda = 0.3, 1.0
    weights, labels = np.array([3.0, 3.0, 1.0, 1.0]), np.array([1.0, 0.0, 0.0, 0.0])
    G, H = (weights * (rate - labels)).sum(), weights.sum() * rate * (1 - rate)
    theta = positive_share(np.array([-G / (H + reg_lambda)]), np.array([weights.sum()]), rate, reg_lambda)
    assert theta[0] == pytest.approx(3 / 8)


def test_who_knows_which_leaf() -> None:
    """Depth 2: the root is p0's, its left child p1's, its right child a leaf; p1's children are the last."""
    tree = TreeShape(
        party=np.array([0, 1, -1, -1, -1], dtype=np.int16),
        record=np.array([0, 0, -1, -1, -1], dtype=np.int32),
        left=np.array([1, 3, -1, -1, -1], dtype=np.int32),
        right=np.array([2, 4, -1, -1, -1], dtype=np.int32),
        parent=np.array([-1, 0, 0, 1, 1], dtype=np.int32),
        value=np.zeros(5),
        gain=np.zeros(5),
        cover=np.full(5, 2.0),
    )
    assert known_leaves(tree, 1, 2).tolist() == [False, False, True, True, True]
    assert known_leaves(tree, 2, 2).tolist() == [False, False, True, False, False]
    # Not the last level: all have heard of p1's split.
    assert known_leaves(tree, 2, 3).tolist() == [False, False, True, True, True]


def test_no_leaf_known() -> None:
    tree = TreeShape(
        party=np.array([-1], dtype=np.int16),
        record=np.array([-1], dtype=np.int32),
        left=np.array([-1], dtype=np.int32),
        right=np.array([-1], dtype=np.int32),
        parent=np.array([-1], dtype=np.int32),
        value=np.zeros(1),
        gain=np.zeros(1),
        cover=np.ones(1),
    )
    rows = np.array([9])
    assert known_purity(tree, rows, np.array([False]), 0.3, 0.1, 1.0) == LeafPurity(0, 9, None)
    assert known_purity(tree, rows, np.array([True]), 0.3, 0.1, 1.0) == LeafPurity(9, 9, 0.7)


def test_reduced_leakage_shows_no_leaf() -> None:
    result, _, _ = train(reduced_leakage=True, n_estimators=2)
    assert result.ledger.purity["p1"] == LeafPurity(0, N, None)
    assert "p1 knows the rows of no leaf of the first tree" in result.ledger.text()


def test_other_objectives_have_no_purity() -> None:
    result, _, _ = train(objective="reg:squarederror")
    assert result.ledger.purity == {}
