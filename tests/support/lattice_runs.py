"""Both parties of lattice sums in one process, their messages through bytes, and the sums in plain numbers."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vfxgb.lattice import (
    LATTICE_MESSAGES,
    BitColumns,
    ColumnHolder,
    ColumnOwner,
    HolderSettings,
    Level,
    open_noise,
    open_sums,
)
from vfxgb.transport.messages import Catalogue, Message, encode

CATALOGUE = Catalogue(LATTICE_MESSAGES)


@dataclass
class Line:
    """Every message as the other party decodes it, and its size."""

    sizes: list[tuple[str, int]] = field(default_factory=list)

    def send(self, message: Message) -> Message:
        payload = encode(message)
        self.sizes.append((message.TAG, len(payload)))
        return CATALOGUE.decode(message.TAG, payload, "peer")


@dataclass
class Table:
    """Columns in plain numbers: left[columns, rows] and weights that the rule allows."""

    left: NDArray[np.bool_]
    weights: NDArray[np.int32]

    @classmethod
    def draw(cls, rows: int, columns: int, seed: int) -> "Table":
        generator = np.random.default_rng(seed)
        left = generator.random((columns, rows)) < generator.random((columns, 1))
        share = np.clip(left.mean(axis=1), 1e-9, 1 - 1e-9)
        weights = np.rint(4 * np.minimum(1 / np.sqrt(share * (1 - share)), 8)).astype(np.int32)
        return cls(left, weights)

    def source(self) -> BitColumns:
        return BitColumns(self.left, self.weights)

    def sums(self, level: Level) -> NDArray[np.int64]:
        """V[nodes, columns]."""
        found = np.zeros((level.count, len(self.left)), dtype=np.int64)
        for node in range(level.count):
            entries = slice(level.offsets[node], level.offsets[node + 1])
            found[node] = self.left[:, level.rows[entries]].astype(np.int64) @ level.weights[entries].astype(np.int64)
        return found * self.weights


@dataclass
class Parties:
    holder: ColumnHolder
    owner: ColumnOwner
    line: Line

    def set_up(self, most: int | None = None) -> int:
        """All messages of the set-up, or only so many blocks of it; gives how many blocks there were."""
        line = self.line
        seed = self.holder.accept(line.send(self.owner.offer(line.send(self.holder.open()))))
        if seed is not None:
            self.owner.accept(line.send(seed))
        self.holder.add_zeros(line.send(self.owner.zeros()))
        count = 0
        for block in self.owner.blocks():
            if most is not None and count >= most:
                break
            self.holder.add(line.send(block))
            count += 1
        return count

    def total(self, level: Level) -> NDArray[np.uint64]:
        """x + y of each node, in the caller's order."""
        nodes, shares = self.holder.sum(level)
        found = np.empty((level.count, self.holder.columns), dtype=np.uint64)
        found[shares.order] = shares.x + self.owner.shares(self.line.send(nodes))
        return found

    def sums(self, level: Level) -> NDArray[np.int64]:
        return open_sums(self.total(level), self.holder.params)

    def noise(self, level: Level) -> NDArray[np.int64]:
        return open_noise(self.total(level), self.holder.params)


def parties(table: Table, settings: HolderSettings | None = None, **own: object) -> Parties:
    """Two parties that have said nothing yet; `own`: further arguments of the owner."""
    settings = settings or HolderSettings(threads=1, ahead=4)
    holder = ColumnHolder("shop", table.left.shape[1], settings)
    owner = ColumnOwner("bank", table.source(), threads=settings.threads, **own)  # type: ignore[arg-type]
    return Parties(holder, owner, Line())


def draw_level(holder: ColumnHolder, nodes: int, seed: int, full: bool = True) -> Level:
    """Disjoint nodes over all rows, each with the largest weights that there is room for."""
    params = holder.params
    generator = np.random.default_rng(seed)
    of_row = generator.integers(0, max(1, nodes + (not full)), params.rows)
    return Level.of([fitting(np.flatnonzero(of_row == node), params, generator) for node in range(nodes)])


def fitting(rows: NDArray[np.int64], params: object, generator: np.random.Generator) -> tuple[NDArray, NDArray]:
    u = generator.standard_normal(len(rows))
    if len(rows) > 1:
        u -= u.mean()
    room = 2.0**params.value_bits - 2  # type: ignore[attr-defined]
    scale = 2.0**params.norm_bits / max(np.linalg.norm(u), 1e-9)  # type: ignore[attr-defined]
    while True:
        weights = np.rint(scale * u).astype(np.int64)
        norm = np.linalg.norm(weights)
        by_norm = np.sqrt(32.0 * params.rows) * norm + 32 * abs(weights.sum())  # type: ignore[attr-defined]
        by_sum = 32 * max(np.maximum(weights, 0).sum(), np.maximum(-weights, 0).sum())
        if min(by_norm, by_sum) <= room and norm <= 2.0**params.norm_bits:  # type: ignore[attr-defined]
            return rows, weights
        scale *= 0.97
