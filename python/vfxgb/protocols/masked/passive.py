"""A passive party's side of `masked`: algorithm 1, noise calibration, and the sums of algorithm 3.

A candidate that some node cannot use (fewer than three rows on the left, none on the right, withheld by column sampling
or min_bucket_rows) gets noise there that does not depend on it, and its sums are not used.
"""

import math
from collections import deque
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.dp import Event
from vfxgb.errors import MessageError
from vfxgb.protocols.base import PassiveContext, PassiveLevel, PassiveNodes
from vfxgb.protocols.masked.calibration import LEAST_LEFT
from vfxgb.protocols.masked.messages import VECTORS_AHEAD, MaskedAdded, MaskedGradients, MaskedNoise, MaskedStart
from vfxgb.protocols.masked.params import MaskedParams
from vfxgb.protocols.masked.rows import level_rows
from vfxgb.protocols.scored.passive import ScoredPassive
from vfxgb.transport.messages import pack_array, unpack_array

_LARGEST = 2.0**62

CLAIM = "the side of a row at one candidate split, as theorem 3 of papers/002 has it"
REASON = (
    "theorem 3 covers a single message and costs more than W ln 2 each, while a row is in the noise of every "
    "candidate, level and tree (ERRATA E43, E46)"
)


class _Candidate:
    """One candidate at one level: `column`, uint16, the bins of its feature in the level's rows."""

    def __init__(self, index: int, column: NDArray[np.uint16], bin_: int, missing_left: int) -> None:
        self.index = index
        self.column = column
        self.bin = bin_
        self.missing_left = missing_left


