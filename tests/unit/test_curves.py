"""Curves of eval sets: right, thinned, weighted, and left out where they would say too much."""

import json

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

from vfxgb.curves import FEW_ROWS, LEAST_ROWS, MOST_GROUPS, MOST_POINTS, calibration, eval_curves, roc
from vfxgb.objective import make_objective
from vfxgb.params import TrainParams

RNG = np.random.default_rng(5)


def _scored(n, levels=None):
    margin = RNG.normal(size=n)
    if levels is not None:
        margin = np.round(margin * levels) / levels
    y = (RNG.random(n) < 1 / (1 + np.exp(-margin))).astype(np.float64)
    return y, 1 / (1 + np.exp(-margin)), margin.astype(np.float32)[:, None]


def _objective(**params):
    return make_objective(TrainParams.from_dict(params))


@pytest.mark.parametrize(("n", "levels"), [(60, None), (999, None), (20_000, None), (5000, 3)])
def test_points_of_a_roc_lie_on_the_whole_curve(n, levels):
    y, p, _ = _scored(n, levels)
    w = RNG.random(n) + 0.1
    found = roc(y, p, w)
    fpr, tpr, _ = sklearn_metrics.roc_curve(y, p, sample_weight=w, drop_intermediate=False)
    whole = np.stack([fpr, tpr], axis=1)
    points = np.stack([found["fpr"], found["tpr"]], axis=1)
    nearest = np.abs(points[:, None, :] - whole[None, :, :]).max(axis=2).min(axis=1)
    assert nearest.max() < 1e-5
    assert (points[0] == 0).all()
    assert (points[-1] == 1).all()
    assert (np.diff(points, axis=0) >= 0).all()
    assert found["auc"] == pytest.approx(sklearn_metrics.roc_auc_score(y, p, sample_weight=w))
    assert len(points) <= min(MOST_POINTS, n // FEW_ROWS) + 1


@pytest.mark.parametrize(("n", "levels"), [(60, None), (1005, None), (4000, 1)])
def test_no_group_of_few_rows(n, levels):
    """Without weights a point tells how many rows lie above it: never fewer than twenty more than the last one."""
    y, p, _ = _scored(n, levels)
    ones = np.ones(n)
    found = roc(y, p, ones)
    above = np.array(found["tpr"]) * y.sum() + np.array(found["fpr"]) * (1 - y).sum()
    assert np.diff(above).min() >= FEW_ROWS - 0.01
    groups = calibration(y, p, ones)
    assert min(groups["rows"]) >= FEW_ROWS
    assert sum(groups["rows"]) == n


def test_ties_before_a_group_do_not_make_it_small():
    p = np.array([0.1] * 5 + [0.2] * 200 + [0.3] * 5)
    y = np.arange(210) % 2.0
    assert calibration(y, p, np.ones(210))["rows"] == [210]
    assert roc(y, p, np.ones(210))["fpr"] == [0.0, 1.0]


def test_calibration_is_the_weighted_means_of_tenths():
    y, p, _ = _scored(1000)
    w = RNG.random(1000)
    found = calibration(y, p, w)
    order = np.argsort(p)
    assert found["rows"] == [100] * MOST_GROUPS
    for k, rows in enumerate(np.split(order, 10)):
        assert found["predicted"][k] == pytest.approx(np.average(p[rows], weights=w[rows]), rel=1e-5)
        assert found["observed"][k] == pytest.approx(np.average(y[rows], weights=w[rows]), rel=1e-5)


def test_what_each_objective_has():
    y, _, margins = _scored(300)
    evals = [("train", slice(0, 200)), ("valid", slice(200, 300)), ("few", slice(0, LEAST_ROWS - 1))]
    binary = eval_curves(_objective(objective="binary:logistic"), evals, margins, y, None)
    assert list(binary) == ["train", "valid"]
    assert set(binary["train"]) == {"roc", "calibration"}
    regression = eval_curves(_objective(objective="reg:squarederror"), evals, margins, y, None)
    assert set(regression["valid"]) == {"calibration"}
    classes = RNG.integers(0, 2, 300).astype(np.float32)
    scores = RNG.normal(size=(300, 3)).astype(np.float32)
    several = eval_curves(_objective(objective="multi:softprob", num_class=3), evals, scores, classes, None)
    assert list(several["train"]["classes"]) == ["0", "1", "2"]
    assert set(several["train"]["classes"]["0"]) == {"roc", "calibration"}
    # Nobody is of class 2: there is no ROC of it.
    assert set(several["train"]["classes"]["2"]) == {"calibration"}
    json.dumps([binary, regression, several], allow_nan=False)


def test_rows_without_weight_do_not_count():
    y, _, margins = _scored(200)
    objective = _objective(objective="binary:logistic")
    weights = np.ones(200, dtype=np.float32)
    weights[100:] = 0
    assert eval_curves(objective, [("all", slice(0, 200))], margins, y, weights) == eval_curves(
        objective, [("all", slice(0, 100))], margins, y, None
    )
    weights[LEAST_ROWS - 1 :] = 0
    assert eval_curves(objective, [("all", slice(0, 200))], margins, y, weights) == {}
