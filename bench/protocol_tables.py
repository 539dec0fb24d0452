"""Tables about `sealed`: protocols side by side, its AUC on five tables, and why its winners are refused."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from origins import origin
from speed_tables import RESULTS, load
from split_rule_tables import interval

# How much AUC `sealed` may cost on the mean.
BAR = 0.001

# The parties of the runs that were measured.
ACTIVE, PASSIVE = "bank", "shop"
# Who learns what, in few words; README.md has it in full.
LEARNT = {
    "sealed": ("which of its splits won", "which rows go left at the other's splits that won"),
    "ot_shares": ("which rows share a node", "sums of all candidate splits, and which rows go left at the chosen ones"),
    "batch_he": ("which rows share a node", "sums of all candidate splits, and which rows go left at the chosen ones"),
    "ldp": ("labels up to epsilon; which rows share a node", "best gains, and which rows go left at the chosen splits"),
    "plain": (
        "every gradient, and so the labels",
        "sums of all candidate splits, and which rows go left at the chosen ones",
    ),
}


def side_by_side_section(folder: Path = RESULTS) -> str:
    """Who learns what, what an audit finds, and what it costs."""
    results = load("side_by_side.json", folder)
    settings, protocols = results["settings"], results["protocols"]
    audit = settings["audit"]
    heads = ("", "the passive party learns", "the active party learns", "an audit finds")
    lines = [
        "| " + " | ".join([*heads, "processor s a tree", "MB a tree", "flights a tree", "set-up", "AUC"]) + " |",
        "|---|---|---|---|---:|---:|---:|---:|---:|",
    ]
    for name, found in protocols.items():
        flights = f"{found['flights'] / settings['trees']:.0f}"
        title = f"`{name}`, epsilon {settings['epsilon']:g}" if name == "ldp" else f"`{name}`"
        setup = f"{found['setup_seconds']:.1f} s, {found['setup_megabytes']:.0f} MB" if found["setup_megabytes"] else ""
        cells = [title, *LEARNT[name], audit_words(found["audit"]), f"{found['cpu_seconds']:.2f}"]
        lines.append(
            "| " + " | ".join([*cells, f"{found['megabytes']:.1f}", flights, setup, f"{found['auc']:.4f}"]) + " |"
        )
    return (
        f"{settings['trees']} trees of depth {settings['depth']}, {settings['bins']} bins, on "
        f"{settings['train_share']:.0%} of {settings['source']}; AUC on the other rows. Processor seconds are "
        "those of both parties together, the median of the trees but the first and the last. Flights are messages that "
        "had to follow one upon the other, one each way at a time counted once, those of the set-up included. "
        f"The audit ran every attack there is on recorded runs of {audit['n_estimators']} trees over "
        f"{audit['rows']:,} rows. Shown is the best of the attacks on each thing, if it beats guessing, with what "
        "guessing gives in brackets.\n\n" + "\n".join(lines) + f"\n\n{origin('side_by_side.json', results)}"
    )


def audit_words(audit: dict[str, Any]) -> str:
    """What attacks have found, or that none did."""
    beaten = [each for each in audit["findings"] if each["better"]]
    words = []
    for party, kind in ((ACTIVE, "active"), (PASSIVE, "passive")):
        own = sorted((each for each in beaten if each["attacker"] == party), key=lambda each: -each["success"])
        shares = (f"{each['success']:.0%} of the {each['target']} ({each['guess']:.0%})" for each in own)
        words += [f"the {kind} party: {', '.join(shares)}"] if own else []
    if words:
        return "; ".join(words)
    return "nothing: no attack beats guessing" if audit["run"] else "nothing: no attack finds what it needs"


def sealed_auc_section(folder: Path = RESULTS) -> str:
    """Test AUC by XGBoost's gain and of `sealed`, and what was refused."""
    results = load("sealed_auc.json", folder)
    settings = results["settings"]
    tables = list(dict.fromkeys(run["table"] for run in results["runs"]))
    heads = ("", "training rows", "AUC by gain", "AUC of `sealed`", "difference, thousandths")
    lines = [
        "| " + " | ".join([*heads, "nodes won a tree", "of these refused"]) + " |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    worst, unsettled = 0.0, []
    for table in tables:
        runs = [run for run in results["runs"] if run["table"] == table]
        gain, sealed = (np.array([run["auc"][way] for run in runs]) for way in ("gain", "sealed"))
        mean, half = interval(sealed - gain)
        worst = min(worst, mean)
        if mean - half < -BAR:
            unsettled.append(table)
        won, kept = (sum(run[name] for run in runs) for name in ("won", "kept"))
        a_tree = won / len(runs) / settings["trees"]
        lines.append(
            f"| {table} | {runs[0]['train']:,} | {gain.mean():.4f} | {sealed.mean():.4f} | {1000 * mean:+.2f} ± "
            f"{1000 * half:.2f} | {a_tree:.1f} | {1 - kept / won:.0%} |"
        )
    compared = [run["table"] for run in results["runs"] if run["compared"]]
    return (
        f"{settings['trees']} trees of depth {settings['depth']}, `learning_rate = {settings['learning_rate']:g}`, "
        f"{settings['max_bin']} bins, columns at two parties in turn; means over {settings['seeds']} seeds, each of "
        "which draws other training and test rows, with the 95 % confidence interval of the mean. The models of "
        f"`sealed` are those of its twin; on {', '.join(compared)} `sealed` itself trained with the first seed, and "
        f"every tree was the same. The bar was {1000 * BAR:g} thousandth; the worst table's mean is "
        f"{1000 * worst:+.2f}. "
        + (f"The intervals of {', '.join(unsettled)} reach beyond that.\n\n" if unsettled else "\n\n")
        + "\n".join(lines)
        + f"\n\n{origin('sealed_auc.json', results)}"
    )


def refused_section(folder: Path = RESULTS) -> str:
    """Refusals by the hessian of the node, and what variants of the rule would change."""
    results = load("refused_winners.json", folder)
    settings, runs = results["settings"], results["runs"]
    tables = list(dict.fromkeys(run["table"] for run in runs))
    variants = [name for name in dict.fromkeys(run["variant"] for run in runs) if name != "gain"]
    now = [run for run in runs if run["variant"] == variants[0]]
    bounds = results["hessians"]
    hessians = [f"{low} to {high}" for low, high in pairwise(bounds)] + [f"from {bounds[-1]}"]
    depths = [str(depth) for depth in range(settings["depth"])]
    parts = [
        _shares("hessian of the node", hessians, now, "by hessian"),
        _shares("depth of the node", depths, now, "by depth"),
        _causes(now),
        _by_variant(runs, tables, variants),
    ]
    seeds = len({run["seed"] for run in runs})
    averaged = "one seed" if seeds == 1 else f"mean over {seeds} seeds"
    about = (
        f"{settings['trees']} trees of depth {settings['depth']} on {settings['rows']:,} rows of {', '.join(tables)}; "
        f"{averaged}. {len(variants) - 1} variants were tried, none of which is in vfxgb:"
    )
    return "\n\n".join([about, *parts, origin("refused_winners.json", results)])


def _shares(title: str, heads: list[str], now: list[dict[str, Any]], counted: str) -> str:
    """Where winners stand, and how many of them were refused."""
    won, refused = (sum(np.array(run[counted])[:, place] for run in now) for place in (0, 1))
    rows = {
        title: [*heads, "all"],
        "---": ["---:"] * (len(heads) + 1),
        "share of winners": [*(f"{share:.0%}" for share in won / won.sum()), "100%"],
        "refused of them": [
            *(f"{bad / count:.0%}" if count else "" for bad, count in zip(refused, won, strict=True)),
            f"{refused.sum() / won.sum():.0%}",
        ],
    }
    return "\n".join(f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows.items())


def _causes(now: list[dict[str, Any]]) -> str:
    light, refused = (sum(run[name] for run in now) for name in ("too light", "refused"))
    return (
        f"Of all refusals {light / refused:.0%} are for a child that is too light or a gain of nothing, the rest for a "
        "gain below that of the active party's own best."
    )


def _by_variant(runs: list[dict[str, Any]], tables: list[str], variants: list[str]) -> str:
    by_place = {(run["table"], run["seed"], run["variant"]): run for run in runs}
    lines = [
        "| | nodes compared in a run | won | kept | refused | AUC against gain, thousandths: "
        + " | ".join(tables)
        + " | mean |",
        "|---|---:|---:|---:|---:|" + "---:|" * (len(tables) + 1),
    ]
    count_runs = sum(1 for run in runs if run["variant"] == variants[0])
    for variant in variants:
        own = [run for run in runs if run["variant"] == variant]
        won, refused, compared = (sum(run[name] for run in own) for name in ("won", "refused", "compared"))
        differences = {table: [] for table in tables}
        for run in own:
            differences[run["table"]].append(run["auc"] - by_place[run["table"], run["seed"], "gain"]["auc"])
        means = [1000 * np.mean(of_table) for of_table in differences.values()]
        counts = [f"{count / count_runs:,.0f}" for count in (compared, won, won - refused)]
        cells = [*counts, f"{refused / won:.0%}", *(f"{mean:+.2f}" for mean in means), f"{np.mean(means):+.2f}"]
        lines.append(f"| {variant} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
