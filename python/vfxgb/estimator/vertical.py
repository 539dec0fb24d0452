"""VFXGBClassifier and VFXGBRegressor: all parties of a training in this process, behind scikit-learn's interface.

    clf = VFXGBClassifier(parties={"bank": ["age", "income"], "shop": ["basket"]}, active="bank", protocol="plain")
    clf.fit(X, y, eval_set=[(X_valid, y_valid)]).predict_proba(X_valid)

This is a simulation: one user holds everything and learns what training among real parties costs, reveals and reaches.
Parameters have XGBoost's names, defaults and meanings (vfxgb.params). Besides:

    parties          party -> its columns, by name or position; None: one party holds all of X
    active           the party with the label; None: the first one
    protocol         how the parties' gradients and sums are protected; needed as soon as there are two
    protocol_params  the protocol's own settings
    missing_strategy "learned" direction (default); imputation by "mean", "median" or "mode"; or "probabilistic": both
                     branches, weighted by cover, at prediction (training and eval metrics use learned directions)
    objective        None: binary:logistic for two classes, multi:softprob for more, reg:squarederror for numbers
    importance_type  what feature_importances_ shows: "gain", "weight", "cover", "total_gain" or "total_cover"
    privacy_dir      folder in which releases under differential privacy are kept: a later fit on the same rows, labels
                     and privacy parameters uses them again, and the ledger adds up all fits; None: every fit draws anew
    record           True: keep in transcript_ what every party saw and knew, for `audit()`; private data of all of them
    engine           "local": threads of this process; "dask": parties' rows lie in shards on a cluster (docs/scale.md)
    engine_address   of Dask's scheduler, or a distributed.Client
    engine_folder    where the files of a run go; with Dask one that all workers share; None: the system's own
    workers_hold_key True: the cluster may have the private key of the active party; encryption is faster then
    memory_limit     bytes, or text such as "6GB": rows lie in memory-mapped files; engine "local" only
    shards           into how many parts each party's rows are divided at least, None: as the engine finds right

After fit: model_, ledger_, traffic_, timings_, evals_result_, best_iteration_, best_score_, n_features_in_,
feature_names_in_ (if X has names), feature_importances_, transcript_ (if recorded), and classes_ of the classifier.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.labels import read_weights
from vfxgb.data.source import Source, read_all
from vfxgb.data.table import Table
from vfxgb.engine.settings import EngineSettings, engines_for
from vfxgb.errors import LengthMismatchError, ParameterError, PartiesError, UnfittedError
from vfxgb.estimator.base import EstimatorBase, FitOptions, hide_unknown, read_target
from vfxgb.estimator.classifier_regressor import (
    ClassifierPart,
    RegressorPart,
    encode_classes,
    find_classes,
    read_numbers,
)
from vfxgb.estimator.data import (
    Layout,
    Tables,
    drop_weightless,
    read_again,
    read_cuts,
    read_eval_sets,
    read_training,
    stack_rows,
    stack_weights,
)
from vfxgb.estimator.files import FileRows, are_files, engine_settings, open_again, stacked
from vfxgb.model.fitted import FittedModel
from vfxgb.params import TrainParams
from vfxgb.protocols import protocol_names
from vfxgb.train.callbacks import TrainingCallback
from vfxgb.train.plan import RunPlan
from vfxgb.train.progress import tell
from vfxgb.train.simulate import FitResult, SimulatedInput, plan_for
from vfxgb.train.simulate import fit as train

if TYPE_CHECKING:
    from vfxgb.audit import AuditReport

D = TrainParams  # every default below is written there, once
E = EngineSettings()

UNPROTECTED = "plain"
RECOMMENDED = "ot_shares"


class PartyEstimator(EstimatorBase):
    """Training with the columns of several parties."""

    _own = (
        *("parties", "active", "protocol", "protocol_params", "importance_type", "record", "privacy_dir"),
        *EngineSettings.__struct_fields__,
    )

    def __init__(
        self,
        *,
        parties: Mapping[str, Sequence[str | int]] | None = None,
        active: str | None = None,
        protocol: str | None = None,
        protocol_params: Mapping[str, Any] | None = None,
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
        sampling_method: str = D.sampling_method,
        top_rate: float = D.top_rate,
        other_rate: float = D.other_rate,
        told_sample: bool = D.told_sample,
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
        min_bucket_rows: int = D.min_bucket_rows,
        reduced_leakage: bool = D.reduced_leakage,
        importance_type: str = "gain",
        record: bool = False,
        privacy_dir: Any = None,
        engine: str = E.engine,
        engine_address: Any = None,
        engine_folder: Any = None,
        workers_hold_key: bool = E.workers_hold_key,
        memory_limit: int | str | None = None,
        shards: int | None = None,
        **unknown: Any,
    ) -> None:
        self._store(locals())

    def _input(
        self,
        tables: Tables,
        layout: Layout,
        labels: NDArray[np.floating],
        encode: Callable[[Any, int, str], NDArray[np.floating]],
        options: "FitOptions",
    ) -> SimulatedInput:
        """What the parties bring, training rows and eval sets. `encode` reads the labels of eval sets."""
        weight = read_weights(options.sample_weight, len(labels), layout.active)
        tables, labels, weight = drop_weightless(tables, labels, weight)
        sets = read_eval_sets(options.eval_set, options.eval_weights, layout, encode, type(self).__name__)
        rows, slices = stack_rows(tables, sets)
        y = np.concatenate([labels, *(entry.labels for entry in sets)]) if sets else labels
        self._from_files = False
        weights = stack_weights(weight, len(labels), sets)
        return SimulatedInput(rows, y, weights, len(labels), slices, **self._ways(layout, options))

    def _file_input(self, files: FileRows, classes: NDArray[Any] | None, options: "FitOptions") -> SimulatedInput:
        """The same with tables in files. `classes`: None where labels are numbers."""
        self._from_files = True
        pairs = list(options.eval_set or ())
        weights = list(options.eval_weights or [None] * len(pairs))
        if len(weights) != len(pairs):
            raise LengthMismatchError(
                f"reading eval sets: found {len(weights)} entries in sample_weight_eval_set, wanted {len(pairs)}, one "
                "per eval set"
            )
        rows, targets, slices = [files], [files.target(classes)], []
        for i, ((X, y), weight) in enumerate(zip(pairs, weights, strict=True)):
            start = sum(part.n_rows for part in rows)
            rows.append(files.again(X, y, weight, f"eval set {i}"))
            targets.append(rows[-1].target(classes, f"eval set {i}"))
            slices.append((f"validation_{i}", slice(start, start + rows[-1].n_rows)))
        sources, target = stacked(rows, targets)
        layout, n_train = files.layout, files.n_rows
        ways = self._ways(layout, options)
        if ways["engine"].in_shards:
            return SimulatedInput(sources, target, None, n_train, slices, **ways)
        labels, row_weights = target.read(0, sources[layout.active].n_rows)
        tables = {party: read_all(source) for party, source in sources.items()}
        return SimulatedInput(tables, labels, row_weights, n_train, slices, **ways)

    def _ways(self, layout: Layout, options: "FitOptions") -> dict[str, Any]:
        """The fields of SimulatedInput that say how parties work, from this estimator's parameters."""
        params = self.get_params()
        record, kept = params["record"], params["privacy_dir"]
        if not isinstance(record, bool):
            raise ParameterError(f"reading parameters: record={record!r}, wanted True or False")
        if kept is not None and (not isinstance(kept, (str, os.PathLike)) or Path(kept).is_file()):
            raise ParameterError(f"reading parameters: privacy_dir={kept!r}, wanted a folder, or None")
        cuts, engine = read_cuts(options.cuts, layout), engine_settings(params)
        return {"cuts": cuts, "record": record, "engine": engine, "privacy_dir": kept}

    def _plan(self, given: SimulatedInput, layout: Layout, params: TrainParams) -> RunPlan:
        protocol_params = self.get_params()["protocol_params"]
        return plan_for(given.tables, layout.active, params, self._protocol(layout), protocol_params)

    def _take(self, result: FitResult, layout: Layout, options: "FitOptions") -> None:
        """Keep what a training left."""
        if len(result.ledger.privacy):
            tell(f"{result.ledger.privacy.summary()}\n{result.ledger.all_runs()}", options.verbose)
        self._layout = layout
        self._ran = ("active", self._protocol(layout), dict(self.get_params()["protocol_params"] or {}))
        self.model_ = FittedModel(result.active_share, result.passive_shares)
        self.ledger_ = result.ledger
        self.traffic_ = result.traffic
        self.timings_ = result.timings
        self.evals_result_ = result.evals_result
        self.best_iteration_ = result.best_iteration
        self.best_score_ = result.best_score
        self.__dict__.pop("transcript_", None)
        if result.transcript is not None:
            self.transcript_ = result.transcript
        self.n_features_in_ = len(layout.order)
        self.__dict__.pop("feature_names_in_", None)
        if layout.named:
            self.feature_names_in_ = np.array(layout.order, dtype=object)

    def _jointly(self, X: Any, predict: Callable[..., Any]) -> Any:
        model, params = self._fitted(), self.get_params()
        settings = engine_settings(params)
        tables: Mapping[str, Table | Source]
        # Files may have more columns than the model knows, such as the labels.
        if are_files(X) and (self._from_files or settings.in_shards):
            tables = open_again(X, self._layout, "prediction")
        else:
            tables = read_again(X, self._layout, "prediction", type(self).__name__)
        with engines_for(tables, settings, params["n_jobs"]) as engines:
            found = {party: engine for party, engine in engines.items() if engine is not None}
            return predict(model.active_share, model.passive_shares, tables, threads=params["n_jobs"], engines=found)

    def _protocol(self, layout: Layout) -> str:
        """The protocol asked for; a single party needs none, as nothing leaves it."""
        protocol = self.get_params()["protocol"]
        if protocol is not None:
            return str(protocol)
        if len(layout.parties) == 1:
            return UNPROTECTED
        raise PartiesError(
            f"choosing a protocol: {len(layout.parties)} parties ({', '.join(layout.parties)}) and protocol=None, "
            f"wanted one of {', '.join(protocol_names())}; {RECOMMENDED!r} keeps gradients hidden and is the one to "
            f"begin with, {UNPROTECTED!r} protects nothing and is for simulation only"
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


hide_unknown(PartyEstimator.__init__)


class VFXGBClassifier(ClassifierPart, PartyEstimator):
    """Boosted trees over several parties' columns, for labels of two or more classes.

    `objective` None is binary:logistic for two classes and multi:softprob for more. See the module for the parameters.
    With a callable objective margins are taken for log-odds.
    """

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        eval_set: Sequence[tuple[Any, Any]] | None = None,
        sample_weight_eval_set: Sequence[Any] | None = None,
        callbacks: Sequence[TrainingCallback] | None = None,
        verbose: bool | int | None = None,
        cuts: Mapping[str, Any] | tuple[Any, Any] | None = None,
    ) -> "VFXGBClassifier":
        """Train.

        X: a table (numpy, pandas, polars, pyarrow, path of a CSV or Parquet file), or party -> its table. y: one class
        per row, of any type that sorts. With party -> Parquet files (a path, a folder, a list of them) y, and then
        sample_weight, may name columns of the active party's; with an engine other than this process's memory the
        files are read where the work is. sample_weight: one per row, 0 leaves the row out. eval_set: pairs (X, y),
        whose metrics go to evals_result_ under validation_0, validation_1, ...; `sample_weight_eval_set` has one entry
        for each. callbacks: see vfxgb.callbacks. verbose: True shows progress with the metrics of the eval sets, or of
        the training rows if there is none; False nothing, None a bar on a terminal if it takes longer than two seconds,
        a number metrics every so many rounds.
        cuts: column -> ascending cut points to use instead of quantiles, or what xgboost's
        QuantileDMatrix.get_quantile_cut() returns.
        Raises errors of vfxgb.errors that name party, column, what was found and what was wanted.
        """
        params = self.get_params()
        options = FitOptions(sample_weight, eval_set, sample_weight_eval_set, callbacks, verbose, cuts)
        in_shards = engine_settings(params).in_shards
        if are_files(X) and (isinstance(y, str) or in_shards):
            files = FileRows.open(X, y, sample_weight, params["parties"], params["active"], params["missing"])
            layout, classes = files.layout, files.classes()
            settings = self._train_params(*self._objective(len(classes)))
            given = self._file_input(files, classes, options)
        else:
            tables, layout = read_training(X, params["parties"], params["active"], params["missing"])
            target = read_target(y, tables[layout.active].n_rows, layout.active)
            classes, codes = find_classes(target, layout.active)
            settings = self._train_params(*self._objective(len(classes)))

            def encode(labels: Any, n_rows: int, what: str) -> NDArray[np.float32]:
                return encode_classes(read_target(labels, n_rows, layout.active, what), classes, layout.active, what)

            given = self._input(tables, layout, codes, encode, options)
        result = train(given, self._plan(given, layout, settings), options.all_callbacks())
        self._take(result, layout, options)
        self.classes_ = classes
        return self


