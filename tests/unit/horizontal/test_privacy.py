"""Runs with differential privacy: what a row changes, what noise there is, what users refuse, what the ledger says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vfxgb import FedXGBClassifier, FedXGBRegressor
from vfxgb.dp import Accountant
from vfxgb.errors import AggregationError, DpError, FormatError, MessageError, NoGuaranteeError, ParameterError
from vfxgb.horizontal import noise as noise_module
from vfxgb.horizontal.calls import Calls
from vfxgb.horizontal.messages import (
    CellTask,
    CountTask,
    HessianTask,
    LevelTask,
    MetricTask,
    Plan,
    ScaleTask,
    StartTask,
    TreeTask,
    read_task,
    write_task,
)
from vfxgb.horizontal.noise import UserNoise, kind_of
from vfxgb.horizontal.privacy import ONE, PrivacyPlan, PrivacySettings
from vfxgb.horizontal.private_grower import spaced
from vfxgb.horizontal.quantiles import ColumnSearch, pack_cells
from vfxgb.horizontal.user import User, UserSettings
from vfxgb.objective import Logistic, Softprob
from vfxgb.params import TrainParams
from vfxgb.transport.messages import Message, pack_array, pack_bytes

RNG = np.random.default_rng(5)
N, N_USERS = 1200, 6
X = np.round(RNG.normal(size=(N, 4)), 2).astype(np.float32)
X[RNG.random(N) < 0.3, 3] = np.nan
Y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
CLASSES = np.digitize(X[:, 0] + X[:, 1], (-0.6, 0.6))
USERS = np.arange(N) % N_USERS
RANGES = {0: (-4.0, 4.0), 1: (-4.0, 4.0), 2: (-4.0, 4.0), 3: (-4.0, 4.0)}
SMALL = {"aggregator": "plain", "n_estimators": 4, "max_depth": 3, "max_bin": 8, "fine_cells": 32, "epsilon": 20.0}
EMPTY = pack_bytes(b"")


def fit(labels: np.ndarray = Y, ranges: Any = RANGES, **settings: Any) -> FedXGBClassifier:
    return FedXGBClassifier(**(SMALL | settings)).fit(X, labels, users=USERS, ranges=ranges)


@pytest.fixture
def same_seeds(monkeypatch) -> None:
    """All users draw from seeds that come again in every run."""
    monkeypatch.setattr(noise_module, "new_seed", lambda: bytes(range(32)))


def settings_of(splits: Any = "histogram", **other: Any) -> PrivacySettings:
    usual = {"epsilon": 1.0, "delta": 1e-5, "honest": 5, "cut_calls": 2, "start": True}
    return PrivacySettings(splits=splits, **(usual | other))


def plan_of(splits: Any = "histogram", n_features: int = 4, **params: Any) -> PrivacyPlan:
    usual = {"objective": "binary:logistic", "n_estimators": 5, "max_depth": 3}
    return PrivacyPlan.of(settings_of(splits), TrainParams(**(usual | params)), n_features)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("splits", ["histogram", "random"])
@pytest.mark.parametrize("given", [(True, 3), (False, 0)])
def test_all_releases_of_a_plan_cost_epsilon(epsilon: float, splits: Any, given: tuple[bool, int]) -> None:
    start, cut_calls = given
    settings = settings_of(splits, epsilon=epsilon, start=start, cut_calls=cut_calls)
    plan = PrivacyPlan.of(settings, TrainParams(objective="binary:logistic", n_estimators=7, max_depth=4), 10)
    assert sum(map(plan.share, plan.releases)) == pytest.approx(1.0)
    accountant = Accountant()
    for kind, count in plan.releases.items():
        accountant.add(*(plan.event(kind, n, 2000, "") for n in range(count)))
    total = accountant.total("server", composition="gaussian")
    assert 0.99 * epsilon < total.epsilon_total <= epsilon
    assert total.delta == pytest.approx(1e-5)


def recorded(monkeypatch, labels: np.ndarray, **settings: Any) -> tuple[list[Any], PrivacyPlan]:
    """What user 0 was asked and told in a run, in order: tasks as bytes, and published messages."""
    seen: list[Any] = []
    vector, read = User.vector, User.read
    plans: list[PrivacyPlan] = []

    def spy_vector(self: User, data: memoryview) -> np.ndarray:
        if self._number == 0:
            seen.append(bytes(data))
            plans[:] = [self._settings.privacy]
        return vector(self, data)

    def spy_read(self: User, message: Message) -> Any:
        if self._number == 0:
            seen.append(message)
        return read(self, message)

    with monkeypatch.context() as patch:
        patch.setattr(User, "vector", spy_vector)
        patch.setattr(User, "read", spy_read)
        fit(labels, **settings)
    return seen, plans[0]


@pytest.mark.parametrize("splits", ["histogram", "random"])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("search", [False, True])
def test_a_row_changes_no_more_than_the_plan_says(monkeypatch, splits: str, several: bool, search: bool) -> None:
    """The same questions to a user with and without a row: every vector, entry by entry, against its columns."""
    labels = CLASSES if several else Y
    ranges = None if search else RANGES
    settings = {"dp_splits": splits, "ranges": ranges, "colsample_bytree": 0.6, "quantile_bits": 12}
    seen, plan = recorded(monkeypatch, labels, **settings)
    objective = Softprob(3) if several else Logistic()
    rows = np.flatnonzero(USERS == 0)
    exact = UserSettings(objective, 1.0, 0)  # the same user without noise and without limits
    for left_out in (0, 3, 17):
        kept = np.delete(np.arange(len(rows)), left_out)
        users = [
            User(0, X[rows[part]], labels[rows[part]].astype(np.float32), None, exact) for part in (slice(None), kept)
        ]
        met: dict[str, int] = {}
        for item in seen:
            if isinstance(item, Message):
                for one in users:
                    one.read(item)
                continue
            task = read_task(memoryview(item))
            kind = kind_of(task, plan)
            assert kind is not None
            met[kind] = met.get(kind, 0) + 1
            with_row, without = (one.vector(memoryview(item)) for one in users)
            columns = plan.noise(kind).columns
            scale = ONE if kind in ("count", "cells") else 1
            change = (with_row - without).reshape(-1, len(columns)) * scale
            trees = len(task.trees) if isinstance(task, LevelTask) else 1
            for column, entries in zip(columns, change.T, strict=True):
                assert np.abs(entries).max(initial=0) <= column.steps
                assert np.count_nonzero(entries) <= column.entries * trees
        assert met.keys() == plan.releases.keys()
        assert all(met[kind] <= plan.releases[kind] for kind in met)


def test_noise_is_as_large_as_planned(monkeypatch) -> None:
    """Sums with noise less the exact ones of the same questions: over the standard deviation of the plan."""
    answers: list[tuple[bytes, np.ndarray]] = []
    exact: dict[bytes, np.ndarray] = {}
    call, add = Calls.sum, UserNoise.add

    def spy(self: Calls, task: Any, needed: bool = True) -> Any:
        data = write_task(task)  # the grower goes on adding levels to it
        answer = call(self, task, needed)
        answers.append((data, answer.sums))
        return answer

    def note(self: UserNoise, data: Any, kind: Any, vector: np.ndarray) -> np.ndarray:
        scaled = vector * ONE if kind in ("count", "cells") else vector
        exact[bytes(data)] = exact.get(bytes(data), 0) + scaled
        return add(self, data, kind, vector)

    monkeypatch.setattr(Calls, "sum", spy)
    monkeypatch.setattr(UserNoise, "add", note)
    clf = fit(threshold=1.0, max_depth=5, fine_cells=256)
    settings = PrivacySettings(epsilon=20.0, delta=1e-5, splits="histogram", honest=N_USERS, cut_calls=1, start=True)
    params = TrainParams(objective="binary:logistic", n_estimators=4, max_depth=5)
    plan = PrivacyPlan.of(settings, params, 4)
    scaled: dict[str, list[np.ndarray]] = {}
    for data, sums in answers:
        kind = kind_of(read_task(memoryview(data)), plan)
        noise = plan.noise(kind)
        error = (sums - exact[data]).reshape(-1, len(noise.columns))
        scaled.setdefault(kind, []).append(
            (error / [noise.deviation(c, N_USERS) for c in range(error.shape[1])]).reshape(-1)
        )
    assert scaled.keys() == plan.releases.keys()
    for kind, parts in scaled.items():
        errors = np.concatenate(parts)
        assert abs(errors.mean()) <= 5 / np.sqrt(len(errors)), kind
        assert abs((errors**2).mean() - 1) <= 5 * np.sqrt(2 / len(errors)), kind
    assert len(clf.ledger_.privacy) == len(answers)


@pytest.mark.parametrize("splits", ["histogram", "random"])
def test_the_simulation_without_cryptography_draws_the_same(same_seeds, splits: str) -> None:
    """With the same seeds `plain` opens the same integers as `masks` and `bcp`: the models are the same to the bit."""
    quick = {"key_bits": 256, "insecure": True}
    models = [
        fit(aggregator=name, aggregator_params=params, dp_splits=splits, n_estimators=2)
        for name, params in (("plain", None), ("masks", None), ("bcp", quick))
    ]
    margins = [model.predict_proba(X) for model in models]
    np.testing.assert_array_equal(margins[0], margins[1])
    np.testing.assert_array_equal(margins[0], margins[2])
    # The same key for all users is for this test: otherwise seeds are secret and new.
    assert len(np.unique(margins[0])) > 4


def test_seeds_are_new_in_every_run() -> None:
    first, second = (fit().predict_proba(X) for _ in range(2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("splits", ["histogram", "random"])
def test_models_learn_and_users_may_leave(splits: str) -> None:
    clf = fit(
        aggregator="masks",
        epsilon=400.0,
        dp_splits=splits,
        n_estimators=12,
        dropout={"rate": 0.17, "every": 3},
        threshold=0.6,
        hide_among=2,
    )
    assert clf.score(X, Y) > 0.75
    assert clf.model_.n_rounds == 12
    # Noise is planned for those that are left at least.
    (event, *_) = clf.ledger_.privacy.events
    assert dict(event.parameters)["users"] == 4


def test_several_classes() -> None:
    clf = fit(CLASSES, aggregator="masks", epsilon=300.0, n_estimators=6)
    assert clf.score(X, CLASSES) > 0.6
    # A call is about the trees of all classes, and a release of each.
    assert 250.0 < clf.ledger_.privacy.total("server", composition="gaussian").epsilon_total <= 300.0


def test_noise_for_users_that_collude() -> None:
    honest = [
        dict(fit(aggregator="masks", n_estimators=1, dp_colluding=count).ledger_.privacy.events[0].parameters)
        for count in (0, 2)
    ]
    assert [one["users"] for one in honest] == [5, 3]
    assert honest[1]["sigma of column 0"] == pytest.approx(honest[0]["sigma of column 0"] * np.sqrt(5 / 3), rel=1e-4)


def test_what_the_ledger_says() -> None:
    ledger = fit(aggregator="masks", epsilon=2.0).ledger_
    total = ledger.privacy.total("server", "one row of one user", "gaussian")
    # Less than was asked for where noise leaves a tree without splits: its leaves are not asked for then.
    assert 1.5 < total.epsilon_total <= 2.0
    assert f"about one row of one user: epsilon {total.epsilon_total:.6g} at delta" in str(ledger)
    with pytest.raises(NoGuaranteeError, match="aggregator 'plain' shows the server the vector of every user"):
        fit().ledger_.privacy.total("server")


def noise_of(plan: PrivacyPlan) -> UserNoise:
    return UserNoise("user 3", plan, bytes(32))


def ask(noise: UserNoise, task: Any, entries: int | None = None) -> np.ndarray:
    data = memoryview(write_task(task))
    return noise.add(data, noise.admit(data, task), np.zeros(entries or task.entries(), dtype=np.int64))


def level(depth: int, levels: int, features: Any = EMPTY, **other: Any) -> LevelTask:
    empty = pack_array(np.zeros((0, 5), np.int32))
    tree = TreeTask(
        tree=0, levels=[empty] * levels, nodes=pack_array(np.zeros(1, np.int32)), features=features, allowed=EMPTY
    )
    usual = {"round": 0, "depth": depth, "exponent": 0, "bits": 20, "n_entries": 10, "trees": [tree]}
    return LevelTask(**(usual | other))


def cells(column: int) -> CellTask:
    asked = ColumnSearch(column, 8, 12).ask()
    assert asked is not None
    return CellTask(cells=pack_cells([asked], []))


def test_the_same_question_gets_the_same_noise() -> None:
    noise = noise_of(plan_of())
    first = ask(noise, CountTask(n_features=4, votes=False))
    assert np.array_equal(first, ask(noise, CountTask(n_features=4, votes=False)))
    assert not np.array_equal(first[:2], ask(noise, StartTask(n_sums=2, exponent=0, bits=20)))
    assert not np.array_equal(
        first, ask(UserNoise("user 4", plan_of(), bytes(31) + b"1"), CountTask(n_features=4, votes=False))
    )


def test_a_user_that_is_started_again_has_the_noise_and_the_memory_of_before(tmp_path: Path) -> None:
    file = tmp_path / "noise.json"
    before = UserNoise("user 3", plan_of(), file=file)
    answers = [ask(before, level(depth, depth)) for depth in (0, 1)]
    after = UserNoise("user 3", plan_of(), file=file)
    assert [np.array_equal(ask(after, level(depth, depth)), answers[depth]) for depth in (0, 1)] == [True, True]
    with pytest.raises(MessageError, match="no level that is behind"):
        ask(after, level(0, 0, n_entries=20))
    assert file.stat().st_mode & 0o077 == 0
    other = UserNoise("user 3", plan_of(), file=tmp_path / "other.json")
    assert not np.array_equal(ask(other, level(0, 0)), answers[0])


def test_a_damaged_memory_of_noise_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "noise.json"
    ask(UserNoise("user 3", plan_of(), file=file), CountTask(n_features=4, votes=False))
    for damaged in (
        file.read_bytes()[:-3],
        b"{}",
        b'{"seed": "AAAA", "format": "vfxgb noise of a user", "version": 1}',
    ):
        file.write_bytes(damaged)
        with pytest.raises(FormatError, match="without it this user takes no part in the run"):
            UserNoise("user 3", plan_of(), file=file)


REFUSED: dict[str, tuple[Callable[[UserNoise], Any], str]] = {
    "magnitudes": (lambda noise: ask(noise, ScaleTask(round=0)), "asked for 'scale', for which this run has planned"),
    "losses": (lambda noise: ask(noise, MetricTask(round=0, metrics=["logloss"])), "asked for 'losses'"),
    "votes": (lambda noise: ask(noise, CountTask(n_features=4, votes=True)), "asked for 'count'"),
    "hessians": (lambda noise: ask(noise, HessianTask(round=0, n_entries=9)), "asked for 'hessians'"),
    "cells": (lambda noise: [ask(noise, cells(column)) for column in range(3)], "cells 3 times, wanted at most 2"),
    "another grid": (lambda noise: ask(noise, level(0, 0, bits=30)), "with 30 bits, wanted 1 with 20"),
    "another scale": (lambda noise: ask(noise, StartTask(n_sums=2, exponent=-5, bits=20)), "found 2\\*\\*-5"),
    "a level behind": (
        lambda noise: (
            [ask(noise, level(depth, depth)) for depth in (0, 1, 2)] + [ask(noise, level(1, 1, n_entries=20))]
        ),
        "no level that is behind",
    ),
    "other levels": (lambda noise: ask(noise, level(1, 2)), "found 2 levels of tree 0 at depth 1"),
    "features of leaves": (lambda noise: ask(noise, level(3, 3)), "asked for 4 features of tree 0, wanted at most 0"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_users_refuse(what: str) -> None:
    asking, says = REFUSED[what]
    with pytest.raises(MessageError, match=says):
        asking(noise_of(plan_of()))


def test_what_users_refuse_where_splits_are_random() -> None:
    noise = noise_of(plan_of("random"))
    with pytest.raises(MessageError, match="asked for 'level', for which this run has planned no noise"):
        ask(noise, level(0, 0))
    no_features = pack_array(np.zeros(1, np.uint8))
    assert len(ask(noise, level(3, 3, no_features))) == 10
    with pytest.raises(MessageError, match="hessians of round 3, wanted one before 3"):
        ask(noise, HessianTask(round=3, n_entries=9))


def test_more_features_than_planned() -> None:
    noise = noise_of(plan_of(colsample_bytree=0.5))
    assert len(ask(noise, level(0, 0, pack_array(np.array([0b0101], np.uint8))))) == 10
    with pytest.raises(MessageError, match="asked for 3 features of tree 0, wanted at most 2"):
        ask(noise, level(1, 1, pack_array(np.array([0b0111], np.uint8))))


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "epsilon": ({"epsilon": -1.0}, "epsilon"),
    "infinite": ({"epsilon": float("inf")}, "epsilon=inf, wanted a finite number"),
    "delta": ({"delta": 1.0}, "delta"),
    "splits": ({"dp_splits": "best"}, "dp_splits"),
    "colluding": ({"dp_colluding": 5}, "dp_colluding=5 with sums over at least 5"),
    "sets not compared": ({"hide_among": 1}, "hide_among=1: a question that is repeated gets the same noise"),
    "subsample": ({"subsample": 0.5}, "epsilon cannot be had with subsample: which rows are drawn depends on how many"),
    "losses": ({"eval_users": True}, "epsilon cannot be had with eval_users"),
    "missing": ({"missing_strategy": "probabilistic"}, "missing_strategy other than 'learned'"),
    "monotone": ({"monotone_constraints": (1, 0, 0, 0), "dp_splits": "random"}, "have no direction"),
    "positive weight": ({"scale_pos_weight": 0.5}, "scale_pos_weight=0.5, wanted 1"),
}


@pytest.mark.parametrize("what", BAD)
def test_settings_that_cannot_be(what: str) -> None:
    settings, says = BAD[what]
    with pytest.raises(ParameterError, match=says):
        fit(aggregator="masks", **settings)


def test_losses_without_bounds_and_weights() -> None:
    with pytest.raises(ParameterError, match="objective='reg:squarederror', whose gradients have no bound"):
        FedXGBRegressor(**SMALL).fit(X, X[:, 0], users=USERS)
    with pytest.raises(ParameterError, match="sample weights: noise is planned for rows of weight 1"):
        FedXGBClassifier(**SMALL).fit(X, Y, users=USERS, sample_weight=np.full(N, 0.5))


def test_an_epsilon_too_small_for_any_noise() -> None:
    with pytest.raises(DpError, match="at least 1e-09"):
        PrivacyPlan.of(settings_of(epsilon=1e-12), TrainParams(objective="binary:logistic"), 4)


@pytest.mark.parametrize("count", [1, 3, 8, 50])
def test_candidates_have_equal_shares_of_the_hessian(count: int) -> None:
    hessians = np.random.default_rng(count).gamma(0.5, size=40)
    places = spaced(hessians, count)
    assert (np.diff(places) > 0).all()
    assert len(places) <= min(count, 39)
    if count >= 39:
        assert places.tolist() == list(range(39))
        return
    # The naive twin: the first cut at which the sum on its left reaches each goal.
    total = hessians.sum()
    goals = [k * total / (count + 1) for k in range(1, count + 1)]
    expected = {min(next(i for i in range(40) if hessians[: i + 1].sum() >= goal), 38) for goal in goals}
    assert places.tolist() == sorted(expected)


def test_candidates_of_columns_without_hessians_or_cuts() -> None:
    assert spaced(np.zeros(9), 4).tolist() == [0, 2, 4, 7]
    assert spaced(np.ones(1), 4).tolist() == []


def test_splits_of_a_task_that_is_refused_divide_no_rows() -> None:
    """A lying server: splits come with a refused task, then a child is asked for as if it were of the level above."""
    plan = plan_of(n_features=4)
    user = User(3, X[:50], Y[:50].astype(np.float32), None, UserSettings(Logistic(), 1.0, 0, privacy=plan))
    cuts = [np.array([0.0], np.float32)] * 4
    user.read(
        Plan(
            n_cuts=pack_array(np.ones(4, np.int32)),
            cuts=pack_array(np.concatenate(cuts)),
            has_missing=pack_array(np.array([0b1000], np.uint8)),
            start=pack_array(np.zeros(1)),
        )
    )

    def ask_user(depth: int, levels: int, node: int, entries: int = 12, bits: int = 20) -> np.ndarray:
        splits = [[[0, 1, 0, 0, 1]], [[1, 3, 1, 0, 1], [2, 5, 1, 0, 1]]][:levels]
        tree = TreeTask(
            tree=0,
            levels=[pack_array(np.array(rows, np.int32)) for rows in splits],
            nodes=pack_array(np.array([node], np.int32)),
            features=EMPTY,
            allowed=EMPTY,
        )
        task = LevelTask(round=0, depth=depth, exponent=0, bits=bits, n_entries=entries, trees=[tree])
        return user.vector(memoryview(write_task(task)))

    assert len(ask_user(1, 1, 1)) == 12
    with pytest.raises(MessageError, match="with 30 bits"):
        ask_user(2, 2, 3, bits=30)
    with pytest.raises(MessageError, match="not open"):
        ask_user(1, 1, 3)
    assert len(ask_user(2, 2, 4)) == 12
    with pytest.raises(MessageError, match="no level that is behind"):
        ask_user(1, 1, 5)
    with pytest.raises(MessageError, match="asked for 'hessians'"):
        user.vector(memoryview(write_task(HessianTask(round=0, n_entries=8))))


def test_too_few_users_for_the_noise_open_nothing() -> None:
    """Four of six users came, for whom noise is planned: three would do for the aggregator, and make too little."""

    def away(round_index: int, depth: int, stage: str, user: int) -> bool:
        del depth, stage
        return user > 3 or (user == 3 and round_index > 0)

    settings = {"aggregator": "masks", "threshold": 0.6, "hide_among": 2, "dropout": away}
    assert fit(epsilon=None, **settings).model_.n_rounds == 4
    with pytest.raises(AggregationError, match="vectors of 3 users are there, wanted 4, for whom noise is planned"):
        fit(**settings)
