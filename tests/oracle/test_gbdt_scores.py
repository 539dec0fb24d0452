"""Split scores against naive numpy formulas, and one tree per case against XGBoost's own, gain for gain."""

import json
from dataclasses import dataclass, field

import numpy as np
import pytest
import xgboost
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from property_tests import examples
from vfxgb import _native

SEEDS = st.integers(0, 2**32 - 1)
RULES = st.fixed_dictionaries(
    {
        "reg_lambda": st.sampled_from([0.0, 0.1, 1.0, 5.0]),
        "reg_alpha": st.sampled_from([0.0, 0.3]),
        "min_child_weight": st.sampled_from([0.0, 1.0, 5.0]),
        "max_delta_step": st.sampled_from([0.0, 0.2]),
    }
)
NO_BOUND = float(np.finfo(np.float32).max)


def int32(values: object) -> NDArray[np.int32]:
    return np.asarray(values, dtype=np.int32)


class NaiveRule:
    """The formulas of cpp/gbdt/score.h, one number at a time; `kind` is the type XGBoost keeps results in."""

    def __init__(self, kind: type[np.floating], scale: float, rule: dict[str, float]) -> None:
        self.kind, self.scale = kind, scale
        self.lam, self.alpha, self.least, self.step = (
            kind(rule[name]) for name in ("reg_lambda", "reg_alpha", "min_child_weight", "max_delta_step")
        )

    def sums(self, pair: NDArray[np.int64]) -> tuple[float, float]:
        return float(pair[0]) * self.scale, float(pair[1]) * self.scale

    def threshold(self, g: float) -> float:
        alpha = float(self.alpha)
        return g - alpha if g > alpha else g + alpha if g < -alpha else 0.0

    def enough(self, h: float) -> bool:
        return h > 0 and h >= self.least

    def weight(self, g: float, h: float, bounds: NDArray[np.float64] | None) -> np.floating:
        w = -self.threshold(g) / (h + float(self.lam)) if self.enough(h) else 0.0
        if self.step > 0:
            w = min(max(w, -float(self.step)), float(self.step))
        rounded = self.kind(w)
        return rounded if bounds is None else min(max(rounded, self.kind(bounds[0])), self.kind(bounds[1]))

    def gain(self, g: float, h: float, bounds: NDArray[np.float64] | None) -> np.floating:
        if h <= 0:
            return self.kind(0)
        if bounds is None and self.step == 0:
            return self.kind(self.threshold(g) ** 2) / self.kind(h + float(self.lam))
        w = self.weight(g, h, bounds)
        return -(self.kind(2) * self.kind(g) * w + (self.kind(h) + self.lam) * (w * w))

    def change(self, left, right, total, direction: int, bounds: NDArray[np.float64] | None) -> float:
        if not (self.enough(left[1]) and self.enough(right[1])):
            return -np.inf
        slope = self.weight(*right, bounds) - self.weight(*left, bounds)
        if direction * slope < 0:
            return -np.inf
        return float(self.gain(*left, bounds) + self.gain(*right, bounds) - self.gain(*total, bounds))


def naive_score(rule, left, totals, allowed, constraint, bounds):
    answers = []
    for k in range(len(totals)):
        limits = None if bounds is None else bounds[k]
        gains = np.array(
            [
                rule.change(
                    rule.sums(left[k, j]),
                    rule.sums(totals[k] - left[k, j]),
                    rule.sums(totals[k]),
                    0 if constraint is None else int(constraint[j]),
                    limits,
                )
                if allowed is None or allowed[k, j]
                else -np.inf
                for j in range(left.shape[1])
            ]
        )
        best = max(gains.max(initial=0.0), 0.0)
        answers.append((best, np.flatnonzero(gains == best).tolist() if best > 0 else []))
    return answers


