"""A user on its own: its vectors against loops over its rows, and messages of a server that it refuses."""

from contextlib import suppress
from typing import Any

import msgspec
import numpy as np
import pytest

from vfxgb.errors import FrameError, MessageError, VfxgbError
from vfxgb.estimator.users import FedXGBClassifier
from vfxgb.horizontal.messages import (
    EXPONENTS,
    LEAST_EXPONENT,
    CellTask,
    CountTask,
    LevelTask,
    Plan,
    PublishedTree,
    Received,
    ScaleTask,
    StartTask,
    Trees,
    TreeTask,
    write_task,
)
from vfxgb.horizontal.quantiles import ColumnSearch, pack_cells
from vfxgb.horizontal.user import User, UserSettings
from vfxgb.objective import Logistic, SquaredError
from vfxgb.transport.messages import pack_array, pack_bytes

RNG = np.random.default_rng(8)
X = np.round(RNG.normal(size=(40, 3)), 1).astype(np.float32)
X[RNG.random(X.shape) < 0.2] = np.nan
Y = (RNG.random(40) < 0.4).astype(np.float32)
CUTS = [np.array([-0.5, 0.5]), np.array([0.0]), np.array([])]
EMPTY = pack_bytes(b"")
PLAN = Plan(
    n_cuts=pack_array(np.array([2, 1, 0], np.int32)),
    cuts=pack_array(np.concatenate(CUTS).astype(np.float32)),
    has_missing=pack_array(np.array([0b111], np.uint8)),
    start=pack_array(np.zeros(1)),
)
ROOT = TreeTask(tree=0, levels=[], nodes=pack_array(np.zeros(1, np.int32)), features=EMPTY, allowed=EMPTY)
LEVEL = LevelTask(round=0, depth=0, exponent=0, bits=20, n_entries=14, trees=[ROOT])
# Node 0 by feature 0 below 0.5, missing values left: children 1 and 2.
SPLIT = pack_array(np.array([[0, 1, 0, 1, 1]], np.int32))
TREES = Trees(round=0, trees=[PublishedTree(levels=[SPLIT], values=pack_array(np.array([0, 0.5, -0.5], np.float32)))])


def make(labels: np.ndarray = Y, objective: Any = None, **settings: Any) -> User:
    usual = {"objective": objective or Logistic(), "subsample": 1.0, "random_state": 0}
    return User(3, X, labels, None, UserSettings(**(usual | settings)))


def ready() -> User:
    user = make()
    assert user.read(PLAN) == Received(rounds=0)
    return user


def vector(user: User, task: Any) -> np.ndarray:
    return user.vector(memoryview(write_task(task)))


def sums_of(rows: np.ndarray, margin: np.ndarray) -> list[int]:
    """Totals and bucket sums of rows by loops: logistic gradients with 20 fractional bits."""
    p = (1 / (1 + np.exp(-margin.astype(np.float64)))).astype(np.float32)
    pairs = np.rint(np.stack([p - Y, p * (1 - p)], axis=1).astype(np.float64) * 2**20).astype(np.int64)
    found = [pairs[rows].sum(axis=0)]
    for feature, cuts in enumerate(CUTS):
        place = np.searchsorted(cuts, X[:, feature], side="right")
        there = rows & ~np.isnan(X[:, feature])
        found += [pairs[there & (place == b)].sum(axis=0) for b in range(len(cuts) + 1)]
    return np.concatenate(found).tolist()


def test_counts() -> None:
    assert vector(make(), CountTask(n_features=3, votes=False)).tolist() == [40, *np.isnan(X).sum(axis=0).tolist()]
    found = vector(make(), CountTask(n_features=3, votes=True))
    # max(mean label, mean weight) is 1.
    assert found[4:].tolist() == [int(i == -LEAST_EXPONENT) for i in range(EXPONENTS)]


def test_start_sums() -> None:
    assert vector(make(), StartTask(n_sums=2, exponent=0, bits=10)).tolist() == [int(Y.sum()) << 10, 40 << 10]


def test_magnitudes_larger_than_agreed_on_are_cut_off() -> None:
    """A user that was away when they were compared."""
    user = make(np.full(40, 5.0, np.float32), SquaredError())
    assert vector(user, StartTask(n_sums=2, exponent=0, bits=4)).tolist() == [40 << 4, 40 << 4]
    user.read(PLAN)
    found = vector(user, LEVEL)
    assert found[:2].tolist() == [-40 << 20, 40 << 20]


