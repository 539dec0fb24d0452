"""What the server and its users say to each other beside the messages of the aggregator.

Two kinds. *Messages* publish what every user needs to go on: the plan (cut points and start margin) and the trees of a
finished round. *Tasks* say of which numbers a user is to make its vector; they travel inside the aggregator's messages,
and what REVEALS and amount() of a task name is what the opened sum tells the server: mostly all of its entries.

Arrays: node numbers, features and bins are int32; sets of features are one bit each, lowest bit of a byte first.
"""

import msgspec

from vfxgb.errors import MessageError
from vfxgb.horizontal.losses import LIMBS
from vfxgb.horizontal.quantiles import Cells
from vfxgb.transport.messages import BULK_BYTES, TABLE_BYTES, Bulk, Catalogue, Message, Reveals, encode

# Magnitudes are float32 numbers: powers of two from 2**LEAST_EXPONENT to 2**MOST_EXPONENT bound them.
LEAST_EXPONENT, MOST_EXPONENT = -149, 128
EXPONENTS = MOST_EXPONENT - LEAST_EXPONENT + 1


class TreeTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tree of a level: its splits so far, and the nodes to sum up.

    `levels`: per level int32[k, 5], its k splits: node, left child (the right one has the next number), feature, bin of
    the cut, and 1 where missing values go left. `features`: those of the tree, empty for all. `allowed`: per node those
    it may use, m x len(features of the tree) bits row by row, empty for all.
    """

    tree: int
    levels: list[Bulk]
    nodes: Bulk
    features: Bulk
    allowed: Bulk


class PublishedTree(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A finished tree: its splits by level (see TreeTask), and float32 values of its nodes, for margins."""

    levels: list[Bulk]
    values: Bulk


class Plan(Message, frozen=True, forbid_unknown_fields=True):
    """Server to user, once: how to bin rows and where margins start.

    `cuts`: float32, column after column, `n_cuts` (int32) of each; `has_missing`: one bit per column; `start`: float64,
    one margin per output.
    """

    TAG = "plan"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals(
        "the cut points, which columns have missing values somewhere, and the start margin, which is the mean label",
        "cut points",
    )

    n_cuts: Bulk
    cuts: Bulk
    has_missing: Bulk
    start: Bulk

    def amount(self) -> int:
        """Count the cut points of all columns."""
        return len(self.cuts) // 4


class Trees(Message, frozen=True, forbid_unknown_fields=True):
    """Server to user: the trees of a finished round, one per output."""

    TAG = "trees"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals("the finished trees: splits and leaf weights", "leaves and splits")

    round: int
    trees: list[PublishedTree]

    def changes_gradients(self) -> bool:
        """Whether some tree has a split; without one the next round's sums say what those of this round said."""
        return any(tree.levels for tree in self.trees)

    def amount(self) -> int:
        """Count the nodes of all trees."""
        return sum(len(tree.values) // 4 for tree in self.trees)


class Received(Message, frozen=True, forbid_unknown_fields=True):
    """User to server: what was published has arrived. `rounds`: finished rounds the user knows, -1 before the plan."""

    TAG = "received"
    REVEALS = Reveals("that the user is there")

    rounds: int


class CountTask(Message, frozen=True, forbid_unknown_fields=True):
    """Rows, and rows that miss each column; `votes`: then which power of two bounds a user's mean start sum."""

    TAG = "count"
    REVEALS = Reveals(
        "how many rows all users have together, how many of these rows lack a value in each column, and the "
        "magnitude of labels",
        "counts",
    )

    n_features: int
    votes: bool

    def entries(self) -> int:
        """Length of the vector."""
        return 1 + self.n_features + (EXPONENTS if self.votes else 0)

    amount = entries


class StartTask(Message, frozen=True, forbid_unknown_fields=True):
    """The objective's `n_sums` start sums, in units of 2**exponent / 2**bits."""

    TAG = "start"
    REVEALS = Reveals("sums of labels (rows of each class) over all users together", "sums")

    n_sums: int
    exponent: int
    bits: int

    def entries(self) -> int:
        """Length of the vector."""
        return self.n_sums

    amount = entries


class CellTask(Message, frozen=True, forbid_unknown_fields=True):
    """Rows in cells of columns (see quantiles.py)."""

    TAG = "cells"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals(
        "how many rows of all users together have values in each cell that is searched for cut points", "counts"
    )

    cells: Cells

    def entries(self) -> int:
        """Length of the vector."""
        return self.cells.n_counts

    amount = entries


class ScaleTask(Message, frozen=True, forbid_unknown_fields=True):
    """Which power of two bounds the user's gradients of this round: a one among EXPONENTS zeros."""

    TAG = "scale"
    REVEALS = Reveals("how many users have gradients of each magnitude", "counts")

    round: int

    def entries(self) -> int:
        """Length of the vector: one number per power of two."""
        return EXPONENTS

    amount = entries


class MetricTask(Message, frozen=True, forbid_unknown_fields=True):
    """Losses of the user's rows after `round` rounds: for each metric the weighted sum; last, the weights.

    `held_out`: of the rows that it keeps out of training, instead of those in it. Each is LIMBS integers (losses.py),
    so that no scale has to be agreed on.
    """

    TAG = "losses"
    REVEALS = Reveals("sums of losses over the rows of all users together, and the weight of these rows", "sums")

    round: int
    metrics: list[str]
    held_out: bool = False

    def entries(self) -> int:
        """Length of the vector."""
        return LIMBS * (len(self.metrics) + 1)

    def amount(self) -> int:
        """Count one sum per metric, and the weight."""
        return len(self.metrics) + 1


class HessianTask(Message, frozen=True, forbid_unknown_fields=True):
    """Sums of hessians per feature and bin over all rows of a round, all outputs together, in units of 2**-GRID_BITS.

    Asked for where splits are drawn at random, whose candidates these sums space out.
    """

    TAG = "hessians"
    REVEALS = Reveals("sums of hessians per feature and bucket over all users together", "sums")

    round: int
    n_entries: int

    def entries(self) -> int:
        """Length of the vector."""
        return self.n_entries

    amount = entries


class LevelTask(Message, frozen=True, forbid_unknown_fields=True):
    """Gradient sums of nodes, per node: its total, then per feature and bin; units of 2**exponent / 2**bits."""

    TAG = "level"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals("sums of gradients and hessians per node, feature and bucket over all users together", "sums")

    round: int
    depth: int
    exponent: int
    bits: int
    n_entries: int
    trees: list[TreeTask]

    def entries(self) -> int:
        """Length of the vector."""
        return self.n_entries

    amount = entries


Task = CountTask | StartTask | CellTask | ScaleTask | MetricTask | HessianTask | LevelTask
PUBLISHED = (Plan, Trees, Received)
TASKS = Catalogue((CountTask, StartTask, CellTask, ScaleTask, MetricTask, HessianTask, LevelTask))


def write_task(task: Task) -> bytes:
    """A task as bytes: one byte for the length of its tag, the tag, the fields."""
    tag = task.TAG.encode()
    return bytes([len(tag)]) + tag + encode(task)


def read_task(data: memoryview) -> Task:
    """The task in `data`. Raises MessageError or FrameError for bytes that are none."""
    size = data[0] if len(data) else 0
    tag = bytes(data[1 : 1 + size])
    if not tag.isascii():
        raise MessageError(
            f"reading a task: found the name {tag!r}, wanted one of {[task.TAG for task in TASKS.types]}"
        )
    task = TASKS.decode(tag.decode(), data[1 + size :], "server")
    if not isinstance(task, Task):
        raise MessageError(f"reading a task: found {task.TAG!r}, which is none")
    return task
