"""What is to be trained over users' rows, where cut points come from, and the server's own rows: fixed before a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from vfxgb.errors import ParameterError
from vfxgb.horizontal.guard import TaskLimits, most_calls
from vfxgb.horizontal.losses import summable
from vfxgb.horizontal.quantiles import DEFAULT_BITS, RangeCells
from vfxgb.horizontal.rows import Float32Array
from vfxgb.metric import make_metrics
from vfxgb.objective import make_objective
from vfxgb.params import TrainParams
from vfxgb.secagg import aggregator_by_name, make_aggregator_params
from vfxgb.secagg.base import AggregatorSpec, threshold_of
from vfxgb.secagg.guard import Compare, GuardRules, default_hidden


@dataclass(frozen=True)
class CutRules:
    """Where cut points come from: `given` (column -> cuts) for all columns; else public `ranges` (column -> low, high)
    in `cells` evenly spaced cells, where there is one; else a search over `bits` bits of the values."""

    given: Mapping[str, Any] | None = None
    ranges: Mapping[str, tuple[float, float]] | None = None
    cells: int = 256
    bits: int = DEFAULT_BITS

    def range_cells(self, names: Sequence[str]) -> list[RangeCells]:
        """The cells of columns with a public range, by column; none where all cuts are given."""
        if self.given is not None:
            return []
        by_column = sorted((list(names).index(name), ends) for name, ends in (self.ranges or {}).items())
        return [
            RangeCells(column=column, low=float(low), high=float(high), cells=self.cells)
            for column, (low, high) in by_column
        ]


@dataclass(frozen=True)
class EvalRows:
    """The server's own rows: X float32[n, F] (NaN is missing), labels and weights [n]; `sets` names slices of them."""

    X: Float32Array
    labels: NDArray[Any]
    weights: Float32Array | None
    sets: Sequence[tuple[str, slice]]


@dataclass(frozen=True)
class Job:
    """What is to be trained. `names`: the columns; `weighted`: users weigh their rows. See FedXGBClassifier.

    `eval_users`, `holdout`: metrics are measured on users' training rows; on a share of rows that they hold out.
    `hide_among`, `compare`: see vfxgb.secagg.guard.GuardRules; None: default_hidden of all users.
    """

    names: Sequence[str]
    params: TrainParams
    aggregator: str
    aggregator_params: Mapping[str, Any]
    rules: CutRules
    evals: EvalRows
    weighted: bool
    users_per_round: int | None = None
    hide_among: int | None = None
    compare: Compare = "tree"
    eval_users: bool = False
    holdout: float = 0.0

    def read_aggregator(self) -> tuple[AggregatorSpec, Any]:
        """The aggregator and its parameters. Raises UnknownNameError, ProtocolParameterError."""
        spec = aggregator_by_name(self.aggregator)
        return spec, make_aggregator_params(spec, self.aggregator_params)

    def least(self, n_users: int) -> int:
        """How many of `n_users` users must be there. Raises ParameterError if they are too few."""
        _, params = self.read_aggregator()
        team = n_users if self.users_per_round is None else self.users_per_round
        if self.compare == "run" and self.users_per_round is not None:
            raise ParameterError(
                f"reading parameters: users_per_round={self.users_per_round} with compare='run', which wants the same "
                "users in all sums of a run; leave one of them out"
            )
        least = self.wanted(team)
        if params.min_users > team:
            raise ParameterError(
                f"reading parameters: min_users={params.min_users} with {team} users in a round, wanted at most as many"
            )
        return least

    def wanted(self, team: int) -> int:
        """Fewest users in a sum for which `team` users are asked."""
        _, params = self.read_aggregator()
        return int(max(threshold_of(params.threshold, team), params.min_users))

    def metric_names(self) -> list[str]:
        """The metrics that are measured on users' rows. Raises ParameterError if none of those asked for is a sum."""
        if not self.eval_users and not self.holdout:
            return []
        metrics = make_metrics(self.params.eval_metric, make_objective(self.params).default_metric)
        return [metric.name for metric in summable(metrics)]

    def hidden(self, n_users: int) -> int:
        """k of a run with so many users."""
        return default_hidden(n_users) if self.hide_among is None else self.hide_among

    def limits(self) -> TaskLimits:
        """How much users are asked at most."""
        return TaskLimits.of(self.params, self.rules.bits, self.rules.range_cells(self.names))

    def guard_rules(self, n_users: int, n_outputs: int) -> GuardRules:
        """What users of this run see to."""
        k = self.hidden(n_users)
        return GuardRules(k, min(k, self.least(n_users)), most_calls(self.limits(), n_outputs), self.compare)