def test_the_vote_is_for_the_power_of_two_above() -> None:
    for label, exponent in ((4.0, 2), (4.1, 3), (1e-40, -132), (3e38, 128)):
        user = make(np.full(40, label, np.float32), SquaredError())
        user.read(msgspec.structs.replace(PLAN, start=pack_array(np.zeros(1))))
        (place,) = np.flatnonzero(vector(user, ScaleTask(round=0)))
        # Hessians are 1.
        assert place + LEAST_EXPONENT == max(exponent, 0)


def test_sums_of_a_level_against_loops() -> None:
    user = ready()
    everybody = np.ones(40, bool)
    assert vector(user, LEVEL).tolist() == sums_of(everybody, np.zeros(40))
    left = (X[:, 0] < 0.5) | np.isnan(X[:, 0])
    below = TreeTask(
        tree=0, levels=[SPLIT], nodes=pack_array(np.array([1, 2], np.int32)), features=EMPTY, allowed=EMPTY
    )
    found = vector(user, msgspec.structs.replace(LEVEL, depth=1, n_entries=28, trees=[below]))
    expected = [sums_of(left, np.zeros(40)), sums_of(~left, np.zeros(40))]
    assert found.tolist() == expected[0][:2] + expected[1][:2] + expected[0][2:] + expected[1][2:]
    # The next round starts from the margins that the tree leaves.
    assert user.read(TREES) == Received(rounds=1)
    again = vector(user, msgspec.structs.replace(LEVEL, round=1))
    assert again.tolist() == sums_of(everybody, np.where(left, 0.5, -0.5))


def test_a_user_that_was_away_for_the_whole_round() -> None:
    away, there = ready(), ready()
    vector(there, LEVEL)
    for user in (away, there):
        user.read(TREES)
    nxt = msgspec.structs.replace(LEVEL, round=1)
    assert np.array_equal(vector(away, nxt), vector(there, nxt))


def test_features_and_nodes_that_are_not_asked_for() -> None:
    user = ready()
    one = msgspec.structs.replace(ROOT, features=pack_array(np.array([0b010], np.uint8)))
    assert vector(user, msgspec.structs.replace(LEVEL, n_entries=6, trees=[one])).tolist() == [
        *sums_of(np.ones(40, bool), np.zeros(40))[:2],
        *sums_of(np.ones(40, bool), np.zeros(40))[8:12],
    ]
    some = msgspec.structs.replace(ROOT, allowed=pack_array(np.array([0b001], np.uint8)))
    assert vector(ready(), msgspec.structs.replace(LEVEL, n_entries=8, trees=[some])).tolist() == [
        *sums_of(np.ones(40, bool), np.zeros(40))[:8]
    ]


def test_a_sample_of_rows_may_be_empty() -> None:
    user = make(subsample=1e-9)
    user.read(PLAN)
    assert not vector(user, LEVEL).any()


@pytest.mark.parametrize(
    "task",
    [
        CountTask(n_features=4, votes=False),
        StartTask(n_sums=3, exponent=0, bits=10),
        StartTask(n_sums=2, exponent=999, bits=10),
        StartTask(n_sums=2, exponent=0, bits=41),
        ScaleTask(round=0),
        LEVEL,
    ],
)
def test_tasks_refused_before_the_plan(task: Any) -> None:
    with pytest.raises(MessageError, match="user 3"):
        vector(make(), task)


def asked_cells() -> CellTask:
    asked = ColumnSearch(0, 4, 22).ask()
    assert asked is not None
    return CellTask(cells=pack_cells([asked], []))


@pytest.mark.parametrize(
    "task",
    [
        CountTask(n_features=3, votes=False),
        StartTask(n_sums=2, exponent=0, bits=10),
        asked_cells(),
        ScaleTask(round=1),
        msgspec.structs.replace(LEVEL, round=1),
        msgspec.structs.replace(LEVEL, bits=50),
        msgspec.structs.replace(LEVEL, n_entries=13),
        msgspec.structs.replace(LEVEL, n_entries=15),
        msgspec.structs.replace(LEVEL, n_entries=-1),
        msgspec.structs.replace(LEVEL, trees=[msgspec.structs.replace(ROOT, tree=1)]),
        msgspec.structs.replace(LEVEL, trees=[msgspec.structs.replace(ROOT, nodes=pack_array(np.ones(1, np.int32)))]),
        msgspec.structs.replace(LEVEL, trees=[msgspec.structs.replace(ROOT, features=pack_bytes(b"12"))]),
        msgspec.structs.replace(LEVEL, trees=[msgspec.structs.replace(ROOT, allowed=pack_bytes(b"12"))]),
        msgspec.structs.replace(LEVEL, trees=[msgspec.structs.replace(ROOT, levels=[pack_bytes(b"12345678")])]),
        *(
            msgspec.structs.replace(
                LEVEL, trees=[msgspec.structs.replace(ROOT, levels=[pack_array(np.array([split], np.int32))])]
            )
            for split in ([0, 1, 0, 2, 1], [0, 1, 3, 0, 1], [0, 1, -1, 0, 1], [5, 6, 0, 0, 1], [0, 0, 0, 0, 1])
        ),
    ],
)
def test_tasks_refused_after_the_plan(task: Any) -> None:
    with pytest.raises(MessageError, match="user 3"):
        vector(ready(), task)


