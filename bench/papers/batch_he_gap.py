"""Why AUC and KS of papers/004 (Batch HE) differ from ours: which settings bring them together, by xgboost.

Batching changes no model, so that xgboost on pooled rows stands for all columns of batch_he.py. Each setting is tried
on random splits of the paper's sizes, and compared with the paper's SecureBoost: with table IV, tree by tree, and with
the last line of table III.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import common
import numpy as np
from batch_he_data import Split, column_names, paper_split
from numpy.typing import NDArray

from vfxgb.metric import make_metric

# As batch_he.py trains, and one setting changed at a time; the paper says none of them.
SETTINGS: dict[str, dict[str, float]] = {
    "depth 3, learning rate 0.3": {},
    "learning rate 0.15": {"eta": 0.15},
    "learning rate 0.1": {"eta": 0.1},
    "learning rate 0.05": {"eta": 0.05},
    "depth 2": {"max_depth": 2},
    "depth 4, learning rate 0.05": {"max_depth": 4, "eta": 0.05},
    "depth 5": {"max_depth": 5},
    "lambda 0.1": {"reg_lambda": 0.1},
    "80 % of the columns for each tree": {"colsample_bytree": 0.8},
}
AS_ABOVE = next(iter(SETTINGS))
TREES, QUICK_TREES = (10, 30, 50, 70, 90), (2, 6)
# AUC of training and of test rows, KS of training and of test rows, as in the paper's tables.
Scores = NDArray[np.float64]
Paper = Mapping[str, Sequence[float]]


def scores(rows: Split, at: Sequence[int], threads: int, **settings: Any) -> Scores:
    """AUC of training and test rows, KS of training and test rows, after so many trees: float64[len(at), 4]."""
    import xgboost as xgb

    train = xgb.QuantileDMatrix(rows.train.X, rows.train.y, max_bin=32, nthread=threads)
    params = {"objective": "binary:logistic", "tree_method": "hist", "max_bin": 32, "nthread": threads}
    booster = xgb.train({**params, "max_depth": 3, "eta": 0.3, **settings}, train, at[-1])
    found = np.empty((len(at), 4))
    for part, data in enumerate((rows.train, rows.test)):
        matrix = xgb.DMatrix(data.X)
        for line, trees in enumerate(at):
            predictions = booster.predict(matrix, iteration_range=(0, trees))
            for metric, name in enumerate(("auc", "ks")):
                found[line, 2 * metric + part] = make_metric(name)(data.y, predictions)
    return found


def measure(seeds: int, threads: int, quick: bool) -> dict[str, Any]:
    """Setting -> scores by seed, on both tables; and scores on give_credit without each of its columns."""
    at = QUICK_TREES if quick else TREES
    default = [paper_split("default_credit", seed) for seed in range(seeds)]
    give = [paper_split("give_credit", seed) for seed in range(seeds)]
    last = [at[len(at) // 2]]
    by_setting = {
        name: {
            "default_credit": [scores(rows, at, threads, **settings).tolist() for rows in default],
            "give_credit": [scores(rows, last, threads, **settings)[0].tolist() for rows in give],
        }
        for name, settings in SETTINGS.items()
    }
    names = column_names("give_credit")
    lacking = {}
    for place, name in enumerate(names):
        kept = [column for column in range(len(names)) if column != place]
        parts = [Split(*(common.choose_columns(data, kept) for data in (rows.train, rows.test))) for rows in give]
        lacking[name] = [scores(rows, last, threads, eta=0.1)[0].tolist() for rows in parts]
    return {"settings": by_setting, "without a column": lacking, "trees": list(at)}


def gaps(by_setting: Mapping[str, Any], table_iv: Scores, table_iii: Scores) -> dict[str, tuple[float, float]]:
    """Setting -> the largest difference of a mean over seeds from a number of table IV, and of table III."""
    return {
        name: (
            float(np.abs(np.mean(found["default_credit"], axis=0) - table_iv).max()),
            float(np.abs(np.mean(found["give_credit"], axis=0) - table_iii).max()),
        )
        for name, found in by_setting.items()
    }


def report(
    run: common.Run, found: Mapping[str, Any], paper: Mapping[str, tuple[Sequence[float], Sequence[float]]]
) -> None:
    """Tables, and what follows from them. `paper`: line of a table -> numbers of SecureBoost, of the proposed way."""
    if run.quick:
        return
    table_iv = np.array([paper[f"{trees} trees"][0] for trees in found["trees"]])
    table_iii = np.array(paper["91,500 rows"][0])
    apart = gaps(found["settings"], table_iv, table_iii)
    rows = []
    for name, (iv, iii) in apart.items():
        last = np.mean(found["settings"][name]["give_credit"], axis=0) - table_iii
        rows.append([name, f"{iv:.4f}", f"{iii:.4f}", *(f"{difference:+.4f}" for difference in last)])
    head = ["setting (xgboost, splits of the paper's sizes)", "table IV: largest difference", "table III: largest"]
    ends = ["AUC train", "AUC test", "KS train", "KS test"]
    run.table("Why the paper's numbers differ", head + [f"table III: {end}" for end in ends], rows)
    lacking = {name: np.mean(by_seed, axis=0) - table_iii for name, by_seed in found["without a column"].items()}
    run.table(
        "The same for table III at learning rate 0.1, without one column",
        ["column left out", "largest difference", *ends],
        [[name, f"{np.abs(d).max():.4f}", *(f"{one:+.4f}" for one in d)] for name, d in lacking.items()],
    )
    best = min(apart, key=lambda name: apart[name][0])
    spread = np.std(found["settings"][best]["give_credit"], axis=0)
    nearest = min(lacking, key=lambda name: float(np.abs(lacking[name]).max()))
    above = np.mean(found["settings"][best]["give_credit"], axis=0)[1] - table_iii[1]
    run.text(
        f"Table IV comes within {apart[best][0]:.4f} with {best} in place of {AS_ABOVE} ({apart[AS_ABOVE][0]:.4f}): "
        "the paper's trees learn more slowly than FATE's defaults. Table III does not: with that setting its test AUC "
        f"still is {above:.4f} below ours, where splits differ by {spread[1]:.4f} (standard deviation), and the "
        f"nearest setting is off by {min(iii for _, iii in apart.values()):.4f}. Numbers like the paper's come out of "
        f"a table that lacks a strong column: without {nearest} they differ by {np.abs(lacking[nearest]).max():.4f} at "
        "most. Which rows and columns it had is not published."
    )
