"""The pooled model as XGBoost's own JSON (schema of XGBoost 3), for `xgboost.Booster.load_model`.

XGBoost compares in float32: a row goes left when float32(x) < float32(cut). A cut c that float32 cannot hold is
written as the smallest float32 above it, which sends every float32 value the same way as c does. Leaf weights are
rounded to float32; that is the whole difference between the two predictions.

What XGBoost wants for other purposes than prediction (SHAP values, dumps) is there as well: gains, covers and the
weights of inner nodes. An imputed value v becomes a default direction: left where v < cut, which is where the filled
row would have gone. After early stopping only the rounds that prediction uses are written.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.impute import REGRESSION
from vfxgb.errors import ExportError
from vfxgb.files import write_atomically
from vfxgb.model.dataframe import missing_goes_left
from vfxgb.model.pooled import PooledModel
from vfxgb.model.shares import BOTH_WAYS
from vfxgb.objective import spec_of

# Oldest version of XGBoost's schema with all that is written here; newer ones read it.
SCHEMA_VERSION = [3, 0, 0]
NO_PARENT = 2**31 - 1
# What XGBoost's one direction per split cannot say.
INEXPRESSIBLE = {
    **dict.fromkeys(BOTH_WAYS, "sends rows down both branches"),
    REGRESSION: "guesses a missing value from the row's other values",
}

Float32 = NDArray[np.float32]


def export_xgboost(model: PooledModel, path: str | Path) -> None:
    """Write the pooled model as XGBoost JSON to `path`, atomically.

    THIS REVEALS EVERY PARTY'S SPLITS: feature names, cut points and default directions of all parties stand in the file
    in clear, next to the active party's leaf weights. In a simulation that is all yours. Between real parties each of
    them must consent first, and from then on everyone with the file can predict alone.

    A model with a callable objective is written as reg:squarederror: XGBoost then predicts its margin.
    Raises ExportError where XGBoost has no equal: missing values that go down both branches or are guessed from others,
    a loss of another package that XGBoost does not know. Also for a model with a private last stage, which is the
    active party's own and must not stand in a file for others.
    """
    write_atomically(Path(path), xgboost_json(model).encode())


def xgboost_json(model: PooledModel) -> str:
    """The text `export_xgboost` writes; the same warning applies."""
    return json.dumps(xgboost_document(model), allow_nan=False)


def xgboost_document(model: PooledModel) -> dict[str, Any]:
    """The JSON document as Python objects. Raises ExportError as `export_xgboost` does."""
    if model.missing_strategy in INEXPRESSIBLE:
        raise ExportError(
            f"exporting to XGBoost: found missing_strategy={model.missing_strategy!r}, which "
            f"{INEXPRESSIBLE[model.missing_strategy]} and XGBoost cannot express; train with another strategy, or "
            "predict with vfxgb"
        )
    if model.has_private_stage:
        raise ExportError(
            "exporting to XGBoost: the model has a private last stage, trained on true labels, which no file for "
            "others may hold and without which predictions differ; export the joint model: in Python with "
            "FittedModel(model_.active_share.joint, model_.passive_shares), from files with "
            "save_share(load_share(file).joint, copy)"
        )
    names = list(model.feature_names)
    outputs = model.n_outputs
    rounds = model.used_rounds
    trees = [_tree(model, tree, len(names)) for tree in range(rounds * outputs)]
    booster = {
        "name": "gbtree",
        "model": {
            "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
            "iteration_indptr": [outputs * i for i in range(rounds + 1)],
            "tree_info": [int(group) for group in model.group[: len(trees)]],
            "trees": trees,
        },
    }
    learner = {
        "attributes": {},
        "feature_names": names,
        "feature_types": ["float" if known is None else "c" for known in model.encodings],
        "gradient_booster": booster,
        "learner_model_param": {
            "base_score": _base_score(model),
            "boost_from_average": "1",
            "num_class": str(outputs if outputs > 1 else 0),
            "num_feature": str(len(names)),
            "num_target": "1",
        },
        "objective": _objective(model),
    }
    return {"learner": learner, "version": SCHEMA_VERSION}


def float32_at_least(cuts: NDArray[np.float64]) -> Float32:
    """Return for each cut the smallest float32 not below it: x < cut and x < result agree for every float32 x."""
    rounded = cuts.astype(np.float32)
    below = rounded.astype(np.float64) < cuts
    rounded[below] = np.nextafter(rounded[below], np.float32(np.inf))
    return rounded


def _tree(model: PooledModel, tree: int, n_features: int) -> dict[str, Any]:
    """One tree in XGBoost's layout: a list per attribute, one entry per node."""
    nodes = slice(int(model.tree_start[tree]), int(model.tree_start[tree + 1]))
    leaf = model.feature[nodes] < 0
    n_nodes = len(leaf)
    value = model.value[nodes].astype(np.float32)
    sets = [(place, model.right_codes.get(nodes.start + place)) for place in range(n_nodes)]
    split_type = [0 if codes is None else 1 for _, codes in sets]
    condition = np.where(leaf, value, float32_at_least(np.where(leaf, 0.0, model.threshold[nodes])))
    parent = model.parent[nodes]
    return {
        "id": tree,
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(n_features),
            "num_nodes": str(n_nodes),
            "size_leaf_vector": "1",
        },
        "left_children": model.left[nodes].tolist(),
        "right_children": model.right[nodes].tolist(),
        "parents": np.where(parent < 0, NO_PARENT, parent).tolist(),
        "split_indices": np.where(leaf, 0, model.feature[nodes]).tolist(),
        "split_conditions": _shortest(condition),
        "split_type": split_type,
        "default_left": missing_goes_left(model, nodes).astype(int).tolist(),
        "base_weights": _shortest(value),
        "loss_changes": _shortest(model.gain[nodes].astype(np.float32)),
        "sum_hessian": _shortest(model.cover[nodes].astype(np.float32)),
        **_categories([(place, codes.tolist()) for place, codes in sets if codes is not None]),
    }


def _categories(sets: list[tuple[int, list[int]]]) -> dict[str, list[int]]:
    """The categories that go right, of (node, codes), as XGBoost writes them: end to end, with their places."""
    sizes = [len(codes) for _, codes in sets]
    return {
        "categories": [code for _, codes in sets for code in codes],
        "categories_nodes": [place for place, _ in sets],
        "categories_segments": [sum(sizes[:i]) for i in range(len(sizes))],
        "categories_sizes": sizes,
    }


def _shortest(values: Float32) -> list[float]:
    """Each float32 as the shortest decimal that reads back as the same float32: a third of the digits of a double."""
    return [float(str(value)) for value in values]


def _base_score(model: PooledModel) -> str:
    """Write it in the units of the label, as one number where one will do: versions before 3.1 read that too."""
    scores = _shortest(model.base_score.astype(np.float32))
    if len(set(scores)) == 1:
        return repr(scores[0])
    return "[" + ",".join(repr(score) for score in scores) + "]"


def _objective(model: PooledModel) -> dict[str, Any]:
    """XGBoost's name and its parameters of the objective."""
    spec = spec_of(model.objective)
    if spec.xgboost is None:
        raise ExportError(
            f"exporting to XGBoost: the model's objective {spec.name!r} is unknown to XGBoost, which could not make "
            "predictions of margins; predict with vfxgb, or give its SPEC an `xgboost`"
        )
    return spec.xgboost(model.params, model.n_outputs)