def test_another_fixed_point_within_a_round() -> None:
    user = ready()
    vector(user, LEVEL)
    with pytest.raises(MessageError, match="fixed point"):
        vector(user, msgspec.structs.replace(LEVEL, bits=21))


@pytest.mark.parametrize("data", [b"", b"\x05", b"\x03abc", b"\xff\xff", b"\x05level\xc1", b"\x05abort\x91\xa1x"])
def test_bytes_that_are_no_task(data: bytes) -> None:
    with pytest.raises((MessageError, FrameError)):
        ready().vector(memoryview(data))


@pytest.mark.parametrize(
    "changes",
    [
        {"n_cuts": pack_array(np.array([2, 1], np.int32))},
        {"n_cuts": pack_array(np.array([3, -1, 1], np.int32))},
        {"cuts": pack_array(np.zeros(2, np.float32))},
        {"cuts": pack_array(np.array([1, 0, 0], np.float32))},
        {"cuts": pack_array(np.array([0, np.nan, 0], np.float32))},
        {"has_missing": pack_bytes(b"")},
        {"start": pack_array(np.zeros(2))},
    ],
)
def test_plans_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(MessageError, match="user 3, reading the plan"):
        make().read(msgspec.structs.replace(PLAN, **changes))


def test_published_out_of_turn() -> None:
    with pytest.raises(MessageError, match="user 3"):
        make().read(TREES)
    with pytest.raises(MessageError, match="user 3"):
        ready().read(msgspec.structs.replace(TREES, round=1))
    with pytest.raises(MessageError, match="user 3"):
        ready().read(msgspec.structs.replace(TREES, trees=TREES.trees * 2))
    with pytest.raises(MessageError, match="user 3"):
        ready().read(Received(rounds=0))
    for values in ([0.0, 0.5], [0.0, 0.5, np.nan]):
        tree = PublishedTree(levels=[SPLIT], values=pack_array(np.array(values, np.float32)))
        with pytest.raises(MessageError, match="user 3"):
            ready().read(msgspec.structs.replace(TREES, trees=[tree]))


def test_what_was_read_before_changes_nothing() -> None:
    """A server that did not get the answer publishes again."""
    user, once = ready(), ready()
    assert user.read(PLAN) == Received(rounds=0)
    once.read(TREES)
    for _ in range(2):
        assert user.read(TREES) == Received(rounds=1)
    assert user.read(PLAN) == Received(rounds=1)
    level = msgspec.structs.replace(LEVEL, round=1)
    assert vector(user, level).tolist() == vector(once, level).tolist()


@pytest.mark.parametrize("bits", [4, 20, 40, 55, 61])
@pytest.mark.parametrize("honest_calls", [0, 1, 3, 6])
def test_numbers_of_a_user_that_lies(bits: int, honest_calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They spoil the model, or end the run with an error that says so; never anything else."""
    rng = np.random.default_rng(bits)
    X = rng.normal(size=(60, 3)).astype(np.float32)
    rows = [(part, (part.sum(axis=1) > 0).astype(int)) for part in np.split(X, 3)]
    honest = User.vector
    calls = 0

    def lying(self: User, data: memoryview) -> Any:
        nonlocal calls
        found = honest(self, data)
        calls += self._name == "user 2"
        lies = self._name == "user 2" and calls > honest_calls
        return found + rng.integers(-(2**bits), 2**bits, len(found)) if lies else found

    monkeypatch.setattr(User, "vector", lying)
    with suppress(VfxgbError):
        FedXGBClassifier(n_estimators=2, max_depth=3, max_bin=8, aggregator="plain", n_jobs=1).fit(rows)
