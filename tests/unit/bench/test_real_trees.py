"""Benchmarks refuse to time trees without splits."""

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from vfxgb import VFXGBClassifier
from vfxgb.bench.real_trees import assert_real_booster, assert_real_predictions, assert_real_trees, splits_by_party
from vfxgb.errors import BenchmarkError

xgboost = pytest.importorskip("xgboost")


def table() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)).astype(np.float32)
    return X, (X[:, 0] + X[:, 2] > 0).astype(int)


def share(**settings: Any) -> Any:
    parties = {"bank": [0, 1], "shop": [2, 3]}
    given = {"n_estimators": 2, "max_depth": 2, "n_jobs": 1, **settings}
    return VFXGBClassifier(parties=parties, protocol="plain", **given).fit(*table()).model_.active_share


def test_trees_of_parties() -> None:
    good = share()
    assert_real_trees(good, "plain")
    assert [sum(tree.values()) for tree in splits_by_party(good.trees, good.parties)] == [3, 3]
    with pytest.raises(BenchmarkError, match=r"plain: found 2 of 2 trees without a split, first \[0\], wanted none"):
        assert_real_trees(share(gamma=1e9), "plain")
    idle = [msgspec.structs.replace(tree, party=np.minimum(tree.party, 0).astype(np.int16)) for tree in good.trees]
    with pytest.raises(BenchmarkError, match="found no split of shop in 2 trees, wanted at least one"):
        assert_real_trees(replace(good, trees=tuple(idle)), "plain")
    with pytest.raises(BenchmarkError, match="0 of 0 trees"):
        assert_real_trees(replace(good, trees=()), "plain")


def test_trees_of_xgboost() -> None:
    data = xgboost.DMatrix(*table())
    assert_real_booster(xgboost.train({"max_depth": 2}, data, 2), "xgboost")
    with pytest.raises(BenchmarkError, match="2 of 2 trees without a split"):
        assert_real_booster(xgboost.train({"gamma": 1e9}, data, 2), "xgboost")


def test_predictions_of_others() -> None:
    assert_real_predictions([0.1, 0.2], "FedTree")
    with pytest.raises(BenchmarkError, match="FedTree: found 1 distinct predictions"):
        assert_real_predictions([0.1, 0.1], "FedTree")
