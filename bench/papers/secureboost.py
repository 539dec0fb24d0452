"""Claims of papers/001 (slides on SecureBoost): lossless training, leaf purity of the first tree, reduced leakage.

    vfxgb bench papers secureboost [--quick] [--seeds 3] [--threads 2] [--out FOLDER]

Lossless: `secureboost` with Paillier keys against `plain`, which encrypts nothing, and must have the same model number
by number; and `plain` against xgboost on pooled rows with as many bins. Leaf purity: of the first tree's leaves,
counted with labels, by the formula of the slides, and by the corrected one (E58); over depths, with what is left for
later trees to learn. Reduced leakage: the active party grows the first tree alone (E59); what the passive party then
knows of labels from each tree, and what it costs in AUC.
"""

import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import common
import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from trained import BINS, DEPTH, RATE, Part, model_of, part

from vfxgb import VFXGBClassifier
from vfxgb.bench.datasets import PASSIVE, Loaded
from vfxgb.bench.real_trees import assert_real_booster, assert_real_trees
from vfxgb.metric import make_metric
from vfxgb.model.shares import LEAF, TreeShape
from vfxgb.tree.purity import known_leaves, positive_share

MINUTES = (0.3, 2.0)
TABLES = ("give_credit", "default_credit", "adult")
# Rows and trees of encrypted trainings, and of the others.
ENCRYPTED, QUICK_ENCRYPTED = (1_000, 3), (300, 2)
OPEN, QUICK_OPEN = (8_000, 30), (1_500, 12)
DEPTHS = (1, 2, 3, 4, 5, 6)
SHOWN_TREES = (1, 2, 3, 5, 10)
# AUC on other bins may be lower by so much and still count as no loss.
SAME_AUC = 0.005