class VFXGBRegressor(RegressorPart, PartyEstimator):
    """Boosted trees over several parties' columns, for numbers: reg:squarederror (default), count:poisson, a callable.

    See the module for the parameters.
    """

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        eval_set: Sequence[tuple[Any, Any]] | None = None,
        sample_weight_eval_set: Sequence[Any] | None = None,
        callbacks: Sequence[TrainingCallback] | None = None,
        verbose: bool | int | None = None,
        cuts: Mapping[str, Any] | tuple[Any, Any] | None = None,
    ) -> "VFXGBRegressor":
        """Train; y holds one finite number per row. The other arguments are those of VFXGBClassifier.fit."""
        params = self.get_params()
        options = FitOptions(sample_weight, eval_set, sample_weight_eval_set, callbacks, verbose, cuts)
        in_shards = engine_settings(params).in_shards
        if are_files(X) and (isinstance(y, str) or in_shards):
            files = FileRows.open(X, y, sample_weight, params["parties"], params["active"], params["missing"])
            layout = files.layout
            settings = self._train_params(self._regression(), 1)
            given = self._file_input(files, None, options)
        else:
            tables, layout = read_training(X, params["parties"], params["active"], params["missing"])

            def encode(labels: Any, n_rows: int, what: str) -> NDArray[np.float64]:
                return read_numbers(read_target(labels, n_rows, layout.active, what), layout.active, what)

            codes = encode(y, tables[layout.active].n_rows, "y")
            settings = self._train_params(self._regression(), 1)
            given = self._input(tables, layout, codes, encode, options)
        result = train(given, self._plan(given, layout, settings), options.all_callbacks())
        self._take(result, layout, options)
        return self
