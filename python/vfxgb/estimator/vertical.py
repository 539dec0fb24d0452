"""VFXGBClassifier and VFXGBRegressor: all parties of a training in this process, behind scikit-learn's interface.

    clf = VFXGBClassifier(parties={"bank": ["age", "income"], "shop": ["basket"]}, active="bank", protocol="sealed")
    clf.fit(X, y, eval_set=[(X_valid, y_valid)]).predict_proba(X_valid)

This is a simulation: one user holds everything and learns what training among real parties costs, reveals and reaches.
Parameters of training have XGBoost's names, defaults and meanings (vfxgb.params); `help(VFXGBClassifier)` lists all.

After fit: model_, ledger_, traffic_, timings_, evals_result_, best_iteration_, best_score_, n_features_in_,
feature_names_in_ (if X has names), feature_importances_, transcript_ (if recorded), alone_ (if compared), and
classes_ of the classifier.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from msgspec import Meta
from numpy.typing import NDArray

from vfxgb.data.source import Source
from vfxgb.data.table import Table
from vfxgb.described import documented
from vfxgb.engine.settings import EngineSettings, engines_for
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
from vfxgb.estimator.data import Layout, read_again, read_cuts, read_eval_sets, read_training, stack_tables
from vfxgb.estimator.files import FileRows, are_files, engine_settings, open_again, stack_files
from vfxgb.estimator.labels import encode_labels, find_classes, read_target
from vfxgb.estimator.prediction import Asked
from vfxgb.estimator.start import Continued, Start
from vfxgb.model.fitted import FittedModel
from vfxgb.objective import make_objective
from vfxgb.params import TrainParams, bad_value
from vfxgb.protocols import protocol_names
from vfxgb.runtime.ledger import Ledger
from vfxgb.train.alone import train_alone
from vfxgb.train.callbacks import TrainingCallback
from vfxgb.train.progress import tell
from vfxgb.train.simulate import SimulatedInput, plan_for
from vfxgb.train.simulate import fit as train
from vfxgb.train.wire_estimate import announce
from vfxgb.transport.line import KnownLine, LineDelayMs, LineMbit

if TYPE_CHECKING:
    from vfxgb.audit import AuditReport

Self = TypeVar("Self", bound="PartyEstimator")

D = TrainParams  # every default below is written there, once
E = EngineSettings()

UNPROTECTED = "plain"
RECOMMENDED = "sealed"


class PartyEstimator(EstimatorBase):
    """Training with the columns of several parties."""

    _saved = ("_from_files",)

    def __init__(
        self,
        *,
        parties: Annotated[
            Mapping[str, Sequence[str | int]] | None,
            Meta(description="Party -> its columns, by name or position. With None one party holds all of X."),
        ] = None,
        active: Annotated[str | None, Meta(description="The party with the label. None takes the first one.")] = None,
        protocol: Annotated[
            str | None,
            Meta(
                description="How the parties' gradients and sums are protected. It must be given as soon as there are "
                "two parties; 'sealed' is the one to begin with."
            ),
        ] = None,
        protocol_params: Annotated[Mapping[str, Any] | None, Meta(description="The protocol's own parameters.")] = None,
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
        sampling_method: str = D.sampling_method,
        top_rate: float = D.top_rate,
        other_rate: float = D.other_rate,
        told_sample: bool = D.told_sample,
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
        max_cat_to_onehot: int = D.max_cat_to_onehot,
        max_cat_threshold: int = D.max_cat_threshold,
        split_rule: str | None = D.split_rule,
        score_bits: int | None = D.score_bits,
        random_state: int = D.random_state,
        n_jobs: int | None = D.n_jobs,
        rounding: str = D.rounding,
        min_bucket_rows: int = D.min_bucket_rows,
        reduced_leakage: bool = D.reduced_leakage,
        importance_type: ImportanceType = "gain",
        verbosity: Verbosity = None,
        callbacks: Callbacks = None,
        record: Annotated[
            bool,
            Meta(
                description="What every party saw and knew is kept in transcript_, for `audit()`; it is private data "
                "of all of them."
            ),
        ] = False,
        privacy_dir: Annotated[
            Any,
            Meta(
                description="The folder in which releases under differential privacy are kept: a later fit on the same "
                "rows, labels and privacy parameters uses them again, and the ledger adds up all fits. With None every "
                "fit draws anew.",
                extra={"wanted": "a folder, or None"},
            ),
        ] = None,
        engine: str = E.engine,
        engine_address: Any = None,
        engine_folder: Any = None,
        workers_hold_key: bool = E.workers_hold_key,
        memory_limit: int | str | None = None,
        shards: int | None = None,
        network_mbit: LineMbit = None,
        network_delay_ms: LineDelayMs = None,
        **unknown: Any,
    ) -> None:
        self._store(locals())

    def fit(
        self: Self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        eval_set: Sequence[tuple[Any, Any]] | None = None,
        sample_weight_eval_set: Sequence[Any] | None = None,
        callbacks: Sequence[TrainingCallback] | None = None,
        verbose: bool | int | None = None,
        cuts: Mapping[str, Any] | tuple[Any, Any] | None = None,
        base_margin: Any = None,
        base_margin_eval_set: Sequence[Any] | None = None,
        xgb_model: Any = None,
        compare_alone: bool = False,
    ) -> Self:
        """Train.

        X: a table (numpy, pandas, polars, pyarrow, path of a CSV or Parquet file), or party -> its table. y: one label
        per row; of a classifier a class, of any type that sorts, of a regressor a finite number. With party -> Parquet
        files (a path, a folder, a list of them) y, and then sample_weight, may name columns of the active party's; with
        an engine other than this process's memory the files are read where the work is. sample_weight: one per row, 0
        leaves the row out. eval_set: pairs (X, y), whose metrics go to evals_result_ under validation_0, validation_1,
        ...; `sample_weight_eval_set` has one entry for each. callbacks: see vfxgb.callbacks. verbose: True shows
        progress with the metrics of the eval sets, or of the training rows if there is none; False nothing, None a bar
        on a terminal if it takes longer than two seconds, a number metrics every so many rounds. True and numbers also
        say first what a tree will take on the line (network_mbit). cuts: column -> ascending cut points to use instead
        of quantiles, or what xgboost's QuantileDMatrix.get_quantile_cut() returns. base_margin: [n] or [n, n_classes],
        margins that rows start from; `base_margin_eval_set` has one entry for each eval set. xgb_model: train
        `n_estimators` further rounds on top of a model, a fitted estimator or the path of a file of save_model; the
        parties first predict the rows with it, jointly. compare_alone: train once more on the active party's columns
        alone, on the same rows, and keep what that reaches in alone_; `report` shows both.
        Raises errors of vfxgb.errors that name party, column, what was found and what was wanted.
        """
        params = self.get_params()
        verbose = shown(verbose, params["verbosity"])
        engine = engine_settings(params)
        held = (params["parties"], params["active"], params["missing"])
        from_files = are_files(X) and (isinstance(y, str) or engine.in_shards)
        classes: NDArray[Any] | None
        if compare_alone and xgb_model is not None:
            raise ParameterError(
                "training: compare_alone with xgb_model, wanted one of them: the earlier model has the others' columns "
                "already; compare a training from its first round"
            )
        start = Start(base_margin, base_margin_eval_set, xgb_model)
        margins = None
        if from_files:
            if not start.is_default:
                raise ParameterError(
                    "training: base_margin or xgb_model with files, wanted tables in memory: rows of files are read "
                    "where they lie; read the files first, or leave it out"
                )
            files = FileRows.open(X, y, sample_weight, *held)
            layout, classes = files.layout, files.classes() if self._classifies else None
            settings = self._train_params(classes)
            rows = stack_files(files, classes, eval_set, sample_weight_eval_set, engine.in_shards)
        else:
            tables, layout = read_training(X, *held)
            target = read_target(y, tables[layout.active].n_rows, layout.active)
            classes = find_classes(target, layout.active) if self._classifies else None
            labels = encode_labels(target, classes, layout.active, "y")
            settings = self._train_params(classes)
            sets = read_eval_sets(eval_set, sample_weight_eval_set, layout, classes, type(self).__name__)
            rows = stack_tables(tables, layout, labels, sample_weight, sets)
            outputs = make_objective(settings).n_outputs
            margins = start.margins(sample_weight, len(labels), sets, layout, outputs)
        earlier = None if xgb_model is None else Continued.of(xgb_model, classes)
        seed = settings.random_state
        settings = settings if earlier is None else earlier.params(settings)
        kept = params["privacy_dir"]
        if kept is not None and (not isinstance(kept, (str, os.PathLike)) or Path(kept).is_file()):
            raise bad_value("privacy_dir", kept, "a folder, or None")
        line = KnownLine(params["network_mbit"], params["network_delay_ms"])
        given = SimulatedInput(*rows, read_cuts(cuts, layout), params["record"], engine, kept, line, margins)
        protocol, protocol_params = self._protocol(layout), params["protocol_params"]
        plan = plan_for(given.tables, layout.active, settings, protocol, protocol_params)
        predicted = Ledger()
        if earlier is not None:
            given = replace(given, base_margin=earlier.margins(given.tables, plan, predicted))
        if verbose:
            features = {party: len(table.names) for party, table in given.tables.items()}
            tell("\n".join(announce(plan, given.n_train, features, line)), verbose)
        result = train(given, plan, all_callbacks(params, callbacks, verbose))
        if earlier is not None:
            result = earlier.finished(result, seed)
            result.ledger.add(predicted.totals())
        if len(result.ledger.privacy):
            tell(f"{result.ledger.privacy.summary()}\n{result.ledger.all_runs()}", verbose)
        self._keep(FittedModel(result.active_share, result.passive_shares), result, layout, classes)
        self._ran = ("active", protocol, dict(protocol_params or {}))
        self._from_files = from_files
        self.__dict__.pop("transcript_", None)
        self.__dict__.pop("alone_", None)
        if compare_alone:
            self.alone_ = asdict(train_alone(given, layout.active, plan.params))
        if result.transcript is not None:
            self.transcript_ = result.transcript
        return self

    def _jointly(self, X: Any, predict: Callable[..., Any], asked: Asked) -> Any:
        model, params = self._fitted(), self.get_params()
        settings = engine_settings(params)
        tables: Mapping[str, Table | Source]
        # Files may have more columns than the model knows, such as the labels.
        if are_files(X) and (self._from_files or settings.in_shards):
            tables = open_again(X, self._layout, "prediction")
        else:
            tables = read_again(X, self._layout, "prediction", type(self).__name__)
        with engines_for(tables, settings, params["n_jobs"]) as engines:
            started = {party: engine for party, engine in engines.items() if engine is not None}
            how = {"threads": params["n_jobs"], "engines": started}
            how |= asked.arguments(model.active_share, tables[self._layout.active].n_rows)
            return predict(model.active_share, model.passive_shares, tables, **how)

    def _protocol(self, layout: Layout) -> str:
        """The protocol asked for; a single party needs none, as nothing leaves it."""
        protocol = self.get_params()["protocol"]
        if protocol is not None:
            return str(protocol)
        if len(layout.parties) == 1:
            return UNPROTECTED
        raise PartiesError(
            f"choosing a protocol: {len(layout.parties)} parties ({', '.join(layout.parties)}) and protocol=None, "
            f"wanted one of {', '.join(protocol_names())}; {RECOMMENDED!r} opens no sum, hides nodes, and is the one "
            f"to begin with, {UNPROTECTED!r} protects nothing and is for simulation only"
        )

    def audit(self, attacks: Sequence[str] | None = None) -> "AuditReport":
        """What a curious party could have learned from the fit, found by attacking its transcript (vfxgb.audit).

        `attacks`: names, None for all. Raises UnfittedError unless the model was fitted with record=True,
        UnknownNameError for an attack that does not exist.
        """
        from vfxgb.audit import audit

        self._fitted()
        if not hasattr(self, "transcript_"):
            raise UnfittedError(f"auditing {type(self).__name__}: the fit was not recorded; set record=True, fit again")
        return audit(self.transcript_, attacks)


@documented(TrainParams, EngineSettings)
class VFXGBClassifier(ClassifierPart, PartyEstimator):
    """Boosted trees over several parties' columns, for labels of two or more classes.

    With a callable objective margins are taken for log-odds.
    """


@documented(TrainParams, EngineSettings)
class VFXGBRegressor(RegressorPart, PartyEstimator):
    """Boosted trees over several parties' columns, for numbers: reg:squarederror, count:poisson or a callable."""
