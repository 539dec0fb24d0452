"""A passive party's side of `masked`: algorithm 1, noise calibration, and the sums of algorithm 3.

A candidate that some node cannot use (fewer than three rows on the left, none on the right, withheld by column sampling
or min_bucket_rows) gets noise there that does not depend on it, and its sums are not used.
"""

import math
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import PassiveContext, PassiveLevel, PassiveNodes
from vfxgb.dp import Event
from vfxgb.errors import MessageError
from vfxgb.protocols.masked.calibration import LEAST_LEFT
from vfxgb.protocols.masked.messages import VECTORS_AHEAD, MaskedAdded, MaskedGradients, MaskedNoise, MaskedStart
from vfxgb.protocols.masked.params import MaskedParams
from vfxgb.protocols.masked.rows import Place, level_rows, places
from vfxgb.protocols.receive import receive
from vfxgb.protocols.scored.passive import ScoredPassive
from vfxgb.transport.messages import pack_array, unpack_array

_LARGEST = 2.0**62

CLAIM = "the side of a row at one candidate split, as theorem 3 of MaskedXGBoost has it"
REASON = (
    "theorem 3 covers a single message and costs more than W ln 2 each, while a row is in the noise of every "
    "candidate, level and tree (ERRATA E43, E46)"
)


class _Chunk(NamedTuple):
    """Candidates of one message: who goes left there, as _native.noise.masked_noise wants it."""

    place: Place
    numbers: NDArray[np.int64]  # among all candidates of the tree
    columns: NDArray[np.uint16]
    column: NDArray[np.int64]
    cut: NDArray[np.int64]
    missing_left: NDArray[np.int64]