class MaskedPassive(ScoredPassive):
    """A PassiveRole."""

    def __init__(self, context: PassiveContext) -> None:
        super().__init__(context)
        params: MaskedParams = context.params
        self._params = params
        # Candidates whose noise is out before the answer to the first is read: while one is masked, the next is made.
        self.in_flight = 2 if params.W <= VECTORS_AHEAD else 1
        self._round = 0
        self._sent = 0

    def _receive_round(self, round_index: int, sampled: NDArray[np.int32] | None) -> None:  # noqa: ARG002
        self._round, self._sent = round_index, 0

    def end_tree(self) -> None:
        """Enter what theorem 3 claims for the noise of this round."""
        context = self._context
        if self._sent:
            epsilon = self._sent * self._params.W * math.log(2)
            context.events.append(
                Event("masked", epsilon, context.channel.peer, CLAIM, self._round, holds=False, reason=REASON)
            )
        super().end_tree()

    def _left_sums(self, level: PassiveLevel, index: int) -> NDArray[np.int64]:
        nodes = level.trees[index]
        built = np.ascontiguousarray(nodes.nodes[nodes.build])
        rows, start = level_rows(self._trees[nodes.tree].partition, built)
        available = self._available(nodes, built)
        left = np.zeros((*available.shape, 2), dtype=np.int64)
        used = np.flatnonzero(available.any(axis=0))
        channel = self._context.channel
        if level.depth == 0 and self._context.note is not None:
            self._context.note("order", level.round, nodes.tree, used)
        channel.send(MaskedStart(round=level.round, depth=level.depth, tree=nodes.tree, candidates=len(used)))
        self._sent += len(used)
        waiting: deque[tuple[int, _Candidate]] = deque()
        for place, candidate in enumerate(self._columns(nodes.tree, used, rows)):
            self._send_noise(level, nodes.tree, place, candidate, start, available[:, candidate.index])
            waiting.append((place, candidate))
            if len(waiting) == self.in_flight:
                self._read_sums(level, nodes.tree, *waiting.popleft(), start, available, left)
        while waiting:
            self._read_sums(level, nodes.tree, *waiting.popleft(), start, available, left)
        return left

    def _available(self, nodes: PassiveNodes, built: NDArray[np.int32]) -> NDArray[np.bool_]:
        """bool[len(built), c]: candidates with at least three rows on the left and one on the right."""
        context, candidates = self._context, self._candidates[nodes.tree]
        tree = self._trees[nodes.tree]
        if len(candidates) == 0 or len(built) == 0:
            return np.zeros((len(built), len(candidates)), dtype=np.bool_)
        subset = None if len(tree.features) == context.bins.n_features else tree.features
        counts = _native.histogram_counts(context.bins, tree.partition, built, subset, context.threads)
        rows = tree.partition.counts(built)[:, :1]
        left = _native.left_sums(
            np.repeat(counts[:, :, None], 2, axis=2),
            np.repeat(rows, 2, axis=1),
            np.ascontiguousarray(context.bins.n_bins[tree.features]),
            candidates.has_missing,
            None,
            context.threads,
        )[:, :, 0]
        found = (left >= LEAST_LEFT) & (left < rows)
        allowed = None if nodes.allowed is None else nodes.allowed[nodes.build]
        other = candidates.available(tree.partition, built, allowed, context.min_bucket_rows)
        return found if other is None else found & other

    def _columns(self, tree: int, used: NDArray[np.int64], rows: NDArray[np.int32]) -> Iterator[_Candidate]:
        """The candidates `used`; each feature's column is read once, as they stand feature by feature."""
        bins, candidates = self._context.bins, self._candidates[tree]
        every = np.arange(len(candidates) + 1, dtype=np.int64)
        split = candidates.resolve(every, every[:-1])
        feature, column = -1, np.zeros(0, dtype=np.uint16)
        for index in used.tolist():
            if split.feature[index] != feature:
                feature = int(split.feature[index])
                column = bins.column(feature)[rows]
            missing = int(bins.n_bins[feature]) if split.default_left[index] else -1
            yield _Candidate(index, column, int(split.bin[index]), missing)

    def _send_noise(
        self,
        level: PassiveLevel,
        tree: int,
        place: int,
        candidate: _Candidate,
        start: NDArray[np.int64],
        shaped: NDArray[np.bool_],
    ) -> None:
        params, context = self._params, self._context
        for vector in range(params.W):
            if vector >= VECTORS_AHEAD:
                self._read_added(level, tree, place, vector - VECTORS_AHEAD)
            with context.timings.phase("noise"):
                noise = _native.masked_noise(
                    candidate.column,
                    start,
                    np.ascontiguousarray(shaped),
                    candidate.bin,
                    candidate.missing_left,
                    params.sigma1,
                    params.sigma2,
                    None,
                    context.threads,
                )
            context.channel.send(
                MaskedNoise(
                    round=level.round,
                    depth=level.depth,
                    tree=tree,
                    candidate=place,
                    vector=vector,
                    noise=pack_array(noise),
                )
            )

    def _read_added(self, level: PassiveLevel, tree: int, place: int, vector: int) -> None:
        with self._context.timings.phase("wait"):
            message = self._context.channel.recv(MaskedAdded)
        found = (message.round, message.depth, message.tree, message.candidate, message.vector)
        wanted = (level.round, level.depth, tree, place, vector)
        if found != wanted:
            raise MessageError(
                f"{self._context.party} waiting for room: found (round, depth, tree, candidate, vector) {found}, "
                f"wanted {wanted}"
            )

    def _read_sums(
        self,
        level: PassiveLevel,
        tree: int,
        place: int,
        candidate: _Candidate,
        start: NDArray[np.int64],
        available: NDArray[np.bool_],
        left: NDArray[np.int64],
    ) -> None:
        """Read the masked vectors of a candidate and enter its sums in `left`, in fixed point."""
        context = self._context
        with context.timings.phase("wait"):
            message = context.channel.recv(MaskedGradients)
        what = f"{context.party} reading masked gradients"
        found = (message.round, message.depth, message.tree, message.candidate)
        wanted = (level.round, level.depth, tree, place)
        if found != wanted:
            raise MessageError(f"{what}: found (round, depth, tree, candidate) {found}, wanted {wanted}")
        order = self._params.order
        masked = unpack_array(message.values, np.float64, (order, len(candidate.column)), what)
        with context.timings.phase("sums"):
            sums = _native.masked_sums(
                candidate.column, start, candidate.bin, candidate.missing_left, masked, context.threads
            )
            with np.errstate(over="ignore"):
                units = np.rint(sums / self.step)
            # NaN fails too.
            if not (np.abs(units) < _LARGEST).all():
                raise MessageError(f"{what}: found sums that are not finite or beyond 2**62 steps of the gradients")
            usable = available[:, candidate.index]
            left[usable, candidate.index, :order] = units[usable].astype(np.int64)
