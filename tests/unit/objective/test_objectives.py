"""Objectives: labels they refuse, custom losses, the scale of fixed point. Gradients have an oracle of their own."""

from typing import Any

import numpy as np
import pytest

from vfxgb.errors import GradientError, LabelError
from vfxgb.objective import make_objective
from vfxgb.params import TrainParams

KINDS: dict[str, dict[str, Any]] = {
    "binary:logistic": {},
    "multi:softprob": {"num_class": 3},
    "reg:squarederror": {},
    "count:poisson": {},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_labels_that_are_not_finite(kind: str, bad: float) -> None:
    objective = make_objective(TrainParams(objective=kind, **KINDS[kind]))
    with pytest.raises(LabelError, match="party 'bank': row 1 "):
        objective.check_labels(np.array([0.0, bad, 1.0]), "bank")


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        ("binary:logistic", 2),
        ("binary:logistic", -1),
        ("multi:softprob", 3),
        ("multi:softprob", 0.5),
        ("count:poisson", -1),
    ],
)
def test_labels_out_of_range(kind: str, bad: float) -> None:
    objective = make_objective(TrainParams(objective=kind, **KINDS[kind]))
    with pytest.raises(LabelError, match="row 2 has label"):
        objective.check_labels(np.array([0, 1, bad]))


def test_labels_that_are_text() -> None:
    with pytest.raises(LabelError, match="not numbers"):
        make_objective(TrainParams()).check_labels(np.array(["a", "b"]))


@pytest.mark.parametrize("kind", KINDS)
def test_zero_weight_rows_have_no_gradient_and_scale_is_a_power_of_two(kind: str) -> None:
    objective = make_objective(TrainParams(objective=kind, **KINDS[kind]))
    rng = np.random.default_rng(0)
    labels = objective.check_labels(rng.integers(0, 2, 50))
    weights = np.where(np.arange(50) % 2, 7.0, 0.0).astype(np.float32)
    g, h = objective.gradients(rng.normal(size=(50, objective.n_outputs)), labels, weights)
    assert g.shape == h.shape == (50, objective.n_outputs)
    assert (g == g.astype(np.float32)).all()
    assert not g[::2].any()
    assert (h[::2] <= np.float32(1e-16)).all()
    scale = objective.gradient_scale(g, h)
    assert np.log2(scale).is_integer()
    assert scale / 2 < max(1.0, np.abs(g).max(), h.max() * 2**objective.hessian_shift) <= scale


@pytest.mark.parametrize(
    ("kind", "shift"), [("binary:logistic", 2), ("multi:softprob", 1), ("reg:squarederror", 0), ("count:poisson", 0)]
)
def test_hessians_are_smaller_than_the_scale_by_what_the_loss_says(kind: str, shift: int) -> None:
    """However rows are weighted, and however small gradients have become."""
    chosen = {"scale_pos_weight": 30.0} if kind == "binary:logistic" else {}
    objective = make_objective(TrainParams(objective=kind, **KINDS[kind], **chosen))
    assert objective.hessian_shift == shift
    rng = np.random.default_rng(1)
    labels = objective.check_labels(rng.integers(0, 2, 200))
    for spread, heavy in ((0.0, 1.0), (3.0, 1.0), (1.0, 100.0), (8.0, 1e5)):
        weights = np.where(rng.random(200) < 0.1, heavy, 1.0).astype(np.float32)
        # Margins that are right, so that |g| is as small as h.
        sides = (2 * labels - 1)[:, None] * np.where(np.arange(objective.n_outputs) == 0, 1, -1)
        g, h = objective.gradients(spread * sides, labels, weights)
        scale = objective.gradient_scale(g, h)
        assert h.max() * 2**shift <= scale
        assert np.abs(g).max() <= scale


@pytest.mark.parametrize("kind", ["binary:logistic", "multi:softprob"])
def test_scale_is_one_without_weights(kind: str) -> None:
    objective = make_objective(TrainParams(objective=kind, **KINDS[kind]))
    margins = np.random.default_rng(0).normal(scale=30, size=(100, objective.n_outputs))
    g, h = objective.gradients(margins, np.zeros(100, dtype=np.float32))
    assert objective.gradient_scale(g, h) == 1.0
    assert np.isfinite(g).all()
    assert (h > 0).all()


def test_extreme_margins_do_not_overflow() -> None:
    objective = make_objective(TrainParams(objective="binary:logistic"))
    g, h = objective.gradients(np.array([[-500.0], [500.0]]), np.array([0, 1], dtype=np.float32))
    assert np.abs(g).max() < 1e-6
    assert (h > 0).all()
    assert objective.transform(np.array([[-1000.0], [1000.0]])).tolist() == pytest.approx([0, 1])


def test_poisson_refuses_rates_beyond_float32_and_only_zeros() -> None:
    objective = make_objective(TrainParams(objective="count:poisson"))
    with pytest.raises(GradientError, match="margin 90"):
        objective.gradients(np.array([[90.0]]), np.zeros(1, dtype=np.float32))
    with pytest.raises(LabelError, match="every label is 0"):
        objective.start_from(objective.start_sums(np.zeros(5, dtype=np.float32)))


def custom(result: Any, outputs: int = 1) -> Any:
    return make_objective(TrainParams(objective=lambda y, m, sample_weight=None: result, num_class=outputs))


def test_custom_objective_of_several_outputs() -> None:
    g, h = custom((np.ones((4, 2)), np.full((4, 2), 0.5)), 2).gradients(np.zeros((4, 2)), np.zeros(4, dtype=np.float32))
    assert g.shape == (4, 2)
    assert h.dtype == np.float32


@pytest.mark.parametrize(
    "result",
    [
        None,
        np.zeros(4),
        (np.zeros(3), np.zeros(4)),
        (np.zeros((4, 1)), np.ones(4)),
        (np.full(4, np.nan), np.ones(4)),
        (np.zeros(4), np.full(4, np.inf)),
        (np.zeros(4), -np.ones(4)),
    ],
)
def test_custom_objective_with_a_bad_result(result: Any) -> None:
    with pytest.raises(GradientError, match="the objective returned"):
        custom(result).gradients(np.zeros((4, 1)), np.zeros(4, dtype=np.float32))


def test_custom_objective_receives_weights() -> None:
    seen: dict[str, Any] = {}

    def loss(labels: Any, margins: Any, sample_weight: Any = None) -> Any:
        seen["weights"] = sample_weight
        return margins - labels, np.ones_like(margins)

    objective = make_objective(TrainParams(objective=loss))
    objective.gradients(np.zeros((2, 1)), np.zeros(2, dtype=np.float32), np.array([1, 2], dtype=np.float32))
    assert seen["weights"].tolist() == [1, 2]
