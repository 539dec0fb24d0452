"""Protocol `masked` as its passive parties' sums see it, for trainings whose AUC is all that is asked for.

In `masked` with W = 1 a candidate's left sums are those of the gradients, off by c m.b and d m.b, where m.b is the sum
of a fresh noise vector over the rows on the left: normal of variance n_A sigma2^2, as what else is in the vector
cancels, and independent from candidate to candidate; c and d are plus or minus sqrt(C), C that of the node (theorem 1,
E39). Here gradients travel in clear and these errors are drawn by themselves: the same distribution of sums, and of
everything that is made of them, without n numbers for every candidate. It protects nothing and is no protocol to train
with; dp.py has trainings by `masked` itself next to it.

`masked_sums` takes the parameters of `masked`, with W = 1 and order = 2.
"""

import math

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import PassiveContext, PassiveLevel, ProtocolSpec
from vfxgb.errors import ProtocolParameterError
from vfxgb.protocols import register
from vfxgb.protocols.ldp.active import LdpActive
from vfxgb.protocols.ldp.messages import LdpGradients
from vfxgb.protocols.masked.params import MaskedParams, masked_options
from vfxgb.protocols.masked.passive import MaskedPassive
from vfxgb.protocols.masked.release import make_release
from vfxgb.protocols.masked.rows import squared_lengths
from vfxgb.protocols.receive import receive
from vfxgb.protocols.scored.messages import SCORED_MESSAGES
from vfxgb.transport.messages import unpack_array

NAME = "masked_sums"


class SumsPassive(MaskedPassive):
    """A PassiveRole: exact sums, and the errors that `masked` gives them."""

    def __init__(self, context: PassiveContext) -> None:
        super().__init__(context)
        if self._params.W != 1 or self._params.order != 2:
            raise ProtocolParameterError(
                f"{NAME}: found W={self._params.W}, order={self._params.order}, wanted W=1 and order=2, for which the "
                "errors of sums are normal; use protocol masked"
            )
        self._pairs: list[NDArray[np.int64]] = []

    def _receive_round(self, round_index: int, sampled: NDArray[np.int32] | None) -> None:
        super()._receive_round(round_index, sampled)
        self._pairs = [self._receive(round_index, tree, sampled) for tree in range(len(self._trees))]

    def _receive(self, round_index: int, tree: int, sampled: NDArray[np.int32] | None) -> NDArray[np.int64]:
        context, what = self._context, f"{self._context.party} reading gradients"
        rows = context.n_train if sampled is None else len(sampled)
        message = receive(context, context.channel, LdpGradients, what, round=round_index, tree=tree, n_rows=rows)
        pairs = np.zeros((context.n_train, 2), dtype=np.int64)
        pairs[slice(None) if sampled is None else sampled] = unpack_array(message.values, np.int64, (rows, 2), what)
        return pairs

    def _left_sums(self, level: PassiveLevel, index: int) -> NDArray[np.int64]:
        nodes = level.trees[index]
        built = np.ascontiguousarray(nodes.nodes[nodes.build])
        left, rows = self._counts(nodes, built)
        available = self._available(nodes, built, left, rows)
        exact = self._sum_pairs(nodes, self._pairs[nodes.tree])
        if exact.size == 0:
            return exact
        start = np.append(0, np.cumsum(rows[:, 0])).astype(np.int64)
        lengths = squared_lengths(self._params, start, self._context.n_train)
        kappa = self._params.sigma2 * np.sqrt(left * lengths[:, None])
        return np.where(available[:, :, None], exact + np.rint(errors(kappa) / self.step).astype(np.int64), 0)


def errors(kappa: NDArray[np.float64]) -> NDArray[np.float64]:
    """Errors of (g, h) for sums of these deviations, float64[*kappa.shape, 2]: one normal, and two signs."""
    normals = _native.noise.random_normals(2 * math.prod(kappa.shape)).reshape(*kappa.shape, 2)
    off = kappa * normals[..., 0]
    return np.stack([off, off * np.sign(normals[..., 1])], axis=-1)


SPEC = ProtocolSpec(
    name=NAME,
    summary="masked, its errors drawn at the sums: for measurements of AUC",
    params=MaskedParams,
    active=LdpActive,
    passive=SumsPassive,
    messages=(*SCORED_MESSAGES, LdpGradients),
    exact=False,
    security="broken",
    attacks=("gradients travel in clear",),
    dp_events=("that of masked, which does not hold",),
    quick_params={"insecure": True, "sigma2": 0.0},
    options=masked_options,
    release=make_release,
    shows_sums=False,
    repeatable=False,
)
register(SPEC)
