"""The active party's keys for one passive party: the trees of masks it owns, and the session they came from."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import MessageError, TransferError
from vfxgb.ot import OwnerSession, Place, modp_group
from vfxgb.protocols.ot_shares.messages import OtAnswer, OtOffer, OtReply, OtRequest, OtStart
from vfxgb.protocols.ot_shares.params import OtSharesParams
from vfxgb.protocols.ot_shares.shares import MAX_BINS, Slots, block_count
from vfxgb.protocols.ot_shares.store import OwnerFile, SetupStore
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_array, pack_bytes, unpack_array


class OwnerKeys:
    """Made in three steps, so that all passive parties work at once: `start`, `read_offer`, `set_up`.

    `session`: of this run, for orders. `slots`: of the passive party's features. `trees`: None where it has none.
    """

    def __init__(self, channel: Channel, params: OtSharesParams, n_rows: int, run: int, threads: int) -> None:
        self._channel = channel
        self._params = params
        self._n_rows = n_rows
        self._run = run
        self._threads = threads
        self._store = None if params.setup_dir is None else SetupStore(params.setup_dir, channel.own, channel.peer)
        self._stored = None if self._store is None else self._store.load(OwnerFile)
        self.trees: _native.OwnedTrees | None = None

    def start(self) -> None:
        """Begin: say which set-up there is already."""
        self._check_stored()
        stored = b"" if self._stored is None else self._stored.session
        self._channel.send(OtStart(run=self._run, stored=stored))

    def _check_stored(self) -> None:
        if self._stored is not None and self._stored.n_rows != self._n_rows:
            raise TransferError(
                f"setting up with {self._channel.peer}: the stored set-up is for {self._stored.n_rows} training rows, "
                f"found {self._n_rows}; remove it, or give another setup_dir"
            )

    def read_offer(self) -> None:
        """Answer the base transfers and learn the slots. Raises MessageError and TransferError."""
        peer = self._channel.peer
        offer = self._channel.recv(OtOffer)
        what = f"setting up with {peer}"
        count = len(offer.missing)
        n_bins = unpack_array(offer.n_bins, np.int32, (count,), f"{what}, bins")
        missing = unpack_array(offer.missing, np.uint8, (count,), f"{what}, missing values")
        if (n_bins < 2).any() or (n_bins > MAX_BINS).any() or (missing > 1).any():
            raise MessageError(f"{what}: found a feature without cuts or with more than {MAX_BINS} bins")
        self.slots = Slots(n_bins.copy(), missing.astype(np.bool_))
        if self._stored is not None and not offer.stored:
            self._stored = None
        elif self._stored is None and offer.stored:
            raise MessageError(f"{what}: it has kept a set-up that was not named")
        if self._stored is not None and not self.slots.same(stored_slots(self._stored)):
            raise TransferError(
                f"{what}: the features have other bins than those of the stored set-up; remove it, or give another "
                "setup_dir"
            )
        group = modp_group(self._params.group_bits, self._params.insecure)
        self.session = OwnerSession(peer, offer.offer, group, self._threads, self._params.checked)
        self._channel.send(OtReply(reply=pack_bytes(self.session.reply)))

    @property
    def blocks(self) -> int:
        """Blocks of rows that `set_up` will go through."""
        stored = self._stored is not None or len(self.slots) == 0
        return 0 if stored else block_count(self._n_rows, self._params.setup_rows)

    def set_up(self, done: Callable[[], None]) -> None:
        """Make the trees, block by block; `done` is called after each. Raises MessageError and TransferError."""
        if len(self.slots) == 0:
            return
        if self._stored is not None:
            self._restore(self._stored)
            return
        step, leaves = self._params.setup_rows, self.slots.leaves
        self.trees = _native.OwnedTrees(self.session.session, self.session.delta, leaves, self._n_rows, step)
        kept: list[bytes] = []
        for block in range(self.blocks):
            request = self._channel.recv(OtRequest)
            if request.block != block:
                raise MessageError(f"setting up with {self._channel.peer}: found block {request.block}, wanted {block}")
            rows = min(step, self._n_rows - block * step)
            place = Place(_native.TREES_DOMAIN, block)
            roots, answer = self.session.answer(place, leaves, rows, request.request)
            self._channel.send(OtAnswer(block=block, answer=pack_bytes(answer)))
            self.trees.fill(block, roots)
            if self._store is not None:
                kept.append(roots.tobytes())
            done()
        if self._store is not None:
            self._store.save(
                OwnerFile(
                    session=self.session.session,
                    delta=self.session.delta,
                    n_rows=self._n_rows,
                    block_rows=step,
                    n_bins=bytes(pack_array(self.slots.n_bins)),
                    missing=self.slots.missing.tobytes(),
                    roots=kept,
                )
            )

    def _restore(self, stored: OwnerFile) -> None:
        self.trees = _native.OwnedTrees(
            stored.session, stored.delta, self.slots.leaves, stored.n_rows, stored.block_rows
        )
        for block, roots in enumerate(stored.roots):
            self.trees.fill(block, roots)

    def cover(
        self, counter: int, rows: NDArray[np.int32], slots: NDArray[np.int32], pairs: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """See _native.OwnedTrees.cover; `counter`: of the tree, within this run."""
        assert self.trees is not None  # noqa: S101 - there are slots
        return self.trees.cover(counter, self._run, rows, slots, pairs, self._threads)

    def sums(
        self, counter: int, partition: _native.RowPartition, nodes: NDArray[np.int32], slots: NDArray[np.int32]
    ) -> NDArray[np.uint64]:
        """See _native.OwnedTrees.sums."""
        assert self.trees is not None  # noqa: S101 - there are slots
        return self.trees.sums(counter, self._run, partition, nodes, slots, self._threads)


def stored_slots(stored: OwnerFile) -> Slots:
    """The slots of a stored set-up."""
    n_bins = np.frombuffer(stored.n_bins, dtype="<i4").astype(np.int32)
    return Slots(n_bins, np.frombuffer(stored.missing, dtype=np.uint8).astype(np.bool_))
