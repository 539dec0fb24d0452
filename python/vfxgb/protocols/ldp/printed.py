"""Algorithm 6 of FedXGBoost as it is printed, for reproduction: fresh noise in every node, and the true sum G.

What follows is what ERRATA says of it: noisy left sums next to a true total bias the score by n_L sigma^2 / lambda
(E48), a passive party averages the noise away over levels and trees (E51), and leaves come from true gradients (E52).
One thing differs from the print: a node is split only if its best score is positive, where the paper always splits.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import (
    ActiveContext,
    ActiveLevel,
    Gradients,
    PassiveContext,
    PassiveLevel,
    PassiveNodes,
    ReleaseContext,
)
from vfxgb.dp import Event
from vfxgb.protocols.ldp.messages import LdpPrinted
from vfxgb.protocols.ldp.noise import LABEL, Noise, Ranges
from vfxgb.protocols.ldp.release import rescale
from vfxgb.protocols.receive import receive
from vfxgb.protocols.scored.active import ScoredActive
from vfxgb.protocols.scored.passive import ScoredPassive
from vfxgb.transport.channel import broadcast
from vfxgb.transport.messages import pack_array, unpack_array

REASON = (
    "algorithm 6 as printed sends true sums, draws fresh noise on every level and takes leaves from true labels "
    "(as_printed=True)"
)


class PrintedActive(ScoredActive):
    """An ActiveRole. `self._pairs` are true gradients."""

    def __init__(self, context: ActiveContext) -> None:
        super().__init__(context)
        release = ReleaseContext(
            context.params,
            context.train,
            context.n_train,
            context.n_outputs,
            context.fraction_bits,
            context.threads,
            context.timings,
            context.events,
        )
        self._noise = Noise.plan(release, Ranges.of(release)).gradient
        self._step = 1.0

    def _send_round(self, gradients: Gradients) -> None:
        self._step = gradients.step

    def _send_level(self, level: ActiveLevel) -> None:
        context, noise = self._context, self._noise
        context.events.extend(
            Event(noise.name, noise.epsilon, party, LABEL, level.round, holds=False, reason=REASON)
            for party in context.channels
        )
        for nodes in level.trees:
            rows = np.concatenate([nodes.in_memory.rows(int(node)) for node in nodes.nodes])
            indices = rescale(self._pairs[nodes.tree][rows, 0], self._step, noise.step)
            # Scores are made of true totals and noisy sums: both in the step of the gradients.
            values = rescale(noise.perturb_indices(indices, context.threads), noise.step, self._step)
            message = LdpPrinted(round=level.round, depth=level.depth, tree=nodes.tree, values=pack_array(values))
            broadcast(list(context.channels.values()), message)


class PrintedPassive(ScoredPassive):
    """A PassiveRole."""

    def __init__(self, context: PassiveContext) -> None:
        super().__init__(context)
        self._fresh: list[NDArray[np.int64]] = []

    def _left_sums(self, level: PassiveLevel, index: int) -> NDArray[np.int64]:
        # All of a level arrive together: read them before the first is used.
        if index == 0:
            self._fresh = [self._receive(level, nodes) for nodes in level.trees]
        return self._sum_pairs(level.trees[index], self._fresh[index])

    def _receive(self, level: PassiveLevel, nodes: PassiveNodes) -> NDArray[np.int64]:
        context, what = self._context, f"{self._context.party} reading noisy gradients"
        place = {"round": level.round, "depth": level.depth, "tree": nodes.tree}
        message = receive(context, context.channel, LdpPrinted, what, **place)
        partition = self._trees[nodes.tree].in_memory
        rows = np.concatenate([partition.rows(int(node)) for node in nodes.nodes])
        pairs = np.zeros((context.n_train, 2), dtype=np.int64)
        pairs[rows, 0] = unpack_array(message.values, np.int64, (len(rows),), what)
        return pairs
