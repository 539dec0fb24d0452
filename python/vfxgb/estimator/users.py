"""FedXGBClassifier and FedXGBRegressor: a server and its users in this process, behind scikit-learn's interface.

    clf = FedXGBClassifier(n_estimators=20, dropout={"rate": 0.1, "every": 10})
    clf.fit([(X1, y1), (X2, y2), ...], eval_set=[(X_valid, y_valid)]).predict_proba(X_valid)
    clf.fit(X, y, users=ids)

This is a simulation: one caller holds everything and learns what training among real users costs, reveals and reaches.
Each user has rows of its own; the server, which has none but eval sets, learns sums over many users. Parameters of
training have XGBoost's names, defaults and meanings (vfxgb.params); `help(FedXGBClassifier)` lists all.

After fit: model_, ledger_, traffic_, timings_, evals_result_, best_iteration_, best_score_, users_ (their ids),
n_features_in_, feature_names_in_ (if X has names), feature_importances_, transcript_ (if recorded), and classes_ of the
classifier. A training that ends early because too few users are left, or by Ctrl-C, leaves these too, with the rounds
that were finished.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np
from msgspec import Meta

from vfxgb.audit.report import AuditReport
from vfxgb.audit.users import audit_users
from vfxgb.described import documented
from vfxgb.errors import ParameterError, PartiesError, UnfittedError
from vfxgb.estimator.base import (
    Callbacks,
    EstimatorBase,
    ImportanceType,
    ObjectiveOfLabels,
    Verbosity,
    all_callbacks,
    shown,
)
from vfxgb.estimator.classifier_regressor import ClassifierPart, RegressorPart
from vfxgb.estimator.data import EvalSet, read_cuts, read_eval_sets, stack_labels
from vfxgb.estimator.labels import encode_labels, find_classes
from vfxgb.estimator.user_data import read_users
from vfxgb.horizontal.dropout import make_dropout
from vfxgb.horizontal.job import CutRules, EvalRows, Job, PrivacyChoice
from vfxgb.horizontal.server import SERVER
from vfxgb.horizontal.settings import (
    REFUSED,
    CompareOver,
    Delta,
    DpColluding,
    DpSplits,
    Epsilon,
    EvalUsers,
    FineCells,
    HideAmong,
    Holdout,
    QuantileBits,
    UsersPerRound,
    check_missing,
    check_users_per_round,
    read_ranges,
)
from vfxgb.horizontal.simulation import UserRows, fit_users
from vfxgb.horizontal.training import Watch
from vfxgb.horizontal.transcript import TrueRows, UsersTranscript
from vfxgb.model.fitted import FittedModel
from vfxgb.params import TrainParams
from vfxgb.secagg.base import Threshold
from vfxgb.train.callbacks import TrainingCallback
from vfxgb.train.simulate import refuse_unknown_cuts

Self = TypeVar("Self", bound="UserEstimator")

D = TrainParams  # every default below is written there, once

DEFAULT_AGGREGATOR = "masks"
ALL_USERS = "all users"


class UserEstimator(EstimatorBase):
    """Training with the rows of many users."""

    _refused: ClassVar[Mapping[str, str]] = REFUSED

    def __init__(
        self,
        *,
        aggregator: Annotated[
            str, Meta(description="How sums are protected: 'masks', 'bcp', ...; 'plain' protects nothing.")
        ] = DEFAULT_AGGREGATOR,
        aggregator_params: Annotated[
            Mapping[str, Any] | None, Meta(description="The aggregator's own parameters.")
        ] = None,
        threshold: Threshold = None,
        dropout: Annotated[
            Any,
            Meta(
                description="Who drops out when; see vfxgb.horizontal.dropout.",
                extra={
                    "wanted": 'a mapping such as {"rate": 0.1, "every": 10}, a list of Drop, a callable (round, depth, '
                    "stage, user) -> bool, or None"
                },
            ),
        ] = None,
        users_per_round: UsersPerRound = None,
        hide_among: HideAmong = None,
        compare: CompareOver = "tree",
        eval_users: EvalUsers = False,
        holdout: Holdout = 0.0,
        quantile_bits: QuantileBits = CutRules.bits,
        fine_cells: FineCells = CutRules.cells,
        epsilon: Epsilon = None,
        delta: Delta = PrivacyChoice.delta,
        dp_splits: DpSplits = PrivacyChoice.splits,
        dp_colluding: DpColluding = PrivacyChoice.colluding,
        n_estimators: int = D.n_estimators,
        max_depth: int = D.max_depth,
        learning_rate: float = D.learning_rate,
        reg_lambda: float = D.reg_lambda,
        reg_alpha: float = D.reg_alpha,
        gamma: float = D.gamma,
        min_child_weight: float = D.min_child_weight,
        max_delta_step: float | None = D.max_delta_step,
        max_bin: int | None = D.max_bin,
        subsample: float = D.subsample,
        colsample_bytree: float = D.colsample_bytree,
        colsample_bylevel: float = D.colsample_bylevel,
        colsample_bynode: float = D.colsample_bynode,
        scale_pos_weight: float = D.scale_pos_weight,
        base_score: float | None = D.base_score,
        objective: ObjectiveOfLabels = None,
        quantile_alpha: float = D.quantile_alpha,
        huber_slope: float = D.huber_slope,
        tweedie_variance_power: float = D.tweedie_variance_power,
        eval_metric: Any = D.eval_metric,
        early_stopping_rounds: int | None = D.early_stopping_rounds,
        missing: float = D.missing,
        missing_strategy: str = D.missing_strategy,
        monotone_constraints: Mapping[str, int] | Sequence[int] | None = D.monotone_constraints,
        random_state: int = D.random_state,
        n_jobs: int | None = D.n_jobs,
        record: Annotated[
            bool,
            Meta(
                description="Everything that the server opens is kept in transcript_ for audit(), with all users' rows."
            ),
        ] = False,
        importance_type: ImportanceType = "gain",
        verbosity: Verbosity = None,
        callbacks: Callbacks = None,
        **unknown: Any,
    ) -> None:
        self._store(locals())

    def fit(
        self: Self,
        X: Any,
        y: Any = None,
        *,
        users: Any = None,
        sample_weight: Any = None,
        eval_set: Sequence[tuple[Any, Any]] | None = None,
        sample_weight_eval_set: Sequence[Any] | None = None,
        callbacks: Sequence[TrainingCallback] | None = None,
        verbose: bool | int | None = None,
        cuts: Mapping[str, Any] | tuple[Any, Any] | None = None,
        ranges: Mapping[str | int, tuple[float, float]] | None = None,
    ) -> Self:
        """Train.

        X: a list with a pair (table, labels) per user, and no y; or one table (numpy, pandas, polars, pyarrow, path of
        a CSV or Parquet file), y with one label per row (a class, or of a regressor a finite number), and `users` with
        the user of each row. sample_weight: one per row (with a list of users one list each); 0 leaves the row out.
        eval_set: pairs (X, y) that the server holds, whose metrics go to evals_result_ under validation_0, ...;
        `sample_weight_eval_set` has one entry for each. callbacks, verbose: as for VFXGBClassifier.fit.
        cuts: column -> ascending cut points, for all columns, or what xgboost's QuantileDMatrix.get_quantile_cut()
        returns; ranges: column (name or position) -> (low, high) that is public; columns without either are searched.
        Raises errors of vfxgb.errors that name user, column, what was found and what was wanted; AggregationError when
        too few users are left, and then model_ holds the rounds that were finished.
        """
        own = self.get_params()
        verbose = shown(verbose, own["verbosity"])
        data = read_users(X, y, users, sample_weight, own["missing"])
        classes = find_classes(data.labels, ALL_USERS) if self._classifies else None
        labels = encode_labels(data.labels, classes, ALL_USERS, "y")
        params = self._train_params(classes)
        check_missing(params)
        if len(data.ids) < 2:
            raise PartiesError(f"reading users: found {len(data.ids)}, wanted at least two; nothing is hidden in one")
        check_users_per_round(own["users_per_round"], len(data.ids))
        layout = data.layout(SERVER, params.missing)
        given_cuts = read_cuts(cuts, layout)
        refuse_unknown_cuts(given_cuts, data.names)
        rows = [
            UserRows(X, labels[start:stop], weights)
            for X, start, stop, weights in zip(data.X, data.starts[:-1], data.starts[1:], data.weights, strict=True)
        ]
        sets = read_eval_sets(eval_set, sample_weight_eval_set, layout, classes, type(self).__name__)
        aggregator, aggregator_params = str(own["aggregator"]), self._aggregator_params()
        job = Job(
            data.names,
            params,
            aggregator,
            aggregator_params,
            CutRules(given_cuts, read_ranges(ranges, data.names), own["fine_cells"], own["quantile_bits"]),
            _eval_rows(sets, len(data.names)),
            any(weights is not None for weights in data.weights),
            own["users_per_round"],
            own["hide_among"],
            own["compare"],
            own["eval_users"],
            _privacy(own),
            own["holdout"],
        )
        dropout = make_dropout(own["dropout"], data.ids, params.max_depth, params.random_state)
        watch = Watch(transcript=_transcript(job, rows) if own["record"] else None)
        result = fit_users(rows, job, dropout, all_callbacks(own, callbacks, verbose), watch)
        self.transcript_ = watch.transcript
        self._keep(FittedModel(result.share, {}), result, layout, classes)
        self._ran = ("server", aggregator, aggregator_params)
        self.users_ = np.array(data.ids, dtype=object if isinstance(data.ids[0], str) else None)
        if result.failure is not None:
            raise result.failure
        return self

    def _aggregator_params(self) -> dict[str, Any]:
        own = self.get_params()
        given = dict(own["aggregator_params"] or {})
        if own["threshold"] is not None:
            if "threshold" in given:
                raise ParameterError(
                    f"reading parameters: threshold={own['threshold']!r} and aggregator_params with a threshold of "
                    f"{given['threshold']!r}, wanted one of them"
                )
            given["threshold"] = own["threshold"]
        return given

    def audit(self, attacks: Sequence[str] | None = None, seed: int = 0) -> AuditReport:
        """Attack the recorded run as its server and say what it could have learned; see vfxgb.audit.users.

        Raises UnfittedError unless fitted with record=True, UnknownNameError for an attack that does not exist.
        """
        transcript = getattr(self, "transcript_", None)
        if transcript is None:
            raise UnfittedError(f"auditing {type(self).__name__}: the fit was not recorded; set record=True, fit again")
        return audit_users(transcript, attacks, seed)

    def export_xgboost(self, path: str | Path) -> None:
        """Write the model as XGBoost JSON, which xgboost.Booster loads and predicts the same with.

        Server and users all know the trees: nothing is revealed that they do not have. Raises ExportError where XGBoost
        cannot express the model (missing_strategy="probabilistic").
        """
        self._fitted().export_xgboost(path)


@documented(TrainParams)
class FedXGBClassifier(ClassifierPart, UserEstimator):
    """Boosted trees over many users' rows, for labels of two or more classes.

    Which classes there are is public: a user may have rows of one of them only. With a callable objective margins are
    taken for log-odds; it is called with the rows of one user at a time.
    """


@documented(TrainParams)
class FedXGBRegressor(RegressorPart, UserEstimator):
    """Boosted trees over many users' rows, for numbers: reg:squarederror (default), count:poisson, a callable."""


def _transcript(job: Job, rows: Sequence[UserRows]) -> UsersTranscript:
    """An empty transcript over these users' rows."""
    choice = job.privacy
    return UsersTranscript(
        job.aggregator,
        tuple(job.names),
        None if choice is None else choice.epsilon,
        None if choice is None else choice.delta,
        [TrueRows(user.X, np.asarray(user.labels, dtype=np.float32)) for user in rows],
    )


def _privacy(own: Mapping[str, Any]) -> PrivacyChoice | None:
    """What was asked for by epsilon, delta, dp_splits and dp_colluding."""
    if own["epsilon"] is None:
        return None
    return PrivacyChoice(own["epsilon"], own["delta"], own["dp_splits"], own["dp_colluding"])


def _eval_rows(sets: Sequence[EvalSet], n_features: int) -> EvalRows:
    """The eval sets one below the other."""
    none = np.zeros((0, n_features), dtype=np.float32)
    labels, weights, slices = stack_labels(none[:, 0], None, sets)
    X = np.concatenate([none, *(entry.tables[SERVER].matrix() for entry in sets)])
    return EvalRows(X, labels, None if weights is None else weights.astype(np.float32), slices)
