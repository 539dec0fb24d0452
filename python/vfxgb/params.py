"""Training parameters under XGBoost's names: bound, default and meaning of each stand together, once.

`TrainParams` is frozen and travels as one object. `TrainParams.from_dict` is the way in for a user's keywords:
it refuses a name that does not exist and says which one is closest. Parameters of a protocol (keys, budgets)
live in the protocol's folder, not here.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any, TypeVar

from vfxgb.checks import closest_name
from vfxgb.errors import ParameterError, UnknownNameError
from vfxgb.objective import ObjectiveSpec, is_objective, objective_names, shipped_objectives, spec_of

SAMPLING_METHODS = ("uniform", "goss")
MISSING_STRATEGIES = ("learned", "mean", "median", "mode", "probabilistic")

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

T = TypeVar("T")


@dataclass(frozen=True)
class Rule:
    """What a parameter may be: its meaning in words, its kind, and its bounds.

    `kind`: "int", "float", "bool", "choice", or "other": something that `form` says in words and TrainParams checks by
    itself. A float bound is closed unless `open_low`. `none`: None is allowed.
    """

    doc: str
    kind: str
    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    none: bool = False
    choices: tuple[str, ...] = ()
    form: str = ""

    def wanted(self) -> str:
        """The rule in words, for an error message."""
        if self.kind == "choice":
            text = "one of " + ", ".join(repr(choice) for choice in self.choices)
        elif self.kind == "bool":
            text = "True or False"
        elif self.kind == "other":
            text = self.form
        else:
            text = "an integer" if self.kind == "int" else "a finite number"
            if self.low > -math.inf:
                text += f" {'above' if self.open_low else 'of at least'} {_exactly(self.low)}"
            if self.high < math.inf:
                text += f" and at most {_exactly(self.high)}"
        return text + (", or None" if self.none else "")

    def allows(self, value: object) -> bool:
        """Whether `value` keeps the rule, as far as that can be said without the other parameters."""
        if self.kind == "other":
            return True
        if value is None:
            return self.none
        if self.kind == "choice":
            return isinstance(value, str) and value in self.choices
        if self.kind == "bool":
            return isinstance(value, bool)
        if isinstance(value, bool) or not isinstance(value, Integral if self.kind == "int" else Real):
            return False
        number = float(value)
        return math.isfinite(number) and self.low <= number <= self.high and not (self.open_low and number == self.low)


def _exactly(number: float) -> str:
    return str(int(number)) if number == int(number) else f"{number:g}"


def _param(default: T, rule: Rule) -> T:
    return field(default=default, metadata={"rule": rule})


def _int(default: Any, low: float, doc: str, high: float = math.inf, none: bool = False) -> Any:
    return _param(default, Rule(doc, "int", low, high, none=none))


def _float(
    default: Any, low: float, doc: str, high: float = math.inf, open_low: bool = False, none: bool = False
) -> Any:
    return _param(default, Rule(doc, "float", low, high, open_low, none))


def _choice(default: str, choices: tuple[str, ...], doc: str) -> Any:
    return _param(default, Rule(doc, "choice", choices=choices))


def _other(form: str, doc: str, none: bool = False) -> dict[str, Rule]:
    return {"rule": Rule(doc, "other", none=none, form=form)}


@dataclass(frozen=True)
class TrainParams:
    """Everything that decides which trees are grown, apart from the data and the protocol.

    Values are checked on construction: ParameterError names parameter, value and what is wanted.
    """

    n_estimators: int = _int(100, 0, "boosting rounds")
    max_depth: int = _int(6, 1, "levels of splits in a tree; XGBoost's 0 (no limit) is not available", high=30)
    learning_rate: float = _float(0.3, 0.0, "shrinks every leaf's weight", open_low=False)
    reg_lambda: float = _float(1.0, 0.0, "L2 penalty on leaf weights")
    reg_alpha: float = _float(0.0, 0.0, "L1 penalty on leaf weights")
    gamma: float = _float(0.0, 0.0, "least gain for which a node is split")
    min_child_weight: float = _float(1.0, 0.0, "least sum of hessians in a child")
    max_delta_step: float | None = _float(
        None,
        0.0,
        "bound on a leaf's weight before shrinkage; 0 is none; None takes what the objective sets: 0.7 for "
        "count:poisson, 0 for others that vfxgb ships",
        none=True,
    )
    max_bin: int = _int(256, 2, "most bins per feature", high=65_534)
    subsample: float = _float(1.0, 0.0, "probability that a row takes part in a round", high=1.0, open_low=True)
    sampling_method: str = _choice("uniform", SAMPLING_METHODS, "how rows are chosen each round")
    top_rate: float = _float(0.2, 0.0, "goss: share of rows kept for their large gradients", high=1.0)
    other_rate: float = _float(
        0.1, 0.0, "goss: share of rows drawn from the rest, and amplified", high=1.0, open_low=True
    )
    told_sample: bool = _param(
        False,
        Rule("goss: passive parties are told the sample, which says much about labels; faster, same model", "bool"),
    )
    colsample_bytree: float = _float(1.0, 0.0, "share of the features a tree may use", high=1.0, open_low=True)
    colsample_bylevel: float = _float(1.0, 0.0, "share of those a level may use", high=1.0, open_low=True)
    colsample_bynode: float = _float(1.0, 0.0, "share of those a node may use", high=1.0, open_low=True)
    scale_pos_weight: float = _float(1.0, 0.0, "weight of positive rows, binary:logistic only", open_low=True)
    base_score: float | None = _float(
        None, -math.inf, "prediction before the first tree, in the units of the label; None estimates it", none=True
    )
    objective: str | Callable[..., Any] = field(
        default="reg:squarederror",
        metadata=_other(
            f"one of {', '.join(map(repr, shipped_objectives()))}, or a callable (labels, margins[, sample_weight]) -> "
            "(gradients, hessians)",
            "the loss",
        ),
    )
    num_class: int = _int(1, 1, "outputs per row: the number of classes for multi:softprob, else 1", high=65_536)
    eval_metric: Any = field(
        default=None,
        metadata=_other(
            "a name of vfxgb.metric.METRICS, a callable (labels, predictions[, sample_weight]) -> float, or several",
            "what is measured on eval sets after every round; None: what fits the objective",
            none=True,
        ),
    )
    early_stopping_rounds: int | None = _int(
        None, 1, "stop when the last metric on the last eval set has not improved for so many rounds", none=True
    )
    missing: float = field(
        default=math.nan, metadata=_other("a number", "a value that counts as missing, beside NaN, which always does")
    )
    missing_strategy: str = _choice("learned", MISSING_STRATEGIES, "what happens to rows whose split value is missing")
    monotone_constraints: Mapping[str, int] | Sequence[int] | None = field(
        default=None,
        metadata=_other(
            "a mapping from column to -1, 0 or 1, or a sequence of these, one per feature",
            "predictions may only fall (-1) or only rise (1) with a feature",
            none=True,
        ),
    )
    random_state: int = _int(0, 0, "seed of row and column sampling", high=2**63 - 1)
    n_jobs: int | None = _int(None, 1, "threads; None is VFXGB_THREADS or all cores", none=True)
    min_bucket_rows: int = _int(1, 1, "adjacent buckets of a node are merged until each holds so many rows")
    reduced_leakage: bool = _param(False, Rule("the first tree uses the active party's features only", "bool"))

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
                raise UnknownNameError(
                    f"reading parameters: there is no parameter {name!r}; {_suggestion(name, known)}"
                )
        return cls(**values)

    def validate(self) -> None:
        """Raise ParameterError for the first value that breaks its rule or contradicts another."""
        for entry in fields(self):
            rule = entry.metadata.get("rule")
            value = getattr(self, entry.name)
            if rule is not None and not rule.allows(value):
                raise _bad(entry.name, value, rule.wanted())
        self._check_objective()
        _check_missing(self.missing)
        _check_constraints(self.monotone_constraints)
        if self.sampling_method == "goss":
            if self.subsample != 1.0:
                raise _bad("subsample", self.subsample, "1 with sampling_method='goss', which samples rows itself")
            if self.top_rate + self.other_rate > 1.0:
                raise _bad(
                    "other_rate", self.other_rate, f"at most {1.0 - self.top_rate:g}, as top_rate is {self.top_rate:g}"
                )
            if self.min_bucket_rows > 1 and not self.told_sample:
                raise _bad(
                    "min_bucket_rows",
                    self.min_bucket_rows,
                    "1 with sampling_method='goss': a passive party that is not told the sample cannot count its rows; "
                    "use subsample, or told_sample=True",
                )
        elif self.told_sample:
            raise _bad(
                "told_sample",
                self.told_sample,
                f"False with sampling_method={self.sampling_method!r}: its sample says nothing of labels and is told",
            )

    def _check_objective(self) -> None:
        objective = self.objective
        if isinstance(objective, str):
            if not is_objective(objective):
                known = _suggestion(objective, objective_names())
                raise UnknownNameError(f"reading parameters: there is no objective {objective!r}; {known}")
            spec = spec_of(objective)
            if spec.output_per_class and self.num_class < 2:
                raise _bad("num_class", self.num_class, f"at least 2 with objective={objective!r}")
            if not spec.output_per_class and self.num_class != 1:
                raise _bad("num_class", self.num_class, f"1 with objective={objective!r}")
            if not spec.scale_pos_weight and self.scale_pos_weight != 1.0:
                raise _bad(
                    "scale_pos_weight", self.scale_pos_weight, f"1 with objective={objective!r}; use sample_weight"
                )
            _check_base_score(self.base_score, spec)
        elif not callable(objective):
            raise _bad("objective", objective, "a name or a callable (labels, margins) -> (gradients, hessians)")

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
                    raise _bad("monotone_constraints", name, f"columns of the data; {_suggestion(name, names)}")
            signs = tuple(int(given.get(name, 0)) for name in names)
        else:
            signs = tuple(int(sign) for sign in given)
            if len(signs) != len(names):
                raise _bad("monotone_constraints", given, f"{len(names)} entries, one per feature")
        return signs if any(signs) else ()


def parameter_names() -> tuple[str, ...]:
    """The names of all training parameters, in the order of the class."""
    return tuple(entry.name for entry in fields(TrainParams))


def _suggestion(name: object, known: Sequence[str]) -> str:
    text = str(name)
    meant = ALIASES.get(text) if ALIASES.get(text) in known else closest_name(text, known)
    listed = ", ".join(known)
    return f"did you mean {meant!r}? Known: {listed}" if meant else f"known: {listed}"


def _bad(name: str, value: object, wanted: str) -> ParameterError:
    return ParameterError(f"reading parameters: {name}={value!r}, wanted {wanted}; correct the value or leave it out")


def _check_missing(value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise _bad("missing", value, "a number, NaN included")


def _check_constraints(given: object) -> None:
    if given is None:
        return
    if isinstance(given, (str, bytes)) or not isinstance(given, (Mapping, Sequence)):
        raise _bad("monotone_constraints", given, "a mapping from column to -1, 0 or 1, or a sequence of these")
    for sign in given.values() if isinstance(given, Mapping) else given:
        if isinstance(sign, bool) or not isinstance(sign, Integral) or int(sign) not in (-1, 0, 1):
            raise _bad("monotone_constraints", given, f"-1, 0 or 1 for every column, found {sign!r}")


def _check_base_score(value: float | None, spec: ObjectiveSpec) -> None:
    if value is None or spec.base_score is None:
        return
    low, high, wanted = spec.base_score
    if not low < value < high:
        raise _bad("base_score", value, f"{wanted} with objective={spec.name!r}")
