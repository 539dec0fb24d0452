"""Training parameters under XGBoost's names: type, bounds, default and meaning of each stand together, once.

`TrainParams` is frozen and travels as one object. `TrainParams.from_dict` is the way in for a user's keywords:
it refuses a name that does not exist and says which one is closest. Parameters of a protocol (keys, budgets)
live in the protocol's folder, not here.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta

from vfxgb.checks import closest_name
from vfxgb.described import Parameter, allows, documented, in_words, parameters
from vfxgb.errors import ParameterError, UnknownNameError
from vfxgb.objective import ObjectiveSpec, is_objective, objective_names, shipped_objectives, spec_of

# XGBoost's other spellings: refused like any unknown name, but the answer is known.
ALIASES = {
    "eta": "learning_rate",
    "lambda": "reg_lambda",
    "alpha": "reg_alpha",
    "min_split_loss": "gamma",
    "num_boost_round": "n_estimators",
    "num_round": "n_estimators",
    "seed": "random_state",
    "nthread": "n_jobs",
    "colsample": "colsample_bytree",
}

SplitRule = Literal["gain", "centred"]
MissingStrategy = Literal["learned", "mean", "median", "mode", "regression", "probabilistic", "conditional"]
MISSING_STRATEGIES: tuple[str, ...] = get_args(MissingStrategy)
Positive = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[float, Meta(ge=0)]
Bins = Annotated[int, Meta(ge=2, le=65_534)]
ScoreBits = Annotated[int, Meta(ge=12, le=40)]
# Bins of a feature where neither the user nor the protocol says how many.
DEFAULT_BINS = 256


@documented()
@dataclass(frozen=True)
class TrainParams:
    """Everything that decides which trees are grown, apart from the data and the protocol.

    Values are checked on construction: ParameterError names parameter, value and what is wanted.
    """

    n_estimators: Annotated[int, Meta(ge=0, description="The number of boosting rounds.")] = 100
    max_depth: Annotated[
        int,
        Meta(ge=1, le=30, description="The most levels of splits in a tree. XGBoost's 0, no limit, is not available."),
    ] = 6
    learning_rate: Annotated[float, Meta(ge=0, description="Every leaf's weight is multiplied by this.")] = 0.3
    reg_lambda: Annotated[float, Meta(ge=0, description="The L2 penalty on leaf weights.")] = 1.0
    reg_alpha: Annotated[float, Meta(ge=0, description="The L1 penalty on leaf weights.")] = 0.0
    gamma: Annotated[float, Meta(ge=0, description="A node is split only if the gain is at least this.")] = 0.0
    min_child_weight: Annotated[
        float, Meta(ge=0, description="A split is made only if the hessians of each child add up to at least this.")
    ] = 1.0
    max_delta_step: Annotated[
        NotNegative | None,
        Meta(
            description="No leaf's weight is larger than this before shrinkage; 0 means no bound. None takes what "
            "the objective sets: 0.7 for count:poisson, 0 for the others that vfxgb ships."
        ),
    ] = None
    max_bin: Annotated[
        Bins | None,
        Meta(
            description="The most bins of a feature. None takes the protocol's own number: 32 for sealed and 64 for "
            "ot_shares, whose bytes and time grow with the bins, and 256 for the others."
        ),
    ] = None
    subsample: Annotated[
        float, Meta(gt=0, le=1, description="The probability with which a row takes part in a round.")
    ] = 1.0
    sampling_method: Annotated[
        Literal["uniform", "goss"],
        Meta(
            description="How rows are chosen in each round: all with the same probability, or by GOSS, which prefers "
            "large gradients."
        ),
    ] = "uniform"
    top_rate: Annotated[
        float, Meta(ge=0, le=1, description="GOSS keeps this share of the rows for their large gradients.")
    ] = 0.2
    other_rate: Annotated[
        float,
        Meta(gt=0, le=1, description="GOSS draws this share of the rows from the rest and amplifies their gradients."),
    ] = 0.1
    told_sample: Annotated[
        bool,
        Meta(
            description="Passive parties are told which rows GOSS chose, which says much about labels. Training is "
            "faster, and the model is the same."
        ),
    ] = False
    colsample_bytree: Annotated[
        float, Meta(gt=0, le=1, description="The share of the features that a tree may use.")
    ] = 1.0
    colsample_bylevel: Annotated[
        float, Meta(gt=0, le=1, description="The share of the tree's features that a level may use.")
    ] = 1.0
    colsample_bynode: Annotated[
        float, Meta(gt=0, le=1, description="The share of the level's features that a node may use.")
    ] = 1.0
    scale_pos_weight: Annotated[
        float, Meta(gt=0, description="The weight of positive rows; for binary:logistic only.")
    ] = 1.0
    base_score: Annotated[
        float | None,
        Meta(description="The prediction before the first tree, in the units of the label. None estimates it."),
    ] = None
    objective: Annotated[
        str | Callable[..., Any],
        Meta(
            description="The loss.",
            extra={
                "wanted": f"one of {', '.join(map(repr, shipped_objectives()))}, or a callable (labels, margins[, "
                "sample_weight]) -> (gradients, hessians)"
            },
        ),
    ] = "reg:squarederror"
    num_class: Annotated[
        int,
        Meta(ge=1, le=65_536, description="Outputs per row: the number of classes for multi:softprob, else 1."),
    ] = 1
    quantile_alpha: Annotated[float, Meta(gt=0, lt=1, description="The quantile that reg:quantileerror predicts.")] = (
        0.5
    )
    huber_slope: Annotated[
        float,
        Meta(gt=0, description="With reg:pseudohubererror: the difference from about which on the loss grows plainly."),
    ] = 1.0
    tweedie_variance_power: Annotated[
        float, Meta(gt=1, lt=2, description="With reg:tweedie: the power of the mean that the variance is.")
    ] = 1.5
    eval_metric: Annotated[
        Any,
        Meta(
            description="What is measured on eval sets after every round. None takes what fits the objective.",
            extra={
                "wanted": "a name of vfxgb.metric.METRICS, a callable (labels, predictions[, sample_weight]) -> float, "
                "or several, or None"
            },
        ),
    ] = None
    early_stopping_rounds: Annotated[
        Positive | None,
        Meta(
            description="Training stops when the last metric on the last eval set has not improved for so many "
            "rounds. None never stops early."
        ),
    ] = None
    missing: Annotated[
        float,
        Meta(
            description="A value that counts as missing, beside NaN, which always does.",
            extra={"wanted": "a number, NaN included"},
        ),
    ] = math.nan
    missing_strategy: Annotated[
        MissingStrategy,
        Meta(
            description="What happens to rows whose split value is missing. 'learned': each split learns a direction "
            "for them. 'mean', 'median', 'mode': values are imputed before training. 'regression': the same, by what "
            "each party's own other columns make likely, for up to 1,000 of them. 'probabilistic': predictions follow "
            "both branches, weighted by cover; training and eval metrics use learned directions. 'conditional': the "
            "same, with weights that also follow the row's other values at the party; it tells the active party one of "
            "16 classes for each missing value on a row's path."
        ),
    ] = "learned"
    monotone_constraints: Annotated[
        Mapping[str, int] | Sequence[int] | None,
        Meta(
            description="Predictions may only fall (-1) or only rise (1) with a feature.",
            extra={"wanted": "a mapping from column to -1, 0 or 1, or a sequence of these, one per feature, or None"},
        ),
    ] = None
    max_cat_to_onehot: Annotated[
        int,
        Meta(
            ge=1,
            description="A feature of fewer categories is split one category at a time; one of more is split by sets "
            "of categories, sorted by their sums, where the protocol can.",
        ),
    ] = 4
    max_cat_threshold: Annotated[
        int,
        Meta(ge=1, description="A split by a set of categories tries sets of fewer than so many."),
    ] = 64
    split_rule: Annotated[
        SplitRule | None,
        Meta(
            description="How the best split of a node is found. 'gain': by XGBoost's gain. 'centred': by a score that "
            "is linear in the rows but for one absolute value, so that a protocol can compare splits without opening "
            "sums; a passive party's best split must then still beat the active party's own by XGBoost's gain. None "
            "takes the protocol's own: 'centred' for sealed, 'gain' for all others."
        ),
    ] = None
    score_bits: Annotated[
        ScoreBits | None,
        Meta(
            description="With split_rule='centred': the gradients of each node are rounded at random to integers so "
            "small that every score fits so many bits. None rounds nothing, and scores are exact; sealed, "
            "which compares integers in any case, then takes as many bits as suit the number of rows."
        ),
    ] = None
    random_state: Annotated[
        int, Meta(ge=0, le=2**63 - 1, description="The seed of row and column sampling, and of rounding at random.")
    ] = 0
    n_jobs: Annotated[
        Positive | None, Meta(description="The number of threads. None takes VFXGB_THREADS, or all cores.")
    ] = None
    rounding: Annotated[
        Literal["nearest", "stochastic"],
        Meta(
            description="How gradients become numbers of the protocol's precision_bits. 'stochastic': up or down at "
            "random, right on average; leaf weights are made of gradients that are not rounded so. With it, 8 bits are "
            "enough."
        ),
    ] = "nearest"
    min_bucket_rows: Annotated[
        int, Meta(ge=1, description="Adjacent buckets of a node are merged until each holds at least so many rows.")
    ] = 1
    reduced_leakage: Annotated[bool, Meta(description="The first tree uses the active party's features only.")] = False

    def __post_init__(self) -> None:
        self.validate()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "TrainParams":
        """The parameters in `values`, defaults for the rest.

        Raises UnknownNameError for a name that is none (with the closest one), ParameterError for a bad value.
        """
        known = parameter_names()
        for name in values:
            if name not in known:
                raise UnknownNameError(f"reading parameters: there is no parameter {name!r}; {suggestion(name, known)}")
        return cls(**values)

    def validate(self) -> None:
        """Raise ParameterError for the first value that breaks its rule or contradicts another."""
        check_values(PARAMETERS, vars(self))
        self._check_objective()
        _check_missing(self.missing)
        _check_constraints(self.monotone_constraints)
        if self.score_bits is not None and self.split_rule == "gain":
            raise bad_value("score_bits", self.score_bits, f"None with split_rule={self.split_rule!r}")
        if self.sampling_method == "goss":
            if self.subsample != 1.0:
                raise bad_value("subsample", self.subsample, "1 with sampling_method='goss', which samples rows itself")
            if self.top_rate + self.other_rate > 1.0:
                raise bad_value(
                    "other_rate", self.other_rate, f"at most {1.0 - self.top_rate:g}, as top_rate is {self.top_rate:g}"
                )
            if self.min_bucket_rows > 1 and not self.told_sample:
                raise bad_value(
                    "min_bucket_rows",
                    self.min_bucket_rows,
                    "1 with sampling_method='goss': a passive party that is not told the sample cannot count its rows; "
                    "use subsample, or told_sample=True",
                )
        elif self.told_sample:
            raise bad_value(
                "told_sample",
                self.told_sample,
                f"False with sampling_method={self.sampling_method!r}: its sample says nothing of labels and is told",
            )

    def _check_objective(self) -> None:
        objective = self.objective
        if isinstance(objective, str):
            if not is_objective(objective):
                known = suggestion(objective, objective_names())
                raise UnknownNameError(f"reading parameters: there is no objective {objective!r}; {known}")
            spec = spec_of(objective)
            if spec.output_per_class and self.num_class < 2:
                raise bad_value("num_class", self.num_class, f"at least 2 with objective={objective!r}")
            if not spec.output_per_class and self.num_class != 1:
                raise bad_value("num_class", self.num_class, f"1 with objective={objective!r}")
            if not spec.scale_pos_weight and self.scale_pos_weight != 1.0:
                raise bad_value(
                    "scale_pos_weight", self.scale_pos_weight, f"1 with objective={objective!r}; use sample_weight"
                )
            _check_base_score(self.base_score, spec)
        elif not callable(objective):
            raise bad_value("objective", objective, "a name or a callable (labels, margins) -> (gradients, hessians)")

    @property
    def bins(self) -> int:
        """`max_bin`, with the common default in place of None. A RunPlan has put in the protocol's own before."""
        return DEFAULT_BINS if self.max_bin is None else int(self.max_bin)

    @property
    def rule(self) -> str:
        """`split_rule`, with the common default in place of None. A RunPlan has put in the protocol's own before."""
        return "gain" if self.split_rule is None else self.split_rule

    @property
    def delta_step(self) -> float:
        """`max_delta_step` with XGBoost's default for the objective in place of None."""
        if self.max_delta_step is not None:
            return float(self.max_delta_step)
        return spec_of(self.objective).max_delta_step

    def constraints(self, names: Sequence[str]) -> tuple[int, ...]:
        """-1, 0 or 1 per feature of `names`, the global feature order; () when nothing is constrained.

        Raises ParameterError for a sequence of another length and for a name that is no feature.
        """
        given = self.monotone_constraints
        if given is None:
            return ()
        if isinstance(given, Mapping):
            for name in given:
                if name not in names:
                    raise bad_value("monotone_constraints", name, f"columns of the data; {suggestion(name, names)}")
            signs = tuple(int(given.get(name, 0)) for name in names)
        else:
            signs = tuple(int(sign) for sign in given)
            if len(signs) != len(names):
                raise bad_value("monotone_constraints", given, f"{len(names)} entries, one per feature")
        return signs if any(signs) else ()


