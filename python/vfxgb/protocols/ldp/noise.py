"""The noise of a run: which mechanism with which budget for each number that a row releases in a round.

Notation: K outputs, T rounds. A row releases K gradients a round, with hessians="noisy" also K hessians.

- hessians="clear": hessians are functions of margins, which come from earlier releases: what is protected is the label.
  With one output a label moves one number; with K classes it moves the gradients of two of them. So each number gets
  epsilon, or epsilon / 2.
- hessians="noisy": any of the 2 K numbers may move: each gets epsilon / (2 K).
- Gaussian noise is calibrated to all numbers that may move, 1, 2 or 2 K in each round, as so many releases.

Every number is clipped to a range known beforehand, that of the objective (`ObjectiveSpec.bounds`). A gradient of
binary:logistic or multi:softprob is p - y (`ObjectiveSpec.residual`): whatever the label, it is within 1/2 of p - 1/2,
which margins give without labels. So where the label is what is protected the centre p - 1/2 is taken off before noise
and put back after it, and noise for the range [-1/2, 1/2] is enough. Where gradients and hessians are protected as
such, they count as anything in [-1, 1] and [0, 1/4] or [0, 1/2]. All other gradients are bounded by `clip`. Weights
multiply these ranges, up to `max_weight`: none of them comes from the data.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from vfxgb.contract import ReleaseContext
from vfxgb.dp import GRID_BITS, Event, Gaussian, Mechanism, budget, common_fixed_point, mechanism
from vfxgb.errors import CapacityError, DpError, ProtocolParameterError
from vfxgb.numeric.fixed_point import FixedPoint
from vfxgb.objective import spec_of
from vfxgb.params import TrainParams
from vfxgb.protocols.ldp.params import LdpParams

LABEL = "the label of one row"
PAIR = "gradients and hessians of one row, and with them its label"
_LEAST_GRID_BITS = 8


@dataclass(frozen=True)
class Ranges:
    """No |gradient| is above `gradient`, no hessian above `hessian`, whatever the data.

    `centred`: gradients count from `Objective.centres`, which labels have no part in.
    """

    gradient: float
    hessian: float
    centred: bool = False

    @classmethod
    def of(cls, context: ReleaseContext) -> "Ranges":
        """Those of the objective and `max_weight`, or of `clip`. Raises ProtocolParameterError if one is missing."""
        params: LdpParams = context.params
        spec = spec_of(context.train.objective)
        if params.clip is not None:
            return cls(params.clip, max(1.0, params.clip))
        if spec.bounds is None:
            raise ProtocolParameterError(
                f"ldp, mechanism {params.mechanism!r}: gradients of {objective_name(context.train)} have no bound, "
                "wanted clip in protocol_params: gradients are clipped to [-clip, clip] before noise is added"
            )
        heaviest = _heaviest(context) * max(1.0, float(context.train.scale_pos_weight))
        centred = spec.residual and params.hessians == "clear" and not params.as_printed
        gradient, hessian = spec.bounds
        return cls(heaviest / 2 if centred else heaviest * gradient, heaviest * hessian, centred)


def _heaviest(context: ReleaseContext) -> float:
    """The declared bound of sample weights, 1 without any. Raises ProtocolParameterError if weights do not keep it."""
    params: LdpParams = context.params
    if context.weights is not None:
        what = f"ldp, mechanism {params.mechanism!r}: sample weights multiply the gradients"
        if params.max_weight is None:
            raise ProtocolParameterError(
                f"{what}, wanted max_weight in protocol_params: a bound of the weights that is fixed without a look at "
                "the data"
            )
        largest = float(context.weights.max(initial=0.0))
        if largest > params.max_weight:
            raise ProtocolParameterError(
                f"{what}, found a weight of {largest:g}, wanted at most max_weight={params.max_weight:g}; divide the "
                "weights, or raise max_weight"
            )
    return 1.0 if params.max_weight is None else params.max_weight


@dataclass(frozen=True)
class _PutBack:
    """Outputs of a mechanism with the centres of the rows put back, as `common_fixed_point` wants to know them."""

    mechanism: Mechanism

    @property
    def step(self) -> float:
        """That of the mechanism."""
        return self.mechanism.step

    @property
    def largest(self) -> int:
        """A centre is at most half the weight, as the range of the mechanism is; one more for rounding it."""
        return self.mechanism.largest + self.mechanism.lattice.bound + 1


@dataclass(frozen=True)
class Noise:
    """The mechanisms of a run.

    `epsilon` is that of one round, and with Gaussian noise the one that was asked for. `moved` says how many of a row's
    numbers the protected item may move in a round. Where `centred` is true, the mechanism on gradients gets them less
    their centres. `total_delta` is the delta of the total where one was asked for.
    """

    epsilon: float
    moved: int
    gradient: Mechanism
    hessian: Mechanism | None
    n_train: int
    centred: bool = False
    total_delta: float = 0.0

    @classmethod
    def plan(cls, context: ReleaseContext, ranges: Ranges) -> "Noise":
        """Take the finest lattice on which sums over all rows stay exact. Raises ProtocolParameterError or DpError."""
        params: LdpParams = context.params
        for grid_bits in range(GRID_BITS, _LEAST_GRID_BITS - 1, -1):
            try:
                noise = _plan(context, ranges, grid_bits)
                noise.fixed  # noqa: B018 - raises
            except CapacityError:
                continue
            except DpError:
                # Noise too large for this lattice may fit a coarser one; an epsilon that is too small fits none.
                if grid_bits > _LEAST_GRID_BITS:
                    continue
                raise
            return noise
        raise ProtocolParameterError(
            f"ldp, mechanism {params.mechanism!r}: epsilon {params.given_epsilon:g} needs noise so large that sums "
            f"over {context.n_train} rows do not fit; raise epsilon, or train fewer trees"
        )

    @cached_property
    def fixed(self) -> FixedPoint:
        """The fixed point of all that is released. Raises CapacityError if sums do not fit."""
        gradient = _PutBack(self.gradient) if self.centred else self.gradient
        return common_fixed_point([gradient] if self.hessian is None else [gradient, self.hessian], self.n_train)

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
    return Noise(epsilon, moved, gradient, hessian, context.n_train, ranges.centred, total_delta)


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