class MaskedPassive(ScoredPassive):
    """A PassiveRole."""

    def __init__(self, context: PassiveContext) -> None:
        super().__init__(context)
        self._params: MaskedParams = context.params
        # Chunks whose noise is out before the answer to the first is read: while one is masked, the next is made.
        self.in_flight = 2 if self._params.W <= VECTORS_AHEAD else 1
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
        rows, start = level_rows(self._trees[nodes.tree].in_memory, built)
        available = self._available(nodes, built, *self._counts(nodes, built))
        left = np.zeros((*available.shape, 2), dtype=np.int64)
        used = np.flatnonzero(available.any(axis=0))
        channel = self._context.channel
        if level.depth == 0 and self._context.note is not None:
            self._context.note("order", level.round, nodes.tree, used)
        channel.send(MaskedStart(round=level.round, depth=level.depth, tree=nodes.tree, candidates=len(used)))
        self._sent += len(used)
        waiting: deque[_Chunk] = deque()
        every = places(level.round, level.depth, nodes.tree, len(used), start, self._params)
        for chunk in self._chunks(nodes.tree, every, used, rows):
            self._send_noise(chunk, start, available)
            waiting.append(chunk)
            if len(waiting) == self.in_flight:
                self._read_sums(waiting.popleft(), start, available, left)
        while waiting:
            self._read_sums(waiting.popleft(), start, available, left)
        return left

    def _counts(self, nodes: PassiveNodes, built: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(int64[len(built), c], int64[len(built), 1]): rows on the left of each candidate, and rows of each node."""
        context, candidates = self._context, self._candidates[nodes.tree]
        tree = self._trees[nodes.tree]
        if len(candidates) == 0 or len(built) == 0:
            nothing = np.zeros((len(built), len(candidates)), dtype=np.int64)
            return nothing, nothing[:, :1]
        subset = None if len(tree.features) == context.bins.n_features else tree.features
        counts = _native.gbdt.histogram_counts(context.bins, tree.in_memory, built, subset, context.threads)
        rows = tree.in_memory.counts(built)[:, :1]
        left = _native.gbdt.left_sums(
            np.repeat(counts[:, :, None], 2, axis=2),
            np.repeat(rows, 2, axis=1),
            np.ascontiguousarray(context.bins.n_bins[tree.features]),
            candidates.has_missing,
            None,
            context.threads,
        )[:, :, 0]
        return left, rows

    def _available(
        self, nodes: PassiveNodes, built: NDArray[np.int32], left: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """bool[len(built), c]: candidates with at least three rows on the left and one on the right."""
        available = (left >= LEAST_LEFT) & (left < rows)
        if available.size == 0:
            return available
        allowed = None if nodes.allowed is None else nodes.allowed[nodes.build]
        other = self._candidates[nodes.tree].available(built, allowed, self._trees[nodes.tree].cuts)
        return available if other is None else available & other

    def _chunks(
        self, tree: int, every: Iterator[Place], used: NDArray[np.int64], rows: NDArray[np.int32]
    ) -> Iterator[_Chunk]:
        """The candidates `used`, which stand feature by feature; a feature's column is gathered once."""
        bins = self._context.bins
        gathered: dict[int, NDArray[np.uint16]] = {}
        split = self._candidates[tree].resolve(np.arange(len(used) + 1), used)
        cut = split.bin.astype(np.int64)
        missing_left = np.where(split.default_left, bins.n_bins[split.feature], -1).astype(np.int64)
        for place in every:
            here = slice(place.first, place.first + place.candidates)
            features = split.feature[here]
            new = np.append(True, features[1:] != features[:-1])
            gathered = {
                feature: gathered[feature] if feature in gathered else bins.column(feature)[rows]
                for feature in features[new].tolist()
            }
            parts = list(gathered.values())
            columns = parts[0][None] if len(parts) == 1 else np.stack(parts)
            yield _Chunk(place, used[here], columns, np.cumsum(new) - 1, cut[here], missing_left[here])

    def _send_noise(self, chunk: _Chunk, start: NDArray[np.int64], available: NDArray[np.bool_]) -> None:
        params, context = self._params, self._context
        shaped = np.ascontiguousarray(available[:, chunk.numbers].T)
        for vector in range(params.W):
            if vector >= VECTORS_AHEAD:
                self._read_added(chunk.place, vector - VECTORS_AHEAD)
            with context.timings.phase("noise"):
                noise = _native.noise.masked_noise(
                    chunk.columns,
                    start,
                    chunk.column,
                    chunk.cut,
                    chunk.missing_left,
                    shaped,
                    params.sigma1,
                    params.sigma2,
                    None,
                    context.threads,
                )
            context.channel.send(MaskedNoise(*chunk.place, vector=vector, noise=pack_array(noise)))
            del noise  # before the next is made

    def _read_added(self, place: Place, vector: int) -> None:
        context, what = self._context, f"{self._context.party} waiting for room"
        receive(context, context.channel, MaskedAdded, what, **place._asdict(), vector=vector)

    def _read_sums(
        self, chunk: _Chunk, start: NDArray[np.int64], available: NDArray[np.bool_], left: NDArray[np.int64]
    ) -> None:
        """Read the masked vectors of a chunk and enter its sums in `left`, in fixed point."""
        context, place, what = self._context, chunk.place, f"{self._context.party} reading masked gradients"
        message = receive(context, context.channel, MaskedGradients, what, **place._asdict())
        shape = (place.candidates, self._params.order, chunk.columns.shape[1])
        masked = unpack_array(message.values, np.float64, shape, what)
        with context.timings.phase("sums"):
            sums = _native.noise.masked_sums(
                chunk.columns, start, chunk.column, chunk.cut, chunk.missing_left, masked, context.threads
            )
            with np.errstate(over="ignore"):
                units = np.rint(sums / self.step)
            # NaN fails too.
            if not (np.abs(units) < _LARGEST).all():
                raise MessageError(f"{what}: found sums that are not finite or beyond 2**62 steps of the gradients")
            usable = available[:, chunk.numbers, None]
            left[:, chunk.numbers, : shape[1]] = np.where(usable, units.transpose(1, 0, 2), 0.0).astype(np.int64)
