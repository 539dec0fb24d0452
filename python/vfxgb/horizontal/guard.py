"""Which tasks a user makes vectors of: those that the training it agreed to needs, and each of them once.

An honest server counts, asks for start sums, searches cut points cell by cell down to a known depth, then asks for each
node of each tree once. What goes beyond that is refused before a vector is made: cells finer than agreed on, another
look at cells of a column that was searched already, a node a second time, a level below the deepest. Cells that overlap
are refused, too (quantiles.py). The same task may be asked again word by word, because a call can fail; which *users*
may be in its sum is for secagg/guard.py to say.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from vfxgb.errors import FormatError, MessageError
from vfxgb.files import write_atomically
from vfxgb.horizontal.messages import CellTask, LevelTask, MetricTask, Plan, ScaleTask, Task, Trees
from vfxgb.horizontal.quantiles import DEFAULT_BITS, RangeCells
from vfxgb.params import TrainParams
from vfxgb.transport.messages import Bulk, encode, unpack_array

# Trees deeper than this are not counted node by node.
MOST_COUNTED_DEPTH = 20
SUMS = "sums"
FORMAT = "vfxgb asked tasks"
VERSION = 1


@dataclass(frozen=True)
class TaskLimits:
    """What a user was told of a run before it agreed.

    `rounds`, `depth`: the training's n_estimators and max_depth; None: not bounded. `cell_bits`: how many of the 32
    bits of a value cells may tell. `ranges`: column -> the cells of its public range; None: any, once per column.
    `leaves`: whether the sums of the leaves are asked for, too.
    """

    rounds: int | None = None
    depth: int | None = None
    cell_bits: int = DEFAULT_BITS
    ranges: Mapping[int, RangeCells] | None = None
    leaves: bool = False

    @staticmethod
    def of(
        params: TrainParams, cell_bits: int, ranges: Sequence[RangeCells] | None, leaves: bool = False
    ) -> "TaskLimits":
        """The limits of a training."""
        by_column = None if ranges is None else {cells.column: cells for cells in ranges}
        return TaskLimits(params.n_estimators, params.max_depth, cell_bits, by_column, leaves)


def topic_of(task: Bulk) -> str:
    """What the sums of a task can be compared with: votes and losses each with their like, everything else together.

    Counts, start sums and cells belong with the levels of the first tree: its gradients are the labels, moved by a
    constant.
    """
    tag = bytes(task[1 : 1 + task[0]]).decode("ascii", "replace") if len(task) else ""
    return tag if tag in (ScaleTask.TAG, MetricTask.TAG) else SUMS


def most_calls(limits: TaskLimits, n_outputs: int) -> int:
    """How many sums a user helps to open in a run: twice what the longest honest run asks for.

    That one asks for a single node in each call. Calls that fail and are asked again are in the other half.
    """
    depth = (limits.depth or MOST_COUNTED_DEPTH) + limits.leaves
    nodes = n_outputs * ((1 << min(depth, MOST_COUNTED_DEPTH)) - 1)
    return 2 * (2 + limits.cell_bits + (limits.rounds or 10_000) * (nodes + 2))


class _Asked(msgspec.Struct, forbid_unknown_fields=True):
    """What a user was told and asked.

    `published`: digests of the plan and of the trees of each round. `bits`: of the set-up, how many bits of a column's
    values the cells so far have told. Of the round under way: digests of the tasks `answered`, the `tags` of those that
    come once, and the `nodes` asked for, by tree.
    """

    format: str = FORMAT
    version: int = VERSION
    published: list[str] = []
    bits: dict[int, int] = {}
    answered: set[str] = set()
    tags: set[str] = set()
    nodes: dict[int, set[int]] = {}


class TaskGuard:
    """The memory of user `name` about what it was asked and told.

    `file`: where it is kept, so that a process that is started again within the run knows it; written before anything
    that depends on it is sent. None: in this process. Raises FormatError for a file that is damaged.
    """

    def __init__(self, name: str, limits: TaskLimits, file: Path | None = None) -> None:
        self._name = name
        self._limits = limits
        self._file = file
        self._state = _Asked()
        if file is None or not file.exists():
            return
        try:
            self._state = msgspec.json.decode(file.read_bytes(), type=_Asked)
        except (msgspec.MsgspecError, ValueError) as error:
            # To begin with an empty memory would allow what it is there to prevent.
            raise FormatError(
                f"reading the asked tasks {str(file)!r}: {error}; without them this user takes no part in the run"
            ) from None

    def check(self, data: Bulk, task: Task) -> None:
        """Raise MessageError for a task that an honest server would not ask for now; else remember it."""
        digest = hashlib.sha256(data).hexdigest()
        if digest in self._state.answered:
            return
        if isinstance(task, CellTask):
            self._check_cells(task)
        elif isinstance(task, LevelTask):
            self._check_level(task)
        elif (name := _name_of(task)) in self._state.tags:
            raise MessageError(f"{self._name}: asked for {name!r} a second time with other settings, wanted it once")
        else:
            self._state.tags.add(name)
        self._state.answered.add(digest)
        self._keep()

    def check_published(self, number: int, message: Plan | Trees) -> None:
        """Before the plan (0) or the trees of a round (from 1 on) are read.

        Raises MessageError for rounds beyond the last, and for others than this user was told before it was started
        again: with other trees the same questions would tell something else.
        """
        limit = self._limits.rounds
        if limit is not None and number > limit:
            raise MessageError(f"{self._name}: found trees of round {number}, wanted at most {limit} rounds")
        known = self._state.published
        if number < len(known) and known[number] != _digest_of(message):
            what = "another plan" if number == 0 else f"other trees of round {number}"
            raise MessageError(
                f"{self._name}: found {what} than it was told before it was started again, wanted the same"
            )

    def published(self, number: int, message: Plan | Trees) -> None:
        """The plan or trees were read: what was asked of the round before is forgotten, unless they were known."""
        state = self._state
        if number < len(state.published):
            return
        state.published.append(_digest_of(message))
        state.answered.clear()
        state.tags.clear()
        state.nodes.clear()
        self._keep()

    def _keep(self) -> None:
        if self._file is not None:
            write_atomically(self._file, msgspec.json.encode(self._state))

    def _check_cells(self, task: CellTask) -> None:
        what = f"{self._name}, counting rows in cells"
        limits, cells = self._limits, task.cells
        columns = unpack_array(cells.columns, np.int32, (len(cells.columns) // 16, 4), what)
        told: dict[int, int] = {}
        for column, bits, step, _ in columns.tolist():
            if bits + step > limits.cell_bits:
                raise MessageError(
                    f"{what}: column {column} is to be told to {bits + step} bits of 32, wanted at most "
                    f"{limits.cell_bits}; finer cells show values of single rows"
                )
            before = self._state.bits.get(column, 0)
            if bits != before or step < 1:
                raise MessageError(
                    f"{what}: found cells of {bits} bits of column {column}, wanted {before}: each depth is asked for "
                    "once, from the first on"
                )
            told[column] = bits + step
        for cell_range in cells.ranges:
            agreed = cell_range if limits.ranges is None else limits.ranges.get(cell_range.column)
            if cell_range != agreed or cell_range.column in self._state.bits or cell_range.column in told:
                raise MessageError(
                    f"{what}: found cells of column {cell_range.column} from {cell_range.low:g} to "
                    f"{cell_range.high:g}, wanted those of its public range, once"
                )
            told[cell_range.column] = limits.cell_bits
        self._state.bits.update(told)

    def _check_level(self, task: LevelTask) -> None:
        what = f"{self._name}, summing gradients"
        asked: dict[int, set[int]] = {}
        for tree in task.trees:
            depth = len(tree.levels)
            if self._limits.depth is not None and depth >= self._limits.depth + self._limits.leaves:
                raise MessageError(
                    f"{what}: asked for nodes at depth {depth} of tree {tree.tree}, wanted less than "
                    f"{self._limits.depth + self._limits.leaves}"
                )
            nodes = unpack_array(tree.nodes, np.int32, (len(tree.nodes) // 4,), what).tolist()
            known = self._state.nodes.get(tree.tree, set()) | asked.get(tree.tree, set())
            again = sorted(known.intersection(nodes))
            if again or len(set(nodes)) < len(nodes):
                raise MessageError(
                    f"{what}: asked for node {again[0] if again else nodes[0]} of tree {tree.tree} a second time with "
                    "other settings, wanted each node once"
                )
            asked.setdefault(tree.tree, set()).update(nodes)
        for number, nodes_asked in asked.items():
            self._state.nodes.setdefault(number, set()).update(nodes_asked)


def _name_of(task: Task) -> str:
    """What a task asks for that is asked for once a round."""
    return f"{task.TAG} of rows held out" if isinstance(task, MetricTask) and task.held_out else task.TAG


def _digest_of(message: Plan | Trees) -> str:
    return hashlib.sha256(encode(message)).hexdigest()
