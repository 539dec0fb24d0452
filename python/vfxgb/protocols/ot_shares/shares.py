"""What both roles know of the shares: the bits of pairs on the wire, and what keys take."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.codec.exact import ExactCode
from vfxgb.errors import CapacityError, MessageError
from vfxgb.numeric.fixed_point import fraction_bits
from vfxgb.ot.trees import tree_depth
from vfxgb.protocols.ot_shares.params import OtSharesParams
from vfxgb.protocols.ot_shares.slots import Slots
from vfxgb.rows.masks import BLOCK_BYTES, MaskForest, pack
from vfxgb.transport.messages import Bulk, pack_bytes

MAX_BINS = 65_534
HOLE_BYTES, PAIR_BYTES = 2, 16
# With these paths of AES, leaves that are kept save too little time for the memory that they take.
FAST_AES = ("vaes", "vaes512")


@dataclass(frozen=True)
class PairCodec:
    """Pairs as they travel: modulo 2^g_bits and 2^h_bits, which hold any sum over `rows` rows."""

    rows: int
    fraction_bits: int
    threads: int
    hessian_shift: int = 0

    @cached_property
    def exact(self) -> ExactCode:
        """The code that every exact protocol has: it knows how large sums become."""
        return ExactCode(self.rows, self.fraction_bits, self.hessian_shift)

    def pack(self, pairs: NDArray[np.uint64]) -> Bulk:
        """The low bits of uint64[..., 2]; see rows/masks.py."""
        return pack_bytes(pack(pairs, self.exact.widths, self.threads))

    def check(self, data: Bulk, count: int, what: str) -> None:
        """Raise MessageError unless these are the bytes of `count` pairs."""
        widths = self.exact.widths
        bits = count * (widths.g_bits + widths.h_bits)
        if len(data) != (bits + 7) // 8:
            raise MessageError(
                f"{what}: found {len(data)} bytes, wanted {(bits + 7) // 8} for {count} pairs of {widths.g_bits} + "
                f"{widths.h_bits} bits"
            )
        if bits % 8 and data[-1] >> bits % 8:
            raise MessageError(f"{what}: found bits beyond the last pair, of {count}")

    def unpack(self, data: Bulk, shape: tuple[int, ...], what: str) -> NDArray[np.uint64]:
        """uint64[*shape, 2]. Raises MessageError for another number of bytes."""
        widths, count = self.exact.widths, int(np.prod(shape, dtype=np.int64))
        try:
            pairs = _native.ot_shares.unpack_pairs(data, count, widths.g_bits, widths.h_bits, self.threads)
        except ValueError as error:
            raise MessageError(f"{what}: {error} for {count} pairs of {widths.g_bits} + {widths.h_bits} bits") from None
        return pairs.reshape(*shape, 2)

    def open(self, pairs: NDArray[np.uint64], what: str) -> NDArray[np.int64]:
        """The sums that pairs stand for, g signed and h not. Raises CapacityError for what no rows can have."""
        widths = self.exact.widths
        g_shift, h_shift = np.uint64(64 - widths.g_bits), np.uint64(64 - widths.h_bits)
        sums = np.empty(pairs.shape, dtype=np.int64)
        sums[..., 0] = (pairs[..., 0] << g_shift).view(np.int64) >> g_shift.astype(np.int64)
        sums[..., 1] = ((pairs[..., 1] << h_shift) >> h_shift).astype(np.int64)
        g_most, h_most = self.rows << self.fraction_bits, self.rows * self.exact.largest_hessian
        if int(np.abs(sums[..., 0]).max(initial=0)) > g_most or int(sums[..., 1].max(initial=0)) > h_most:
            raise CapacityError(
                f"{what}: found a sum beyond what {self.rows} rows can have; the message was damaged, or the parties "
                "hold masks of different set-ups"
            )
        return sums


def pair_codec(params: OtSharesParams, n_train: int, hessian_shift: int, threads: int) -> PairCodec:
    """The codec of a run: it follows from public numbers, never from the data. `hessian_shift`: see RunFacts."""
    return PairCodec(n_train, fraction_bits(n_train, params.precision_bits), threads, hessian_shift)


def mask_forest(slots: Slots, session: bytes, n_rows: int, block_rows: int) -> MaskForest:
    """The trees of a set-up for a RowStore."""
    return MaskForest(session, slots.leaves, slots.depths, n_rows, block_rows)


def block_ranges(n_rows: int, block_rows: int) -> list[tuple[int, int]]:
    """First row and row after the last of each block of the set-up."""
    return [(first, min(first + block_rows, n_rows)) for first in range(0, n_rows, block_rows)]


def key_bytes(slots: Slots, n_rows: int, owner: bool) -> int:
    """What the keys of one set of trees take at a party."""
    return BLOCK_BYTES * n_rows * (len(slots) if owner else slots.levels)


def leaf_bytes(slots: Slots, n_rows: int) -> int:
    """What all leaves take."""
    return BLOCK_BYTES * n_rows * int(slots.values.sum())


def slot_row_bytes(params: OtSharesParams, n_outputs: int) -> int:  # noqa: ARG001 - see ProtocolSpec.row_bytes
    """About what a passive party has in memory per row of a shard: one slot with up to 256 bins and missing values."""
    return BLOCK_BYTES * tree_depth(257) + HOLE_BYTES + PAIR_BYTES


def keeps_leaves(params: OtSharesParams, slots: Sequence[Slots], n_rows: int, owner: bool, party: str) -> bool:
    """Whether leaves are to be kept. Raises CapacityError where keys, or leaves that must be kept, exceed the limit."""
    limit = params.limit_bytes
    if limit is None:
        return False
    keys = sum(key_bytes(count, n_rows, owner) for count in slots)
    # While leaves are made, the keys they are made from are still there.
    leaves = keys + sum(leaf_bytes(count, n_rows) for count in slots)
    needed = leaves if params.keep_leaves else keys
    if needed > limit:
        raise CapacityError(
            f"{party} setting up ot_shares: {'keys and leaves' if params.keep_leaves else 'keys'} take {needed:,} "
            f"bytes, wanted at most memory_limit={params.memory_limit}; raise it, "
            + ("give up keep_leaves, " if params.keep_leaves else "")
            + "or use fewer rows or bins"
        )
    if params.keep_leaves is not None:
        return params.keep_leaves
    return leaves <= limit and _native.ot.aes_path() not in FAST_AES
