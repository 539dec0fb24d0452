"""The active party of lattice sums: it keeps the encrypted columns, masks its nodes and keeps its shares of sums."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import LatticeError
from vfxgb.lattice.columns import MAX_COLUMNS
from vfxgb.lattice.elements import SEED_BYTES, ZERO_BLOCK, commitment, draw_seed, public_element, setup_name
from vfxgb.lattice.held_rows import ColumnSetup, HeldRows, LevelSums
from vfxgb.lattice.level import Level
from vfxgb.lattice.masks import MaskFile, MaskStock
from vfxgb.lattice.messages import LatticeBlock, LatticeNodes, LatticeOffer, LatticeOpen, LatticeSeed, LatticeZeros
from vfxgb.lattice.params import RingChoice, choose_params
from vfxgb.lattice.store import HolderHead, SetupFolder
from vfxgb.threads import resolve_threads
from vfxgb.transport.messages import pack_bytes

Words = NDArray[np.uint64]

# Masks in stock: a level of a tree of depth 6, and its next.
DEFAULT_AHEAD = 64


@dataclass(frozen=True)
class LevelShares:
    """The active party's part of a level, in the order in which nodes were sent.

    `order`: the caller's number of each node sent. `x`: shares uint64[nodes, columns]; with the passive party's they
    add up to Delta V + noise in the upper log_q bits of words, modulo 2^64.
    """

    order: NDArray[np.int64]
    x: Words


@dataclass(frozen=True)
class HolderSettings:
    """`precision_bits` and `ring` as in choose_params, sent to the passive party; the others are the party's own.

    `setup_dir`: an existing folder where the set-up is kept; `file`: a new file for the columns, mapped, in place of
    memory; `in_shards`: the caller keeps the columns (HeldRows of each shard); `ahead`: masks in stock; `keep_masks`:
    in a file of setup_dir.
    """

    precision_bits: float | None = None
    ring: RingChoice = "auto"
    setup_dir: str | Path | None = None
    file: Path | None = None
    in_shards: bool = False
    ahead: int = DEFAULT_AHEAD
    keep_masks: bool = False
    threads: int | None = None


class ColumnHolder:
    """One set-up with the passive party `peer` over `rows` rows, and its levels; `own`: this party's name.

    Call open, accept, add_zeros, add for every block, then sum for every level. Close it when all is done.
    """

    def __init__(self, peer: str, rows: int, settings: HolderSettings | None = None, own: str = "active") -> None:
        self._peer = peer
        self._step = f"lattice set-up with {peer}"
        self._settings = settings or HolderSettings()
        self.params = choose_params(rows, self._settings.precision_bits, self._settings.ring)
        self._threads = resolve_threads(self._settings.threads)
        directory = self._settings.setup_dir
        self._folder = None if directory is None else SetupFolder(directory, own, peer)
        if self._settings.keep_masks and self._folder is None:
            raise LatticeError(f"{self._step}: found keep_masks without setup_dir, wanted a folder for them")
        self._seed, self._secret = draw_seed(), draw_seed()
        self._kept: HolderHead | None = None
        self._opened = False
        self.columns = 0
        self.name = b""
        self._rows_done = 0
        self._rows: HeldRows | None = None
        self._stock: MaskStock | None = None
        self._level = 0

    @property
    def rows_done(self) -> int:
        """Rows whose columns have arrived, in this run or, of a kept set-up that goes on, before it."""
        return self._rows_done

    @property
    def _asked(self) -> list[object]:
        return [self.params.rows, self._settings.precision_bits, self._settings.ring]

    def open(self) -> LatticeOpen:
        """The first message."""
        if self._opened:
            raise LatticeError(f"{self._step}: found a second opening, wanted one for each set-up")
        self._opened = True
        stored, rows_kept = b"", 0
        if self._folder is not None:
            head = self._folder.head(HolderHead)
            if head is not None and head.asked == self._asked:
                self._kept = head
                stored = head.name
                rows_kept = sum(rows for first, rows, _ in self._folder.parts() if rows)
        return LatticeOpen(
            self.params.rows,
            self._settings.precision_bits,
            self._settings.ring,
            commitment(self._seed, self._secret),
            stored,
            rows_kept,
        )

    def accept(self, offer: LatticeOffer) -> LatticeSeed | None:
        """Take the offer; the seed is to be sent, None where a kept set-up goes on.

        Raises LatticeError for a seed of another length, our own seed or one that was used before.
        """
        if not self._opened or self.name:
            raise LatticeError(f"{self._step}: found an offer, wanted none at this point")
        if not 1 <= offer.columns <= MAX_COLUMNS:
            raise LatticeError(f"{self._step}: found {offer.columns} columns, wanted 1 to {MAX_COLUMNS}")
        if offer.stored:
            self._go_on(offer)
            return None
        if len(offer.seed) != SEED_BYTES:
            raise LatticeError(f"{self._step}: found a seed of {len(offer.seed)} bytes, wanted {SEED_BYTES}")
        if offer.seed == self._seed:
            raise LatticeError(
                f"{self._step}: found our own seed, wanted another; the other party sends back what it gets"
            )
        name = setup_name(self.params, offer.columns, self._seed, offer.seed)
        if self._folder is not None:
            self._folder.enter_seeds(self._seed, offer.seed)
            self._folder.begin(HolderHead(name, offer.columns, self._asked))
        self._begin(name, offer.columns)
        return LatticeSeed(self._seed, self._secret)

    def _go_on(self, offer: LatticeOffer) -> None:
        if self._kept is None or self._folder is None or self._kept.columns != offer.columns:
            raise LatticeError(
                f"{self._step}: the passive party goes on with a set-up of {offer.columns} columns that we lack"
            )
        self._begin(self._kept.name, offer.columns)
        for first, rows, words in self._folder.parts():
            if rows == 0:
                self._open_stock(words)
            else:
                self._take(LatticeBlock(first, rows, pack_bytes(words)), keep=False)

    def kept_blocks(self) -> Iterator[LatticeBlock]:
        """The blocks of a kept set-up that goes on, for a caller that gives them to its shards again."""
        if self._kept is None or self._folder is None or self._kept.name != self.name:
            return
        for first, rows, words in self._folder.parts():
            if rows:
                yield LatticeBlock(first, rows, pack_bytes(words))

    def _begin(self, name: bytes, columns: int) -> None:
        self.name, self.columns = name, columns
        if not self._settings.in_shards:
            self._rows = self.held_rows(0, self.params.rows, self._settings.file)

    @property
    def setup(self) -> ColumnSetup:
        """What was agreed. Raises LatticeError before `accept`."""
        if not self.name:
            raise LatticeError(f"{self._step}: there is no set-up yet; take the passive party's offer first")
        return ColumnSetup(self.params, self.name, self.columns)

    def held_rows(self, first: int, stop: int, file: Path | None = None) -> HeldRows:
        """Room for the columns of some rows, those of a shard, say. Raises LatticeError before `accept`."""
        return HeldRows(self.setup, first, stop, file, self._threads)

    def add_zeros(self, zeros: LatticeZeros) -> None:
        """Take the encryptions of zero; masks are made ahead from now on. Raises LatticeError for another length."""
        if not self.name:
            raise LatticeError(f"{self._step}: found encryptions of zero, wanted none before the seeds")
        degree = self.params.ring.degree
        self._check_words(len(zeros.words), degree, "encryptions of zero")
        if self._stock is not None:
            return  # of a set-up that goes on: they are the ones that were kept
        self._open_stock(zeros.words)
        if self._folder is not None:
            self._folder.add(0, 0, zeros.words)

    def _open_stock(self, zeros: bytes | memoryview) -> None:
        params, degree = self.params, self.params.ring.degree
        element = public_element(self.name, ZERO_BLOCK, params.ring)
        try:
            maker = _native.lattice.MaskMaker(
                degree, params.ring.log_q, element, zeros, self.setup.words, params.column_bits, self._threads
            )
        except ValueError as error:
            raise LatticeError(f"{self._step}: the encryptions of zero are malformed: {error}") from None
        file = None
        if self._settings.keep_masks and self._folder is not None:
            file = MaskFile(self._folder.masks, self.name, self._settings.ahead, degree + self.setup.words)
        self._stock = MaskStock(maker, degree, self.setup.words, self._settings.ahead, self._threads, file)

    def add(self, block: LatticeBlock) -> None:
        """Take the next rows of all columns. Raises LatticeError for rows out of order and for another length.

        With rows in shards this only checks the block; the caller gives it to the shards that have rows of it.
        """
        self._take(block, keep=True)

    def _take(self, block: LatticeBlock, keep: bool) -> None:
        if self._stock is None:
            raise LatticeError(f"{self._step}: found columns, wanted the encryptions of zero first")
        degree = self.params.ring.degree
        most = min(self.params.rows, (self._rows_done // degree + 1) * degree) - self._rows_done
        if block.first != self._rows_done or not 1 <= block.rows <= most:
            raise LatticeError(
                f"{self._step}: found columns of {block.rows} rows from {block.first} on, wanted at most {most} from "
                f"{self._rows_done} on; rows arrive once, in order, and within a block of {degree}"
            )
        self._check_words(len(block.words), block.rows, f"columns of rows {block.first} on")
        if self._rows is not None:
            self._rows.fill(block)
        if keep and self._folder is not None:
            self._folder.add(block.first, block.rows, block.words)
        self._rows_done += block.rows

    def _check_words(self, found: int, length: int, what: str) -> None:
        wanted = self.setup.words * _native.lattice.packed_bytes(length, self.params.column_bits)
        if found != wanted:
            raise LatticeError(
                f"{self._step}: found {found} bytes of {what}, wanted {wanted} for {self.columns} columns of {length} "
                "words; the bytes are truncated, or the parties disagree on the parameters"
            )

    @property
    def progress(self) -> tuple[int, int]:
        """(rows whose columns have arrived, all rows)."""
        return self._rows_done, self.params.rows

    @property
    def masks_ready(self) -> int:
        """Masks in stock."""
        return 0 if self._stock is None else len(self._stock)

    @property
    def masks_ahead(self) -> int:
        """Masks that the stock is filled up to."""
        return self._settings.ahead

    def sum(self, level: Level, shuffle: bool = True) -> tuple[LatticeNodes, LevelShares]:
        """(the message for the passive party, our shares) of a level.

        Without `shuffle` nodes are sent in the order of the level, for a caller whose order is secret already.

        Raises CapacityError for weights whose sums or noise could be too large, before anything is used up or sent.
        """
        if self._rows is None:
            raise LatticeError(f"{self._step}: the columns are in shards; add up their sums and give them to `mask`")
        self._check_complete()
        level.check_rows(self.params, self._peer)
        return self.mask(self._rows.sums(level), shuffle)

    def check(self, level: Level) -> None:
        """Raise what `sum` would raise about a level."""
        self._check_complete()
        level.check(self.params, self._peer)

    def _check_complete(self) -> None:
        if self._stock is None or self._rows_done < self.params.rows:
            raise LatticeError(
                f"{self._step}: found the columns of {self._rows_done} rows, wanted those of all {self.params.rows} "
                "before the first sum"
            )

    def mask(self, sums: LevelSums, shuffle: bool = True) -> tuple[LatticeNodes, LevelShares]:
        """The same from the sums of a level over all rows (HeldRows.sums of each shard, added up), which it changes.

        Raises CapacityError as `sum` does.
        """
        self._check_complete()
        sums.norms.check(self.params, self._peer)
        w, x = sums.w, sums.x
        if self._stock is None or w.shape != (len(x), self.params.ring.degree) or x.shape != (len(w), self.setup.words):
            raise LatticeError(
                f"{self._step}: found sums of shapes {w.shape} and {x.shape}, wanted those of its set-up"
            )
        mask_w, mask_x = self._stock.take(len(w))
        w += mask_w
        x += mask_x
        mask_w.fill(0)
        mask_x.fill(0)
        order = np.arange(len(w))
        if shuffle:
            order = np.argsort(np.frombuffer(_native.rand.random_bytes(8 * len(w)), dtype=np.uint64)).astype(np.int64)
        words = _native.lattice.pack_words(w[order], self.params.node_bits)
        nodes = LatticeNodes(self._level, len(w), pack_bytes(words))
        self._level += 1
        return nodes, LevelShares(order, self.params.spread(x[order], self.columns))

    def close(self) -> None:
        """End the thread that makes masks, and wipe what it has made."""
        if self._stock is not None:
            self._stock.close()

    def __enter__(self) -> "ColumnHolder":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ColumnHolder(peer={self._peer!r}, rows={self._rows_done} of {self.params.rows}, level={self._level})"
