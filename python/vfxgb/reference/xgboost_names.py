"""What becomes of xgboost's public parameters and methods: the table of docs/migrating.md, made from the estimators.

`python -m vfxgb.reference.xgboost_names` prints it. A test compares the page with it, and the names with those of the
xgboost that is installed: a parameter or a method that is new there is in none of the lists below, and fails.
"""

import inspect
from collections.abc import Iterable, Iterator, Mapping

from vfxgb.estimator import VFXGBClassifier, VFXGBRegressor
from vfxgb.estimator.xgboost_names import XGBOOST_ONLY
from vfxgb.params import ALIASES

SAME = "the same"

# Parameters that both packages have, and where values are not all those of xgboost, which.
LIMITS: Mapping[str, str] = {
    **dict.fromkeys(
        ("colsample_bylevel", "colsample_bynode", "colsample_bytree", "early_stopping_rounds", "gamma"), SAME
    ),
    **dict.fromkeys(("learning_rate", "min_child_weight", "missing", "n_estimators", "n_jobs", "quantile_alpha"), SAME),
    **dict.fromkeys(("huber_slope", "reg_lambda", "subsample", "tweedie_variance_power"), SAME),
    "base_score": "one number, in the units of the label",
    "callbacks": "callbacks of `vfxgb.callbacks`, which have xgboost's names; xgboost's own look at its booster",
    "eval_metric": "xgboost's names but for ranking and survival, `ks`, and callables",
    "importance_type": "the same kinds; `gain` unless given",
    "max_bin": "up to 65,534; the protocol's own number unless given",
    "max_depth": "1 to 30",
    "max_cat_threshold": "as far as the protocol splits by categories ([categories](categories.md))",
    "max_cat_to_onehot": "as far as the protocol splits by categories ([categories](categories.md))",
    "max_delta_step": "refused by `sealed`",
    "monotone_constraints": "a mapping or a sequence; not xgboost's text; refused by `sealed`",
    "objective": "the objectives of [parameters](parameters.md), and callables; no ranking and no survival",
    "random_state": "an integer",
    "reg_alpha": "refused by `sealed`",
    "sampling_method": '`"uniform"`, or `"goss"` in place of `"gradient_based"`',
    "scale_pos_weight": "with `binary:logistic`",
    "verbosity": "what `fit` shows, 0 to 3",
}
# Methods and attributes that both have, and what must be known of those that do less or more.
METHOD_LIMITS: Mapping[str, str] = {
    **dict.fromkeys(("apply", "classes_", "evals_result", "feature_importances_", "feature_names_in_", "fit"), SAME),
    **dict.fromkeys(("get_num_boosting_rounds", "get_params", "intercept_", "n_features_in_", "predict"), SAME),
    **dict.fromkeys(("predict_proba", "score", "set_params"), SAME),
    "get_booster": "a booster of the exported model, which reveals every party's splits",
    "get_xgb_params": "the parameters of vfxgb",
    "load_model": "files of `save_model`; xgboost's own models have no shares of parties",
    "save_model": "one file with the shares of all parties, in a simulation; `export_xgboost` writes xgboost's JSON",
    "best_iteration": "defined with early stopping, as in xgboost",
    "best_score": "defined with early stopping, as in xgboost",
}
METHOD_REFUSED: Mapping[str, str] = {
    "coef_": "there are no linear models; see `feature_importances_`",
    "get_metadata_routing": "scikit-learn's routing of arguments is not spoken; pass them to `fit` and `predict`",
    **dict.fromkeys(
        ("set_fit_request", "set_predict_request", "set_predict_proba_request", "set_score_request"),
        "scikit-learn's routing of arguments is not spoken; pass them to `fit` and `predict`",
    ),
}
# Arguments of methods that exist here.
ARGUMENTS_REFUSED: Mapping[str, str] = {
    "validate_features": "columns are always found by name; leave it out",
    "feature_weights": "columns are drawn with equal chances; use `colsample_bytree`",
}


def parameter_status(name: str) -> str:
    """What becomes of a parameter of xgboost, in words for the page. Raises KeyError for an unknown name."""
    known = VFXGBClassifier().get_params()
    if name in known:
        return LIMITS.get(name, SAME)
    if name in ALIASES:
        return f"taken for `{ALIASES[name]}`"
    entry = XGBOOST_ONLY[name]
    taken = " or ".join(f"`{value!r}`" for value in entry.same if value not in (None, "", (), []))
    return f"{f'only {taken}' if taken else 'refused'}: {entry.reason}"


def method_status(name: str) -> str:
    """What becomes of a method or attribute of xgboost's estimators. Raises KeyError for one that is unknown here."""
    if any(hasattr(kind, name) or _is_declared(kind, name) for kind in (VFXGBClassifier, VFXGBRegressor)):
        return METHOD_LIMITS.get(name, SAME)
    return f"refused: {METHOD_REFUSED[name]}"


def argument_status(method: str, name: str) -> str:
    """What becomes of an argument of a method that exists here. Raises KeyError for one that is unknown here."""
    if name in inspect.signature(getattr(VFXGBClassifier, method)).parameters:
        return SAME
    return f"refused: {ARGUMENTS_REFUSED[name]}"


def table(parameters: Iterable[str], methods: Iterable[str]) -> str:
    """The table in Markdown, a row for each parameter, then for each method or attribute."""
    return "\n".join(_rows(parameters, methods)) + "\n"


def known_parameters() -> list[str]:
    """xgboost's parameters of which this package knows what becomes: those of its estimators and other spellings."""
    return sorted({*LIMITS, *ALIASES, *XGBOOST_ONLY})


def known_methods() -> list[str]:
    """xgboost's methods and attributes of which this package knows what becomes."""
    return sorted({*METHOD_LIMITS, *METHOD_REFUSED})


def _rows(parameters: Iterable[str], methods: Iterable[str]) -> Iterator[str]:
    yield "| xgboost | here |"
    yield "|---|---|"
    for name in sorted(parameters):
        yield f"| `{name}` | {parameter_status(name)} |"
    for name in sorted(methods):
        yield f"| `.{name}` | {method_status(name)} |"
    for name, reason in sorted(ARGUMENTS_REFUSED.items()):
        yield f"| `{name}=` of a method | refused: {reason} |"


def _is_declared(kind: type, name: str) -> bool:
    """Whether training leaves an attribute of that name."""
    return any(name in vars(base).get("__annotations__", {}) for base in kind.__mro__)


if __name__ == "__main__":
    print(table(known_parameters(), known_methods()), end="")
