"""The active party's side of `masked`: algorithm 2, information noising.

For each candidate and node it draws c and d on the sphere of squared radius C in W dimensions and answers with
g + sum c_k b_k and h + sum d_k b_k. Noise vectors arrive one by one and are added as they come.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import MessageError
from vfxgb.protocols.base import ActiveContext, ActiveLevel, Gradients, LevelNodes
from vfxgb.protocols.masked.messages import VECTORS_AHEAD, MaskedAdded, MaskedGradients, MaskedNoise, MaskedStart
from vfxgb.protocols.masked.params import MaskedParams
from vfxgb.protocols.masked.rows import level_rows
from vfxgb.protocols.scored.active import ScoredActive
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_array, unpack_array


class _At(NamedTuple):
    """Which candidate."""

    round: int
    depth: int
    tree: int
    candidate: int


class MaskedActive(ScoredActive):
    """An ActiveRole."""

    def __init__(self, context: ActiveContext) -> None:
        super().__init__(context)
        params: MaskedParams = context.params
        self._params = params
        self._step = 1.0

    def _send_round(self, gradients: Gradients) -> None:
        self._step = gradients.step

    def _send_level(self, level: ActiveLevel) -> None:
        for nodes in level.trees:
            self._serve_tree(level, nodes)

    def _serve_tree(self, level: ActiveLevel, nodes: LevelNodes) -> None:
        """Mask the candidates of all passive parties, one of each in turn, so that all of them have work."""
        rows, start = level_rows(nodes.partition, nodes.nodes[nodes.build])
        base = np.empty((self._params.order, len(rows)))
        for vector, values in enumerate(base):
            np.multiply(self._pairs[nodes.tree][:, vector][rows], self._step, out=values)
        counts = {party: self._read_start(party, level, nodes.tree) for party in self._context.channels}
        for candidate in range(max(counts.values())):
            for party, count in counts.items():
                if candidate < count:
                    self._mask(party, _At(level.round, level.depth, nodes.tree, candidate), base, start)

    def _read_start(self, party: str, level: ActiveLevel, tree: int) -> int:
        with self._context.timings.phase("wait"):
            message = self._context.channels[party].recv(MaskedStart)
        found = (message.round, message.depth, message.tree)
        if found != (level.round, level.depth, tree) or message.candidates < 0:
            raise MessageError(
                f"reading the candidates of {party}: found {message.candidates} of round {found[0]}, depth {found[1]}, "
                f"tree {found[2]}, wanted at least 0 of round {level.round}, depth {level.depth}, tree {tree}"
            )
        return message.candidates

    def _mask(self, party: str, at: _At, base: NDArray[np.float64], start: NDArray[np.int64]) -> None:
        """Read the noise vectors of one candidate and answer them."""
        channel, threads = self._context.channels[party], self._context.threads
        factors = sphere(base.shape[0], self._params.W, len(start) - 1, self._params.C)
        masked = np.empty_like(base)
        for vector in range(self._params.W):
            noise = self._read_noise(channel, at, vector, base.shape[1])
            with self._context.timings.phase("mask"):
                factor = np.ascontiguousarray(factors[:, vector])
                _native.add_noise(base if vector == 0 else masked, noise, start, factor, masked, threads)
            # Its bytes are the message's: free them before the answer is encoded.
            del noise
            if vector < self._params.W - VECTORS_AHEAD:
                channel.send(MaskedAdded(*at, vector=vector))
        channel.send(MaskedGradients(*at, values=pack_array(masked)))

    def _read_noise(self, channel: Channel, at: _At, vector: int, rows: int) -> NDArray[np.float64]:
        with self._context.timings.phase("wait"):
            message = channel.recv(MaskedNoise)
        found = (message.round, message.depth, message.tree, message.candidate, message.vector)
        wanted = (*at, vector)
        what = f"reading noise of {channel.peer}"
        if found != wanted:
            raise MessageError(f"{what}: found (round, depth, tree, candidate, vector) {found}, wanted {wanted}")
        noise = unpack_array(message.noise, np.float64, (rows,), what)
        if not np.isfinite(noise).all():
            raise MessageError(f"{what}: found a number that is not finite")
        return noise


def sphere(vectors: int, W: int, nodes: int, C: float) -> NDArray[np.float64]:
    """Uniform points on the sphere of squared radius C in W dimensions, float64[vectors, W, nodes]."""
    drawn = _native.random_normals(vectors * W * nodes).reshape(vectors, W, nodes)
    drawn *= math.sqrt(C) / np.sqrt((drawn**2).sum(axis=1, keepdims=True))
    return drawn
