"""The tables of docs/audit.md about rows' bits under `sealed`: what they tell, and what a limit on columns costs."""

from pathlib import Path
from typing import Any

from origins import origin
from speed_tables import RESULTS, load


def row_bits_section(folder: Path = RESULTS) -> str:
    """What is found of the passive party's table by bits of rows, next to what opened sums give."""
    results = load("row_bits.json", folder)
    settings = results["settings"]
    by_run = {(run["rows"], run["trees"], run["protocol"]): run for run in results["runs"]}
    lines = [
        "| rows | trees | bits a row | `sealed`, no cut known | all cuts known | certain | `ot_shares` | guess |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for rows, trees in dict.fromkeys((rows, trees) for rows, trees, _ in by_run):
        run, sums = by_run[rows, trees, "sealed"], by_run.get((rows, trees, "ot_shares"))
        shares = [run[key] for key in ("found", "found_with_cuts", "pinned")]
        solved = "" if sums is None else percent(sums["found"])
        lines.append(
            f"| {rows:,} | {trees} | {run['bits_per_row']:.0f} | {' | '.join(map(percent, shares))} | {solved} | "
            f"{percent(run['guess'])} |"
        )
    return (
        f"Depth {settings['depth']}, {settings['bins']} bins, {settings['features'][0]} columns at the active and "
        f"{settings['features'][1]} at the passive party; guess: naming the commonest bin of each column.\n\n"
        + "\n".join(lines)
        + f"\n\n{origin('row_bits.json', results)}"
    )


def won_columns_section(folder: Path = RESULTS) -> str:
    """What honest runs win, and what limits on that cost and save."""
    results = load("won_columns.json", folder)
    settings, runs = results["settings"], results["runs"]
    trees = [after["trees"] for after in runs[0]["after"]]
    lines = [
        "| table | `max_won_columns` | "
        + " | ".join(f"candidates won, {count} trees" for count in trees)
        + f" | withheld, {trees[-1]} trees | "
        + " | ".join(f"AUC, {count} trees" for count in trees)
        + " | bins found, no cut known | and with all cuts known | guess |",
        "|---|---:|" + "---:|" * (2 * len(trees) + 4),
    ]
    free: dict[str, Any] = {run["table"]: run for run in runs if run["limit"] == 1.0}
    for run in sorted(runs, key=lambda run: (list(free).index(run["table"]), -run["limit"])):
        won = " | ".join(percent(after["columns"] / run["candidates"], 0) for after in run["after"])
        auc = " | ".join(f"{after['auc']:.4f}" for after in run["after"])
        limit = "none" if run["limit"] == 1.0 else f"{run['limit']:g}"
        withheld = percent(run["withheld"] / run["after"][-1]["wins"], 0)
        found = " | ".join(percent(run[key], 0) for key in ("row-bits", "row-bits-cuts", "guess"))
        lines.append(f"| {run['table']} | {limit} | {won} | {withheld} | {auc} | {found} |")
    return (
        f"{settings['rows']:,} rows, {settings['test_rows']:,} others for the AUC, depth {settings['max_depth']}, "
        f"{settings['max_bin']} bins; columns go to both parties in turn. Bins found are those after the last tree.\n\n"
        + "\n".join(lines)
        + f"\n\n{origin('won_columns.json', results)}"
    )


def percent(share: float, digits: int = 1) -> str:
    """A share in percent."""
    return f"{100 * share:.{digits}f} %"


SECTIONS = {"row bits": row_bits_section, "won columns": won_columns_section}