@given(
    seed=SEEDS,
    rule=RULES,
    float32=st.booleans(),
    masked=st.booleans(),
    monotone=st.booleans(),
    threads=st.sampled_from([1, 2, 5]),
)
@examples(100)
def test_score_is_the_naive_one(seed, rule, float32, masked, monotone, threads) -> None:
    rng = np.random.default_rng(seed)
    m, c = int(rng.integers(4)), int(rng.integers(30))
    # Few distinct small sums: ties, empty children and negative hessians all happen.
    left = rng.integers(-3, 6, size=(m, c, 2), dtype=np.int64)
    totals = rng.integers(-3, 9, size=(m, 2), dtype=np.int64)
    allowed = rng.random((m, c)) < 0.7 if masked else None
    constraint = rng.integers(-1, 2, size=c).astype(np.int8) if monotone else None
    bounds = np.sort(rng.normal(size=(m, 2)), axis=1) if monotone else None
    kind = np.float32 if float32 else np.float64
    native = _native.gbdt.SplitRule(0.25, **rule, float32=float32)
    naive = NaiveRule(kind, 0.25, rule)
    gain, start, tied = native.score(left, totals, allowed, constraint, bounds, threads)
    expected = naive_score(naive, left, totals, allowed, constraint, bounds)
    assert start[0] == 0
    for k, (best, who) in enumerate(expected):
        assert gain[k] == best
        assert tied[start[k] : start[k + 1]].tolist() == who
    limits = [None] * m if bounds is None else bounds
    weights = [float(naive.weight(*naive.sums(t), b)) for t, b in zip(totals, limits, strict=True)]
    assert native.weights(totals, bounds).tolist() == weights


@given(seed=SEEDS, masked=st.booleans(), monotone=st.booleans())
def test_score_to_first_order_is_the_naive_one(seed, masked, monotone) -> None:
    rng = np.random.default_rng(seed)
    m, c = int(rng.integers(4)), int(rng.integers(30))
    left = rng.integers(-3, 6, size=(m, c, 2), dtype=np.int64)
    totals = rng.integers(-3, 9, size=(m, 2), dtype=np.int64)
    allowed = rng.random((m, c)) < 0.7 if masked else np.ones((m, c), dtype=np.bool_)
    constraint = rng.integers(-1, 2, size=c).astype(np.int8) if monotone else None
    bounds = np.sort(rng.normal(size=(m, 2)), axis=1) if monotone else None
    rule = _native.gbdt.SplitRule(0.25, reg_lambda=2.0, min_child_weight=5.0, first_order=True)
    gain, start, tied = rule.score(left, totals, allowed, constraint, bounds)
    for k in range(m):
        one, other = left[k, :, 0] * 0.25, (totals[k, 0] - left[k, :, 0]) * 0.25
        # A rising feature's left weight, -G / lambda, is at most its right one.
        direction = np.zeros(c) if constraint is None else constraint
        gains = np.where(allowed[k] & (direction * (one - other) >= 0), -2 * one * other / 2.0, 0.0)
        best = gains.max(initial=0.0)
        assert gain[k] == best
        assert tied[start[k] : start[k + 1]].tolist() == (np.flatnonzero(gains == best).tolist() if best > 0 else [])


def test_first_order_known_answer() -> None:
    """ERRATA's known answer 1: g = (-.5, -.5, .5, .5), lambda 1, split 2 | 2: -G_L G_R / lambda = 1, half of ours."""
    rule = _native.gbdt.SplitRule(0.5, reg_lambda=1.0, first_order=True)
    gain, _, tied = rule.score(np.array([[[-2, 0]]]), np.array([[0, 0]]))
    assert (gain.tolist(), tied.tolist()) == ([2.0], [0])
    with pytest.raises(ValueError, match="reg_lambda"):
        _native.gbdt.SplitRule(1.0, reg_lambda=0.0, first_order=True)


