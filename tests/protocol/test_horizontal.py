"""Horizontal training over every aggregator: the model of pooled rows without drops, and what drops may change."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vfxgb import FedXGBClassifier, FedXGBRegressor, VFXGBClassifier, VFXGBRegressor
from vfxgb.errors import AggregationError, CohortError, ParameterError
from vfxgb.horizontal.dropout import Drop
from vfxgb.horizontal.messages import LevelTask
from vfxgb.horizontal.user import UserSettings, _held_out
from vfxgb.model.pooled import PooledModel
from vfxgb.objective import make_objective
from vfxgb.params import TrainParams
from vfxgb.secagg import aggregator_by_name, aggregator_names
from vfxgb.secagg.base import JOIN, MASK, SHARE, STAGES, UNMASK
from vfxgb.train.callbacks import TrainingCallback, TrainingState

N_ROWS, N_FEATURES, N_USERS = 240, 5, 7
RNG = np.random.default_rng(3)
X = np.round(RNG.normal(size=(N_ROWS, N_FEATURES)), 1).astype(np.float32)
X[:, 3] = X[:, 1]
SIGNAL = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=N_ROWS)
GAPS = X.copy()
GAPS[RNG.random(X.shape) < 0.15] = np.nan
# One user has a quarter of the rows, one has two.
USERS = np.concatenate([np.full(60, 0), np.full(2, 1), RNG.integers(2, N_USERS, N_ROWS - 62)])
WEIGHTS = RNG.uniform(0.2, 3.0, N_ROWS)
LABELS = {
    "binary": SIGNAL > 0,
    "classes": np.array(["low", "middle", "high"])[np.digitize(SIGNAL, (-0.7, 0.7))],
    "number": SIGNAL,
    "tiny": SIGNAL * 1e-4,
    "count": np.random.default_rng(4).poisson(np.exp(np.clip(SIGNAL, -2, 2))),
}
SMALL = {"n_estimators": 3, "max_depth": 3, "max_bin": 16, "n_jobs": 1}
CUTS = {f"f{i}": np.array([-0.75, 0.0, 0.75]) for i in range(N_FEATURES)}
# labels, settings, rows, weights
CASES: dict[str, tuple[str, dict[str, Any], np.ndarray, np.ndarray | None]] = {
    "binary": ("binary", {}, X, None),
    "missing": ("binary", {"max_depth": 4}, GAPS, None),
    "classes": ("classes", {}, GAPS, None),
    "regression": ("number", {"reg_alpha": 0.5, "gamma": 0.1}, X, None),
    "tiny labels": ("tiny", {}, X, WEIGHTS),
    "poisson": ("count", {"objective": "count:poisson"}, X, None),
    "weights": ("binary", {"base_score": 0.4}, GAPS, WEIGHTS),
    "positive weight": ("binary", {"scale_pos_weight": 2.5, "base_score": 0.4}, X, None),
    "monotone": ("number", {"monotone_constraints": (1, -1, 0, 1, -1)}, GAPS, None),
    "colsample bytree": ("classes", {"colsample_bytree": 0.5}, X, None),
    "colsample bylevel": ("number", {"colsample_bylevel": 0.5}, GAPS, None),
    "colsample bynode": ("classes", {"colsample_bynode": 0.5}, GAPS, None),
    "child weight": ("binary", {"min_child_weight": 4.0, "max_delta_step": 0.3}, X, None),
    "probabilistic": ("number", {"missing_strategy": "probabilistic"}, GAPS, None),
    "deep": ("number", {"max_depth": 8, "n_estimators": 1}, X, None),
    "stump": ("binary", {"max_depth": 1}, X, None),
}


def model_of(estimator: Any) -> dict[str, Any]:
    """Everything that makes two models the same model."""
    pooled: PooledModel = estimator.model_.pooled
    arrays = ("tree_start", "feature", "default_left", "left", "right", "parent", "value", "gain", "cover")
    found: dict[str, Any] = {name: getattr(pooled, name).tolist() for name in arrays}
    found["threshold"] = pooled.threshold[pooled.feature >= 0].tolist()
    found["base_margin"] = pooled.base_margin.tolist()
    found["evals"] = estimator.evals_result_
    return found


def fed(labels: str, aggregator: str = "plain", **settings: Any) -> Any:
    """An estimator for these labels."""
    kind = FedXGBClassifier if labels in ("binary", "classes") else FedXGBRegressor
    quick = dict(aggregator_by_name(aggregator).quick_params)
    # What one is prepared for is no part of these tests.
    quick |= {"prepared": 1 << 14} if "prepared" in aggregator_by_name(aggregator).params.__struct_fields__ else {}
    return kind(aggregator=aggregator, aggregator_params=quick, **(SMALL | settings))


def fitted(labels: str, aggregator: str = "plain", rows: np.ndarray = X, cuts: Any = None, **settings: Any) -> Any:
    """The estimator, trained. `cuts`: spare slow aggregators the search."""
    return fed(labels, aggregator, **settings).fit(rows, LABELS[labels], users=USERS, cuts=cuts)


@pytest.fixture(params=aggregator_names())
def aggregator(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[name for name in aggregator_names() if aggregator_by_name(name).survives_drops])
def robust(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("problem", CASES)
def test_equals_training_on_pooled_rows(problem: str) -> None:
    labels, settings, rows, weights = CASES[problem]
    y = LABELS[labels]
    valid = [(rows[:50], y[:50])]
    kind = VFXGBClassifier if labels in ("binary", "classes") else VFXGBRegressor
    pooled = kind(**(SMALL | settings)).fit(rows, y, sample_weight=weights, eval_set=valid)
    found = fed(labels, quantile_bits=32, **settings).fit(rows, y, users=USERS, sample_weight=weights, eval_set=valid)
    assert model_of(found) == model_of(pooled)
    assert np.array_equal(found.predict(rows), pooled.predict(rows))
    assert np.array_equal(found.apply(rows), pooled.apply(rows))


@pytest.mark.parametrize("labels", ["binary", "classes", "number"])
def test_any_aggregator_gives_the_same_model(aggregator: str, labels: str) -> None:
    settings = {"n_estimators": 2, "max_depth": 2, "max_bin": 4}
    cuts = None if labels == "binary" else CUTS
    plain, found = (fitted(labels, name, GAPS, cuts, **settings) for name in ("plain", aggregator))
    assert model_of(found) == model_of(plain)
    assert len(found.ledger_) > 0
    assert "in clear" not in found.ledger_.text() or aggregator == "plain"


def test_given_cuts_and_public_ranges() -> None:
    cuts = {f"f{i}": [-1.0, -0.25, 0.5, 1.5] for i in range(N_FEATURES)}
    y = LABELS["binary"]
    found = fed("binary").fit(X, y, users=USERS, cuts=cuts)
    assert model_of(found) == model_of(VFXGBClassifier(**SMALL).fit(X, y, cuts=cuts))
    # Cells of a tenth are the values themselves.
    ranges = dict.fromkeys(range(N_FEATURES), (-4.0, 4.0))
    found = fed("binary", fine_cells=81).fit(X, y, users=USERS, ranges=ranges)
    thresholds = found.model_.pooled.threshold
    pooled = VFXGBClassifier(**SMALL).fit(X, y)
    assert np.allclose(thresholds, pooled.model_.pooled.threshold, atol=1e-5, equal_nan=True)
    cells = [entry for entry in found.ledger_.entries if entry.message == "cells"]
    assert [(entry.messages, entry.amount) for entry in cells] == [(1, 81 * N_FEATURES)]


def test_known_answer_1() -> None:
    """g = (-.5, -.5, .5, .5), h = .25: gain 2/3 and leaves of +2/3 and -2/3 (ERRATA E1 and E2)."""
    column = np.array([[0.0], [0.0], [1.0], [1.0]], dtype=np.float32)
    clf = FedXGBClassifier(
        aggregator="plain",
        n_estimators=1,
        max_depth=1,
        learning_rate=1.0,
        min_child_weight=0.0,
        base_score=0.5,
    ).fit(column, [1, 1, 0, 0], users=[0, 1, 0, 1])
    tree = clf.model_.active_share.trees[0]
    # XGBoost's loss change leaves out the factor 1/2.
    assert tree.gain[0] / 2 == pytest.approx(2 / 3)
    assert tree.value[1:].tolist() == pytest.approx([2 / 3, -2 / 3])


def test_lists_of_users_and_ids_of_rows_are_the_same() -> None:
    parts = [(X[user == USERS], LABELS["classes"][user == USERS]) for user in range(N_USERS)]
    listed = fed("classes").fit(parts)
    assert model_of(listed) == model_of(fitted("classes"))
    named = fed("classes").fit(X, LABELS["classes"], users=np.array(list("abcdefg"))[USERS])
    assert model_of(named) == model_of(listed)
    assert named.users_.tolist() == list("abcdefg")


@pytest.mark.parametrize("stage", STAGES)
def test_a_user_away_all_along_is_as_if_it_had_no_rows(robust: str, stage: str) -> None:
    """It leaves at this stage of the first call; from UNMASK on its vector still counts in that one."""
    rest = USERS != 4
    y = LABELS["number"]
    settings = {"n_estimators": 1, "max_depth": 2, "base_score": 0.1}
    if STAGES.index(stage) > STAGES.index(MASK):
        # Its rows are counted already, and the others have to agree that they can be told apart from theirs.
        settings["hide_among"] = 1
    found = fitted("number", robust, cuts=CUTS, dropout=[Drop(4, -1, stage=stage, until=99)], **settings)
    without = fed("number", **settings).fit(X[rest], y[rest], users=USERS[rest], cuts=CUTS)
    assert model_of(found) == model_of(without)


def naive_round(
    there: Callable[[int, int], bool], g: np.ndarray, h: np.ndarray, cuts: np.ndarray, max_depth: int
) -> dict[int, tuple[Any, ...]]:
    """A tree by loops, level by level, each level from the rows of the users that are `there(depth, user)`.

    node -> (feature, cut, left child) or (weight,); children are numbered as they appear.
    """
    tree: dict[int, tuple[Any, ...]] = {}
    level = [(0, np.ones(len(g), bool))]
    count = 1
    for depth in range(max_depth):
        present = np.array([there(depth, user) for user in USERS])
        following = []
        for node, members in level:
            rows = members & present
            G, H = g[rows].sum(), h[rows].sum()
            tree[node] = (-G / (H + 1),)
            best = (1e-6, None)
            for feature in range(N_FEATURES):
                for cut in cuts:
                    left = rows & (X[:, feature] < cut)
                    a, b = h[left].sum(), H - h[left].sum()
                    if min(a, b) < 1:
                        continue
                    gl = g[left].sum()
                    gain = gl**2 / (a + 1) + (G - gl) ** 2 / (b + 1) - G**2 / (H + 1)
                    if gain > best[0] + 1e-9:
                        best = (gain, (feature, cut, left))
            if best[1] is None:
                continue
            feature, cut, left = best[1]
            tree[node] = (feature, cut, count)
            for side in (left, rows & ~left):
                tree[count] = (-g[side].sum() / (h[side].sum() + 1),)
                goes = X[:, feature] < cut
                following.append((count, members & (goes if side is left else ~goes)))
                count += 1
        level = following
    return tree


def test_levels_of_different_users_against_loops() -> None:
    """User 5 is away at depth 1, back at depth 2; user 0 leaves after its vector of depth 0 was added."""
    cuts = np.linspace(-2, 2, 9).astype(np.float32)
    away = {(1, 5), (1, 0), (2, 0), (3, 0)}

    def absent(round_index: int, depth: int, stage: str, user: int) -> bool:
        return round_index == 0 and (depth, user) in away and stage in STAGES

    y = LABELS["number"]
    settings = {"n_estimators": 1, "max_depth": 4, "learning_rate": 1.0, "base_score": 0.0, "hide_among": 1}
    found = fed("number", dropout=absent, **settings)
    found.fit(X, y, users=USERS, cuts={f"f{i}": cuts for i in range(N_FEATURES)})
    g, h = -y.astype(np.float32).astype(np.float64), np.ones(N_ROWS)
    naive = naive_round(lambda depth, user: (depth, user) not in away, g, h, cuts, 4)
    pooled = found.model_.pooled
    assert len(naive) == len(pooled.feature) > 9
    for node, expected in naive.items():
        if len(expected) == 1:
            assert pooled.feature[node] == -1
            assert pooled.value[node] == pytest.approx(expected[0], abs=1e-6)
        else:
            found_split = (pooled.feature[node], pooled.threshold[node], pooled.left[node])
            assert found_split == pytest.approx(expected)
    (levels,) = (entry for entry in found.ledger_.entries if entry.message == "level")
    # One call per level, and one more for siblings where users had changed: depths 1 and 2.
    assert levels.messages == 6
    # Users 0 and 5 leave, user 5 returns.
    assert "in 2 calls the users were others than in the call before, by as few as 1" in found.ledger_.text()


def test_siblings_are_subtracted_where_users_stay() -> None:
    """Half of the nodes of a level are asked for; with another user away at each level, all of them."""
    settings = {"max_depth": 4, "n_estimators": 1, "hide_among": 1}
    stays = fitted("number", **settings)
    changes = fitted("number", dropout=lambda r, d, _, user: r == 0 and user == d + 2, **settings)
    amounts = [
        next(entry.amount for entry in one.ledger_.entries if entry.message == "level") for one in (stays, changes)
    ]
    assert amounts[0] < 0.65 * amounts[1]


@pytest.mark.parametrize("labels", ["binary", "classes"])
def test_a_rate_of_drops_every_round(robust: str, labels: str) -> None:
    settings = {"n_estimators": 2, "max_depth": 3}
    found = fitted(labels, robust, GAPS, CUTS, dropout={"rate": 0.25, "every": 2}, random_state=4, **settings)
    steady = fitted(labels, "plain", GAPS, CUTS, **settings)
    assert found.model_.n_rounds == 2
    # The first round is not one of those with drops.
    outputs = found.model_.active_share.n_outputs
    for mine, other in zip(found.model_.active_share.trees[:outputs], steady.model_.active_share.trees, strict=False):
        assert np.array_equal(mine.value, other.value)
    assert model_of(found) != model_of(steady)
    y = LABELS[labels]
    assert found.score(GAPS, y) > steady.score(GAPS, y) - 0.1
    # No level is summed without a user that is in the level above: the trees of that round are flatter.
    assert "the trees of 1 rounds ended above their full depth" in found.ledger_.text()
    assert "others than in the call before" not in found.ledger_.text()
    depths = [depth_of(tree) for tree in found.model_.active_share.trees]
    assert set(depths[:outputs]) == {3}
    assert max(depths[outputs:]) < 3


def depth_of(tree: Any) -> int:
    """Levels of splits."""
    depth = np.zeros(len(tree.parent), dtype=int)
    for node in range(1, len(depth)):
        depth[node] = depth[tree.parent[node]] + 1
    return int(depth.max())


def test_the_same_drops_give_the_same_model_whatever_protects_the_sums(robust: str) -> None:
    """JOIN and MASK are where the vector is lost; the others need no more than that."""
    drops = [Drop(2, 0, depth=1, stage=MASK), Drop(3, 1, stage=MASK, until=3), Drop(4, 2, depth=2, stage=MASK)]
    models = [model_of(fitted("binary", name, cuts=CUTS, dropout=drops)) for name in ("plain", robust)]
    assert models[0] == models[1]


def test_a_user_that_returns_reads_what_it_missed() -> None:
    """After an absence of two rounds its margins are those of one that never left: the next tree tells."""
    drops = [Drop(3, 1, until=3)]
    found = fitted("binary", n_estimators=4, dropout=drops)
    received = next(entry for entry in found.ledger_.entries if entry.message == "trees")
    # Every user reads every round in the end.
    assert received.messages == 4 * N_USERS
    margins = found.model_.pooled.margins(X, 3)[:, 0]
    p = 1 / (1 + np.exp(-margins))
    g, h = p - LABELS["binary"], p * (1 - p)
    tree = found.model_.active_share.trees[3]
    assert tree.value[0] == pytest.approx(0.3 * -g.sum() / (h.sum() + 1), rel=1e-4)


@pytest.mark.parametrize("stage", [JOIN, SHARE])
def test_spares_step_in(stage: str) -> None:
    """With spares a sum is over as many users as were asked for, whoever leaves before its vector is.

    The first tree is grown with the users of the set-up, hence all of them.
    """
    asked: list[int] = []

    class Watch(TrainingCallback):
        def after_iteration(self, state: TrainingState) -> bool:
            asked.append(state.iteration)
            return False

    clf = fed("binary", "masks", users_per_round=4, dropout={"rate": 0.3, "every": 1})
    drops = [Drop(user, 1, stage=stage, until=3) for user in (0, 5)]
    clf.set_params(dropout=drops).fit(X, LABELS["binary"], users=USERS, callbacks=[Watch()])
    assert asked == [0, 1, 2]
    assert f"at least 4 of {N_USERS} users" in clf.ledger_.text()


def test_too_few_users_keep_the_finished_rounds(robust: str) -> None:
    drops = [Drop(user, 2, depth=1, stage=MASK) for user in range(3)]
    clf = fed("binary", robust, n_estimators=5, dropout=drops)
    with pytest.raises(AggregationError, match=r"round 2, depth 1.*4 of 7.*2 finished rounds are in model_") as caught:
        clf.fit(X, LABELS["binary"], users=USERS, cuts=CUTS)
    assert isinstance(caught.value.__cause__, AggregationError)
    steady = fitted("binary", "plain", cuts=CUTS, n_estimators=2)
    assert model_of(clf) == model_of(steady)
    assert clf.predict(X[:3]).dtype == np.bool_


def test_too_few_users_at_the_set_up(robust: str) -> None:
    clf = fed("binary", robust, dropout=[Drop(user, -1) for user in range(3)])
    with pytest.raises(AggregationError, match="set-up"):
        clf.fit(X, LABELS["binary"], users=USERS)
    assert not hasattr(clf, "model_")


@pytest.mark.parametrize("when", [0, 1])
def test_interrupted(when: int) -> None:
    class Stop(TrainingCallback):
        def before_iteration(self, state: TrainingState) -> bool:
            if state.iteration == when:
                raise KeyboardInterrupt
            return False

    clf = fed("classes")
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, LABELS["classes"], users=USERS, callbacks=[Stop()])
    assert hasattr(clf, "model_") == (when > 0)
    if when:
        assert clf.model_.n_rounds == when
        assert set(clf.predict(X)) <= set(LABELS["classes"])


def test_subsample_is_drawn_by_the_users() -> None:
    first = fitted("number", subsample=0.5)
    assert model_of(first) == model_of(fitted("number", subsample=0.5))
    assert model_of(first) != model_of(fitted("number", subsample=0.5, random_state=1))
    covers = [tree.cover[0] for tree in first.model_.active_share.trees]
    assert all(0.35 * N_ROWS < cover < 0.65 * N_ROWS for cover in covers)
    assert len(set(covers)) > 1


def test_levels_too_long_for_one_call_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fitted("classes", rows=GAPS, max_depth=4)
    monkeypatch.setattr("vfxgb.horizontal.grower.MAX_ENTRIES", 300)
    divided = fitted("classes", rows=GAPS, max_depth=4)
    assert model_of(divided) == model_of(whole)
    calls = [next(e.messages for e in one.ledger_.entries if e.message == LevelTask.TAG) for one in (whole, divided)]
    assert calls[1] > 3 * calls[0]


def test_thresholds_and_drops_that_cannot_be() -> None:
    with pytest.raises(ParameterError, match="threshold=3"):
        fitted("binary", threshold=3)
    with pytest.raises(ParameterError, match="min_users=9"):
        fed("binary").set_params(aggregator_params={"min_users": 9}).fit(X, LABELS["binary"], users=USERS)
    for name in aggregator_names():
        if not aggregator_by_name(name).survives_drops:
            with pytest.raises(ParameterError, match=name):
                fitted("binary", name, dropout={"rate": 0.1})


def test_ledger_traffic_and_timings(aggregator: str) -> None:
    found = fitted("classes", aggregator, n_estimators=1, max_depth=2, max_bin=3)
    spoken = [entry for entry in found.ledger_.entries if entry.sender != "all users together"]
    traffic = found.traffic_["users"]
    assert sum(entry.bytes for entry in spoken) == traffic.total_bytes
    assert sum(entry.messages for entry in spoken) == traffic.sent_messages + traffic.received_messages
    assert all(entry.reveals for entry in found.ledger_.entries)
    opened = {entry.message for entry in found.ledger_.learned_by("server") if entry.sender == "all users together"}
    assert opened == {"count", "start", "cells", "level"}
    assert f"over at least {N_USERS} of {N_USERS} users" in found.ledger_.text()
    assert found.timings_.seconds["sum over users"] > 0
    assert found.timings_.parties["users"].seconds["mask"] > 0
    opens = sum(entry.messages for entry in found.ledger_.entries if entry.sender == "all users together")
    assert traffic.round_trips >= opens > 4


def test_export(tmp_path: Any) -> None:
    xgboost = pytest.importorskip("xgboost")
    found = fitted("classes", rows=GAPS)
    found.export_xgboost(tmp_path / "model.json")
    booster = xgboost.Booster(model_file=str(tmp_path / "model.json"))
    theirs = booster.predict(xgboost.DMatrix(GAPS, feature_names=[f"f{i}" for i in range(N_FEATURES)]))
    assert np.allclose(found.predict_proba(GAPS), theirs, atol=1e-6)


def test_users_that_leave_after_masking_still_count(robust: str) -> None:
    """A drop between masking and unmasking loses nothing: the vector is in."""
    drops = [Drop(user, 0, depth=2, stage=UNMASK) for user in (0, 3)]
    found = fitted("number", robust, cuts=CUTS, n_estimators=1, dropout=drops)
    assert model_of(found) == model_of(fitted("number", cuts=CUTS, n_estimators=1))


def test_a_user_that_leaves_in_a_tree_ends_it_there(robust: str) -> None:
    """The tree is the one of all users, as far as its levels are complete; the next one is the others'."""
    found = fitted("number", robust, cuts=CUTS, n_estimators=2, dropout=[Drop(4, 0, depth=1, stage=MASK, until=9)])
    whole = fitted("number", cuts=CUTS, n_estimators=1, max_depth=1)
    first, second = found.model_.active_share.trees
    assert first.value.tolist() == whole.model_.active_share.trees[0].value.tolist()
    assert depth_of(second) == 3
    # The second tree is that of the pooled rows of those who are left, after the first.
    rest = USERS != 4
    y = LABELS["number"]
    g = found.model_.pooled.margins(X, 1)[:, 0] - y
    assert second.cover[0] == rest.sum()
    assert second.value[0] == pytest.approx(0.3 * -g[rest].sum() / (rest.sum() + 1), rel=1e-4)


