"""Prediction over raw features against a walk in Python and against XGBoost."""

import json

import numpy as np
import xgboost
from hypothesis import given
from hypothesis import strategies as st

from vfxgb import _native


def naive_leaf(tree: dict[str, np.ndarray], row: np.ndarray) -> int:
    node = 0
    while tree["feature"][node] >= 0:
        x = row[tree["feature"][node]]
        left = tree["default_left"][node] if np.isnan(x) else x < tree["threshold"][node]
        node = int(tree["left" if left else "right"][node])
    return node


def random_tree(rng: np.random.Generator, n_features: int) -> dict[str, np.ndarray]:
    inner = int(rng.integers(8))
    size = 2 * inner + 1
    feature, left, right = (np.full(size, -1, dtype=np.int32) for _ in range(3))
    leaves, used = [0], 1
    for _ in range(inner):
        node = leaves.pop(int(rng.integers(len(leaves))))
        feature[node], left[node], right[node] = rng.integers(n_features), used, used + 1
        leaves += [used, used + 1]
        used += 2
    # A child drawn later has a higher number than its parent, whichever leaf was split.
    threshold = np.round(rng.normal(size=size), 1)
    default_left = rng.random(size) < 0.5
    return {"feature": feature, "left": left, "right": right, "threshold": threshold, "default_left": default_left}


@given(
    seed=st.integers(0, 2**32 - 1),
    n_trees=st.integers(0, 5),
    threads=st.sampled_from([1, 2, 5]),
    kind=st.sampled_from([np.float32, np.float64]),
    transposed=st.booleans(),
)
def test_leaves_and_margins(seed: int, n_trees: int, threads: int, kind: type, transposed: bool) -> None:
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, 3) for _ in range(n_trees)]
    X = np.round(rng.normal(size=(int(rng.integers(600)), 3)), 1).astype(kind)
    X[rng.random(X.shape) < 0.2] = np.nan
    if transposed:
        X = np.asfortranarray(X)
    start = np.cumsum([0, *(len(t["feature"]) for t in trees)], dtype=np.int64)
    empty = random_tree(rng, 3)
    joined = {k: np.concatenate([empty[k][:0], *(t[k] for t in trees)]) for k in empty}
    forest = _native.gbdt.Forest(start, **joined, n_features=3)
    assert forest.n_trees == n_trees
    first = int(rng.integers(n_trees + 1))
    expected = np.array([[naive_leaf(t, row) for t in trees[first:]] for row in X], dtype=np.int32)
    expected = expected.reshape(len(X), n_trees - first)
    assert (forest.leaves(X, first, threads=threads) == expected).all()
    values = rng.normal(size=int(start[-1]))
    group = rng.integers(2, size=n_trees).astype(np.int32)
    margins = np.zeros((len(X), 2))
    for t in range(first, n_trees):
        margins[:, group[t]] += values[start[t] + expected[:, t - first]]
    assert (forest.margins(X, values, group, 2, first, threads=threads) == margins).all()


def test_trees_of_xgboost() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1])
    table = xgboost.DMatrix(X, y)
    booster = xgboost.train({"max_depth": 5, "base_score": 0.0}, table, 10)
    trees = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"]
    start = np.cumsum([0, *(len(t["left_children"]) for t in trees)], dtype=np.int64)

    def joined(name: str, kind: type) -> np.ndarray:
        return np.concatenate([np.asarray(t[name]) for t in trees]).astype(kind)

    left = joined("left_children", np.int32)
    leaf = left < 0
    conditions = joined("split_conditions", np.float32).astype(np.float64)  # written with the digits of a float
    forest = _native.gbdt.Forest(
        start,
        np.where(leaf, -1, joined("split_indices", np.int32)).astype(np.int32),
        conditions,
        joined("default_left", np.bool_),
        left,
        joined("right_children", np.int32),
        4,
    )
    assert (forest.leaves(X) == booster.predict(table, pred_leaf=True)).all()
    margins = forest.margins(X, np.where(leaf, conditions, 0), np.zeros(10, dtype=np.int32), 1)
    np.testing.assert_allclose(margins[:, 0], booster.predict(table), rtol=1e-5, atol=1e-5)