@given(seed=SEEDS, rule=RULES, float32=st.booleans())
def test_the_order_of_candidates_does_not_matter(seed, rule, float32) -> None:
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 2**44, size=(3, 50, 2), dtype=np.int64)
    totals = left.max(axis=1) + rng.integers(0, 2**44, size=(3, 2), dtype=np.int64)
    order = rng.permutation(50)
    native = _native.gbdt.SplitRule(2.0**-40, **rule, float32=float32)
    gain, start, tied = native.score(left, totals)
    moved = native.score(np.ascontiguousarray(left[:, order]), totals)
    assert (gain == moved[0]).all()
    for k in range(3):
        assert set(tied[start[k] : start[k + 1]]) == set(order[moved[2][moved[1][k] : moved[1][k + 1]]])


@dataclass
class Node:
    """A node of a tree being grown."""

    total: NDArray[np.int64]
    bounds: tuple[float, float] = (-NO_BOUND, NO_BOUND)
    split: tuple[int, float, bool, float] | None = None
    children: list[int] = field(default_factory=list)
    weight: float = 0.0


@dataclass
class Problem:
    """Random rows with gradients, and XGBoost's tree for them."""

    X: NDArray[np.float32]
    g: NDArray[np.float32]
    h: NDArray[np.float32]
    rule: dict[str, float]
    gamma: float
    depth: int
    max_bin: int
    monotone: NDArray[np.int8] | None

    def xgboost_tree(self) -> tuple[dict[str, list[float]], list[NDArray[np.float64]]]:
        """Cuts come with XGBoost's lowest value in front: below every row, so it only splits off missing values."""
        table = xgboost.QuantileDMatrix(self.X, np.zeros(len(self.X)), max_bin=self.max_bin)
        start, values = table.get_quantile_cut()
        cuts = [np.unique(values[start[f] : start[f + 1]]).astype(np.float64) for f in range(self.X.shape[1])]
        params = {**self.rule, "gamma": self.gamma, "max_depth": self.depth, "max_bin": self.max_bin}
        params |= {"tree_method": "hist", "base_score": 0, "learning_rate": 1.0, "nthread": 2}
        if self.monotone is not None:
            params["monotone_constraints"] = tuple(self.monotone.tolist())
        booster = xgboost.Booster(params, [table])
        booster.boost(table, 0, grad=self.g, hess=self.h)
        model = json.loads(booster.save_raw("json"))
        return model["learner"]["gradient_booster"]["model"]["trees"][0], cuts