def test_a_user_that_leaves_before_the_first_tree_ends_a_small_run(robust: str) -> None:
    """Its rows are counted: the first tree without it would tell its labels."""
    clf = fed("number", robust, dropout=[Drop(4, 0, stage=MASK)])
    with pytest.raises(
        CohortError, match=r"round 0, depth 0.*user 4 has left.*the same 7 users, or 10 fewer"
    ) as caught:
        clf.fit(X, LABELS["number"], users=USERS, cuts=CUTS)
    assert caught.value.missing == {4}


def test_many_users_hide_one_that_leaves() -> None:
    """Of 80 users one leaves in the first tree: nine others are left out with it, and the tree is whole."""
    many = np.arange(N_ROWS) % 80
    drops = [Drop(17, 0, depth=1, stage=MASK), Drop(18, 0, depth=2, stage=JOIN)]
    settings = {"n_estimators": 2, "max_depth": 3, "min_child_weight": 0.0}
    clf = fed("number", "masks", dropout=drops, **settings).fit(X, LABELS["number"], users=many, cuts=CUTS)
    told = "2 times users left in the middle of a tree, and others were left out with them, 10 or more"
    assert told in clf.ledger_.text()
    assert "in 2 calls the users were others than in the call before, by as few as 10" in clf.ledger_.text()
    first, second = clf.model_.active_share.trees
    assert depth_of(first) == depth_of(second) == 3
    # Every user has three rows; ten users fewer at each depth, and all of them in the second tree.
    assert [first.cover[0], first.cover[1:3].sum(), first.cover[3:7].sum()] == [240, 210, 180]
    assert second.cover[0] == 240


