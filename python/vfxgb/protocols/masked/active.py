"""The active party's side of `masked`: algorithm 2, information noising.

For each candidate and node it draws c and d on the sphere of squared radius C in W dimensions, C being that of the node
(rows.py), and answers with g + sum c_k b_k and h + sum d_k b_k. Candidates come in chunks, their noise vectors one by
one, added as they come.
"""

import math
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import ActiveContext, ActiveLevel, Gradients, LevelNodes
from vfxgb.errors import MessageError
from vfxgb.protocols.masked.messages import VECTORS_AHEAD, MaskedAdded, MaskedGradients, MaskedNoise, MaskedStart
from vfxgb.protocols.masked.params import MaskedParams
from vfxgb.protocols.masked.rows import Place, level_rows, places, squared_lengths
from vfxgb.protocols.receive import receive
from vfxgb.protocols.scored.active import ScoredActive
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_array, unpack_array


class MaskedActive(ScoredActive):
    """An ActiveRole."""

    def __init__(self, context: ActiveContext) -> None:
        super().__init__(context)
        self._params: MaskedParams = context.params
        self._step = 1.0

    def _send_round(self, gradients: Gradients) -> None:
        self._step = gradients.step

    def _send_level(self, level: ActiveLevel) -> None:
        for nodes in level.trees:
            self._serve_tree(level, nodes)

    def _serve_tree(self, level: ActiveLevel, nodes: LevelNodes) -> None:
        """Mask the candidates of all passive parties, a chunk of each in turn, so that all of them have work."""
        rows, start = level_rows(nodes.in_memory, nodes.nodes[nodes.build])
        base = np.empty((self._params.order, len(rows)))
        for vector, values in enumerate(base):
            np.multiply(self._pairs[nodes.tree][:, vector][rows], self._step, out=values)
        counts = {party: self._read_start(party, level, nodes.tree) for party in self._context.channels}
        chunks = [places(level.round, level.depth, nodes.tree, count, start, self._params) for count in counts.values()]
        for turn in zip_longest(*chunks):
            for party, place in zip(counts, turn, strict=True):
                if place is not None:
                    self._mask(party, place, base, start)

    def _read_start(self, party: str, level: ActiveLevel, tree: int) -> int:
        what, place = f"reading the candidates of {party}", {"round": level.round, "depth": level.depth, "tree": tree}
        message = receive(self._context, self._context.channels[party], MaskedStart, what, **place)
        if message.candidates < 0:
            raise MessageError(f"{what}: found {message.candidates}, wanted at least 0")
        return message.candidates

    def _mask(self, party: str, place: Place, base: NDArray[np.float64], start: NDArray[np.int64]) -> None:
        """Read the noise vectors of a chunk and answer them."""
        channel, threads = self._context.channels[party], self._context.threads
        order, rows = base.shape
        lengths = squared_lengths(self._params, start, self._context.n_train)
        factors = sphere((place.candidates, order), self._params.W, lengths)
        masked = np.empty((place.candidates, order, rows))
        for vector in range(self._params.W):
            noise = self._read_noise(channel, place, vector, rows)
            with self._context.timings.phase("mask"):
                factor = np.ascontiguousarray(factors[:, :, vector])
                _native.noise.add_noise(base if vector == 0 else masked, noise, start, factor, masked, threads)
            # Its bytes are the message's: free them before the answer is encoded.
            del noise
            if vector < self._params.W - VECTORS_AHEAD:
                channel.send(MaskedAdded(*place, vector=vector))
        channel.send(MaskedGradients(*place, values=pack_array(masked)))

    def _read_noise(self, channel: Channel, place: Place, vector: int, rows: int) -> NDArray[np.float64]:
        what = f"reading noise of {channel.peer}"
        message = receive(self._context, channel, MaskedNoise, what, **place._asdict(), vector=vector)
        noise = unpack_array(message.noise, np.float64, (place.candidates, rows), what)
        if not np.isfinite(noise).all():
            raise MessageError(f"{what}: found a number that is not finite")
        return noise


def sphere(shape: tuple[int, int], W: int, C: NDArray[np.float64]) -> NDArray[np.float64]:
    """Uniform points on spheres of squared radius C[node] in W dimensions, float64[*shape, W, nodes]."""
    drawn = _native.noise.random_normals(math.prod(shape) * W * len(C)).reshape(*shape, W, len(C))
    drawn *= np.sqrt(C) / np.sqrt((drawn**2).sum(axis=2, keepdims=True))
    return drawn
