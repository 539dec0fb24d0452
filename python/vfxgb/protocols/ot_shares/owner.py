"""The active party's keys for one passive party: the trees of masks it owns."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.codec.plan import PairWidths
from vfxgb.errors import MessageError, TransferError
from vfxgb.ot import OwnerSession, Place, choose_k, measured_aes_speed, modp_group
from vfxgb.protocols.ot_shares.bound import bound_text, choose_block_rows, most_trees
from vfxgb.protocols.ot_shares.messages import OtAnswer, OtOffer, OtReply, OtRequest, OtStart
from vfxgb.protocols.ot_shares.params import OtSharesParams
from vfxgb.protocols.ot_shares.shares import MAX_BINS, block_ranges, mask_forest
from vfxgb.protocols.ot_shares.slots import Slots
from vfxgb.protocols.ot_shares.store import OwnerFile, SetupStore, StoredSetup
from vfxgb.rows.base import RowStore
from vfxgb.rows.masks import BLOCK_BYTES, MaskedTree, OwnedMasks
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_array, pack_bytes, unpack_array


@dataclass(frozen=True)
class Run:
    """What a run is to its keys: a number of 63 random bits, and the most trees that it grows, of all outputs."""

    number: int
    trees: int


class OwnerKeys:
    """Made in three steps, so that all passive parties work at once: `start`, `read_offer`, `set_up`.

    `rows` are the active party's own. `slots` are those of the passive party's features. `trees` is None where it has
    none. `mbit` is the bandwidth of the line, None where it is not known. `remarks` say in whole sentences what the
    user should know of the set-up.
    """

    def __init__(
        self,
        channel: Channel,
        params: OtSharesParams,
        rows: RowStore,
        n_rows: int,
        run: Run,
        threads: int,
        mbit: float | None = None,
    ) -> None:
        self._channel = channel
        self._params = params
        self._rows = rows
        self._n_rows = n_rows
        self._run = run
        self._threads = threads
        self._store = None if params.setup_dir is None else SetupStore(params.setup_dir, channel.own, channel.peer)
        self._stored = None if self._store is None else self._store.load(OwnerFile)
        self._transfer_bits = params.transfer_bits or choose_k(measured_aes_speed(), mbit)
        group = modp_group(params.group_bits, params.insecure)
        self._session = OwnerSession(channel.peer, group, threads, params.checked, self._transfer_bits)
        self._step = f"setting up with {channel.peer}"
        self.trees: OwnedMasks | None = None
        self.remarks: list[str] = []

    def start(self, some_columns: bool, lanes: int) -> None:
        """Begin by saying which set-up there is already. `some_columns` and `lanes` are explained in OtStart."""
        self._check_stored()
        stored = b"" if self._stored is None else self._stored.head.session
        run = self._run
        self._channel.send(
            OtStart(
                run=run.number,
                stored=stored,
                trees=run.trees,
                some_columns=some_columns,
                lanes=lanes,
                transfer_bits=self._transfer_bits,
                greeting=pack_bytes(self._session.greeting),
            )
        )

    def _check_stored(self) -> None:
        stored, store = self._stored, self._store
        if stored is None or store is None:
            return
        head = stored.head
        if head.n_rows != self._n_rows:
            raise TransferError(
                f"{self._step}: the stored set-up is for {head.n_rows} training rows, found {self._n_rows}; remove "
                "it, or give another setup_dir"
            )
        used, most = store.used(head.session), most_trees(stored_slots(head), head.block_rows)
        if used is None or used + self._run.trees > most:
            self._stored = None
            self.remarks.append(
                f"the stored set-up with {self._channel.peer} was made anew: "
                + (
                    "the list of the runs that it served is lost"
                    if used is None
                    else f"it has served {used:,} trees of {most:,}, and this run may grow {self._run.trees:,}"
                )
            )

    def read_offer(self) -> None:
        """Answer the base transfers and learn the slots. Raises MessageError, TransferError and CapacityError."""
        what = self._step
        offer = self._channel.recv(OtOffer)
        count = len(offer.missing)
        n_bins = unpack_array(offer.n_bins, np.int32, (count,), f"{what}, bins")
        missing = unpack_array(offer.missing, np.uint8, (count,), f"{what}, missing values")
        if (n_bins < 2).any() or (n_bins > MAX_BINS).any() or (missing > 1).any():
            raise MessageError(f"{what}: found a feature without cuts or with more than {MAX_BINS} bins")
        self.slots = Slots(n_bins.copy(), missing.astype(np.bool_), self._params.joint_leaves)
        if self._stored is None and offer.stored:
            raise MessageError(f"{what}: it has kept a set-up that was not named")
        if self._stored is not None and not offer.stored:
            self._stored = None
            self.remarks.append(f"the set-up was made anew: {self._channel.peer} does not use the stored one again")
        if self._stored is not None:
            if not self.slots.same(stored_slots(self._stored.head)):
                raise TransferError(
                    f"{what}: the features have other bins than those of the stored set-up, or share trees by another "
                    "joint_leaves; remove it, or give another setup_dir"
                )
            self._block_rows = self._stored.head.block_rows
            return
        self._block_rows = choose_block_rows(self._params, self.slots, self._n_rows, self._run.trees, what)
        self._channel.send(OtReply(reply=pack_bytes(self._session.reply(offer.offer))))

    @property
    def blocks(self) -> int:
        """Blocks of rows that `set_up` will go through."""
        stored = self._stored is not None or len(self.slots) == 0
        return 0 if stored else len(self._ranges)

    @property
    def _ranges(self) -> list[tuple[int, int]]:
        return block_ranges(self._n_rows, self._block_rows)

    def set_up(self, keep_leaves: bool, done: Callable[[], None]) -> None:
        """Make the trees, block by block; `done` is called after each. Raises MessageError and TransferError."""
        if len(self.slots) == 0:
            return
        if self._stored is None:
            name = self._make_trees(keep_leaves, done)
        else:
            name = self._stored.head.session
            self._restore(self._stored, keep_leaves)
        used = 0
        if self._store is not None:
            used = 0 if self._stored is None else self._store.used(name) or 0
            self._store.enter_run(name, self._run.number, self._run.trees, fresh=self._stored is None)
        self.remarks.append(bound_text(self._channel.peer, self.slots, self._block_rows, used + self._run.trees))

    def _make_trees(self, keep_leaves: bool, done: Callable[[], None]) -> bytes:
        """A new set-up, stored if it is to be; returns its name."""
        session = self._session
        head = OwnerFile(
            session=session.session,
            delta=session.delta,
            n_rows=self._n_rows,
            block_rows=self._block_rows,
            n_bins=bytes(pack_array(self.slots.n_bins)),
            missing=self.slots.missing.tobytes(),
            joint_leaves=self.slots.joint_leaves,
        )
        self.trees = self._room(head, keep_leaves)
        with nullcontext() if self._store is None else self._store.saving(head) as kept:
            for block, (first, stop) in enumerate(self._ranges):
                roots = self._answer(session, block, stop - first)
                self.trees.fill(first, roots)
                if kept is not None:
                    kept.add(roots.tobytes())
                done()
        return session.session

    def _answer(self, session: OwnerSession, block: int, rows: int) -> NDArray[np.uint8]:
        request = self._channel.recv(OtRequest)
        if request.block != block:
            raise MessageError(f"{self._step}: found block {request.block}, wanted {block}")
        place = Place(_native.ot_shares.TREES_DOMAIN, block)
        roots, answer = session.answer(place, self.slots.leaves, rows, request.request)
        self._channel.send(OtAnswer(block=block, answer=pack_bytes(answer)))
        return roots

    def _room(self, head: OwnerFile, keep_leaves: bool) -> OwnedMasks:
        forest = mask_forest(self.slots, head.session, head.n_rows, head.block_rows)
        return self._rows.owned_masks(forest, head.delta, keep_leaves)

    def _restore(self, stored: StoredSetup[OwnerFile], keep_leaves: bool) -> None:
        self.trees, ranges = self._room(stored.head, keep_leaves), self._ranges
        n_slots = len(self.slots)
        sizes = [BLOCK_BYTES * n_slots * (stop - first) for first, stop in ranges]
        for (first, stop), data in zip(ranges, stored.blocks(sizes), strict=True):
            roots = np.frombuffer(data, dtype=np.uint8).reshape(n_slots, stop - first, BLOCK_BYTES)
            self.trees.fill(first, roots)

    def masked_tree(
        self, counter: int, slots: NDArray[np.int32], sampled: NDArray[np.int32] | None, widths: PairWidths
    ) -> MaskedTree:
        """Tree number `counter` of this run."""
        count = self._n_rows if sampled is None else len(sampled)
        return MaskedTree(counter, self._run.number, self._run.trees, slots, sampled, count, widths)

    def own_trees(self) -> OwnedMasks:
        """The trees, where there are slots."""
        assert self.trees is not None  # noqa: S101 - there are slots
        return self.trees

    def close(self) -> None:
        """Forget the trees."""
        if self.trees is not None:
            self.trees.close()


def stored_slots(stored: OwnerFile) -> Slots:
    """The slots of a stored set-up."""
    n_bins = np.frombuffer(stored.n_bins, dtype="<i4").astype(np.int32)
    return Slots(n_bins, np.frombuffer(stored.missing, dtype=np.uint8).astype(np.bool_), stored.joint_leaves)
