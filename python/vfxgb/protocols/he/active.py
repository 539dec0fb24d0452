"""The active party's side: it owns the key, encrypts gradients once for all passive parties, and opens sums."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.codec.plan import Lane
from vfxgb.contract import ActiveContext, ActiveLevel, Gradients, LevelNodes
from vfxgb.crypto import PrivateKey, generate
from vfxgb.crypto.sizes import check_requested_bits
from vfxgb.errors import CapacityError, CheckpointError, MessageError
from vfxgb.protocols.he.layout import HeLayout
from vfxgb.protocols.he.messages import HeGradients, HeKey, HeSums, HeTotals, TreeSums, TreeTotals
from vfxgb.protocols.he.params import HeParams
from vfxgb.protocols.open_sums.active import OpenedSums, OpenedTree
from vfxgb.protocols.receive import receive, require
from vfxgb.rows.values import RowValues, encrypt
from vfxgb.transport.channel import broadcast
from vfxgb.transport.messages import pack_bytes, unpack_array

# Memory that randomness made ahead may take.
POOL_BYTES = 1 << 28
# The name under which the private key of a run outlives the process (runtime/secrets.py).
KEY_NAME = "he-key"


class HeSource:
    """A SumSource over ciphertexts. The key is made with the first round that takes place with others."""

    def __init__(self, context: ActiveContext, layout: HeLayout) -> None:
        self._context = context
        self._layout = layout
        self._params: HeParams = context.params
        self._code = layout.code(context.params, context.n_train, context.hessian_shift)
        self._key: PrivateKey | None = None
        self._values: RowValues | None = None
        self._step = 1.0
        self._pool_runs = False
        check_requested_bits(self._params.key_bits, self._params.insecure)

    def begin_tree(self, gradients: Gradients) -> None:
        """Encrypt the pairs of every sampled row and send them to every passive party, chunk by chunk."""
        if self._key is None:
            self._key = self._make_key()
        self._step = gradients.step
        with self._context.timings.phase("encode"):
            self._values = self._context.rows.values(gradients.pairs, gradients.sampled, self._code, gradients.step)
        chunks = self._chunks(self._key, self._values, gradients.round)
        # Without streaming everything is encrypted first.
        for message in chunks if self._params.stream else list(chunks):
            with self._context.timings.phase("send gradients"):
                broadcast(list(self._context.channels.values()), message)
        self._fill_pool(self._key, self._values, gradients)

    def _make_key(self) -> PrivateKey:
        params, secrets = self._params, self._context.secrets
        with self._context.timings.phase("key"):
            kept = None if secrets is None else secrets.get(KEY_NAME)
            if kept is not None:
                key = PrivateKey.from_bytes(kept, params.insecure)
                self._check_kept(key)
            else:
                key = generate(params.scheme, params.key_bits, params.randomness, params.insecure)
                if secrets is not None:
                    secrets.put(KEY_NAME, key.to_bytes())
        self._plan = self._layout.plan(self._code, params, self._context.n_outputs, key.public_key)
        broadcast(list(self._context.channels.values()), HeKey(public_key=pack_bytes(key.public_key.to_bytes())))
        return key

    def _check_kept(self, key: PrivateKey) -> None:
        params, kept = self._params, key.public_key
        if (kept.scheme, kept.bits) != (params.scheme, params.key_bits):
            raise CheckpointError(
                f"resuming: the kept key is {kept.scheme} of {kept.bits} bits, wanted {params.scheme} of "
                f"{params.key_bits}; remove it, or resume with the parameters it was made for"
            )

    def _chunks(self, key: PrivateKey, values: RowValues, round_index: int) -> Iterator[HeGradients]:
        timings = self._context.timings
        chunks = values.chunks(key, self._plan.lanes, self._params.chunk_rows)
        while True:
            with timings.phase("encrypt"):
                chunk = next(chunks, None)
            if chunk is None:
                return
            timings.count("encryptions", chunk.count * len(chunk.lanes))
            for number, ciphertexts in enumerate(chunk.lanes):
                yield HeGradients(
                    round=round_index,
                    lane=number,
                    first=chunk.first,
                    count=chunk.count,
                    key=key.public_key.fingerprint_bytes,
                    ciphertexts=pack_bytes(ciphertexts),
                )

    def _fill_pool(self, key: PrivateKey, values: RowValues, gradients: Gradients) -> None:
        """Begin to make randomness for as many ciphertexts as a round takes, unless this round is the last."""
        another = gradients.round + 1 < self._context.train.n_estimators
        if self._params.pooled and another and not self._pool_runs:
            n_rows = self._context.n_train if gradients.sampled is None else len(gradients.sampled)
            most = POOL_BYTES // key.public_key.native.element_bytes
            values.start_pool(key, max(1, min(n_rows * len(self._plan.lanes), most)))
            self._pool_runs = True

    def open_level(self, level: ActiveLevel) -> None:
        """Send the encrypted sums of the nodes to build."""
        key = self._own_key()
        with self._context.timings.phase("encrypt"):
            trees = [TreeTotals(tree=nodes.tree, lanes=self._totals(key, nodes)) for nodes in level.trees]
        count = sum(len(nodes.build) * len(tree.lanes) for nodes, tree in zip(level.trees, trees, strict=True))
        message = HeTotals(
            round=level.round, depth=level.depth, key=key.public_key.fingerprint_bytes, count=count, trees=trees
        )
        broadcast(list(self._context.channels.values()), message)

    def _totals(self, key: PrivateKey, nodes: LevelNodes) -> list[memoryview]:
        """Per lane of the tree one ciphertext for each node to build: the sums of all channels of the lane."""
        built = np.ascontiguousarray(nodes.nodes[nodes.build])
        lanes = [self._plan.lanes[number] for number in self._plan.lanes_of(nodes.tree)]
        sums = self._own_values().totals(
            nodes.partition, built, {channel // 2 for lane in lanes for channel in lane.channels}
        )
        threads = self._context.threads
        self._context.timings.count("encryptions", len(built) * len(lanes))
        return [pack_bytes(encrypt(key.native, lane, sums, slice(None), threads)) for lane in lanes]

    def receive(self, party: str, level: ActiveLevel) -> Sequence[OpenedTree]:
        """The sums of a level, opened. Raises MessageError unless they are of this round, depth, key and size."""
        context, what, key = self._context, f"reading sums of {party}", self._own_key()
        wanted = {"round": level.round, "depth": level.depth, "key": key.public_key.fingerprint_bytes}
        message = receive(context, context.channels[party], HeSums, what, **wanted)
        require(what, f"{len(message.trees)} trees", f"{len(level.trees)} trees")
        with context.timings.phase("decrypt"):
            return [
                self._open(key, tree, nodes, level.depth, f"{what}, tree {nodes.tree}")
                for nodes, tree in zip(level.trees, message.trees, strict=True)
            ]

    def _open(self, key: PrivateKey, tree: TreeSums, nodes: LevelNodes, depth: int, what: str) -> OpenedTree:
        shape = (len(nodes.build), tree.n_candidates)
        numbers = self._plan.lanes_of(nodes.tree)
        require(what, f"{tree.n_nodes} nodes in {len(tree.lanes)} lanes", f"{shape[0]} nodes in {len(numbers)} lanes")
        if tree.n_candidates < 0:
            raise MessageError(f"{what}: found {tree.n_candidates} candidates, wanted at least 0")
        sums: dict[int, NDArray[np.int64]] = {}
        for number, data in zip(numbers, tree.lanes, strict=True):
            lane = self._plan.lanes[number]
            opened = self._decrypt(key, lane, data, shape[0] * shape[1], what)
            sums |= {channel: opened[:, slot] for slot, channel in enumerate(lane.channels)}
        pairs = np.stack([sums[2 * nodes.tree], sums[2 * nodes.tree + 1]], axis=1).reshape(*shape, 2)
        counts = None
        if self._code.counts:
            counts = unpack_array(tree.counts, np.int64, shape, what)
            if counts.size and not 0 <= int(counts.min()) <= int(counts.max()) <= self._context.n_train:
                raise MessageError(f"{what}: found counts of rows outside 0 to {self._context.n_train}")
        elif len(tree.counts):
            raise MessageError(f"{what}: found counts of rows, wanted none")
        directions = depth == 0 and nodes.bounds is not None
        constraint = unpack_array(tree.constraint, np.int8, (tree.n_candidates if directions else 0,), what)
        left = self._code.decode(pairs, counts, self._step)
        return OpenedTree(left, constraint if directions else None)

    def _decrypt(self, key: PrivateKey, lane: Lane, data: memoryview, count: int, what: str) -> NDArray[np.int64]:
        """int64[count, channels]."""
        threads, native = self._context.threads, key.public_key.native
        size = lane.returned(count) * native.wire_bytes
        require(what, f"{len(data)} bytes of ciphertexts", f"{size} bytes of ciphertexts")
        bad = native.check_wire(data, threads)
        if bad >= 0:
            raise MessageError(f"{what}: the ciphertext at index {bad} is outside the group of the key")
        self._context.timings.count("decryptions", lane.returned(count))
        plaintexts = self._own_values().decrypt(key, data, threads)
        try:
            return lane.decode(plaintexts, key.native.plaintext_width, count, threads)
        except CapacityError as error:
            raise CapacityError(f"{what}: {error}") from None

    def end_tree(self) -> None:
        """Forget the round's gradients. The pool goes on."""
        self._values = None

    def close(self) -> None:
        """End the background work."""
        if self._key is not None:
            self._key.stop_pool()

    def _own_values(self) -> RowValues:
        assert self._values is not None  # noqa: S101 - begin_tree came first
        return self._values

    def _own_key(self) -> PrivateKey:
        assert self._key is not None  # noqa: S101 - begin_tree came first
        return self._key


def make_active(context: ActiveContext, layout: HeLayout) -> OpenedSums:
    """Make the active party's role, which scores the sums it opens from the passive parties' ciphertexts."""
    return OpenedSums(context, HeSource(context, layout))
