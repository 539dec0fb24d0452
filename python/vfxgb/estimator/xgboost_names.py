"""Names that users of xgboost bring along: other spellings, and parameters that mean nothing or nothing else here.

A spelling is taken for the parameter it stands for. A parameter that vfxgb does not have is accepted where its value
asks for what vfxgb does in any case, so that a call written for xgboost runs as it is; any other value is refused by
name, with the reason and the nearest thing that works.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vfxgb.errors import ParameterError
from vfxgb.params import ALIASES


@dataclass(frozen=True)
class Elsewhere:
    """A parameter of xgboost that is none here.

    `same`: the values that ask for what vfxgb does in any case. `reason`: why there are no others, and what to do.
    """

    same: tuple[Any, ...]
    reason: str


_CATEGORIES = "give categories as a column of pandas' category or the like, and numbers as numbers"

XGBOOST_ONLY: Mapping[str, Elsewhere] = {
    "tree_method": Elsewhere(
        (None, "auto", "hist"),
        "trees are grown from histograms, which parties can add up without showing rows; leave it out, and choose how "
        "fine the bins are with max_bin",
    ),
    "device": Elsewhere(
        (None, "cpu"), "there are no kernels for graphics processors; leave it out, and choose threads with n_jobs"
    ),
    "booster": Elsewhere(
        (None, "gbtree"),
        "linear models and dropped trees (dart) have no protocol; leave it out, or lower learning_rate and subsample",
    ),
    "grow_policy": Elsewhere(
        (None, "depthwise"),
        "trees grow level by level, so that parties exchange messages once a level and not once a leaf; limit trees "
        "with max_depth and gamma",
    ),
    "max_leaves": Elsewhere(
        (None, 0), "trees grow level by level and not leaf by leaf; limit them with max_depth and gamma"
    ),
    "num_parallel_tree": Elsewhere(
        (None, 1), "a round grows one tree for each output; for averages of trees fit several models with subsample"
    ),
    "interaction_constraints": Elsewhere(
        (None, "", (), []),
        "which features a path may still use would tell parties whose splits are above; divide the columns among "
        "several models, or use monotone_constraints",
    ),
    "multi_strategy": Elsewhere(
        (None, "one_output_per_tree"), "a leaf has one weight; leave it out, and each output gets a tree of its own"
    ),
    "enable_categorical": Elsewhere(
        (None, True), f"columns that are categories are always split as such; {_CATEGORIES}"
    ),
    "feature_types": Elsewhere((None,), f"columns say themselves what they hold; {_CATEGORIES}"),
    "feature_weights": Elsewhere(
        (None,), "columns are drawn with equal chances, which every party can do for itself; use colsample_bytree"
    ),
    "validate_parameters": Elsewhere((None, True), "parameters are always checked; leave it out"),
    "use_label_encoder": Elsewhere((None, False), "classes may be of any type that sorts; leave it out"),
    "process_type": Elsewhere(
        (None, "default"), "trees are grown and never refreshed; to go on with a model, pass it to fit as xgb_model"
    ),
    "updater": Elsewhere((None,), "there is one way in which trees grow, which the protocol runs; leave it out"),
    "refresh_leaf": Elsewhere((None, True, 1), "it belongs to process_type='update', which does not exist here"),
    "predictor": Elsewhere((None, "auto", "cpu_predictor"), "there is one way to predict; leave it out"),
    "gpu_id": Elsewhere((None, -1), "there are no kernels for graphics processors; leave it out"),
    "seed_per_iteration": Elsewhere(
        (None, False, True), "draws depend on random_state and the number of the round in any case"
    ),
    "disable_default_eval_metric": Elsewhere(
        (None, False, 0), "without metrics there is nothing to watch; name those you want in eval_metric"
    ),
}


def translated(unknown: Mapping[str, Any], known: Sequence[str], estimator: str) -> dict[str, Any]:
    """The parameters that keywords unknown to a constructor stand for; those that change nothing are left out.

    Keywords that are no names of xgboost either are left in, for the caller to refuse. Raises ParameterError for a
    value of xgboost's that has no counterpart, and for two spellings of a parameter with different values.
    """
    found: dict[str, Any] = {}
    for name, value in unknown.items():
        if name in XGBOOST_ONLY and name not in known:
            _check_same(name, value, estimator)
            continue
        meant = ALIASES.get(name, name)
        meant = meant if meant in known else name
        if meant in found and found[meant] != value:
            raise twice(name, value, meant, found[meant], estimator)
        found[meant] = value
    return found


def twice(name: str, value: Any, meant: str, other: Any, estimator: str) -> ParameterError:
    """The error for a parameter that is given under two names with different values."""
    return ParameterError(
        f"{estimator}: {name}={value!r} and {meant}={other!r} are two values of one parameter; give it once"
    )


def _check_same(name: str, value: Any, estimator: str) -> None:
    entry = XGBOOST_ONLY[name]
    if any(value is same or (type(value) is type(same) and value == same) for same in entry.same):
        return
    wanted = " or ".join(repr(same) for same in entry.same if same is not None) or "nothing"
    raise ParameterError(f"{estimator}: {name}={value!r}, wanted {wanted}: {entry.reason}")
