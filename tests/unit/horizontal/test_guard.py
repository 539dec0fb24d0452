"""Which tasks a user refuses because the training it agreed to does not need them."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from vfxgb.errors import FormatError, MessageError
from vfxgb.horizontal.guard import SUMS, TaskGuard, TaskLimits, most_calls, topic_of
from vfxgb.horizontal.messages import (
    CellTask,
    CountTask,
    LevelTask,
    MetricTask,
    Plan,
    PublishedTree,
    ScaleTask,
    StartTask,
    Trees,
    TreeTask,
    write_task,
)
from vfxgb.horizontal.quantiles import Asked, RangeCells, pack_cells
from vfxgb.transport.messages import pack_array, pack_bytes

TREES = Trees(round=0, trees=[])
START = StartTask(n_sums=2, exponent=0, bits=10)
RANGE = RangeCells(column=1, low=0.0, high=1.0, cells=16)
SPLIT = pack_array(np.array([[0, 1, 0, 1, 1]], np.int32))


def cells(column: int, bits: int, step: int, *ranges: RangeCells) -> CellTask:
    return CellTask(cells=pack_cells([Asked(column, bits, step, np.zeros(1, np.uint32))], ranges))


def level(nodes: list[int], levels: int = 0, tree: int = 0, **changes: Any) -> LevelTask:
    empty = pack_bytes(b"")
    asked = TreeTask(
        tree=tree, levels=[SPLIT] * levels, nodes=pack_array(np.array(nodes, np.int32)), features=empty, allowed=empty
    )
    task = LevelTask(round=0, depth=levels, exponent=0, bits=20, n_entries=14, trees=[asked])
    return msgspec.structs.replace(task, **changes)


def check(guard: TaskGuard, task: Any) -> None:
    guard.check(memoryview(write_task(task)), task)


def make(**limits: Any) -> TaskGuard:
    return TaskGuard("user 3", TaskLimits(**limits))


def test_each_question_once_unless_word_by_word() -> None:
    guard = make()
    for task in (CountTask(n_features=3, votes=False), START, ScaleTask(round=0), level([0])):
        check(guard, task)
        check(guard, task)
    with pytest.raises(MessageError, match="user 3: asked for 'start' a second time with other settings"):
        check(guard, msgspec.structs.replace(START, bits=11))
    guard.published(1, TREES)
    check(guard, ScaleTask(round=1))


def test_cells_down_to_the_values() -> None:
    guard = make()
    check(guard, cells(0, 0, 8))
    check(guard, cells(0, 8, 8))
    with pytest.raises(MessageError, match="column 0 is to be told to 24 bits of 32, wanted at most 22"):
        check(guard, cells(0, 16, 8))
    check(guard, cells(0, 16, 6))
    with pytest.raises(MessageError, match="found cells of 16 bits of column 0, wanted 22"):
        check(guard, cells(0, 16, 3))
    check(make(cell_bits=32), cells(0, 0, 8))


def test_cells_of_a_depth_that_was_asked_for() -> None:
    """Other cells of the same depth would be a second search."""
    guard = make()
    with pytest.raises(MessageError, match="found cells of 8 bits of column 2, wanted 0"):
        check(guard, cells(2, 8, 3))
    check(guard, cells(2, 0, 8))
    with pytest.raises(MessageError, match="found cells of 0 bits of column 2, wanted 8"):
        check(guard, cells(2, 0, 7))
    with pytest.raises(MessageError, match="each depth is asked for once"):
        check(guard, cells(2, 8, 0))


def test_public_ranges() -> None:
    agreed = make(ranges={1: RANGE})
    narrow = msgspec.structs.replace(RANGE, low=0.5, high=0.500001)
    with pytest.raises(MessageError, match=r"column 1 from 0.5 to 0.500001, wanted those of its public range, once"):
        check(agreed, cells(0, 0, 8, narrow))
    check(agreed, cells(0, 0, 8, RANGE))
    for guard, task in (
        (agreed, cells(0, 8, 8, RANGE)),
        (make(ranges={}), cells(0, 0, 8, RANGE)),
        (make(), cells(1, 0, 8, RANGE)),
    ):
        with pytest.raises(MessageError, match="public range, once"):
            check(guard, task)


def test_nodes_once_and_not_too_deep() -> None:
    guard = make(depth=2)
    check(guard, level([0]))
    check(guard, level([1], 1))
    check(guard, level([2], 1))
    check(guard, level([1, 2], 1, tree=1))
    for task in (level([1, 2], 1), level([0], n_entries=7), level([3, 3], 1)):
        with pytest.raises(MessageError, match=r"asked for node [013] of tree 0 a second time"):
            check(guard, task)
    twice = msgspec.structs.replace(level([4], 1), trees=[*level([4], 1).trees, *level([4], 1).trees])
    with pytest.raises(MessageError, match="node 4 of tree 0 a second time"):
        check(guard, twice)
    with pytest.raises(MessageError, match="nodes at depth 2 of tree 0, wanted less than 2"):
        check(guard, level([5], 2))
    guard.published(1, TREES)
    check(guard, level([0], round=1))


def test_rounds_end() -> None:
    guard = make(rounds=1)
    guard.published(1, TREES)
    with pytest.raises(MessageError, match="trees of round 2, wanted at most 1 rounds"):
        guard.check_published(2, TREES)


def test_what_is_compared_with_what() -> None:
    tasks = [CountTask(n_features=3, votes=False), START, cells(0, 0, 8), level([0])]
    assert {topic_of(memoryview(write_task(task))) for task in tasks} == {SUMS}
    others = [ScaleTask(round=0), MetricTask(round=1, metrics=["rmse"])]
    assert [topic_of(memoryview(write_task(task))) for task in others] == ["scale", "losses"]
    assert topic_of(memoryview(b"")) == topic_of(memoryview(b"\x04\xff\xff\xff\xff")) == SUMS


def test_how_many_sums_a_run_may_need() -> None:
    limits = TaskLimits(rounds=10, depth=3)
    # Seven nodes of each of two trees, each in a call of its own, votes and losses; twice.
    assert most_calls(limits, 2) == 2 * (2 + 22 + 10 * (2 * 7 + 2))
    assert most_calls(TaskLimits(), 1) > 10**6


def test_what_was_asked_outlives_the_process(tmp_path: Path) -> None:
    """Attack: a user that was started again is asked for a node a second time, or told other trees first."""
    file = tmp_path / "asked.json"
    plan = Plan(*(pack_bytes(b"") for _ in range(4)))
    other = Trees(round=0, trees=[PublishedTree(levels=[], values=pack_bytes(b"0123"))])
    first = TaskGuard("user 3", TaskLimits(), file)
    check(first, cells(0, 0, 8))
    first.published(0, plan)
    first.published(1, TREES)
    check(first, level([0], round=1))
    again = TaskGuard("user 3", TaskLimits(), file)
    again.check_published(0, plan)
    again.published(0, plan)
    with pytest.raises(MessageError, match="found other trees of round 1 than it was told before it was started again"):
        again.check_published(1, other)
    with pytest.raises(MessageError, match="found another plan than it was told"):
        again.check_published(0, msgspec.structs.replace(plan, start=pack_bytes(b"1")))
    again.check_published(1, TREES)
    again.published(1, TREES)
    # What it was told again made it forget nothing.
    with pytest.raises(MessageError, match="asked for node 0 of tree 0 a second time"):
        check(again, level([0], round=1, n_entries=7))
    with pytest.raises(MessageError, match="found cells of 0 bits of column 0, wanted 8"):
        check(again, cells(0, 0, 7))
    check(again, level([0], round=1))
    again.published(2, TREES)
    check(again, level([0], round=2))


def test_a_damaged_memory(tmp_path: Path) -> None:
    (tmp_path / "asked.json").write_text("{")
    with pytest.raises(FormatError, match="without them this user takes no part in the run"):
        TaskGuard("user 3", TaskLimits(), tmp_path / "asked.json")
