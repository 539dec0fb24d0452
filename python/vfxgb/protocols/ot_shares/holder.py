"""A passive party's keys: the trees of masks it holds, each without the leaf of the row's own bin."""

import hashlib
import math
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import nullcontext

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.codec.plan import PairWidths
from vfxgb.contract import PassiveContext
from vfxgb.errors import MessageError, TransferError
from vfxgb.ot import MAX_TRANSFER_BITS, HolderSession, Place, modp_group
from vfxgb.protocols.ot_shares.bound import choose_block_rows, most_trees
from vfxgb.protocols.ot_shares.messages import OtAnswer, OtOffer, OtReply, OtRequest, OtStart
from vfxgb.protocols.ot_shares.params import OtSharesParams
from vfxgb.protocols.ot_shares.shares import block_ranges, keeps_leaves, mask_forest
from vfxgb.protocols.ot_shares.slots import Slots
from vfxgb.protocols.ot_shares.store import HolderFile, SetupStore, StoredSetup
from vfxgb.rows.masks import BLOCK_BYTES, HeldGradients, HeldMasks, MaskedTree
from vfxgb.transport.line import KnownLine
from vfxgb.transport.messages import pack_array, pack_bytes

# Requests on their way: both parties have something to do, and memory stays that of two blocks. More of them where the
# line is known to be long, within so many bytes of transfers that wait for their answers.
WINDOW = 2
WAITING_BYTES = 64 << 20
# Rows whose bins are fetched together: from a cluster, few rows at a time would take long.
FETCHED_ROWS = 1 << 17
DIGEST_LABEL = b"vfxgb ot_shares bins 1\n"


