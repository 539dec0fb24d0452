"""How much the leaves of the first tree say about labels (SecureBoost; ERRATA E58, E64).

A passive party learns which rows are together in a leaf, and rows of one leaf mostly have one label. How pure a leaf
is follows from its weight: before the first tree of binary:logistic every row has the same probability a, so

    g = a - y,  h = a (1 - a),  w = -G / (H + lambda)
    theta = a + (a (1 - a) + lambda / n) w

is the share of positive rows among the n of a leaf of weight w (before the learning rate). Purity is the share of
the more frequent label, max(theta, 1 - theta).
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.model.shares import LEAF, TreeShape
from vfxgb.runtime.ledger import LeafPurity


def positive_share(
    weight: NDArray[np.float64], rows: NDArray[np.float64], rate: float, reg_lambda: float, reg_alpha: float = 0.0
) -> NDArray[np.float64]:
    """theta of leaves of the first tree, in [0, 1].

    `weight`: before the learning rate. `rows`: n of each leaf, the sum of sample weights where there are any. `rate`:
    a. reg_alpha took alpha off every |G|. Where max_delta_step or monotone constraints limited a weight, theta comes
    out nearer to a than it is.
    """
    theta = rate + (rate * (1.0 - rate) + reg_lambda / rows) * weight + np.sign(weight) * reg_alpha / rows
    return np.clip(theta, 0.0, 1.0)


def known_leaves(tree: TreeShape, place: int, max_depth: int) -> NDArray[np.bool_]:
    """Which nodes are leaves whose rows the passive party at `place` in party order knows.

    Every party hears of the splits above an open level. The last splits are nobody's business but their owner's.
    """
    depth = np.zeros(len(tree.parent), dtype=np.int64)
    for node, parent in enumerate(tree.parent.tolist()):
        if parent >= 0:
            depth[node] = depth[parent] + 1
    own: NDArray[np.bool_] = (tree.parent >= 0) & (tree.party[np.maximum(tree.parent, 0)] == place)
    known: NDArray[np.bool_] = (tree.party == LEAF) & ((depth < max_depth) | own)
    return known


def known_purity(
    tree: TreeShape,
    leaf_rows: NDArray[np.int64],
    known: NDArray[np.bool_],
    rate: float,
    learning_rate: float,
    reg_lambda: float,
    reg_alpha: float = 0.0,
) -> LeafPurity:
    """Rows and mean purity of the leaves `known`, bool per node; `leaf_rows`: sampled rows per node, 0 unless leaf."""
    total = int(leaf_rows.sum())
    known = known & (leaf_rows > 0) & (tree.cover > 0)
    rows = int(leaf_rows[known].sum())
    if rows == 0:
        return LeafPurity(0, total, None)
    # cover is the sum of h, each a (1 - a) times the row's weight.
    weighted = tree.cover[known] / (rate * (1.0 - rate))
    theta = positive_share(tree.value[known] / learning_rate, weighted, rate, reg_lambda, reg_alpha)
    purity = np.maximum(theta, 1.0 - theta)
    return LeafPurity(rows, total, float(np.average(purity, weights=leaf_rows[known])))