def draw(name: str, rows: int, seed: int) -> Part:
    """Training rows and half as many test rows of a table, by seed."""
    whole = part(name, 1 << 30)
    rng = np.random.default_rng(seed)
    chosen = []
    for data, count in ((whole.train, rows), (whole.test, rows // 2)):
        places = rng.permutation(len(data.y))[:count]
        chosen.append(common.choose(data, np.sort(places)))
    return Part(*chosen)


def fit(data: Part, protocol: str, params: dict[str, Any], trees: int, threads: int, **others: Any) -> VFXGBClassifier:
    """A model of the training rows."""
    model = model_of(data.train, protocol, params, trees, threads, **others)
    return model.fit(data.train.X, data.train.y, verbose=False)


def auc(model: VFXGBClassifier, data: Loaded) -> float:
    """On these rows."""
    return float(make_metric("auc")(data.y, model.predict_proba(data.X)[:, 1]))


def xgboost_auc(data: Part, trees: int, threads: int) -> float:
    """The AUC of xgboost on pooled rows, with the same parameters."""
    matrix = xgb.QuantileDMatrix(data.train.X, data.train.y, max_bin=BINS, nthread=threads)
    params = {"objective": "binary:logistic", "max_depth": DEPTH, "learning_rate": RATE, "max_bin": BINS}
    params |= {"tree_method": "hist", "base_score": 0.5, "nthread": threads}
    booster = xgb.train(params, matrix, trees)
    assert_real_booster(booster, data.train.source)
    return float(make_metric("auc")(data.test.y, booster.predict(xgb.DMatrix(data.test.X))))


def same_model(a: VFXGBClassifier, b: VFXGBClassifier) -> bool:
    """Whether two models have the same trees: every split, leaf weight, gain and cover, bit by bit."""
    one, two = a.model_.pooled, b.model_.pooled
    names = ("tree_start", "feature", "default_left", "left", "right", "value", "gain", "cover", "base_margin")
    splits = one.feature >= 0
    return all(np.array_equal(getattr(one, name), getattr(two, name)) for name in names) and bool(
        np.array_equal(one.threshold[splits], two.threshold[splits])
    )


def lossless(name: str, args: Any, seeds: int) -> dict[str, Any]:
    """Count, over seeds, the encrypted models of one table that equal plain's; add the AUC of plain and of xgboost."""
    rows, trees = QUICK_ENCRYPTED if args.quick else ENCRYPTED
    bits = 512 if args.quick else 2048
    key = {"scheme": "paillier", "key_bits": bits, "insecure": bits < 2048}
    equal = 0
    for seed in range(seeds):
        data = draw(name, rows, seed)
        encrypted = fit(data, "secureboost", key, trees, args.threads)
        assert_real_trees(encrypted.model_.active_share, f"secureboost on {name}")
        plain = fit(data, "plain", {}, trees, args.threads)
        equal += same_model(encrypted, plain)
    rows, trees = QUICK_OPEN if args.quick else OPEN
    plain_auc, other = [], []
    for seed in range(seeds):
        data = draw(name, rows, seed)
        plain_auc.append(auc(fit(data, "plain", {}, trees, args.threads), data.test))
        other.append(xgboost_auc(data, trees, args.threads))
    return {"equal": equal, "of": seeds, "plain": plain_auc, "xgboost": other}


def purity_of(labels: NDArray[np.float32], leaves: NDArray[np.int32], known: NDArray[np.bool_]) -> tuple[float, float]:
    """(share of rows that lie in known leaves, mean share of the commoner label there), counted with labels."""
    inside = known[leaves]
    if not inside.any():
        return 0.0, float("nan")
    rows = np.bincount(leaves[inside], minlength=len(known))
    ones = np.bincount(leaves[inside], weights=labels[inside], minlength=len(known))
    return float(inside.mean()), float(np.maximum(ones, rows - ones).sum() / inside.sum())


def first_tree(depth: int, data: Part, threads: int) -> dict[str, float]:
    """The first tree's leaves: purity counted, by both formulas, and what is left for later trees."""
    model = fit(data, "plain", {}, 1, threads, max_depth=depth, base_score=None)
    share, y = model.model_.active_share, data.train.y
    tree = share.trees[0]
    leaves = model.apply(data.train.X)[:, 0]
    rows = np.bincount(leaves, minlength=tree.n_nodes).astype(np.float64)
    leaf = rows > 0
    rate = 1.0 / (1.0 + np.exp(-float(share.base_margin[0])))
    weight = tree.value / RATE
    safe = np.maximum(rows, 1.0)
    right = positive_share(weight, safe, rate, float(share.params["reg_lambda"]))
    printed = np.clip(rate - (rate - 1.0) * weight, 0.0, 1.0)
    true = np.bincount(leaves, weights=y, minlength=tree.n_nodes) / safe
    every = np.ones(tree.n_nodes, dtype=np.bool_)

    def mean(theta: NDArray[np.float64]) -> float:
        return float((np.maximum(theta, 1 - theta) * rows)[leaf].sum() / rows.sum())

    # What is left to learn once a tree without a learning rate has said all it knows.
    left = float(((y - true[leaves]) ** 2).mean() / ((y - y.mean()) ** 2).mean())
    _, counted = purity_of(y, leaves, every)
    off = np.abs(np.stack([right, printed]) - true)[:, leaf].max(axis=1).tolist()
    return {
        "counted": counted,
        "corrected": mean(right),
        "printed": mean(printed),
        "corrected_off": off[0],
        "printed_off": off[1],
        "left": left,
    }


def known_to_passive(model: VFXGBClassifier, data: Part, own_first: bool) -> list[tuple[float, float]]:
    """Per tree (share of rows, purity) of leaves whose rows the passive party knows."""
    share = model.model_.active_share
    place, leaves = share.parties.index(PASSIVE), model.apply(data.train.X)
    every = []
    for number, tree in enumerate(share.trees):
        known = _known(tree, place, own_first and number == 0)
        every.append(purity_of(data.train.y, leaves[:, number], known))
    return every


def _known(tree: TreeShape, place: int, hidden: bool) -> NDArray[np.bool_]:
    return np.zeros(tree.n_nodes, dtype=np.bool_) if hidden else known_leaves(tree, place, DEPTH)


def reduced(name: str, args: Any, seeds: int) -> dict[str, Any]:
    """Measure AUC and what the passive party knows on one table, with the first tree shown and kept at home."""
    rows, trees = QUICK_OPEN if args.quick else OPEN
    found: dict[str, Any] = {"auc": {}, "known": {}, "shown_first_rows": 0, "splits_of_others": 0}
    for kept in (False, True):
        aucs, known = [], []
        for seed in range(seeds):
            data = draw(name, rows, seed)
            model = fit(data, "plain", {}, trees, args.threads, reduced_leakage=kept)
            aucs.append(auc(model, data.test))
            known.append(known_to_passive(model, data, kept))
            if kept:
                first = model.model_.active_share.trees[0]
                own = model.model_.active_share.parties.index(model.model_.active_share.party)
                found["splits_of_others"] += int(((first.party != LEAF) & (first.party != own)).sum())
                found["shown_first_rows"] += model.ledger_.purity[PASSIVE].rows
        found["auc"][str(kept)] = aucs
        found["known"][str(kept)] = np.nanmean(np.array(known, dtype=np.float64), axis=0).tolist()
    return found


def lossless_table(by_table: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Equal models, and AUC."""
    return [
        [
            name,
            f"{found['equal']} of {found['of']}",
            f"{np.mean(found['plain']):.4f}",
            f"{np.mean(found['xgboost']):.4f}",
            f"{np.mean(np.subtract(found['plain'], found['xgboost'])):+.4f}",
        ]
        for name, found in by_table.items()
    ]


def purity_table(by_table: dict[str, dict[int, dict[str, float]]]) -> list[list[str]]:
    """Purity by depth, and the largest error of each formula on a leaf."""
    return [
        [
            name,
            str(depth),
            *(f"{cell[key]:.4f}" for key in ("counted", "corrected", "printed")),
            *(f"{cell[key]:.1e}" for key in ("corrected_off", "printed_off")),
            f"{cell['left']:.3f}",
        ]
        for name, cells in by_table.items()
        for depth, cell in cells.items()
    ]


def leakage_table(by_table: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Share of rows and purity that the passive party knows, tree by tree."""
    rows = []
    for name, found in by_table.items():
        for kept in ("False", "True"):
            cells = []
            for tree in SHOWN_TREES:
                share, purity = found["known"][kept][tree - 1]
                cells.append(f"{share:.0%} at {purity:.3f}" if share else "nothing")
            label = "first tree at home" if kept == "True" else "all trees joint"
            rows.append([name, label, *cells, f"{np.mean(found['auc'][kept]):.4f}"])
    return rows


def conclude(
    run: common.Run,
    exact: dict[str, dict[str, Any]],
    purity: dict[str, dict[int, dict[str, float]]],
    leakage: dict[str, dict[str, Any]],
) -> None:
    """A verdict for each claim, from the numbers."""
    gaps = {name: float(np.mean(np.subtract(found["plain"], found["xgboost"]))) for name, found in exact.items()}
    equal, runs = (sum(found[key] for found in exact.values()) for key in ("equal", "of"))
    run.found(
        "Lossless: sums under additive encryption give the model of pooled data.",
        equal == runs and min(gaps.values()) > -SAME_AUC,
        f"{equal} of {runs} encrypted models are plain's bit by bit, which takes fixed point with one exponent (E60). "
        "Against xgboost, whose bins are others, AUC differs by "
        + ", ".join(f"{gap:+.4f} on {name}" for name, gap in gaps.items())
        + ".",
    )
    cells = [cell for by_depth in purity.values() for cell in by_depth.values()]
    corrected, printed = (max(cell[key] for cell in cells) for key in ("corrected_off", "printed_off"))
    run.found(
        "The purity of the first tree's leaves follows from their weights: theta = a - (a - 1) w.",
        "not as printed" if printed > 10 * corrected else True,
        f"As printed a leaf's share of positive rows is wrong by up to {printed:.2f}; with the factor a, which is "
        f"missing, and lambda by {corrected:.1e} at most (E58).",
    )
    falls = [
        all(later["left"] <= earlier["left"] + 1e-9 for earlier, later in pairwise(by))
        for by in (list(by_depth.values()) for by_depth in purity.values())
    ]
    rises = [by_depth[DEPTHS[-1]]["counted"] >= by_depth[DEPTHS[0]]["counted"] for by_depth in purity.values()]
    left = float(np.mean([by_depth[DEPTHS[-1]]["left"] for by_depth in purity.values()]))
    run.found(
        "The purer the first tree, the less is left for the others to tell.",
        all(falls) and all(rises),
        "From depth "
        f"{DEPTHS[0]} to {DEPTHS[-1]} "
        + "; ".join(
            f"purity goes from {by[DEPTHS[0]]['counted']:.3f} to {by[DEPTHS[-1]]['counted']:.3f} and the variance of "
            f"labels that is left from {by[DEPTHS[0]]['left']:.2f} to {by[DEPTHS[-1]]['left']:.2f} on {name}"
            for name, by in purity.items()
        )
        + f". At depth {DEPTHS[-1]} {left:.0%} is left on average.",
    )
    costs = {
        name: float(np.mean(np.subtract(found["auc"]["True"], found["auc"]["False"])))
        for name, found in leakage.items()
    }
    nothing = all(found["shown_first_rows"] == 0 and found["splits_of_others"] == 0 for found in leakage.values())
    later = {name: (found["known"]["False"][0], found["known"]["True"][1]) for name, found in leakage.items()}
    run.found(
        "Reduced leakage: with the first tree on the active party's features, passive parties learn less of labels.",
        "of that tree" if nothing else False,
        f"Of the first tree they learn {'nothing' if nothing else 'something'}, at {min(costs.values()):+.4f} to "
        f"{max(costs.values()):+.4f} of AUC. But the second tree is shown: "
        + "; ".join(
            f"on {name} its known leaves hold {after[0]:.0%} of the rows at a purity of {after[1]:.3f}, those of a "
            f"joint first tree {before[0]:.0%} at {before[1]:.3f}"
            for name, (before, after) in later.items()
        )
        + ".",
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the three claims."""
    args = common.parse(common.parser(__doc__, seeds=3), argv)
    seeds = 1 if args.quick else args.seeds
    run = common.Run(
        "secureboost",
        "SecureBoost: lossless, leaf purity, reduced leakage",
        "the claims of papers/001, which prints no numbers",
        args,
        "Two parties. Everything but the encrypted models is trained by `plain`, whose trees are the same. Purity: the "
        "share of a leaf's commoner label, over rows.",
    )
    encrypted, opened = (QUICK_ENCRYPTED, QUICK_OPEN) if args.quick else (ENCRYPTED, OPEN)
    run.set(depth=DEPTH, bins=BINS, seeds=seeds, encrypted_rows=encrypted[0], encrypted_trees=encrypted[1])
    run.set(rows=opened[0], trees=opened[1], key_bits=512 if args.quick else 2048)
    steps = common.Steps(3.0 * len(TABLES))
    exact, purity, leakage = {}, {}, {}
    for name in TABLES:
        steps.begin(f"{name}: lossless")
        exact[name] = lossless(name, args, seeds)
        steps.begin(f"{name}: leaf purity")
        data = draw(name, opened[0], 0)
        run.use(data.train)
        purity[name] = {depth: first_tree(depth, data, args.threads) for depth in DEPTHS}
        steps.begin(f"{name}: reduced leakage")
        leakage[name] = reduced(name, args, seeds)
    run.table(
        "Lossless",
        ["", "encrypted models that equal plain's", "AUC plain", "AUC xgboost", "difference"],
        lossless_table(exact),
    )
    head = ["", "depth", "purity counted", "by the corrected formula", "as printed"]
    head += ["largest error of a leaf, corrected", "as printed", "variance of labels left"]
    run.table("Leaf purity of the first tree", head, purity_table(purity))
    trees = [f"tree {tree}" for tree in SHOWN_TREES]
    run.table(
        "Reduced leakage: rows in leaves that the passive party knows, and their purity",
        ["", "", *trees, "test AUC"],
        leakage_table(leakage),
        left=2,
    )
    conclude(run, exact, purity, leakage)
    results = {name: {"lossless": exact[name], "purity": purity[name], "leakage": leakage[name]} for name in TABLES}
    run.write({"tables": results})
    return 0


if __name__ == "__main__":
    sys.exit(common.guarded(main))