class HolderKeys:
    """The set-up is done when it is made. `features`: int32[c], that of each column. `start`: what the run is.

    `lanes`: bits of the numbers that shares are, as they follow from rows and precision.
    Raises MessageError, TransferError and CapacityError.
    """

    def __init__(self, context: PassiveContext, lanes: int) -> None:
        self._context = context
        self._params: OtSharesParams = context.params
        self._lanes = lanes
        self._step = f"{context.party} setting up"
        channel = context.channel
        store = (
            None if self._params.setup_dir is None else SetupStore(self._params.setup_dir, context.party, channel.peer)
        )
        self.start = self._read_start()
        stored = None if store is None or not self.start.stored else self._load(store, self.start.stored)
        self._prepare(None if stored is None else np.frombuffer(stored.head.features, dtype="<i4").astype(np.int32))
        if stored is not None:
            self._check_bins(stored.head)
        if stored is not None and store is not None and not self._may_serve(store, stored.head):
            stored = None
        self.trees: HeldMasks | None = None
        session = self._offer(stored is not None)
        if len(self.slots) == 0:
            return
        keep = keeps_leaves(self._params, [self.slots], context.n_train, owner=False, party=context.party)
        if stored is None:
            assert session is not None  # noqa: S101 - a new set-up has base transfers
            self._make_trees(session, store, keep)
        else:
            self._restore(stored, keep)
        if store is not None:
            name = self.start.stored if session is None else session.session
            store.enter_run(name, self.start.run, self.start.trees, fresh=stored is None)

    def _read_start(self) -> OtStart:
        start = self._context.channel.recv(OtStart)
        if not 0 <= start.run < 1 << 63:
            raise MessageError(f"{self._step}: found run {start.run}, wanted a number of 63 bits")
        if start.trees < 1:
            raise MessageError(f"{self._step}: found a run of {start.trees} trees, wanted at least 1")
        agreed = self._params.transfer_bits
        if not 1 <= start.transfer_bits <= MAX_TRANSFER_BITS or agreed not in (None, start.transfer_bits):
            raise MessageError(
                f"{self._step}: found transfer_bits={start.transfer_bits}, wanted "
                f"{f'1 to {MAX_TRANSFER_BITS}' if agreed is None else agreed}; both parties must use the same"
            )
        if start.lanes != self._lanes:
            raise MessageError(
                f"{self._step}: found lanes of {start.lanes} bits, wanted {self._lanes}, which follow from "
                f"{self._context.n_train} rows and precision_bits={self._params.precision_bits}; "
                f"{self._context.channel.peer} has other parameters or another version"
            )
        return start

    def _load(self, store: SetupStore, session: bytes) -> StoredSetup[HolderFile] | None:
        stored = store.load(HolderFile)
        if stored is not None and stored.head.session != session:
            raise TransferError(
                f"{self._step}: {self._context.channel.peer} has kept the set-up of session {session.hex()[:16]}, "
                f"found {stored.head.session.hex()[:16]} here; remove both, or give another setup_dir"
            )
        return stored

    def _may_serve(self, store: SetupStore, stored: HolderFile) -> bool:
        """Whether the stored set-up may serve this run, too (bound.py)."""
        used = store.used(stored.session)
        return used is not None and used + self.start.trees <= most_trees(self.slots, stored.block_rows)

    def _prepare(self, order: NDArray[np.int32] | None) -> None:
        """The columns in their secret order, drawn here unless it is given, and their slots."""
        context = self._context
        n_bins = context.rows.n_bins
        usable = np.flatnonzero(n_bins >= 2).astype(np.int32)
        if order is None:
            drawn = np.frombuffer(context.random(8 * len(usable)), dtype="<u8")
            order = usable[np.argsort(drawn, kind="stable")]
        elif not np.array_equal(np.sort(order), usable):
            raise self._changed()
        self.features = order
        missing = np.ascontiguousarray(context.has_missing[order])
        self.slots = Slots(np.ascontiguousarray(n_bins[order]), missing, self._params.joint_leaves)

    def _digest(self) -> bytes:
        """Hash everything that decides where the trees are punctured."""
        context, digest = self._context, hashlib.sha256(DIGEST_LABEL)
        for part in (self.features, self.slots.n_bins, self.slots.missing):
            digest.update(pack_array(part))
        for column in range(len(self.features)):
            digest.update(pack_array(context.rows.bin_numbers(self.features[column : column + 1], 0, context.n_train)))
        return digest.digest()

    def _holes(self, ranges: Sequence[tuple[int, int]]) -> Iterator[NDArray[np.uint16]]:
        """The leaves of the rows of each block, uint16[slots, rows]."""
        first, held = 0, np.zeros((len(self.features), 0), dtype=np.uint16)
        for begin, end in ranges:
            if end > first + held.shape[1]:
                first, stop = begin, min(max(end, begin + FETCHED_ROWS), self._context.n_train)
                held = self._context.rows.bin_numbers(self.features, first, stop)
            yield self.slots.holes(held[:, begin - first : end - first])

    def _check_bins(self, stored: HolderFile) -> None:
        if stored.n_rows != self._context.n_train or stored.bins != self._digest():
            raise self._changed()
        if stored.joint_leaves != self.slots.joint_leaves:
            raise TransferError(
                f"{self._step}: the set-up was stored with joint_leaves={stored.joint_leaves}, found "
                f"{self.slots.joint_leaves}; use that number again, remove the set-up at both parties, or give another "
                "setup_dir"
            )

    def _changed(self) -> TransferError:
        return TransferError(
            f"{self._step}: the bins have changed since the set-up was stored, and its trees lack "
            "the leaves of other bins; remove it at both parties, or give another setup_dir"
        )

    def _offer(self, stored: bool) -> HolderSession | None:
        """Say what the slots are; the session of a new set-up after its base transfers, None for the stored one."""
        context, channel = self._context, self._context.channel
        session = None
        if not stored:
            group = modp_group(self._params.group_bits, self._params.insecure)
            start, checked = self.start, self._params.checked
            session = HolderSession(channel.peer, start.greeting, group, context.threads, checked, start.transfer_bits)
        channel.send(
            OtOffer(
                offer=pack_bytes(b"" if session is None else session.offer),
                n_bins=pack_array(self.slots.n_bins),
                missing=pack_array(self.slots.missing.astype(np.uint8)),
                stored=stored,
            )
        )
        if session is not None:
            with context.timings.phase("wait"):
                reply = channel.recv(OtReply)
            session.accept(reply.reply)
        return session

    def _make_trees(self, session: HolderSession, store: SetupStore | None, keep_leaves: bool) -> None:
        """Request the trees block by block, a few blocks ahead of the answers; store the set-up if it is to be."""
        context = self._context
        step = choose_block_rows(self._params, self.slots, context.n_train, self.start.trees, self._step)
        trees = self._room(session.session, step, keep_leaves)
        ranges = block_ranges(context.n_train, step)
        window = requests_ahead(context.line, self.slots, step)
        open_blocks: deque[tuple[int, NDArray[np.uint16]]] = deque()
        head = None if store is None else self._head(session.session, step)
        with nullcontext() if store is None or head is None else store.saving(head) as kept:

            def finish() -> None:
                block, holes = open_blocks.popleft()
                copaths = self._finish(session, block)
                trees.fill(ranges[block][0], holes, copaths)
                if kept is not None:
                    kept.add(copaths.tobytes())

            for block, holes in enumerate(self._holes(ranges)):
                request = session.request(Place(_native.ot_shares.TREES_DOMAIN, block), self.slots.leaves, holes)
                context.channel.send(OtRequest(block=block, request=pack_bytes(request)))
                open_blocks.append((block, holes))
                if len(open_blocks) == window:
                    finish()
            while open_blocks:
                finish()

    def _head(self, session: bytes, block_rows: int) -> HolderFile:
        return HolderFile(
            session=session,
            n_rows=self._context.n_train,
            block_rows=block_rows,
            features=bytes(pack_array(self.features)),
            bins=self._digest(),
            joint_leaves=self.slots.joint_leaves,
        )

    def _room(self, session: bytes, block_rows: int, keep_leaves: bool) -> HeldMasks:
        context = self._context
        forest = mask_forest(self.slots, session, context.n_train, block_rows)
        self.trees = context.rows.held_masks(forest, keep_leaves)
        return self.trees

    def _finish(self, session: HolderSession, block: int) -> NDArray[np.uint8]:
        context = self._context
        with context.timings.phase("wait"):
            answer = context.channel.recv(OtAnswer)
        if answer.block != block:
            raise MessageError(f"{self._step}: found block {answer.block}, wanted {block}")
        return session.finish(Place(_native.ot_shares.TREES_DOMAIN, block), answer.answer)

    def _restore(self, stored: StoredSetup[HolderFile], keep_leaves: bool) -> None:
        head = stored.head
        trees = self._room(head.session, head.block_rows, keep_leaves)
        ranges = block_ranges(head.n_rows, head.block_rows)
        sizes = [BLOCK_BYTES * self.slots.levels * (stop - first) for first, stop in ranges]
        blocks = zip(ranges, self._holes(ranges), stored.blocks(sizes), strict=True)
        for (first, _), holes, copaths in blocks:
            trees.fill(first, holes, np.frombuffer(copaths, dtype=np.uint8).reshape(-1, BLOCK_BYTES))

    def gradients(
        self, counter: int, slots: NDArray[np.int32], sampled: NDArray[np.int32] | None, widths: PairWidths
    ) -> HeldGradients:
        """Room for the masked gradients of tree number `counter` of this run. There are slots."""
        assert self.trees is not None  # noqa: S101 - there are slots
        count = self._context.n_train if sampled is None else len(sampled)
        tree = MaskedTree(counter, self.start.run, self.start.trees, slots, sampled, count, widths)
        return self.trees.gradients(tree)

    def close(self) -> None:
        """Forget the trees."""
        if self.trees is not None:
            self.trees.close()


def requests_ahead(line: KnownLine, slots: Slots, block_rows: int) -> int:
    """How many requests are on their way: enough for the answers to fill the line, if it is known."""
    answer = BLOCK_BYTES * block_rows * max(1, slots.levels - len(slots))
    waiting = BLOCK_BYTES * block_rows * slots.levels
    return max(WINDOW, min(WINDOW + math.ceil(line.under_way / answer), WAITING_BYTES // waiting))