def test_when_too_few_are_left_beside_those_that_hide_others() -> None:
    """Ten of 40 are left out at depth 1; four more leave at depth 2, and 26 are too few: the tree ends, not the run."""
    many = np.arange(N_ROWS) % 40
    drops = [Drop(17, 1, depth=1, stage=MASK), *(Drop(user, 1, depth=2, stage=MASK) for user in range(20, 32))]
    clf = fed("number", "masks", dropout=drops).fit(X, LABELS["number"], users=many, cuts=CUTS)
    assert [depth_of(tree) for tree in clf.model_.active_share.trees] == [3, 2, 3]
    assert "1 times users left in the middle of a tree" in clf.ledger_.text()
    assert "the trees of 1 rounds ended above their full depth" in clf.ledger_.text()


def test_one_cohort_for_the_whole_run(robust: str) -> None:
    """With compare="run" a user that leaves after the first round ends the run; its rounds are kept."""
    clf = fed("binary", robust, compare="run", n_estimators=4, dropout=[Drop(2, 1, stage=MASK)])
    with pytest.raises(AggregationError, match=r"round 1, depth 0.*user 2 has left.*The 1 finished rounds") as caught:
        clf.fit(X, LABELS["binary"], users=USERS, cuts=CUTS)
    assert isinstance(caught.value.__cause__, CohortError)
    assert model_of(clf)["value"] == model_of(fitted("binary", cuts=CUTS, n_estimators=1))["value"]
    with pytest.raises(ParameterError, match="users_per_round=4 with compare='run'"):
        fitted("binary", compare="run", users_per_round=4)
    with pytest.raises(ParameterError, match="compare='always', wanted one of 'tree', 'run'"):
        fitted("binary", compare="always")
    with pytest.raises(ParameterError, match="hide_among=0"):
        fitted("binary", hide_among=0)


