"""What is to be trained over users' rows, where cut points come from, and the server's own rows: fixed before a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from vfxgb.dp.bounds import check_delta, check_noise_epsilon
from vfxgb.errors import DpError, ParameterError
from vfxgb.horizontal.guard import TaskLimits, most_calls
from vfxgb.horizontal.losses import summable
from vfxgb.horizontal.privacy import DEFAULT_DELTA, PrivacyPlan, PrivacySettings, Splits
from vfxgb.horizontal.quantiles import DEFAULT_BITS, RangeCells, most_calls_for
from vfxgb.horizontal.rows import Float32Array
from vfxgb.metric import make_metrics
from vfxgb.objective import make_objective
from vfxgb.params import TrainParams
from vfxgb.secagg import aggregator_by_name, make_aggregator_params
from vfxgb.secagg.base import AggregatorSpec, threshold_of
from vfxgb.secagg.guard import NOT_COMPARED, Compare, GuardRules, default_hidden


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
class PrivacyChoice:
    """What a run may cost one row of one user: (`epsilon`, `delta`) over the whole training.

    `splits`: from noisy histograms, or at random. `colluding`: so many users are assumed to tell the server
    their noise.
    """

    epsilon: float
    delta: float = DEFAULT_DELTA
    splits: Splits = "histogram"
    colluding: int = 0


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
    privacy: PrivacyChoice | None = None
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
        objective = make_objective(self.params)
        metrics = make_metrics(self.params.eval_metric, objective.default_metric, objective.metric_numbers)
        return [metric.name for metric in summable(metrics)]

    def hidden(self, n_users: int) -> int:
        """k of a run with so many users."""
        return default_hidden(n_users) if self.hide_among is None else self.hide_among

    def limits(self) -> TaskLimits:
        """How much users are asked at most."""
        ranges = self.rules.range_cells(self.names)
        return TaskLimits.of(self.params, self.rules.bits, ranges, self.privacy is not None)

    def privacy_settings(self, n_users: int) -> PrivacySettings | None:
        """What a run with so many users promises about one row; None for nothing. Raises ParameterError."""
        choice = self.privacy
        if choice is None:
            return None
        self._check_privacy(choice)
        honest = self.least(n_users) - choice.colluding
        if honest < 1:
            raise ParameterError(
                f"reading parameters: dp_colluding={choice.colluding} with sums over at least {self.least(n_users)} "
                f"users, wanted fewer: somebody has to make the noise"
            )
        rules = self.rules
        ranged = rules.range_cells(self.names)
        calls = most_calls_for(rules.bits) if len(ranged) < len(self.names) else 1
        return PrivacySettings(
            epsilon=choice.epsilon,
            delta=choice.delta,
            splits=choice.splits,
            honest=honest,
            cut_calls=0 if rules.given is not None else calls,
            start=self.params.base_score is None,
        )

    def privacy_plan(self, n_users: int) -> PrivacyPlan | None:
        """The noise of every release; None for none. Raises ParameterError, DpError."""
        settings = self.privacy_settings(n_users)
        return None if settings is None else PrivacyPlan.of(settings, self.params, len(self.names))

    def _check_privacy(self, choice: PrivacyChoice) -> None:
        where = "reading parameters: epsilon"
        try:
            check_noise_epsilon(choice.epsilon, where)
            check_delta(choice.delta, "reading parameters: delta")
        except DpError as error:
            raise ParameterError(str(error)) from None
        params = self.params
        refused = {
            "sample weights": (self.weighted, "noise is planned for rows of weight 1"),
            "hide_among=1": (
                self.hide_among == NOT_COMPARED,
                "a question that is repeated gets the same noise, so its sums must be over the same users",
            ),
            "subsample": (params.subsample < 1.0, "which rows are drawn depends on how many there are"),
            "eval_users": (self.eval_users, "sums of losses have no bound that is known beforehand"),
            "holdout": (self.holdout > 0.0, "sums of losses have no bound that is known beforehand"),
            "missing_strategy other than 'learned'": (params.missing_strategy != "learned", "it is not planned"),
            "monotone_constraints and dp_splits='random'": (
                choice.splits == "random" and bool(params.constraints(self.names)),
                "splits drawn at random have no direction",
            ),
        }
        for what, (given, why) in refused.items():
            if given:
                raise ParameterError(f"{where} cannot be had with {what}: {why}; leave one of them out")
        if choice.splits not in ("histogram", "random"):
            raise ParameterError(f"reading parameters: dp_splits={choice.splits!r}, wanted 'histogram' or 'random'")

    def guard_rules(self, n_users: int, n_outputs: int) -> GuardRules:
        """What users of this run see to."""
        k, least = self.hidden(n_users), self.least(n_users)
        # With noise a sum over fewer users than were planned for would have too little of it.
        fewest = min(k, least) if self.privacy is None else least
        return GuardRules(k, fewest, most_calls(self.limits(), n_outputs), self.compare)