class Grower:
    """A depth-wise tree out of the kernels alone."""

    def __init__(self, problem: Problem, cuts: list[NDArray[np.float64]]) -> None:
        self.p, self.cuts = problem, cuts
        n, features = problem.X.shape
        self.bins = _native.gbdt.Bins(n, cuts)
        self.missing = np.array([self.bins.fill(f, problem.X[:, f]) > 0 for f in range(features)])
        self.partition = _native.gbdt.RowPartition(n)
        gh = np.stack([problem.g, problem.h], axis=1).astype(np.float64) * 2.0**40
        self.gh = np.rint(gh).astype(np.int64)
        self.rule = _native.gbdt.SplitRule(2.0**-40, **problem.rule)
        self.feature, self.cut, self.default_left = _native.gbdt.candidates(self.bins.n_bins, self.missing)
        self.constraint = None if problem.monotone is None else problem.monotone[self.feature]
        self.nodes = [Node(_native.gbdt.node_sums(self.partition, int32([0]), self.gh)[0])]
        level = [0]
        for _ in range(problem.depth):
            level = self.grow(level) if level else []
        for node in self.nodes:
            bounds = None if self.constraint is None else np.array([node.bounds])
            node.weight = float(self.rule.weights(node.total[None], bounds)[0])

    def grow(self, level: list[int]) -> list[int]:
        totals = np.array([self.nodes[i].total for i in level])
        hist = _native.gbdt.histogram(self.bins, self.partition, int32(level), self.gh, threads=2)
        left = _native.gbdt.left_sums(hist, totals, self.bins.n_bins, self.missing)
        bounds = None if self.constraint is None else np.array([self.nodes[i].bounds for i in level])
        gain, start, tied = self.rule.score(left, totals, None, self.constraint, bounds)
        chosen = {i: int(tied[start[k]]) for k, i in enumerate(level) if gain[k] > 1e-6 and gain[k] >= self.p.gamma}
        for k, i in enumerate(level):
            if i in chosen:
                self.add_children(i, chosen[i], left[k, chosen[i]], float(gain[k]))
        split, winners = int32(list(chosen)), list(chosen.values())
        bits = _native.gbdt.left_bits(
            self.bins, self.partition, split, self.feature[winners], self.cut[winners], self.default_left[winners]
        )
        children = int32([self.nodes[i].children for i in chosen]).reshape(-1, 2)
        self.partition.split(split, children[:, 0].copy(), children[:, 1].copy(), bits)
        return children.ravel().tolist()

    def add_children(self, i: int, candidate: int, left: NDArray[np.int64], gain: float) -> None:
        node = self.nodes[i]
        f = int(self.feature[candidate])
        node.split = (f, float(self.cuts[f][self.cut[candidate]]), bool(self.default_left[candidate]), gain)
        node.children = [len(self.nodes), len(self.nodes) + 1]
        sums = np.array([left, node.total - left])
        below, above = node.bounds, node.bounds
        if self.constraint is not None:
            weights = self.rule.weights(sums, np.array([node.bounds] * 2)).astype(np.float32)
            middle = float((weights[0] + weights[1]) / np.float32(2))
            low, high = (node.bounds[0], middle), (middle, node.bounds[1])
            direction = int(self.constraint[candidate])
            below, above = (low, high) if direction > 0 else (high, low) if direction < 0 else (below, above)
        self.nodes += [Node(sums[0], below), Node(sums[1], above)]


def random_problem(rng: np.random.Generator, rule: dict[str, float], monotone: bool) -> Problem:
    n, features = int(rng.integers(20, 2000)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, features)).astype(np.float32)
    if rng.random() < 0.5:
        X = np.round(X * 3)
    g = ((rng.normal(size=n) + X[:, 0]) / 16).astype(np.float32)
    h = rng.random(n).astype(np.float32) if rng.random() < 0.7 else np.ones(n, dtype=np.float32)
    if rng.random() < 0.6:
        X[1:][rng.random((n - 1, features)) < rng.random() / 2] = np.nan
    directions = rng.integers(-1, 2, size=features).astype(np.int8)
    directions[0] = rng.choice([-1, 1])
    return Problem(
        X=X,
        g=g,
        h=h,
        rule=rule,
        gamma=float(rng.choice([0.0, 0.05])),
        depth=int(rng.integers(1, 7)),
        max_bin=int(rng.choice([3, 8, 32, 300])),
        monotone=directions if monotone else None,
    )


@given(seed=SEEDS, rule=RULES, monotone=st.booleans())
@examples(60)
def test_trees_are_those_of_xgboost(seed, rule, monotone) -> None:
    """Splits, default directions and float32 loss changes equal to the last bit (XGBoost 3.2); weights to 1e-6."""
    problem = random_problem(np.random.default_rng(seed), rule, monotone)
    theirs, cuts = problem.xgboost_tree()
    ours = Grower(problem, cuts).nodes
    pairs = [(0, 0)]
    for i, j in pairs:
        node = ours[i]
        if node.split is None:
            assert theirs["left_children"][j] == -1
            assert node.weight == pytest.approx(theirs["base_weights"][j], rel=1e-6, abs=1e-7)
            continue
        found = (
            theirs["split_indices"][j],
            np.float32(theirs["split_conditions"][j]),
            bool(theirs["default_left"][j]),
            np.float32(theirs["loss_changes"][j]),
        )
        assert node.split == found
        pairs += zip(node.children, (theirs["left_children"][j], theirs["right_children"][j]), strict=True)
