"""What a tree of `batch_he` costs in time, bytes and memory, by formulas over measured constants (docs/scale.md).

Notation: n rows; F_a features of the active party, F_p of each of P passive ones; B bins; depth D; L ciphertexts per
row; S shards of a party; W workers of a party with c cores each. The constants are processor seconds of one operation
on one core while all cores are at work (scale_costs.py).

Levels l = 0 .. D - 1 are summed: the root with n rows, then the smaller child of every pair, 2^(l-1) nodes with at most
n / 2 rows together; the others are differences. So 2^(D-1) nodes and n (D + 1) / 2 rows of nodes at most, in all.

Additions of one node of R rows of one shard: features are summed together in groups of g, one addition per row and
group, and from the joint cells hit, K (1 - exp(-R / K)) of the K = B^g there are, down to each feature. Two groups are
joined where that takes fewer and there is room for the joint cells (cpp/he_sums/joint_cells.h), so g is 1, 2, 4, ...
This holds for independent features: related ones hit fewer cells and take less.
"""

import math
from dataclasses import dataclass

import msgspec

from vfxgb.codec.exact import ExactCode
from vfxgb.codec.plan import plan_slots
from vfxgb.numeric.fixed_point import fraction_bits

# Joint cells of two and more rows that nodes may have: a fourth of a shard's rows, no more than the node's, or at
# least; and of how many features' share of them one group may have.
CELL_SHARE, LEAST_CELLS, GROUP_SHARE = 4, 1024, 6
# Groups are joined where that saves a tenth of the rows.
LEAST_SAVING = 10
# Bytes per row at the active party besides bins: label, margin, (g, h) as float32, as integers and in slots; and what
# both parties have: node and place of every row before and after a split, a column as it is read.
ACTIVE_ROW_BYTES = 4 + 2 * 4 + 8 + 16 + 16
BOTH_ROW_BYTES = 2 * 8 + 4
# Left bits of a row, per level.
BIT_BYTES = 1 / 8


class KeyCosts(msgspec.Struct, frozen=True):
    """Constants of one kind of key: seconds of one operation, bytes of one ciphertext, bits of a plaintext.

    `encrypt`: by the owner of the key; `encrypt_public`: by anybody. `read`: checking and taking in a ciphertext.
    """

    scheme: str
    key_bits: int
    encrypt: float
    encrypt_public: float
    read: float
    add: float
    pack: float
    rerandomise: float
    decrypt: float
    wire_bytes: int
    element_bytes: int
    plaintext_bits: int


class RowCosts(msgspec.Struct, frozen=True):
    """Constants of work without ciphertexts: seconds per row, or per row and feature (`..._cell`).

    `bin_cell`: reading Parquet, cut points, bins. `sum_cell`: plain sums of the active party. `gradient`: labels,
    gradients, slots. `split`: who goes left, and the rows of a level in order of their nodes.
    """

    bin_cell: float
    sum_cell: float
    gradient: float
    split: float


@dataclass(frozen=True)
class Shape:
    """A training. `own`, `other`: features of the active party, of each passive one. `passive`: how many of these."""

    rows: int
    own: int
    other: int
    bins: int
    depth: int
    passive: int = 1

    def nodes(self, level: int) -> int:
        """Nodes of a level whose sums are made."""
        return 1 if level == 0 else 2 ** (level - 1)

    @property
    def all_nodes(self) -> int:
        """Those of all levels."""
        return sum(self.nodes(level) for level in range(self.depth))

    @property
    def built_rows(self) -> float:
        """Rows of these nodes, all together, at most."""
        return self.rows * (1 + (self.depth - 1) / 2)


@dataclass(frozen=True)
class Place:
    """Where one party's rows are: `workers` with `cores` each. `holds_key`: they encrypt as owners of the key."""

    workers: int
    cores: int
    shards: int
    holds_key: bool = True

    @property
    def all_cores(self) -> int:
        """Cores of all workers that find something to do: a shard is worked on by the cores of one worker."""
        return min(self.workers, self.shards) * self.cores


@dataclass(frozen=True)
class Work:
    """Processor seconds of one tree; those that begin with `once` are spent once per training, on reading and binning.

    The active party spends `encrypt` on encryption, `gradients` on gradients, its own sums and splits, and `open` on
    decryption. Each passive party spends `read` on taking ciphertexts in, `root` and `deeper` on the sums of the root
    and of all deeper levels, `answer` on packing and new randomness, and `split` on splits.
    """

    once_active: float
    once_passive: float
    encrypt: float
    gradients: float
    open: float
    read: float
    root: float
    deeper: float
    answer: float
    split: float

    @property
    def active(self) -> float:
        """The active party spends so many seconds per tree."""
        return self.encrypt + self.gradients + self.open

    @property
    def passive(self) -> float:
        """Each passive party spends so many seconds per tree."""
        return self.read + self.root + self.deeper + self.answer + self.split


@dataclass(frozen=True)
class Memory:
    """Bytes of rows: on each worker of the active and of a passive party, and in files of a passive party's run folder.

    At most `waiting` bytes of ciphertexts wait on an active worker until the line has taken those before them.
    """

    active_worker: float
    waiting: float
    passive_worker: float
    files: float