@pytest.mark.parametrize(
    ("labels", "metrics"),
    [("binary", ["logloss", "error"]), ("classes", ["mlogloss", "merror"]), ("number", ["rmse", "mae"])],
)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_metrics_of_the_users_rows(aggregator: str, labels: str, metrics: list[str], weights: Any) -> None:
    """They are those of the pooled rows, though the server sees sums of losses only."""
    settings = {"n_estimators": 2, "max_depth": 2, "eval_metric": metrics}
    clf = fed(labels, aggregator, eval_users=True, **settings)
    clf.fit(X, LABELS[labels], users=USERS, cuts=CUTS, sample_weight=weights)
    kind = VFXGBClassifier if labels in ("binary", "classes") else VFXGBRegressor
    pooled = kind(**(SMALL | settings)).fit(
        X,
        LABELS[labels],
        sample_weight=weights,
        cuts=CUTS,
        eval_set=[(X, LABELS[labels])],
        sample_weight_eval_set=None if weights is None else [weights],
    )
    (expected,) = pooled.evals_result_.values()
    assert list(clf.evals_result_) == ["train"]
    for name in metrics:
        assert clf.evals_result_["train"][name] == pytest.approx(expected[name], rel=1e-6)


def test_metrics_that_are_no_sums() -> None:
    with pytest.raises(ParameterError, match=r"auc compares rows of different users.*wanted one of logloss, error"):
        fitted("binary", eval_users=True, eval_metric="auc")
    some = fitted("binary", eval_users=True, eval_metric=["auc", "error"], n_estimators=1)
    assert list(some.evals_result_["train"]) == ["error"]


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_rows_that_users_hold_out(aggregator: str, weights: Any) -> None:
    """The model is that of the other rows, and the metrics are those of the rows held out."""
    settings = {"n_estimators": 3, "max_depth": 2, "eval_metric": ["error", "logloss"], "random_state": 3}
    y = LABELS["binary"]
    clf = fed("binary", aggregator, holdout=0.3, **settings).fit(X, y, users=USERS, cuts=CUTS, sample_weight=weights)
    held = np.zeros(len(X), dtype=bool)
    own = UserSettings(make_objective(TrainParams(objective="binary:logistic")), 1.0, 3, holdout=0.3)
    for number, user in enumerate(clf.users_.tolist()):
        held[user == USERS] = _held_out(int((user == USERS).sum()), number, own)
    assert 0.2 < held.mean() < 0.4
    pooled = VFXGBClassifier(**(SMALL | settings)).fit(
        X[~held],
        y[~held],
        sample_weight=None if weights is None else weights[~held],
        cuts=CUTS,
        eval_set=[(X[held], y[held])],
        sample_weight_eval_set=None if weights is None else [weights[held]],
    )
    (expected,) = pooled.evals_result_.values()
    assert list(clf.evals_result_) == ["holdout"]
    for name in settings["eval_metric"]:
        assert clf.evals_result_["holdout"][name] == pytest.approx(expected[name], rel=1e-6)
    np.testing.assert_array_equal(clf.predict_proba(X), pooled.predict_proba(X))


def test_early_stopping_watches_the_rows_held_out() -> None:
    settings = {"n_estimators": 40, "max_depth": 3, "holdout": 0.3, "eval_users": True, "learning_rate": 1.0}
    clf = fitted("binary", early_stopping_rounds=2, **settings)
    losses = clf.evals_result_["holdout"]["logloss"]
    assert list(clf.evals_result_) == ["train", "holdout"]
    assert clf.best_iteration_ == int(np.argmin(losses)) == len(losses) - 3
    assert len(losses) < 40


def test_metrics_of_a_round_without_enough_users_are_not_a_number() -> None:
    """Losses are asked for after the last level."""
    settings = {"n_estimators": 3, "max_depth": 2, "eval_users": True}
    clf = fed("binary", dropout=lambda r, depth, _, user: r == 1 and depth == 2 and user > 1, **settings)
    clf.fit(X, LABELS["binary"], users=USERS, cuts=CUTS)
    steady = fitted("binary", cuts=CUTS, **settings)
    first, second, third = clf.evals_result_["train"]["logloss"]
    assert np.isnan(second)
    assert [first, third] == steady.evals_result_["train"]["logloss"][::2]