def check_values(known: Iterable[Parameter], values: Mapping[str, Any]) -> None:
    """Raise ParameterError for the first value that its parameter's type does not allow.

    Parameters whose form is said in words are left to whoever reads them.
    """
    for parameter in known:
        value = values[parameter.name]
        if in_words(parameter.hint) is None and not allows(parameter.hint, value):
            raise bad_value(parameter.name, value, parameter.wanted().replace("a number", "a finite number"))


PARAMETERS = parameters(TrainParams)


def parameter_names() -> tuple[str, ...]:
    """The names of all training parameters, in the order of the class."""
    return tuple(parameter.name for parameter in PARAMETERS)


def suggestion(name: object, known: Sequence[str]) -> str:
    """What may have been meant by a name that is none of those known, XGBoost's other spellings included."""
    text = str(name)
    meant = ALIASES.get(text) if ALIASES.get(text) in known else closest_name(text, known)
    listed = ", ".join(known)
    return f"did you mean {meant!r}? Known: {listed}" if meant else f"known: {listed}"


def bad_value(name: str, value: object, wanted: str) -> ParameterError:
    """The error for a parameter that has a value it may not have."""
    return ParameterError(f"reading parameters: {name}={value!r}, wanted {wanted}; correct the value or leave it out")


def _check_missing(value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise bad_value("missing", value, "a number, NaN included")


def _check_constraints(given: object) -> None:
    if given is None:
        return
    if isinstance(given, (str, bytes)) or not isinstance(given, (Mapping, Sequence)):
        raise bad_value("monotone_constraints", given, "a mapping from column to -1, 0 or 1, or a sequence of these")
    for sign in given.values() if isinstance(given, Mapping) else given:
        if isinstance(sign, bool) or not isinstance(sign, Integral) or int(sign) not in (-1, 0, 1):
            raise bad_value("monotone_constraints", given, f"-1, 0 or 1 for every column, found {sign!r}")


def _check_base_score(value: float | None, spec: ObjectiveSpec) -> None:
    if value is None or spec.base_score is None:
        return
    low, high, wanted = spec.base_score
    if not low < value < high:
        raise bad_value("base_score", value, f"{wanted} with objective={spec.name!r}")
