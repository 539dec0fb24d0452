"""`vfxgb bench ops --lattice`: sums over encrypted columns, a tree at a time, both parties in this process.

Seconds are those of the processor, all threads and both parties added up. A tree has 2^depth - 1 nodes with one weight
a row, all rows on every level; its masks are counted, though a run makes them ahead. What is measured is also checked:
every sum of every node against plain numbers.
"""

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vfxgb.bench.progress import Progress
from vfxgb.errors import BenchmarkError
from vfxgb.lattice import BitColumns, ColumnHolder, ColumnOwner, HolderSettings, LatticeParams, Level, open_sums
from vfxgb.lattice.params import MAX_WEIGHT, RingChoice

Bits = NDArray[np.bool_]
_WAIT_SECONDS = 0.001
_PATIENCE_SECONDS = 120.0


@dataclass(frozen=True)
class LatticeShape:
    """Rows and columns (candidate splits) of a passive party, and the depth of trees."""

    name: str
    rows: int
    columns: int
    depth: int
    ring: RingChoice = "auto"


SHAPES = (
    LatticeShape("give_credit: 5 features, 32 bins", 150_000, 155, 6),
    LatticeShape("the same, ring of degree 4096", 150_000, 155, 6, "wide"),
    LatticeShape("10 features, 16 bins", 100_000, 150, 5),
    LatticeShape("50 features, 64 bins", 30_000, 3150, 6),
    LatticeShape("the same, two columns a word", 30_000, 3150, 6, "pairs"),
)
QUICK_SHAPES = (
    LatticeShape("5 features, 8 bins", 5_000, 35, 4),
    LatticeShape("the same, two columns a word", 5_000, 35, 4, "pairs"),
)


