"""FedXGBClassifier and FedXGBRegressor: a server and its users in this process, behind scikit-learn's interface.

    clf = FedXGBClassifier(n_estimators=20, dropout={"rate": 0.1, "every": 10})
    clf.fit([(X1, y1), (X2, y2), ...], eval_set=[(X_valid, y_valid)]).predict_proba(X_valid)
    clf.fit(X, y, users=ids)

This is a simulation: one caller holds everything and learns what training among real users costs, reveals and reaches.
Each user has rows of its own; the server, which has none but eval sets, learns sums over many users. Parameters of
training have XGBoost's names, defaults and meanings (vfxgb.params). Besides:

    aggregator         how sums are protected: "masks" (default), "bcp", ...; "plain" protects nothing
    aggregator_params  the aggregator's own settings
    threshold          how many users must be left in a call, a number or a share; None: more than two thirds
    dropout            who drops out when: None, {"rate": 0.1, "every": 10}, a list of Drop, or a callable
                       (round, depth, stage, user) -> bool; see vfxgb.horizontal.dropout
    users_per_round    so many users, drawn each round, take part; the others step in for those who leave; None: all
    hide_among         sums that can be compared are over the same users, or over sets that differ by so many; None: ten
                       or a tenth of the users, whichever is more; 1: sets are not compared (vfxgb.secagg.guard)
    compare            "tree": sums of the set-up and the first tree, then those of each tree; "run": all of a run
    eval_users         measure the metrics on the users' rows, by sums over users; in evals_result_ under "train"
    quantile_bits      cut points are searched among values rounded down to so many bits of 32 (32: among the values)
    fine_cells         where ranges are given: evenly spaced cells per column
    objective          None: binary:logistic for two classes, multi:softprob for more, reg:squarederror for numbers
    importance_type    what feature_importances_ shows: "gain", "weight", "cover", "total_gain" or "total_cover"

After fit: model_, ledger_, traffic_, timings_, evals_result_, best_iteration_, best_score_, users_ (their ids),
n_features_in_, feature_names_in_ (if X has names), feature_importances_, and classes_ of the classifier. A training
that ends early because too few users are left, or by Ctrl-C, leaves these too, with the rounds that were finished.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import ParameterError, PartiesError
from vfxgb.estimator.base import EstimatorBase, FitOptions, hide_unknown, read_target
from vfxgb.estimator.classifier_regressor import (
    ClassifierPart,
    RegressorPart,
    encode_classes,
    find_classes,
    read_numbers,
)
from vfxgb.estimator.data import read_cuts, read_eval_sets, stack_weights
from vfxgb.estimator.user_data import UsersData, read_users
from vfxgb.horizontal.directory import MAX_USERS
from vfxgb.horizontal.dropout import make_dropout
from vfxgb.horizontal.job import CutRules, EvalRows, Job
from vfxgb.horizontal.quantiles import FIRST_BITS, KEY_BITS, MOST_CELLS
from vfxgb.horizontal.server import SERVER
from vfxgb.horizontal.settings import REFUSED, check_missing, read_compare, read_ranges, read_whole
from vfxgb.horizontal.simulation import UserRows, fit_users
from vfxgb.model.fitted import FittedModel
from vfxgb.params import TrainParams
from vfxgb.train.callbacks import TrainingCallback
from vfxgb.train.simulate import refuse_unknown_cuts

Self = TypeVar("Self", bound="UserEstimator")

D = TrainParams  # every default below is written there, once

DEFAULT_AGGREGATOR = "masks"
ALL_USERS = "all users"


class UserEstimator(EstimatorBase):
    """Training with the rows of many users."""

    _own = (
        "aggregator",
        "aggregator_params",
        "threshold",
        "dropout",
        "users_per_round",
        "hide_among",
        "compare",
        "eval_users",
        "quantile_bits",
        "fine_cells",
        "importance_type",
    )
    _refused: ClassVar[Mapping[str, str]] = REFUSED

    def __init__(
        self,
        *,
        aggregator: str = DEFAULT_AGGREGATOR,
        aggregator_params: Mapping[str, Any] | None = None,
        threshold: int | float | None = None,
        dropout: Any = None,
        users_per_round: int | None = None,
        hide_among: int | None = None,
        compare: str = "tree",
        eval_users: bool = False,
        quantile_bits: int = CutRules.bits,
        fine_cells: int = CutRules.cells,
        n_estimators: int = D.n_estimators,
        max_depth: int = D.max_depth,
        learning_rate: float = D.learning_rate,
        reg_lambda: float = D.reg_lambda,
        reg_alpha: float = D.reg_alpha,
        gamma: float = D.gamma,
        min_child_weight: float = D.min_child_weight,
        max_delta_step: float | None = D.max_delta_step,
        max_bin: int = D.max_bin,
        subsample: float = D.subsample,
        colsample_bytree: float = D.colsample_bytree,
        colsample_bylevel: float = D.colsample_bylevel,
        colsample_bynode: float = D.colsample_bynode,
        scale_pos_weight: float = D.scale_pos_weight,
        base_score: float | None = D.base_score,
        objective: str | Callable[..., Any] | None = None,
        eval_metric: Any = D.eval_metric,
        early_stopping_rounds: int | None = D.early_stopping_rounds,
        missing: float = D.missing,
        missing_strategy: str = D.missing_strategy,
        monotone_constraints: Mapping[str, int] | Sequence[int] | None = D.monotone_constraints,
        random_state: int = D.random_state,
        n_jobs: int | None = D.n_jobs,
        importance_type: str = "gain",
        **unknown: Any,
    ) -> None:
        self._store(locals())

    def _fit(
        self,
        data: UsersData,
        params: TrainParams,
        labels: NDArray[np.floating],
        encode: Callable[[Any, int, str], NDArray[np.floating]],
        options: FitOptions,
        ranges: Mapping[str | int, tuple[float, float]] | None,
    ) -> BaseException | None:
        """Run the server and all users in this process and keep what they leave. `labels`: of all users together.

        Returns what ended a run early of which finished rounds are left; to be raised in the end.
        """
        own = self.get_params()
        check_missing(params)
        if len(data.ids) < 2:
            raise PartiesError(f"reading users: found {len(data.ids)}, wanted at least two; nothing is hidden in one")
        layout = data.layout(SERVER, params.missing)
        cuts = read_cuts(options.cuts, layout)
        refuse_unknown_cuts(cuts, data.names)
        rules = CutRules(
            cuts,
            read_ranges(ranges, data.names),
            read_whole(own, "fine_cells", 2, MOST_CELLS),
            read_whole(own, "quantile_bits", FIRST_BITS, KEY_BITS),
        )
        if own["users_per_round"] is not None:
            read_whole(own, "users_per_round", 2, len(data.ids))
        if own["hide_among"] is not None:
            read_whole(own, "hide_among", 1, MAX_USERS)
        hooks = options.all_callbacks()
        users = [
            UserRows(X, labels[start:stop], weights)
            for X, start, stop, weights in zip(data.X, data.starts[:-1], data.starts[1:], data.weights, strict=True)
        ]
        dropout = make_dropout(own["dropout"], data.ids, params.max_depth, params.random_state)
        sets = read_eval_sets(options.eval_set, options.eval_weights, layout, encode, type(self).__name__)
        job = Job(
            data.names,
            params,
            str(own["aggregator"]),
            self._aggregator_params(),
            rules,
            _eval_rows(sets, len(data.names)),
            any(weights is not None for weights in data.weights),
            own["users_per_round"],
            own["hide_among"],
            read_compare(own["compare"]),
            bool(own["eval_users"]),
        )
        result = fit_users(users, job, dropout, hooks)
        self._layout = layout
        self._ran = ("server", str(own["aggregator"]), self._aggregator_params())
        self.users_ = np.array(data.ids, dtype=object if isinstance(data.ids[0], str) else None)
        self.model_ = FittedModel(result.share, {})
        self.ledger_ = result.ledger
        self.traffic_ = result.traffic
        self.timings_ = result.timings
        self.evals_result_ = result.evals_result
        self.best_iteration_ = result.best_iteration
        self.best_score_ = result.best_score
        self.n_features_in_ = len(data.names)
        self.__dict__.pop("feature_names_in_", None)
        if data.named:
            self.feature_names_in_ = np.array(data.names, dtype=object)
        return result.failure

    def _ended(self: Self, failure: BaseException | None) -> Self:
        if failure is not None:
            raise failure
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

    def export_xgboost(self, path: str | Path) -> None:
        """Write the model as XGBoost JSON, which xgboost.Booster loads and predicts the same with.

        Server and users all know the trees: nothing is revealed that they do not have. Raises ExportError where XGBoost
        cannot express the model (missing_strategy="probabilistic").
        """
        self._fitted().export_xgboost(path)


hide_unknown(UserEstimator.__init__)


class FedXGBClassifier(ClassifierPart, UserEstimator):
    """Boosted trees over many users' rows, for labels of two or more classes.

    `objective` None is binary:logistic for two classes and multi:softprob for more. See the module for the parameters.
    Which classes there are is public: a user may have rows of one of them only. With a callable objective margins are
    taken for log-odds; it is called with the rows of one user at a time.
    """

    def fit(
        self,
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
    ) -> "FedXGBClassifier":
        """Train.

        X: a list with a pair (table, labels) per user, and no y; or one table (numpy, pandas, polars, pyarrow, path of
        a CSV or Parquet file), y with one class per row, and `users` with the user of each row. sample_weight: one per
        row (with a list of users one list each); 0 leaves the row out. eval_set: pairs (X, y) that the server holds,
        whose metrics go to evals_result_ under validation_0, ...; `sample_weight_eval_set` has one entry for each.
        callbacks, verbose: as for VFXGBClassifier.fit.
        cuts: column -> ascending cut points, for all columns, or what xgboost's QuantileDMatrix.get_quantile_cut()
        returns; ranges: column (name or position) -> (low, high) that is public; columns without either are searched.
        Raises errors of vfxgb.errors that name user, column, what was found and what was wanted; AggregationError when
        too few users are left, and then model_ holds the rounds that were finished.
        """
        data = read_users(X, y, users, sample_weight, self.get_params()["missing"])
        classes, codes = find_classes(data.labels, ALL_USERS)
        objective, outputs = self._objective(len(classes))

        def encode(labels: Any, n_rows: int, what: str) -> NDArray[np.float32]:
            return encode_classes(read_target(labels, n_rows, SERVER, what), classes, SERVER, what)

        options = FitOptions(None, eval_set, sample_weight_eval_set, callbacks, verbose, cuts)
        failure = self._fit(data, self._train_params(objective, outputs), codes, encode, options, ranges)
        self.classes_ = classes
        return self._ended(failure)


class FedXGBRegressor(RegressorPart, UserEstimator):
    """Boosted trees over many users' rows, for numbers: reg:squarederror (default), count:poisson, a callable.

    See the module for the parameters.
    """

    def fit(
        self,
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
    ) -> "FedXGBRegressor":
        """Train; labels are finite numbers. The arguments are those of FedXGBClassifier.fit."""
        data = read_users(X, y, users, sample_weight, self.get_params()["missing"])

        def encode(labels: Any, n_rows: int, what: str) -> NDArray[np.float64]:
            return read_numbers(read_target(labels, n_rows, SERVER, what), SERVER, what)

        codes = read_numbers(data.labels, ALL_USERS, "y")
        options = FitOptions(None, eval_set, sample_weight_eval_set, callbacks, verbose, cuts)
        return self._ended(self._fit(data, self._train_params(self._regression(), 1), codes, encode, options, ranges))


def _eval_rows(sets: Sequence[Any], n_features: int) -> EvalRows:
    """The eval sets one below the other."""
    if not sets:
        return EvalRows(np.zeros((0, n_features), dtype=np.float32), np.zeros(0, dtype=np.float32), None, [])
    bounds = np.cumsum([0, *(len(one.labels) for one in sets)]).tolist()
    slices = [(one.name, slice(a, b)) for one, a, b in zip(sets, bounds[:-1], bounds[1:], strict=True)]
    weights = stack_weights(None, 0, sets)
    return EvalRows(
        np.concatenate([one.tables[SERVER].matrix() for one in sets]),
        np.concatenate([one.labels for one in sets]),
        None if weights is None else weights.astype(np.float32),
        slices,
    )
