"""Features of categories against xgboost's hist with enable_categorical: the same trees, the same sets."""

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from vfxgb import VFXGBClassifier, VFXGBRegressor
from vfxgb.model.xgboost_json import xgboost_document

xgb = pytest.importorskip("xgboost")
pd = pytest.importorskip("pandas")

ROUNDS = 4
PARTIES = {"a": ["x", "c"], "b": ["d", "e"]}
CASES: dict[str, dict[str, Any]] = {
    "both-kinds": {},
    "one-hot": {"max_cat_to_onehot": 100},
    "sets-only": {"max_cat_to_onehot": 1},
    "few-tried": {"max_cat_threshold": 5},
    "regularised": {"reg_alpha": 0.5, "reg_lambda": 0.1, "min_child_weight": 3.0, "gamma": 0.5},
    "limited-steps": {"max_delta_step": 0.3},
}


def people(seed: int, missing: float, width: int = 8) -> tuple[Any, NDArray[np.int64]]:
    """A number, and features of `width`, 3 and 3 * width categories, the last of which no row has."""
    random = np.random.default_rng(seed)
    rows = 500
    codes = [random.integers(0, count, rows) for count in (width, 3, 3 * width)]
    effects = [random.normal(size=count) for count in (width, 3, 3 * width)]
    x = random.normal(size=rows)
    score = x + sum(effect[code] for effect, code in zip(effects, codes, strict=True)) + random.normal(size=rows)
    x[random.random(rows) < missing] = np.nan
    columns: dict[str, Any] = {"x": x}
    for name, code, count in zip("cde", codes, (width, 3, 3 * width), strict=True):
        code[random.random(rows) < missing] = -1
        columns[name] = pd.Categorical.from_codes(code, [f"{name}{i}" for i in range(count + 1)])
    return pd.DataFrame(columns), (score > 0).astype(np.int64)


def split_of(tree: dict[str, Any], node: int) -> Any:
    """Feature, cut or categories, and default direction; None for a leaf."""
    if tree["left_children"][node] < 0:
        return None
    way: Any = tree["split_conditions"][node]
    if tree["split_type"][node]:
        place = tree["categories_nodes"].index(node)
        first = tree["categories_segments"][place]
        way = sorted(tree["categories"][first : first + tree["categories_sizes"][place]])
    return tree["split_indices"][node], way, tree["default_left"][node]


def compare(theirs: dict[str, Any], ours: dict[str, Any], a: int = 0, b: int = 0) -> int:
    """Walk two trees together; returns how many splits by categories they have."""
    split = split_of(ours, b)
    assert split_of(theirs, a) == split, f"xgboost node {a}, vfxgb node {b}"
    if split is None:
        assert ours["split_conditions"][b] == pytest.approx(theirs["split_conditions"][a], abs=1e-5)
        return 0
    assert ours["loss_changes"][b] == pytest.approx(theirs["loss_changes"][a], rel=1e-4, abs=1e-3)
    below = sum(compare(theirs, ours, theirs[side][a], ours[side][b]) for side in ("left_children", "right_children"))
    return below + isinstance(split[1], list)


def trees_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    trees: list[dict[str, Any]] = document["learner"]["gradient_booster"]["model"]["trees"]
    return trees


@pytest.mark.parametrize("missing", [0.0, 0.1], ids=["complete", "missing"])
@pytest.mark.parametrize("name", CASES)
def test_trees_are_those_of_xgboost(name: str, missing: float) -> None:
    X, y = people(len(name), missing)
    data = xgb.QuantileDMatrix(X, y, enable_categorical=True)
    own = {"objective": "binary:logistic", "base_score": 0.5, "tree_method": "hist", "max_depth": 4}
    booster = xgb.train({**own, **CASES[name]}, data, ROUNDS)
    model = VFXGBClassifier(
        parties=PARTIES, protocol="plain", n_estimators=ROUNDS, max_depth=4, base_score=0.5, **CASES[name]
    )
    model.fit(X, y, cuts=data.get_quantile_cut())
    theirs = trees_of(json.loads(bytes(booster.save_raw("json"))))
    ours = trees_of(xgboost_document(model.model_.pooled))
    assert sum(compare(t, o) for t, o in zip(theirs, ours, strict=True)) > ROUNDS
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], booster.predict(data), atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_numbers_as_labels_and_thirty_categories(seed: int) -> None:
    X, labels = people(seed, 0.05, width=30)
    y = labels + np.round(np.random.default_rng(seed).normal(size=len(labels)) * 64) / 64
    data = xgb.QuantileDMatrix(X, y, enable_categorical=True)
    booster = xgb.train(
        {"tree_method": "hist", "max_depth": 5, "base_score": 0.5, "max_cat_threshold": 20}, data, ROUNDS
    )
    model = VFXGBRegressor(
        parties=PARTIES, protocol="plain", n_estimators=ROUNDS, max_depth=5, base_score=0.5, max_cat_threshold=20
    ).fit(X, y, cuts=data.get_quantile_cut())
    theirs = trees_of(json.loads(bytes(booster.save_raw("json"))))
    for t, o in zip(theirs, trees_of(xgboost_document(model.model_.pooled)), strict=True):
        compare(t, o)


def test_xgboost_reads_the_export_and_predicts_the_same(tmp_path: Any) -> None:
    X, y = people(5, 0.1)
    model = VFXGBClassifier(parties=PARTIES, protocol="plain", n_estimators=ROUNDS, max_depth=4).fit(X, y)
    model.export_xgboost(tmp_path / "model.json")
    booster = xgb.Booster(model_file=tmp_path / "model.json")
    predicted = booster.predict(xgb.DMatrix(X, enable_categorical=True))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], predicted, atol=1e-6)
    pooled = model.model_.pooled
    codes = np.column_stack([X["x"], *(X[name].cat.codes.where(X[name].notna()) for name in "cde")]).astype(np.float32)
    margins = pooled.margins(codes)[:, 0]
    np.testing.assert_allclose(1 / (1 + np.exp(-margins)), predicted, atol=1e-6)