@dataclass
class LatticeMeasurement:
    """What a shape took: processor seconds of the set-up and of a tree, medians over repeats, and bytes."""

    shape: LatticeShape
    params: str
    setup_seconds: dict[str, float]
    setup_bits: float
    tree_bytes: int
    nodes: int
    tree_seconds: dict[str, list[float]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the table calls it."""
        return self.shape.name

    def seconds(self, step: str) -> float:
        """The median over trees of `sums`, `shares`, `masks` or `all`."""
        return float(np.median(self.tree_seconds[step]))


def measure_lattice(shapes: tuple[LatticeShape, ...], threads: int, repeats: int) -> list[LatticeMeasurement]:
    """All shapes. Raises BenchmarkError for a sum that is wrong."""
    progress = Progress("measuring", len(shapes))
    found = []
    for done, shape in enumerate(shapes):
        found.append(_measure(shape, threads, repeats))
        progress.update(done + 1)
    return found


def _measure(shape: LatticeShape, threads: int, repeats: int) -> LatticeMeasurement:
    generator = np.random.default_rng(1)
    left = generator.random((shape.columns, shape.rows), dtype=np.float32) < generator.random((shape.columns, 1))
    share = np.clip(left.mean(axis=1), 1e-9, 1 - 1e-9)
    weights = np.rint(np.minimum(4 / np.sqrt(share * (1 - share)), MAX_WEIGHT)).astype(np.int32)
    nodes = (1 << shape.depth) - 1
    owner = ColumnOwner("active", BitColumns(left, weights), threads=threads)
    settings = HolderSettings(ring=shape.ring, threads=threads, ahead=nodes)
    with ColumnHolder("passive", shape.rows, settings) as holder:
        found = _set_up(shape, owner, holder)
        for _ in range(repeats):
            _tree(found, owner, holder, left, weights, generator)
    return found


def _set_up(shape: LatticeShape, owner: ColumnOwner, holder: ColumnHolder) -> LatticeMeasurement:
    seconds = {"passive": 0.0, "active": 0.0}
    seed = holder.accept(owner.offer(holder.open()))
    if seed is not None:
        owner.accept(seed)
    start = time.process_time()
    zeros = owner.zeros()
    sent = len(zeros.words)
    seconds["passive"] += time.process_time() - start
    blocks = owner.blocks()
    while True:
        start = time.process_time()
        block = next(blocks, None)
        seconds["passive"] += time.process_time() - start
        if block is None:
            break
        if holder.progress[0] == 0:
            holder.add_zeros(zeros)
            _wait_for_masks(holder)
        start = time.process_time()
        holder.add(block)
        seconds["active"] += time.process_time() - start
        sent += len(block.words)
    bits = 8 * sent / shape.rows / shape.columns
    nodes = (1 << shape.depth) - 1
    return LatticeMeasurement(shape, holder.params.describe(), seconds, bits, 0, nodes)


def _wait_for_masks(holder: ColumnHolder) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while holder.masks_ready < holder.masks_ahead and time.monotonic() < deadline:
        time.sleep(_WAIT_SECONDS)


def _levels(shape: LatticeShape, params: LatticeParams, generator: np.random.Generator) -> list[Level]:
    """Every row on every level, each node with weights of the largest norm that a node of all rows may have."""
    levels = []
    of_row = np.zeros(shape.rows, dtype=np.int64)
    for depth in range(shape.depth):
        nodes = []
        for node in range(1 << depth):
            rows = np.flatnonzero(of_row == node)
            u = generator.standard_normal(len(rows))
            scale = 0.9 * params.root_norm / max(float(np.linalg.norm(u)), 1.0)
            whole = np.rint(scale * (u - (u.mean() if len(u) else 0.0))).astype(np.int32)
            nodes.append((rows, whole))
        levels.append(Level.of(nodes))
        of_row = 2 * of_row + generator.integers(0, 2, shape.rows)
    return levels


def _tree(
    found: LatticeMeasurement,
    owner: ColumnOwner,
    holder: ColumnHolder,
    left: Bits,
    weights: NDArray[np.int32],
    generator: np.random.Generator,
) -> None:
    levels = _levels(found.shape, holder.params, generator)
    _wait_for_masks(holder)
    sums = shares = 0.0
    sent = 0
    totals = []
    start = time.process_time()
    for level in levels:
        begin = time.thread_time()
        message, own = holder.sum(level)
        middle = time.thread_time()
        y = owner.shares(message)
        shares += time.thread_time() - middle
        sums += middle - begin
        sent += len(message.words)
        totals.append((own.order, own.x, y))
    _wait_for_masks(holder)
    every = time.process_time() - start
    for step, seconds in (("sums", sums), ("shares", shares), ("masks", every - sums - shares), ("all", every)):
        found.tree_seconds.setdefault(step, []).append(seconds)
    found.tree_bytes = sent
    table = left.astype(np.float32)
    for level, (order, x, y) in zip(levels, totals, strict=True):
        _check(open_sums(x + y, holder.params), order, level, table, weights)


def _check(
    opened: NDArray[np.int64],
    order: NDArray[np.int64],
    level: Level,
    table: NDArray[np.float32],
    weights: NDArray[np.int32],
) -> None:
    """Every sum; products of 0, 1 and small integers are exact in float32 up to 2^24, in parts of so few rows."""
    for place, node in enumerate(order):
        entries = slice(level.offsets[node], level.offsets[node + 1])
        rows, u = level.rows[entries], level.weights[entries]
        wanted = np.zeros(len(weights), dtype=np.int64)
        for first in range(0, len(rows), 4096):
            part = slice(first, first + 4096)
            if np.abs(u[part]).astype(np.int64).sum() >= 1 << 24:
                wanted += table[:, rows[part]].astype(np.int64) @ u[part].astype(np.int64)
            else:
                wanted += (table[:, rows[part]] @ u[part].astype(np.float32)).astype(np.int64)
        if not np.array_equal(opened[place], wanted * weights):
            raise BenchmarkError(f"lattice sums: node {node} came out wrong, so its time means nothing")
