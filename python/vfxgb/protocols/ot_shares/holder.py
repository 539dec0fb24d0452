"""A passive party's keys: the trees of masks it holds, each without the leaf of the row's own bin."""

import hashlib
from collections import deque

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import PassiveContext
from vfxgb.errors import MessageError, TransferError
from vfxgb.ot import MAX_TRANSFER_BITS, HolderSession, Place, modp_group
from vfxgb.protocols.ot_shares.bound import choose_block_rows, most_trees
from vfxgb.protocols.ot_shares.messages import OtAnswer, OtOffer, OtReply, OtRequest, OtStart
from vfxgb.protocols.ot_shares.params import OtSharesParams
from vfxgb.protocols.ot_shares.shares import Slots, block_count, keeps_leaves
from vfxgb.protocols.ot_shares.store import HolderFile, SetupStore
from vfxgb.transport.messages import pack_array, pack_bytes

# Requests on their way: both parties have something to do, and memory stays that of two blocks.
WINDOW = 2
DIGEST_LABEL = b"vfxgb ot_shares bins 1\n"


class HolderKeys:
    """The set-up is done when it is made. `features`: int32[s], that of each slot. `start`: what the run is.

    Raises MessageError, TransferError and CapacityError.
    """

    def __init__(self, context: PassiveContext) -> None:
        self._context = context
        self._params: OtSharesParams = context.params
        self._step = f"{context.party} setting up"
        channel = context.channel
        store = (
            None if self._params.setup_dir is None else SetupStore(self._params.setup_dir, context.party, channel.peer)
        )
        self.start = self._read_start()
        stored = None if store is None or not self.start.stored else self._load(store, self.start.stored)
        self._prepare(None if stored is None else np.frombuffer(stored.features, dtype="<i4").astype(np.int32))
        if stored is not None:
            self._check_bins(stored)
        if stored is not None and store is not None and not self._may_serve(store, stored):
            stored = None
        self.trees: _native.ot_shares.HeldTrees | None = None
        session = self._offer(stored is not None)
        if len(self.slots) == 0:
            return
        keep = keeps_leaves(self._params, [self.slots], context.n_train, owner=False, party=context.party)
        if stored is None:
            assert session is not None  # noqa: S101 - a new set-up has base transfers
            self.trees = self._make_trees(session, store)
        else:
            self.trees = self._restore(stored)
        if store is not None:
            name = self.start.stored if session is None else session.session
            store.enter_run(name, self.start.run, self.start.trees, fresh=stored is None)
        if keep:
            self.trees.cache(context.threads)

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
        return start

    def _load(self, store: SetupStore, session: bytes) -> HolderFile | None:
        stored = store.load(HolderFile)
        if stored is not None and stored.session != session:
            raise TransferError(
                f"{self._step}: {self._context.channel.peer} has kept the set-up of session "
                f"{session.hex()[:16]}, found {stored.session.hex()[:16]} here; remove both, or give another setup_dir"
            )
        return stored

    def _may_serve(self, store: SetupStore, stored: HolderFile) -> bool:
        """Whether the stored set-up may serve this run, too (bound.py)."""
        used = store.used(stored.session)
        return used is not None and used + self.start.trees <= most_trees(self.slots, stored.block_rows)

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
        """Hash everything that decides where the trees are punctured."""
        digest = hashlib.sha256(DIGEST_LABEL)
        for part in (self.features, self.slots.n_bins, self.slots.missing, self._holes):
            digest.update(pack_array(part))
        return digest.digest()

    def _check_bins(self, stored: HolderFile) -> None:
        if stored.n_rows != self._context.n_train or stored.bins != self._digest():
            raise self._changed()

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

    def _make_trees(self, session: HolderSession, store: SetupStore | None) -> _native.ot_shares.HeldTrees:
        """Request the trees block by block, a few blocks ahead of the answers; store the set-up if it is to be."""
        context = self._context
        step = choose_block_rows(self._params, self.slots, context.n_train, self.start.trees, self._step)
        trees = _native.ot_shares.HeldTrees(session.session, self.slots.leaves, self._holes, step)
        kept: list[bytes] = []
        open_blocks: deque[int] = deque()

        def finish() -> None:
            copaths = self._finish(session, trees, open_blocks.popleft())
            if store is not None:
                kept.append(copaths.tobytes())

        for block in range(block_count(context.n_train, step)):
            holes = np.ascontiguousarray(self._holes[:, block * step : (block + 1) * step])
            request = session.request(Place(_native.ot_shares.TREES_DOMAIN, block), self.slots.leaves, holes)
            context.channel.send(OtRequest(block=block, request=pack_bytes(request)))
            open_blocks.append(block)
            if len(open_blocks) == WINDOW:
                finish()
        while open_blocks:
            finish()
        if store is not None:
            store.save(
                HolderFile(
                    session=session.session,
                    n_rows=context.n_train,
                    block_rows=step,
                    features=bytes(pack_array(self.features)),
                    bins=self._digest(),
                    copaths=kept,
                )
            )
        return trees

    def _finish(self, session: HolderSession, trees: _native.ot_shares.HeldTrees, block: int) -> NDArray[np.uint8]:
        context = self._context
        with context.timings.phase("wait"):
            answer = context.channel.recv(OtAnswer)
        if answer.block != block:
            raise MessageError(f"{self._step}: found block {answer.block}, wanted {block}")
        copaths = session.finish(Place(_native.ot_shares.TREES_DOMAIN, block), answer.answer)
        trees.fill(block, copaths)
        return copaths

    def _restore(self, stored: HolderFile) -> _native.ot_shares.HeldTrees:
        trees = _native.ot_shares.HeldTrees(stored.session, self.slots.leaves, self._holes, stored.block_rows)
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
        """See _native.ot_shares.HeldTrees.row_sums; `counter` numbers the tree within this run."""
        assert self.trees is not None  # noqa: S101 - there are slots
        return self.trees.row_sums(counter, self.start.run, rows, slots, d, place, self._context.threads)

    def sums(
        self,
        counter: int,
        partition: _native.gbdt.RowPartition,
        nodes: NDArray[np.int32],
        slots: NDArray[np.int32],
        d: NDArray[np.uint64],
        place: NDArray[np.int32] | None,
    ) -> NDArray[np.uint64]:
        """See _native.ot_shares.HeldTrees.sums."""
        assert self.trees is not None  # noqa: S101 - there are slots
        return self.trees.sums(counter, self.start.run, partition, nodes, slots, d, place, self._context.threads)
