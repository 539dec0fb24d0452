"""A passive party's keys: the trees of masks it holds, each without the leaf of the row's own bin."""

import hashlib
from collections import deque

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import MessageError, TransferError
from vfxgb.ot import HolderSession, Place, modp_group
from vfxgb.protocols.base import PassiveContext
from vfxgb.protocols.ot_shares.messages import OtAnswer, OtOffer, OtReply, OtRequest, OtStart
from vfxgb.protocols.ot_shares.params import OtSharesParams
from vfxgb.protocols.ot_shares.shares import Slots, block_count, keeps_leaves
from vfxgb.protocols.ot_shares.store import HolderFile, SetupStore
from vfxgb.transport.messages import pack_array, pack_bytes

# Requests on their way: both parties have something to do, and memory stays that of two blocks.
WINDOW = 2
DIGEST_LABEL = b"vfxgb ot_shares bins 1\n"


class HolderKeys:
    """The set-up is done when it is made. `session`: of this run, for orders. `features`: int32[s], that of each slot.

    Raises MessageError and TransferError.
    """

    def __init__(self, context: PassiveContext) -> None:
        self._context = context
        self._params: OtSharesParams = context.params
        channel = context.channel
        store = (
            None if self._params.setup_dir is None else SetupStore(self._params.setup_dir, context.party, channel.peer)
        )
        start = channel.recv(OtStart)
        if not 0 <= start.run < 1 << 63:
            raise MessageError(f"{context.party} setting up: found run {start.run}, wanted a number of 63 bits")
        self._run = start.run
        stored = None if store is None or not start.stored else self._load(store, start.stored)
        self._prepare(None if stored is None else np.frombuffer(stored.features, dtype="<i4").astype(np.int32))
        if stored is not None:
            self._check_bins(stored)
        if store is not None:
            store.start_run(start.run, fresh=stored is None)
        self._base_transfers(stored is not None)
        self.trees: _native.HeldTrees | None = None
        if len(self.slots) == 0:
            return
        keep = keeps_leaves(self._params, [self.slots], context.n_train, owner=False, party=context.party)
        self.trees = self._set_up(store) if stored is None else self._restore(stored)
        if keep:
            self.trees.cache(context.threads)

    def _load(self, store: SetupStore, session: bytes) -> HolderFile | None:
        stored = store.load(HolderFile)
        if stored is not None and stored.session != session:
            raise TransferError(
                f"{self._context.party} setting up: {self._context.channel.peer} has kept the set-up of session "
                f"{session.hex()[:16]}, found {stored.session.hex()[:16]} here; remove both, or give another setup_dir"
            )
        return stored

    def _prepare(self, order: NDArray[np.int32] | None) -> None:
        """The slots in their secret order, drawn here unless it is given, and the leaf of every row."""
        context = self._context
        n_bins = context.bins.n_bins
        usable = np.flatnonzero(n_bins >= 2).astype(np.int32)
        if order is None:
            drawn = np.frombuffer(context.random(8 * len(usable)), dtype="<u8")
            order = usable[np.argsort(drawn, kind="stable")]
        elif not np.array_equal(np.sort(order), usable):
            raise self._changed()
        self.features = order
        self.slots = Slots(np.ascontiguousarray(n_bins[order]), np.ascontiguousarray(context.has_missing[order]))
        self._holes = np.empty((len(order), context.n_train), dtype=np.uint16)
        for slot, feature in enumerate(order.tolist()):
            self._holes[slot] = context.bins.column(feature)[: context.n_train]

    def _digest(self) -> bytes:
        """Of everything the trees are punctured by."""
        digest = hashlib.sha256(DIGEST_LABEL)
        for part in (self.features, self.slots.n_bins, self.slots.missing, self._holes):
            digest.update(pack_array(part))
        return digest.digest()

    def _check_bins(self, stored: HolderFile) -> None:
        if stored.n_rows != self._context.n_train or stored.bins != self._digest():
            raise self._changed()

    def _changed(self) -> TransferError:
        return TransferError(
            f"{self._context.party} setting up: the bins have changed since the set-up was stored, and its trees lack "
            "the leaves of other bins; remove it at both parties, or give another setup_dir"
        )

    def _base_transfers(self, stored: bool) -> None:
        context, channel = self._context, self._context.channel
        group = modp_group(self._params.group_bits, self._params.insecure)
        self.session = HolderSession(channel.peer, group, context.threads, self._params.checked)
        channel.send(
            OtOffer(
                offer=pack_bytes(self.session.offer),
                n_bins=pack_array(self.slots.n_bins),
                missing=pack_array(self.slots.missing.astype(np.uint8)),
                stored=stored,
            )
        )
        with context.timings.phase("wait"):
            reply = channel.recv(OtReply)
        self.session.accept(reply.reply)

    def _set_up(self, store: SetupStore | None) -> _native.HeldTrees:
        """Request the trees block by block, a few blocks ahead of the answers."""
        context, step = self._context, self._params.setup_rows
        trees = _native.HeldTrees(self.session.session, self.slots.leaves, self._holes, step)
        kept: list[bytes] = []
        open_blocks: deque[int] = deque()
        for block in range(block_count(context.n_train, step)):
            holes = np.ascontiguousarray(self._holes[:, block * step : (block + 1) * step])
            request = self.session.request(Place(_native.TREES_DOMAIN, block), self.slots.leaves, holes)
            context.channel.send(OtRequest(block=block, request=pack_bytes(request)))
            open_blocks.append(block)
            if len(open_blocks) == WINDOW:
                self._finish(trees, open_blocks.popleft(), None if store is None else kept)
        while open_blocks:
            self._finish(trees, open_blocks.popleft(), None if store is None else kept)
        if store is not None:
            store.save(
                HolderFile(
                    session=self.session.session,
                    n_rows=context.n_train,
                    block_rows=step,
                    features=bytes(pack_array(self.features)),
                    bins=self._digest(),
                    copaths=kept,
                )
            )
        return trees

    def _finish(self, trees: _native.HeldTrees, block: int, kept: list[bytes] | None) -> None:
        context = self._context
        with context.timings.phase("wait"):
            answer = context.channel.recv(OtAnswer)
        if answer.block != block:
            raise MessageError(f"{context.party} setting up: found block {answer.block}, wanted {block}")
        copaths = self.session.finish(Place(_native.TREES_DOMAIN, block), answer.answer)
        trees.fill(block, copaths)
        if kept is not None:
            kept.append(copaths.tobytes())

    def _restore(self, stored: HolderFile) -> _native.HeldTrees:
        trees = _native.HeldTrees(stored.session, self.slots.leaves, self._holes, stored.block_rows)
        for block, copaths in enumerate(stored.copaths):
            trees.fill(block, copaths)
        return trees

    def row_sums(
        self,
        counter: int,
        rows: NDArray[np.int32],
        slots: NDArray[np.int32],
        d: NDArray[np.uint64],
        place: NDArray[np.int32] | None,
    ) -> NDArray[np.uint64]:
        """See _native.HeldTrees.row_sums; `counter`: of the tree, within this run."""
        assert self.trees is not None  # noqa: S101 - there are slots
        return self.trees.row_sums(counter, self._run, rows, slots, d, place, self._context.threads)

    def sums(
        self,
        counter: int,
        partition: _native.RowPartition,
        nodes: NDArray[np.int32],
        slots: NDArray[np.int32],
        d: NDArray[np.uint64],
        place: NDArray[np.int32] | None,
    ) -> NDArray[np.uint64]:
        """See _native.HeldTrees.sums."""
        assert self.trees is not None  # noqa: S101 - there are slots
        return self.trees.sums(counter, self._run, partition, nodes, slots, d, place, self._context.threads)
