"""A batch of transfers as either party has it, and what can be made of it, once.

The sender has rows q and Delta, the receiver rows t and choices r, with q = t + r Delta in every transfer. A batch can
be used in one of these ways, and in parts (`take`); a transfer that was used is refused by name.

    correlated   the rows themselves
    keys         random, 1 of 2: two keys of 16 bytes at the sender, the one of its choice at the receiver
    tables       random, 1 of 2^m, m to 8: tables of short random entries, one entry of each at the receiver
    send         chosen, 1 of 2^m: messages of the sender's; the receiver corrects its random choices first (`choose`)
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import TransferError
from vfxgb.ot.wire import Bytes, Place

MAX_TABLE_BITS = 8
# Bytes that a message of a chosen transfer may have.
MESSAGE_BYTES = (1, 2, 4, 8, 16)
_NO_SHIFT = bytes(16)


@dataclass
class _Batch:
    """What both kinds share. `first`: the number of the first transfer within the batch that was requested."""

    session: bytes
    place: Place
    peer: str
    rows: NDArray[np.uint8]
    threads: int
    first: int = 0
    _taken: int = field(default=0, init=False)

    def __len__(self) -> int:
        """Transfers that are left."""
        return len(self.rows) - self._taken

    def _claim(self, count: int | None, step: str) -> slice:
        """Mark `count` transfers as used, all that are left for None; where they stand."""
        wanted = len(self) if count is None else count
        if wanted < 0 or wanted > len(self) or (count is None and self._taken and wanted == 0):
            raise TransferError(
                f"{step} with {self.peer}: {self.place} has {len(self)} of {len(self.rows)} transfers left, wanted "
                f"{'unused ones' if count is None else wanted}; a transfer serves once, request more"
            )
        self._taken += wanted
        return slice(self._taken - wanted, self._taken)

    def _where(self, rows: slice) -> tuple[bytes, int, int, int]:
        return self.session, self.place.domain, self.place.block, self.first + rows.start

    def _tables_left(self, bits: int, step: str) -> slice:
        """Claim all that is left, for tables of 2^bits entries."""
        if not 1 <= bits <= MAX_TABLE_BITS:
            raise TransferError(f"{step}: found tables of 2^{bits} entries, wanted 2^1 to 2^{MAX_TABLE_BITS}")
        if len(self) % bits:
            raise TransferError(
                f"{step}: found {len(self)} transfers, wanted a multiple of {bits}; a table of {1 << bits} entries "
                f"takes {bits} transfers"
            )
        return self._claim(None, step)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.place}, {len(self)} transfers with {self.peer})"


@dataclass(repr=False)
class SenderBatch(_Batch):
    """The sender's side; rows are q."""

    delta: bytes = b""

    def take(self, count: int) -> "SenderBatch":
        """The next `count` transfers as a batch of their own."""
        rows = self._claim(count, "taking transfers")
        first = self.first + rows.start
        return SenderBatch(self.session, self.place, self.peer, self.rows[rows], self.threads, first, self.delta)

    def correlated(self) -> NDArray[np.uint8]:
        """The rows q, uint8[n, 16]."""
        return self.rows[self._claim(None, "correlated transfers")]

    def keys(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Both keys of every transfer, uint8[n, 16] each."""
        rows = self._claim(None, "random transfers")
        session, domain, block, first = self._where(rows)
        zero, one = (
            _native.ot.transfer_keys(session, domain, block, shift, first, self.rows[rows], self.threads)
            for shift in (_NO_SHIFT, self.delta)
        )
        return zero, one

    def tables(self, bits: int, width: int) -> NDArray[np.uint8]:
        """Tables of 2^bits random entries of `width` bits, 1, 2, 4, ... 128: uint8[n / bits, 2^bits * width / 8].

        Entry I of a table stands from bit width * I on, lowest bit first.
        """
        return self._tables(self._tables_left(bits, "tables of transfers"), bits, width)

    def _tables(self, rows: slice, bits: int, width: int) -> NDArray[np.uint8]:
        session, domain, block, first = self._where(rows)
        return _native.ot.table_entries(
            session, domain, block, self.delta, bits, width, first, self.rows[rows], self.threads
        )

    def send(self, messages: NDArray[np.uint8], corrections: Bytes | None = None) -> bytes:
        """Bytes for the receiver: messages uint8[n, 2^m, w], w 1, 2, 4, 8 or 16, of which it can read one in each line.

        m transfers for each line. `corrections`: what the receiver's `choose` gave, None where it requested the
        transfers with the choices that it means.
        """
        step = f"sending chosen messages to {self.peer}"
        lines, entries, width = messages.shape
        bits = _bits_of(entries, width, step)
        flips = _unpack_choices(corrections, lines, bits, step)
        part = self.take(lines * bits)
        masks = part._tables(part._claim(None, step), bits, 8 * width).reshape(lines, entries, width)
        order = np.arange(entries, dtype=np.intp) ^ flips[:, np.newaxis]
        return (messages ^ np.take_along_axis(masks, order[:, :, np.newaxis], axis=1)).tobytes()


@dataclass(repr=False)
class ReceiverBatch(_Batch):
    """The receiver's side; rows are t, choices uint8[n] of 0 and 1."""

    choices: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, dtype=np.uint8))

    def take(self, count: int) -> "ReceiverBatch":
        """The next `count` transfers as a batch of their own."""
        rows = self._claim(count, "taking transfers")
        first = self.first + rows.start
        return ReceiverBatch(
            self.session, self.place, self.peer, self.rows[rows], self.threads, first, self.choices[rows]
        )

    def correlated(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """The rows t, uint8[n, 16], and the choices uint8[n]."""
        rows = self._claim(None, "correlated transfers")
        return self.rows[rows], self.choices[rows]

    def keys(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """The key of its choice in every transfer, uint8[n, 16], and the choices uint8[n]."""
        rows = self._claim(None, "random transfers")
        session, domain, block, first = self._where(rows)
        keys = _native.ot.transfer_keys(session, domain, block, _NO_SHIFT, first, self.rows[rows], self.threads)
        return keys, self.choices[rows]

    def tables(self, bits: int, width: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """(one entry of each table, uint8[n / bits, width / 8]; which one, uint8[n / bits])."""
        return self._tables(self._tables_left(bits, "tables of transfers"), bits, width)

    def _tables(self, rows: slice, bits: int, width: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        session, domain, block, first = self._where(rows)
        chosen = _numbers(self.choices[rows], bits)
        entries = _native.ot.chosen_entries(
            session, domain, block, bits, width, first, chosen, self.rows[rows], self.threads
        )
        return entries, chosen

    def choose(self, wanted: NDArray[np.uint8], bits: int, width: int) -> tuple[bytes, "Choice"]:
        """(corrections for the sender, what reads its messages): message wanted[i] < 2^bits of line i."""
        step = f"choosing messages of {self.peer}"
        _bits_of(1 << bits, width, step)
        if wanted.size and int(wanted.max()) >= 1 << bits:
            raise TransferError(f"{step}: found choice {int(wanted.max())}, wanted one below {1 << bits}")
        part = self.take(len(wanted) * bits)
        masks, chosen = part._tables(part._claim(None, step), bits, 8 * width)
        corrections = np.unpackbits((wanted ^ chosen)[:, np.newaxis], axis=1, bitorder="little")[:, :bits]
        return np.packbits(corrections, bitorder="little").tobytes(), Choice(masks, wanted, 1 << bits, step)


@dataclass(frozen=True, repr=False)
class Choice:
    """The receiver's choices among messages that are on their way."""

    masks: NDArray[np.uint8]
    wanted: NDArray[np.uint8]
    entries: int
    step: str

    def read(self, data: Bytes) -> NDArray[np.uint8]:
        """The chosen messages uint8[n, w] from the sender's bytes. TransferError for bytes of another size."""
        lines, width = self.masks.shape
        if len(data) != lines * self.entries * width:
            raise TransferError(
                f"{self.step}: found {len(data)} bytes, wanted {lines * self.entries * width} for {lines} lines of "
                f"{self.entries} messages of {width} bytes; the bytes are truncated or of another transfer"
            )
        sent = np.frombuffer(data, dtype=np.uint8).reshape(lines, self.entries, width)
        return sent[np.arange(lines), self.wanted] ^ self.masks


def pack_choices(choices: NDArray[np.uint8]) -> bytes:
    """0 and 1 as bits, lowest first."""
    return np.packbits(choices, bitorder="little").tobytes()


def _numbers(choices: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """Each `bits` choices as one number, the lowest bit first."""
    columns = choices.reshape(-1, bits)
    out = columns[:, 0].copy()
    for bit in range(1, bits):
        out |= columns[:, bit] << np.uint8(bit)
    return out


def _bits_of(entries: int, width: int, step: str) -> int:
    bits = entries.bit_length() - 1
    if entries != 1 << bits or not 1 <= bits <= MAX_TABLE_BITS or width not in MESSAGE_BYTES:
        raise TransferError(
            f"{step}: found lines of {entries} messages of {width} bytes, wanted 2, 4, ... {1 << MAX_TABLE_BITS} "
            f"messages of {', '.join(map(str, MESSAGE_BYTES))} bytes"
        )
    return bits


def _unpack_choices(corrections: Bytes | None, lines: int, bits: int, step: str) -> NDArray[np.uint8]:
    if corrections is None:
        return np.zeros(lines, dtype=np.uint8)
    wanted = -(-lines * bits // 8)
    if len(corrections) != wanted:
        raise TransferError(
            f"{step}: found {len(corrections)} bytes of corrected choices, wanted {wanted} for {lines} lines; they are "
            "truncated or of another transfer"
        )
    flat = np.unpackbits(np.frombuffer(corrections, dtype=np.uint8), bitorder="little", count=lines * bits)
    return _numbers(flat, bits)
