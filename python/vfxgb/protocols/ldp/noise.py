"""The noise of a run: which mechanism with which budget for each number that a row releases in a round.

Notation: K outputs, T rounds. A row releases K gradients a round, with hessians="noisy" also K hessians.

- hessians="clear": hessians are functions of margins, which come from earlier releases: what is protected is the label.
  With one output a label moves one number; with K classes it moves the gradients of two of them. So each number gets
  epsilon, or epsilon / 2.
- hessians="noisy": any of the 2 K numbers may move: each gets epsilon / (2 K).
- Gaussian noise is calibrated to all numbers that may move, 1, 2 or 2 K in each round, as so many releases.

Every number is clipped to a range known beforehand: gradients of binary:logistic and multi:softprob lie in [-1, 1],
their hessians in [0, 1/4] and [0, 1/2]; all else is bounded by `clip`. Weights multiply these.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from vfxgb.dp import GRID_BITS, Event, Gaussian, Mechanism, budget, common_fixed_point, mechanism
from vfxgb.errors import CapacityError, ProtocolParameterError
from vfxgb.params import TrainParams
from vfxgb.protocols.base import ReleaseContext
from vfxgb.protocols.ldp.params import LdpParams
from vfxgb.tree.fixed_point import FixedPoint

LABEL = "the label of one row"
PAIR = "gradients and hessians of one row, and with them its label"
_LEAST_GRID_BITS = 8
_TINY = 2.0**-100
_HESSIANS = {"binary:logistic": 0.25, "multi:softprob": 0.5}


@dataclass(frozen=True)
class Ranges:
    """No |gradient| is above `gradient`, no hessian above `hessian`, whatever the data."""

    gradient: float
    hessian: float

    @classmethod
    def of(cls, context: ReleaseContext) -> "Ranges":
        """Those of the objective, or of `clip`. Raises ProtocolParameterError if it is missing."""
        params: LdpParams = context.params
        objective = context.train.objective
        if params.clip is not None:
            return cls(params.clip, max(1.0, params.clip))
        if not isinstance(objective, str) or objective not in _HESSIANS:
            raise ProtocolParameterError(
                f"ldp, mechanism {params.mechanism!r}: gradients of {objective_name(context.train)} have no bound, "
                "wanted clip in protocol_params: gradients are clipped to [-clip, clip] before noise is added"
            )
        heaviest = 1.0 if context.weights is None else float(context.weights.max(initial=0.0))
        heaviest *= max(1.0, float(context.train.scale_pos_weight))
        return cls(max(heaviest, _TINY), heaviest * _HESSIANS[objective])


@dataclass(frozen=True)
class Noise:
    """The mechanisms of a run.

    `epsilon`: of one round; of Gaussian noise, what was asked for. `moved`: how many of a row's numbers the protected
    item may move in a round. `total_delta`: where a total was asked for, its delta.
    """

    epsilon: float
    moved: int
    gradient: Mechanism
    hessian: Mechanism | None
    n_train: int
    total_delta: float = 0.0

    @classmethod
    def plan(cls, context: ReleaseContext, ranges: Ranges) -> "Noise":
        """With the finest lattice on which sums over all rows stay exact. Raises ProtocolParameterError if none is."""
        params: LdpParams = context.params
        for grid_bits in range(GRID_BITS, _LEAST_GRID_BITS - 1, -1):
            noise = _plan(context, ranges, grid_bits)
            try:
                noise.fixed  # noqa: B018 - raises
            except CapacityError:
                continue
            return noise
        raise ProtocolParameterError(
            f"ldp, mechanism {params.mechanism!r}: epsilon {params.given_epsilon:g} needs noise so large that sums "
            f"over {context.n_train} rows do not fit; raise epsilon, or train fewer trees"
        )

    @cached_property
    def fixed(self) -> FixedPoint:
        """The fixed point of all that is released. Raises CapacityError if sums do not fit."""
        return common_fixed_point([one for one in (self.gradient, self.hessian) if one is not None], self.n_train)

    def events(self, receiver: str, round_index: int) -> list[Event]:
        """One round, as `receiver` sees it."""
        if isinstance(self.gradient, Gaussian):
            gradients = self.moved if self.hessian is None else self.moved // 2
            hessians = self.moved - gradients
            parts = [self.gradient] * gradients + [self.hessian or self.gradient] * hessians
            return [part.event(receiver, self.protects, round_index, total_delta=self.total_delta) for part in parts]
        event = self.gradient.event(receiver, self.protects, round_index, total_delta=self.total_delta)
        if self.moved > 1:
            # No mechanism's own distribution any more, only the sum of the epsilons.
            event = replace(event, epsilon=self.epsilon, laplace_scale=None, slack=0.0)
        return [event]

    @property
    def protects(self) -> str:
        """What the epsilon is about."""
        return LABEL if self.hessian is None else PAIR


def _plan(context: ReleaseContext, ranges: Ranges, grid_bits: int) -> Noise:
    params: LdpParams = context.params
    noisy = params.hessians == "noisy"
    moved = 2 * context.n_outputs if noisy else min(context.n_outputs, 2)
    rounds = max(1, context.train.n_estimators)
    more: dict[str, Any] = {"grid_bits": grid_bits}
    if params.mechanism == "gaussian":
        epsilon = each = params.given_epsilon
        more |= {"delta": params.delta, "releases": moved * (1 if params.total_epsilon is None else rounds)}
    else:
        epsilon = _round_epsilon(params, rounds)
        each = epsilon / moved
    gradient = mechanism(params.mechanism, each, -ranges.gradient, ranges.gradient, **more)
    hessian = mechanism(params.mechanism, each, 0.0, ranges.hessian, **more) if noisy else None
    total_delta = 0.0 if params.total_epsilon is None else params.delta or 0.0
    return Noise(epsilon, moved, gradient, hessian, context.n_train, total_delta)


def _round_epsilon(params: LdpParams, rounds: int) -> float:
    """Epsilon of one round, of a mechanism without delta."""
    if params.total_epsilon is None:
        return params.given_epsilon
    if params.delta is None:
        return budget(params.total_epsilon, rounds).epsilon_per_release
    return budget(params.total_epsilon, rounds, "advanced", params.delta).epsilon_per_release


def objective_name(train: TrainParams) -> str:
    """The objective, for messages."""
    return train.objective if isinstance(train.objective, str) else "a custom objective"
