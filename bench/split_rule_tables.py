"""The tables of docs/split_rules.md, from docs/results/split_rules.json."""

from pathlib import Path
from typing import Any

import numpy as np
from origins import origin
from speed_tables import RESULTS, load

# Student's t for 95 % confidence, by degrees of freedom.
STUDENT = {2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


def split_rules_section(folder: Path = RESULTS) -> str:
    """Both rules by depth, other weights, scores of few bits, and ten classes."""
    results = load("split_rules.json", folder)
    parts = [_depths(results), _weights(results), _classes(results), origin("split_rules.json", results)]
    return "\n\n".join(parts)


def interval(differences: np.ndarray) -> tuple[float, float]:
    """Mean and half the width of its confidence interval, over seeds."""
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return float(differences.mean()), float(STUDENT[len(differences) - 1] * error)


def differences(table: dict[str, Any], way: str, depths: list[int]) -> np.ndarray:
    """AUC of a way minus that of the gain, by seed: the mean over depths."""
    scores = table["auc"]
    return np.mean([np.subtract(scores[way][str(d)], scores["gain"][str(d)]) for d in depths], axis=0)


def _thousandths(differences: np.ndarray) -> str:
    mean, half = interval(differences)
    return f"{1000 * mean:+.2f} ± {1000 * half:.2f}"


def _depths(results: dict[str, Any]) -> str:
    settings, tables = results["settings"], results["tables"]
    depths = settings["depths"]
    heads = " | ".join(f"depth {depth}" for depth in depths)
    lines = [f"| | AUC by gain, depth {depths[0]} to {depths[-1]} | {heads} | all depths |"]
    lines.append("|---|---:|" + "---:|" * (len(depths) + 1))
    for name, table in tables.items():
        means = [float(np.mean(table["auc"]["gain"][str(depth)])) for depth in depths]
        cells = [_thousandths(differences(table, "centred", [depth])) for depth in depths]
        every = _thousandths(differences(table, "centred", depths))
        spread = f"{min(means):.4f} to {max(means):.4f}"
        lines.append(f"| {name} | {spread} | " + " | ".join(cells) + f" | **{every}** |")
    worst = min(interval(differences(table, "centred", depths))[0] for table in tables.values())
    rows = ", ".join(f"{table['train']:,} of {name}" for name, table in tables.items())
    return (
        f"Test AUC by `centred` minus test AUC by `gain`, in thousandths, mean over {settings['seeds']} seeds with its "
        f"95 % confidence interval; {settings['trees']} trees, `learning_rate = {settings['learning_rate']:g}`, "
        f"{settings['max_bin']} bins, columns at two parties in turn. Training rows: {rows}. The worst table loses "
        f"{1000 * -worst:.2f} thousandths, as a mean over all depths; the bar was 1.\n\n" + "\n".join(lines)
    )


def _weights(results: dict[str, Any]) -> str:
    tables, depths, integers = results["tables"], results["weight_depths"], results["integers"]
    first = next(iter(tables.values()))["auc"]
    others = [way for way in first if way not in ("gain", "centred", "integers")]
    heads = " | ".join(["the rule's", *others])
    lines = [f"| | {heads} | the rule's, {integers['score_bits']} bits, depth {integers['depth']} |"]
    lines.append("|---|" + "---:|" * (len(others) + 2))
    for name, table in tables.items():
        cells = [_thousandths(differences(table, way, depths)) for way in ("centred", *others)]
        cells.append(_thousandths(differences(table, "integers", [integers["depth"]])))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return (
        f"The same differences with other weights, mean over depths {' and '.join(map(str, depths))}: the rule's own "
        "are 1 / sqrt(share left x share right), at most 8; the others are its square root, its power 3/4, and the "
        f"same with at most 2.5. The last column has scores of {integers['score_bits']} bits, made of integers rounded "
        f"at random for each node, at depth {integers['depth']}.\n\n" + "\n".join(lines)
    )


def _classes(results: dict[str, Any]) -> str:
    mnist = results["mnist"]
    lines = ["| | accuracy | log loss |", "|---|---:|---:|"]
    titles = {"gain": "gain", "centred": "centred"}
    for way, found in mnist["found"].items():
        title = titles.get(way, f"centred, weights: {way}")
        lines.append(f"| {title} | {np.mean(found['accuracy']):.4f} | {np.mean(found['log loss']):.4f} |")
    return (
        f"Ten classes, {mnist['rows']:,} rows of mnist, {mnist['trees']} rounds of depth {mnist['depth']}, mean over "
        f"{mnist['seeds']} seeds:\n\n" + "\n".join(lines)
    )
