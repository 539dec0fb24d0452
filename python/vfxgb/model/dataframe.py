"""The pooled model as a table, one row per node, in the columns of xgboost's `trees_to_dataframe` plus Party.

    Tree, Node, ID     numbers of tree and node, and "tree-node"
    Feature, Split     name and cut of a split (x < Split goes to Yes); "Leaf" and NaN for a leaf
    Yes, No, Missing   IDs of the children, and of the one that rows with a missing value go to (None where missing
                       values are guessed from the row's others)
    Gain               loss change of a split, weight of a leaf (learning rate applied), as xgboost has it
    Cover              sum of the hessians of the node's training rows
                       (Gain of splits and Cover are NaN in a user's copy of a model: the server does not share them)
    Category           the codes that go to No at a split by categories, whose Split is NaN; else NaN
    Party              who holds the split's feature; None for a leaf

Like any view of the pooled model it shows every party's splits.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.impute import REGRESSION
from vfxgb.errors import MissingPackageError
from vfxgb.model.pooled import PooledModel

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("Tree", "Node", "ID", "Feature", "Split", "Yes", "No", "Missing", "Gain", "Cover", "Category", "Party")


def to_dataframe(model: PooledModel) -> "pd.DataFrame":
    """A pandas DataFrame with the columns above. Raises MissingPackageError without pandas; `to_columns` needs none."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingPackageError(
            "listing the trees: pandas is not installed; install it, or use vfxgb.model.dataframe.to_columns"
        ) from error
    return pd.DataFrame(to_columns(model), columns=list(COLUMNS))


def to_columns(model: PooledModel) -> dict[str, Any]:
    """The same table as a dictionary from column to array or list, one entry per node of every tree."""
    sizes = np.diff(model.tree_start)
    tree = np.repeat(np.arange(model.n_trees), sizes)
    node = np.arange(len(tree)) - np.repeat(model.tree_start[:-1], sizes)
    node_number = np.arange(len(tree))
    leaf = model.feature < 0
    missing = np.where(missing_goes_left(model), model.left, model.right)

    def ids(children: Any) -> list[str | None]:
        return [None if last else f"{t}-{child}" for t, child, last in zip(tree, children, leaf, strict=True)]

    return {
        "Tree": tree,
        "Node": node,
        "ID": [f"{t}-{n}" for t, n in zip(tree, node, strict=True)],
        "Feature": ["Leaf" if f < 0 else model.feature_names[f] for f in model.feature],
        "Split": np.where(leaf | np.isin(node_number, list(model.right_codes)), np.nan, model.threshold),
        "Yes": ids(model.left),
        "No": ids(model.right),
        # A guess differs from row to row.
        "Missing": [None] * len(tree) if model.missing_strategy == REGRESSION else ids(missing),
        "Gain": np.where(leaf, model.value, model.gain if model.gains_shared else np.nan),
        "Cover": model.cover.copy() if model.gains_shared else np.full(len(tree), np.nan),
        "Category": [
            model.right_codes[place].tolist() if place in model.right_codes else np.nan
            for place in node_number.tolist()
        ]
        if model.right_codes
        else np.full(len(tree), np.nan),
        "Party": [None if f < 0 else model.feature_party[f] for f in model.feature],
    }


def missing_goes_left(model: PooledModel, nodes: slice = slice(None)) -> NDArray[np.bool_]:
    """Where rows with a missing value go: by the imputed value if there is one, else as learned. False for leaves."""
    feature = model.feature[nodes]
    split = feature >= 0
    left = model.default_left[nodes] & split
    fill = model.feature_fill[feature[split]]
    left[split] = np.where(np.isnan(fill), left[split], fill < model.threshold[nodes][split])
    return left
