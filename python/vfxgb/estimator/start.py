"""Where rows start in a training: from margins that were given for them, or from those of an earlier model.

Trained on from a model, rows start from the margins that it has for them, added up tree by tree in float32 as training
does: further rounds over the same rows are then those that one longer training would have grown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.labels import read_weights
from vfxgb.data.source import Source
from vfxgb.data.table import Table
from vfxgb.errors import LengthMismatchError, ParameterError, ProtocolParameterError, ShareMismatchError
from vfxgb.estimator.data import EvalSet, Layout
from vfxgb.estimator.prediction import read_base_margin
from vfxgb.estimator.saved import classes_from, read_about
from vfxgb.model.continued import CONTINUED_MISSING, joined
from vfxgb.model.fitted import FittedModel
from vfxgb.model.whole_file import load_model
from vfxgb.params import TrainParams, bad_value
from vfxgb.predict.joint import predict_leaves
from vfxgb.runtime.ledger import Ledger
from vfxgb.train.plan import RunPlan
from vfxgb.train.simulate import FitResult

Float32Array = NDArray[np.float32]
# Added to the seed for every round of the earlier model, so that later rounds draw other rows and columns.
SEED_STEP = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Start:
    """What fit is given of where rows start.

    `base_margin`: of training rows, [n] or [n, n_outputs]; `base_margin_eval_set`: an entry or None for each eval set.
    `model`: what to train on from, an estimator, the path of a file of save_model or a FittedModel.
    """

    base_margin: Any = None
    base_margin_eval_set: Sequence[Any] | None = None
    model: Any = None

    def __post_init__(self) -> None:
        if self.model is not None and (self.base_margin is not None or self.base_margin_eval_set is not None):
            raise ParameterError(
                "training: base_margin and xgb_model are both given, wanted one: rows start from the model's margins"
            )

    @property
    def is_default(self) -> bool:
        """Whether nothing is given."""
        return all(value is None for value in vars(self).values())

    def margins(
        self, sample_weight: Any, n_rows: int, sets: Sequence[EvalSet], layout: Layout, n_outputs: int
    ) -> Float32Array | None:
        """Margins of all rows as training stacks them: rows of weight 0 are left out, NaN where nothing is given.

        Raises LengthMismatchError, ParameterError.
        """
        given = list(self.base_margin_eval_set) if self.base_margin_eval_set is not None else [None] * len(sets)
        if len(given) != len(sets):
            raise LengthMismatchError(
                f"reading eval sets: found {len(given)} entries in base_margin_eval_set, wanted {len(sets)}, one per "
                "eval set"
            )
        parts = [(self.base_margin, n_rows), *zip(given, (len(entry.labels) for entry in sets), strict=True)]
        if all(margin is None for margin, _ in parts):
            return None
        read = [
            np.full((count, n_outputs), np.nan, np.float32)
            if margin is None
            else read_base_margin(margin, n_outputs, "training", count)
            for margin, count in parts
        ]
        weight = read_weights(sample_weight, n_rows, layout.active)
        if weight is not None:
            read[0] = read[0][weight > 0]
        return np.concatenate(read)


@dataclass(frozen=True)
class Continued:
    """An earlier model that a training goes on from."""

    model: FittedModel

    @classmethod
    def of(cls, given: Any, classes: NDArray[Any] | None) -> "Continued":
        """The model of an estimator, of a file or itself. Raises ParameterError, and what load_model raises.

        `classes`: those of this training, which the model must have.
        """
        theirs = None
        if isinstance(given, FittedModel):
            model = given
        elif isinstance(given, (str, Path)):
            model, about = load_model(given)
            saved = read_about(about, given).classes
            theirs = None if saved is None else classes_from(saved)
        elif isinstance(getattr(given, "model_", None), FittedModel):
            model, theirs = given.model_, getattr(given, "classes_", None)
        else:
            raise ParameterError(
                f"training: xgb_model is {type(given).__name__}, wanted a fitted estimator of vfxgb, the path of a "
                "file that save_model wrote, or a FittedModel; a model of xgboost has no shares of parties to train on"
            )
        if theirs is not None and (classes is None or not np.array_equal(theirs, classes)):
            raise ParameterError(
                f"training: the classes of xgb_model are {theirs.tolist()}, those of y "
                f"{None if classes is None else classes.tolist()}; wanted the same"
            )
        return cls(model)

    def params(self, params: TrainParams) -> TrainParams:
        """The parameters of the further rounds, which draw other rows and columns than the earlier ones.

        Raises ParameterError for treatments of missing values that learn from the rows of a run.
        """
        for strategy in (params.missing_strategy, self.model.active_share.missing_strategy):
            if strategy != CONTINUED_MISSING:
                raise bad_value("missing_strategy", strategy, f"{CONTINUED_MISSING!r} with xgb_model")
        if self.model.active_share.private_stage is not None:
            raise ProtocolParameterError(
                "training: xgb_model has a private last stage, whose trees stand on the score of all rounds; go on "
                "from FittedModel(model_.active_share.joint, model_.passive_shares)"
            )
        seed = (params.random_state + self.model.n_rounds * SEED_STEP) % 2**63
        return replace(params, random_state=seed)

    def margins(self, tables: Mapping[str, Table | Source], plan: RunPlan, ledger: Ledger) -> Float32Array:
        """The model's margins of the rows, float32[n, n_outputs], by a joint prediction that `ledger` observes.

        Where training hides nodes from passive parties the prediction hides them too. Raises ShareMismatchError.
        """
        active, passive = self.model.active_share, self.model.passive_shares
        if (active.parties, active.party) != (plan.parties, plan.party):
            raise ShareMismatchError(
                f"continuing a model: its parties are {active.parties!r} with active {active.party!r}, those of this "
                f"training {plan.parties!r} with {plan.party!r}; wanted the same"
            )
        leaves = predict_leaves(
            active,
            passive,
            tables,
            n_rounds=active.n_rounds,
            threads=plan.params.n_jobs,
            observer=ledger.record,
            hidden=not plan.spec.shows_nodes,
        )
        margins = np.tile(active.base_margin.astype(np.float32), (len(leaves), 1))
        for number, tree in enumerate(active.trees):
            margins[:, number % active.n_outputs] += tree.value.astype(np.float32)[leaves[:, number]]
        return margins

    def finished(self, result: FitResult, random_state: int) -> FitResult:
        """What the training left, with the model of both runs. Raises ShareMismatchError."""
        params = {**result.share.params, "random_state": random_state}
        after = replace(result.share, params=params), result.passive_shares
        share, passive = joined((self.model.active_share, self.model.passive_shares), after)
        return replace(result, share=share, passive_shares=passive, best_iteration=share.best_iteration)
