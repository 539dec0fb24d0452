"""What a run will take on the line: bytes and seconds a tree, and the setting that would halve them, in words.

Bytes are what the protocol says of itself (ProtocolSpec.wire_cost) and what every training has. Measured runs are
within FACTOR of it where features have as many bins as they may, and below it where they have fewer.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import msgspec

from vfxgb.contract import Saving, TrainingShape, WireCost, shared_cost
from vfxgb.errors import CapacityError, ParameterError
from vfxgb.objective import make_objective
from vfxgb.train.plan import RunPlan
from vfxgb.transport.line import KnownLine

FACTOR = 1.5
MEGA = 1e6
# "Half", as people say it; and what is not worth naming.
ABOUT_HALF = 0.56
LEAST_SAVED = 0.9


@dataclass(frozen=True)
class LineEstimate:
    """Bytes of all passive parties together, in both directions: once, and for each round with a tree for each output.

    `saving` is the setting that makes a round about half as large, or the one that saves most, and `saved` the bytes
    of a round with it; None where nothing is worth naming.
    """

    setup: float
    round: float
    round_trips: float
    outputs: int
    saving: Saving | None = None
    saved: float = 0.0

    def words(self, line: KnownLine) -> str:
        """The estimate for a line, as people read it."""
        rounds = "a tree" if self.outputs == 1 else f"a round of {self.outputs} trees"
        seconds = line.seconds(self.round, self.round_trips)
        text = f"{rounds} takes about {megabytes(self.round)} and at least {short_time(seconds)} on {line.words}"
        if line.mbit is None:
            text += " (an example: say which line is yours by network_mbit, or mbit in [network])"
        if self.setup >= self.round / 10:
            once = line.seconds(self.setup, 0)
            text += f"; the set-up takes {megabytes(self.setup)} and {short_time(once)} once"
        if self.saving is not None:
            text += f"; {self.saving.words} would make it {megabytes(self.saved)}"
        return text


def estimate_line(plan: RunPlan, rows: int, features: Mapping[str, int], line: KnownLine) -> LineEstimate | None:
    """What the plan takes with so many training rows, and so many features of each party.

    None for a protocol that does not say, and for one party alone.
    """
    cost = _cost(plan, rows, features, line)
    if cost is None:
        return None
    outputs = make_objective(plan.params).n_outputs
    best, least = None, LEAST_SAVED * cost.tree
    for saving in _savings(plan):
        cheaper = _with(plan, saving)
        found = None if cheaper is None else _cost(cheaper, rows, features, line)
        if found is None or found.tree >= least:
            continue
        best, least = saving, found.tree
        if least <= ABOUT_HALF * cost.tree:
            break
    return LineEstimate(cost.setup, cost.tree * outputs, cost.round_trips * outputs, outputs, best, least * outputs)


def announce(plan: RunPlan, rows: int, features: Mapping[str, int], line: KnownLine) -> list[str]:
    """The lines that a training begins with: what was chosen where the user left it open, and what a tree takes."""
    texts = [f"max_bin is {plan.params.bins}" + (f", the default of {plan.spec.name}" if plan.default_bins else "")]
    estimate = estimate_line(plan, rows, features, line)
    return texts if estimate is None else [*texts, estimate.words(line)]


def _cost(plan: RunPlan, rows: int, features: Mapping[str, int], line: KnownLine) -> WireCost | None:
    """All passive parties together; they answer at the same time, so that round trips do not add up."""
    spec, params, objective = plan.spec, plan.params, make_objective(plan.params)
    passives = [party for party in plan.parties if party != plan.party]
    if spec.wire_cost is None or not passives:
        return None
    told = params.subsample if params.sampling_method == "uniform" else 1.0
    costs, everybody = [], sum(features.values())
    for party in passives:
        shape = TrainingShape(
            rows,
            features[party],
            everybody - features[party],
            params.bins,
            params.max_depth,
            objective.n_outputs,
            objective.hessian_shift,
            told,
            line.mbit,
        )
        try:
            costs.append(spec.wire_cost(plan.protocol_params, shape) + shared_cost(shape, spec.shows_nodes))
        except CapacityError:
            return None
    return replace(sum(costs, WireCost()), round_trips=max(cost.round_trips for cost in costs))


def _savings(plan: RunPlan) -> Iterable[Saving]:
    """The protocol's own, then those that every training has."""
    params = plan.params
    yield from plan.spec.savings(plan.protocol_params)
    if params.bins > 2:
        yield Saving(train={"max_bin": max(2, params.bins // 2)})
    if params.sampling_method == "uniform" and params.subsample == 1.0:
        yield Saving(train={"subsample": 0.5})
    if params.max_depth > 1:
        yield Saving(train={"max_depth": params.max_depth - 1})


def _with(plan: RunPlan, saving: Saving) -> RunPlan | None:
    """The plan with other settings; None where they do not go with the rest."""
    try:
        own = msgspec.structs.replace(plan.protocol_params, **saving.protocol_params)
        return replace(plan, params=replace(plan.params, **saving.train), protocol_params=own)
    except (ParameterError, ValueError):
        return None


def megabytes(count: float) -> str:
    """Bytes in words."""
    mega = count / MEGA
    return f"{mega:,.0f} MB" if mega >= 100 else f"{mega:.3g} MB"


def short_time(seconds: float) -> str:
    """Seconds in words, down to hundredths."""
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
