"""A server that lies to the users of a training: it asks for labels and values of one of them, in pairs of calls."""

from typing import Any

import numpy as np
import pytest

from vfxgb.errors import MessageError
from vfxgb.horizontal.guard import topic_of
from vfxgb.horizontal.messages import (
    CellTask,
    CountTask,
    LevelTask,
    Plan,
    PublishedTree,
    StartTask,
    Trees,
    TreeTask,
    write_task,
)
from vfxgb.horizontal.quantiles import Asked, pack_cells
from vfxgb.horizontal.user import User, UserSettings
from vfxgb.objective import Logistic
from vfxgb.secagg import aggregator_by_name, make_aggregator_params
from vfxgb.secagg.guard import Compare, GuardRules, SetGuard
from vfxgb.secagg.simulation import simulate
from vfxgb.transport.messages import pack_array, pack_bytes

N, VICTIM = 12, 7
REST = [user for user in range(N) if user != VICTIM]
START = StartTask(n_sums=2, exponent=0, bits=20)
EMPTY = pack_bytes(b"")
SPLIT = pack_array(np.array([[0, 1, 0, 0, 0]], np.int32))


class Lies:
    """A server that asks whom and what it likes, and users that answer as they do in a training."""

    def __init__(self, aggregator: str, compare: Compare = "tree") -> None:
        rng = np.random.default_rng(0)
        self.users = {
            user: User(
                user,
                rng.normal(size=(6, 2)).astype(np.float32),
                (rng.random(6) > 0.5).astype(np.float32),
                None,
                UserSettings(Logistic(), 1.0, 0),
            )
            for user in range(N)
        }
        spec = aggregator_by_name(aggregator)
        rules = GuardRules(10, 9, compare=compare)
        self.guards = {user: SetGuard(rules, topic_of) for user in range(N)}
        self.parties = simulate(
            spec,
            make_aggregator_params(spec, spec.quick_params),
            range(N),
            lambda user, task: self.users[user].vector(task),
            guard=self.guards.__getitem__,
        )
        self.parties.server.set_up()

    def sum(self, task: Any, users: Any = range(N)) -> np.ndarray:
        return self.parties.server.aggregate(write_task(task), task.entries(), list(users)).sums

    def publish(self, message: Any) -> None:
        for user in range(N):
            self.users[user].read_with(self.guards[user], message)

    def plan(self) -> None:
        cuts = np.zeros(2, np.float32)
        self.publish(
            Plan(
                n_cuts=pack_array(np.ones(2, np.int32)),
                cuts=pack_array(cuts),
                has_missing=pack_array(np.zeros(1, np.uint8)),
                start=pack_array(np.zeros(1)),
            )
        )

    def trees(self, round_index: int, *levels: Any) -> None:
        values = pack_array(np.zeros(3, np.float32))
        self.publish(Trees(round=round_index, trees=[PublishedTree(levels=list(levels), values=values)]))


def level(round_index: int, nodes: list[int], *levels: Any) -> LevelTask:
    asked = TreeTask(
        tree=0, levels=list(levels), nodes=pack_array(np.array(nodes, np.int32)), features=EMPTY, allowed=EMPTY
    )
    entries = 2 * len(nodes) * 3
    return LevelTask(round=round_index, depth=len(levels), exponent=0, bits=20, n_entries=entries, trees=[asked])


def cells(bits: int, step: int) -> CellTask:
    return CellTask(cells=pack_cells([Asked(0, bits, step, np.zeros(1, np.uint32))], []))


@pytest.fixture(params=["masks", "bcp"])
def lies(request: pytest.FixtureRequest) -> Lies:
    return Lies(request.param)


def test_the_same_task_without_one_user(lies: Lies) -> None:
    lies.sum(START)
    with pytest.raises(MessageError, match="wanted every task once"):
        lies.sum(START, REST)


def test_another_task_of_the_set_up_without_one_user(lies: Lies) -> None:
    lies.sum(START)
    for task in (CountTask(n_features=2, votes=False), cells(0, 8)):
        with pytest.raises(MessageError, match=r"differs by 1 \(user 7\)"):
            lies.sum(task, REST)


def test_the_first_tree_without_one_user(lies: Lies) -> None:
    """Its gradients are the labels, of which the sum is known."""
    lies.sum(START)
    lies.plan()
    with pytest.raises(MessageError, match=r"differs by 1 \(user 7\)"):
        lies.sum(level(0, [0]), REST)


def test_children_without_one_user(lies: Lies) -> None:
    """The parent's sums minus the children's would be that user's."""
    lies.plan()
    lies.sum(level(0, [0]))
    for nodes in ([1], [2], [1, 2]):
        with pytest.raises(MessageError):
            lies.sum(level(0, nodes, SPLIT), REST)
    lies.trees(0, SPLIT)
    lies.sum(level(1, [0]), REST)
    with pytest.raises(MessageError, match=r"differs by 1 \(user 7\)"):
        lies.sum(level(1, [1, 2], SPLIT))


def test_cells_down_to_single_values(lies: Lies) -> None:
    lies.sum(cells(0, 8))
    lies.sum(cells(8, 8))
    with pytest.raises(MessageError, match="told to 24 bits of 32, wanted at most 22"):
        lies.sum(cells(16, 8))


def test_a_tree_without_a_split_begins_nothing(lies: Lies) -> None:
    """The gradients after it are those before it."""
    lies.plan()
    lies.sum(level(0, [0]))
    lies.trees(0)
    with pytest.raises(MessageError, match=r"differs by 1 \(user 7\)"):
        lies.sum(level(1, [0]), REST)


def test_a_made_up_tree_tells_of_users_unless_sets_are_compared_for_the_whole_run() -> None:
    """What is not covered with compare="tree": a tree that changes nothing, and the next one without a user."""
    lies = Lies("masks", "tree")
    lies.plan()
    whole = lies.sum(level(0, [0]))
    lies.trees(0, SPLIT)
    own = lies.users[VICTIM].vector(memoryview(write_task(level(1, [0]))))
    assert (whole - lies.sum(level(1, [0]), REST)).tolist() == own.tolist()
    lies = Lies("masks", "run")
    lies.plan()
    lies.sum(level(0, [0]))
    lies.trees(0, SPLIT)
    with pytest.raises(MessageError, match=r"differs by 1 \(user 7\) from one of 12 signed since the run began"):
        lies.sum(level(1, [0]), REST)
