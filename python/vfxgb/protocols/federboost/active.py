"""The active party's side of `federboost`: it has randomised buckets of all features, and trains on them alone."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import ActiveContext, ActiveLevel, ChosenSums, Gradients, LevelNodes, Proposals
from vfxgb.errors import MessageError
from vfxgb.protocols.federboost.messages import Buckets, Usable
from vfxgb.protocols.federboost.passive import empty_bins, fill
from vfxgb.protocols.federboost.unbiased import Correction
from vfxgb.protocols.receive import receive, receive_level, require
from vfxgb.rows.memory import MemoryRows
from vfxgb.rows.shown_cuts import ShownCuts
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import unpack_array
from vfxgb.tree.candidates import CandidateList
from vfxgb.tree.proposal import SumTable

_MOST_BINS = 65_534


class Received:
    """The randomised buckets of one passive party; `n_rows`: training rows and eval rows, which have no buckets here.

    Raises MessageError unless they are of one party, in order, of the right size and in range.
    """

    def __init__(self, context: ActiveContext, channel: Channel, n_rows: int) -> None:
        first = self._read(channel, context, 0, None)
        messages = [first, *(self._read(channel, context, i, first.n_features) for i in range(1, first.n_features))]
        n_bins = np.array([message.n_bins for message in messages], dtype=np.int32)
        missing = np.ones(len(messages), dtype=np.bool_)
        bins = empty_bins(n_rows, n_bins)
        for message in messages:
            what = f"reading feature {message.feature} of {channel.peer}"
            column = unpack_array(message.buckets, np.uint16, (context.n_train,), what)
            if int(column.max()) > message.n_bins:
                raise MessageError(f"{what}: found bucket {int(column.max())}, wanted at most {message.n_bins}")
            fill(bins, message.feature, column, message.n_bins, context.threads)
        directions = np.array([message.constraint for message in messages], dtype=np.int8)
        every = np.arange(len(messages), dtype=np.int32)
        self.rows = MemoryRows(bins, context.n_train, context.threads)
        self.candidates = CandidateList(self.rows, missing, every, directions, None, context.threads)
        self.n_features = len(messages)
        self.correction = Correction(context.params, n_bins) if context.params.unbiased else None

    @staticmethod
    def _read(channel: Channel, context: ActiveContext, feature: int, n_features: int | None) -> Buckets:
        what = f"reading buckets of {channel.peer}"
        message = receive(context, channel, Buckets, what)
        # The first message says how many there are.
        wanted = max(1, message.n_features) if n_features is None else n_features
        require(what, f"feature {message.feature} of {message.n_features}", f"feature {feature} of {wanted}")
        if not 1 <= message.n_bins < _MOST_BINS or message.constraint not in (-1, 0, 1):
            raise MessageError(
                f"{what}, feature {feature}: found {message.n_bins} buckets and monotone direction "
                f"{message.constraint}, wanted 1 to {_MOST_BINS - 1} and -1, 0 or 1"
            )
        return message


class FederBoostActive:
    """An ActiveRole."""

    def __init__(self, context: ActiveContext) -> None:
        self._context = context
        self._received: dict[str, Received] = {}
        self._pairs: Sequence[NDArray[np.int64]] = ()
        self._tables: dict[tuple[str, int], SumTable] = {}
        self._cuts: dict[tuple[str, int], ShownCuts] = {}
        self._level: ActiveLevel | None = None

    def begin_tree(self, gradients: Gradients) -> None:
        """See ActiveRole."""
        self._pairs, self._tables, self._cuts = gradients.arrays, {}, {}

    def open_level(self, level: ActiveLevel) -> None:
        """See ActiveRole. Buckets come before anything else."""
        self._level = level
        if not self._received:
            context, n_rows = self._context, level.trees[0].partition.n_rows
            self._received = {party: Received(context, channel, n_rows) for party, channel in context.channels.items()}

    def propose(self, level: ActiveLevel) -> Mapping[str, Sequence[Proposals]]:
        """See ActiveRole."""
        proposals = {}
        for party, channel in self._context.channels.items():
            what = f"reading the usable features of {party}"
            message = receive_level(self._context, channel, Usable, what, level)
            proposals[party] = [
                self._propose(party, nodes, usable(tree.features, len(nodes.nodes), self._received[party], what))
                for nodes, tree in zip(level.trees, message.trees, strict=True)
            ]
        return proposals

    def _propose(self, party: str, nodes: LevelNodes, allowed: NDArray[np.bool_] | None) -> Proposals:
        context, received = self._context, self._received[party]
        with context.timings.phase("sums"):
            built = np.ascontiguousarray(nodes.nodes[nodes.build])
            own = None if allowed is None else allowed[nodes.build]
            candidates, cuts = received.candidates, self._open_cuts(party, nodes)
            left = candidates.left_sums(nodes.partition, built, self._pairs[nodes.tree], own, cuts)
            if received.correction is not None:
                available = candidates.available(built, own, cuts)
                left = received.correction.apply(left, nodes.totals[nodes.build], available)
        with context.timings.phase("score"):
            key = (party, nodes.tree)
            if key not in self._tables:
                directions = None if nodes.bounds is None else received.candidates.constraint
                self._tables[key] = SumTable(directions, context.threads)
            return self._tables[key].propose(nodes, left)

    def _open_cuts(self, party: str, nodes: LevelNodes) -> ShownCuts:
        key, context, received = (party, nodes.tree), self._context, self._received[party]
        if key not in self._cuts:
            every = np.arange(received.n_features, dtype=np.int32)
            self._cuts[key] = ShownCuts(received.rows, every, context.train.min_bucket_rows)
        self._cuts[key].open(nodes.partition, nodes.nodes, nodes.parent)
        return self._cuts[key]

    def chosen(
        self,
        party: str,
        index: int,
        positions: NDArray[np.int64],
        tokens: NDArray[np.int64],
        bits: memoryview,
    ) -> ChosenSums:
        """See ActiveRole. The children's sums are those of the rows they get."""
        assert self._level is not None  # noqa: S101 - a level was proposed before
        nodes = self._level.trees[index]
        offered = self._tables[party, nodes.tree].chosen(positions, tokens)
        left = nodes.left_sums(positions, bits, self._pairs[nodes.tree])
        return ChosenSums(left, offered.constraint)

    def end_tree(self) -> None:
        """See ActiveRole. Buckets stay."""
        self._pairs, self._tables, self._cuts, self._level = (), {}, {}, None

    def close(self) -> None:
        """See ActiveRole: nothing runs in the background."""


def usable(data: memoryview, m: int, received: Received, what: str) -> NDArray[np.bool_] | None:
    """bool[m, features], or None for all. Raises MessageError for another number of bytes."""
    if len(data) == 0:
        return None
    count = m * received.n_features
    packed = unpack_array(data, np.uint8, ((count + 7) // 8,), what)
    return np.unpackbits(packed, count=count, bitorder="little").astype(np.bool_).reshape(m, received.n_features)