def node_additions(rows: float, features: int, bins: int, most_cells: float) -> float:
    """Additions of the rows of one node of one shard into the buckets of all features.

    `most_cells`: joint cells of two and more rows that there may be, all together.
    """
    if rows <= 0:
        return 0.0
    most_of_group = most_cells * GROUP_SHARE / max(features, 1)

    def hit(size: int) -> float:
        cells = float(bins) ** size
        return cells * -math.expm1(-rows / cells)

    def cost(size: int) -> float:
        # Into the cells of a group, then from these into the cells of its halves, and on.
        return rows - hit(size) + descent(size)

    def descent(size: int) -> float:
        return 0.0 if size == 1 else 2 * (hit(size) - hit(size // 2) + descent(size // 2))

    def shared(size: int) -> float:
        # A cell of one row is that row's ciphertext and takes no room.
        return max(hit(size) - rows * math.exp(-rows / float(bins) ** size), 1.0)

    def fits(size: int) -> bool:
        if size == 1:
            return True
        saved = 2 * cost(size // 2) - cost(size)
        return fits(size // 2) and shared(size) <= most_of_group and saved * LEAST_SAVING >= rows

    def grouped(left: int, size: int, room: float) -> float:
        if size == 1:
            return left * rows
        groups = min(left // size, int(room / shared(size))) if fits(size) else 0
        return groups * cost(size) + grouped(left - groups * size, size // 2, room - groups * shared(size))

    # Groups are joined two by two.
    largest = 1 << max(features, 1).bit_length() - 1
    return grouped(features, largest, most_cells)


def level_additions(shape: Shape, shards: int, level: int) -> float:
    """Additions of one level at a passive party: rows, joining of shards, left sums."""
    nodes = shape.nodes(level)
    in_shard = shape.rows / shards
    rows = in_shard / 2**level
    most_cells = max(LEAST_CELLS, min(rows, in_shard / CELL_SHARE))
    buckets = nodes * shape.other * shape.bins
    summed = shards * nodes * node_additions(rows, shape.other, shape.bins, most_cells)
    return summed + (shards - 1) * buckets + buckets


def sums_per_ciphertext(rows: int, key: KeyCosts) -> int:
    """How many sums come back in one ciphertext."""
    widths = ExactCode(rows, fraction_bits(rows)).widths
    return plan_slots(widths, 1, key.plaintext_bits, together=True).lanes[0].sums


def returned(shape: Shape, key: KeyCosts) -> float:
    """Ciphertexts that one passive party returns, per tree."""
    return shape.all_nodes * math.ceil(shape.other * (shape.bins - 1) / sums_per_ciphertext(shape.rows, key))


def work(shape: Shape, key: KeyCosts, row: RowCosts, active: Place, passive: Place) -> Work:
    """Processor seconds of one tree of one output."""
    n, back = shape.rows, returned(shape, key)
    left_sums = shape.all_nodes * shape.other * (shape.bins - 1)
    additions = [level_additions(shape, passive.shards, level) for level in range(shape.depth)]
    splits = n * shape.depth * row.split
    return Work(
        once_active=n * shape.own * row.bin_cell,
        once_passive=n * shape.other * row.bin_cell,
        encrypt=n * (key.encrypt if active.holds_key else key.encrypt_public) + shape.all_nodes * key.encrypt,
        gradients=n * row.gradient + shape.built_rows * shape.own * row.sum_cell + splits,
        open=shape.passive * back * key.decrypt,
        read=n * key.read,
        root=additions[0] * key.add,
        deeper=sum(additions[1:]) * key.add,
        answer=(left_sums - back) * key.pack + back * key.rerandomise,
        split=splits,
    )


def seconds_together(needed: Work, shape: Shape, cores: int) -> float:
    """Wall time of one tree with all parties on one machine of so many cores, reading included."""
    passive = shape.passive * (needed.passive + needed.once_passive)
    return (needed.active + needed.once_active + passive) / cores


def seconds_apart(needed: Work, shape: Shape, key: KeyCosts, active: Place, passive: Place, line: float) -> float:
    """Wall time of one tree with every party on its own workers, reading left out; `line`: bytes per second.

    Encryption, sending, taking in and the sums of the root overlap: the slowest of them counts. The rest comes one
    after the other.
    """
    sending = shape.passive * shape.rows * key.wire_bytes / line
    stream = max(needed.encrypt / active.all_cores, sending, (needed.read + needed.root) / passive.all_cores)
    rest = (needed.gradients + needed.open) / active.all_cores
    return stream + rest + (needed.deeper + needed.answer + needed.split) / passive.all_cores


def sent_bytes(shape: Shape, key: KeyCosts) -> float:
    """From the active party to all others, per tree: gradients, totals of nodes, and left bits at most."""
    bits = shape.rows * shape.depth * BIT_BYTES
    return shape.passive * ((shape.rows + shape.all_nodes) * key.wire_bytes + bits)


def received_bytes(shape: Shape, key: KeyCosts) -> float:
    """By the active party from all others, per tree: packed sums. Left bits are counted where they are sent."""
    return shape.passive * returned(shape, key) * key.wire_bytes


def memory(shape: Shape, key: KeyCosts, active: Place, passive: Place) -> Memory:
    """Bytes of rows, beyond what a worker takes without any."""
    width = 1 if shape.bins < 256 else 2
    # The sums of joint cells take as much as a fourth of the ciphertexts may.
    ciphertexts = key.element_bytes * (1 + 1 / CELL_SHARE)
    return Memory(
        active_worker=shape.rows / active.workers * (shape.own * width + ACTIVE_ROW_BYTES + BOTH_ROW_BYTES),
        waiting=shape.rows / active.workers * key.wire_bytes,
        passive_worker=shape.rows / passive.workers * (shape.other * width + ciphertexts + BOTH_ROW_BYTES),
        files=float(shape.rows * key.wire_bytes),
    )
