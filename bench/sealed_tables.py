"""Tables about `sealed`: what a tree takes, step by step (docs/speed.md), and the noise of sums (lattice/README.md)."""

import json
from pathlib import Path
from typing import Any

from origins import origin

FILE = "sealed_steps.json"
NOISE_FILE = "lattice_noise.json"
# What would halve a step: what it is made of, and what would take half of that away.
WOULD_HALVE = {
    "sums over encrypted columns": "most of it reads 8 bytes a row and column from memory once a level. Words of 43 to "
    "48 bits kept in 6 bytes would take a quarter less; half takes faster memory.",
    "pieces of comparisons": "transfers by AES. A processor with VAES makes them in less than half of the time; "
    "without it fewer `transfer_bits` do, for more bytes.",
    "hidden routing": "transfers by AES again, for a row as many as the number of splits that won a level has bits. "
    "One a level would do if the passive party knew below which node each of its splits stands before rows are routed, "
    "also of splits that are refused; it is not told.",
    "comparisons": "messages, each with some Python on either side. Fewer of them would.",
}


def sealed_section(folder: Path) -> str:
    """One table for each shape, then what would halve the steps."""
    path = folder / FILE
    if not path.is_file():
        return "`python bench/e2e/sealed_steps.py` has not been run yet."
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    parts = [part for shape in results["shapes"] for part in shape_parts(shape, results["settings"]["threads"])]
    halve = "\n".join(f"- {step}: {text}" for step, text in WOULD_HALVE.items())
    return "\n\n".join([*parts, "What would halve the steps:", halve, origin(FILE, results)])


def shape_parts(shape: dict[str, Any], threads: int) -> list[str]:
    grown = shape["shape"]
    features = "+".join(map(str, shape["features"]))
    lines = ["| processor ms a tree | active | passive | share | MB |", "|---|---:|---:|---:|---:|"]
    for line in shape["steps"]:
        own = line["active"] + line["passive"]
        cells = [
            f"{1000 * line['active']:.0f}",
            f"{1000 * line['passive']:.0f}",
            f"{100 * own / shape['process']:.0f} %",
        ]
        lines.append(f"| {line['step']} | " + " | ".join([*cells, f"{line['bytes'] / 1e6:.2f}"]) + " |")
    lines.append(f"| all | {1000 * shape['process']:.0f} | | | {shape['bytes'] / 1e6:.2f} |")
    about = (
        f"{shape['rows']:,} x ({features}), {grown['bins']} bins, depth {grown['depth']}; {shape['round_trips']:.0f} "
        f"round trips a tree; with {threads} threads a party {shape['wall']:.2f} s a tree on the clock, at a load of "
        f"{shape['load']:.0f}:"
    )
    return [about, "\n".join(lines)]


def noise_section(folder: Path) -> str:
    """The noise of lattice sums, from lattice_noise.json, and its figure."""
    results: dict[str, Any] = json.loads((folder / NOISE_FILE).read_text(encoding="utf-8"))
    heads = ["rows", "ring", "sums", "deviation, measured / computed", "beyond 2, 3, 4 deviations, against normal"]
    heads += ["largest", "Delta, in measured deviations", "failure of a sum"]
    lines = ["| " + " | ".join(heads) + " |", "|---:|---|---:|---:|---|---:|---:|---:|"]
    for line in results["lines"]:
        cells = [
            f"{line['rows']:,}",
            line["ring"],
            f"{line['sums']:,}",
            f"{line['deviation'] / line['computed']:.3f}",
            ", ".join(f"{tail:.2f}" for tail in line["tails"][1:]),
            f"{line['largest']:.1f}",
            f"{line['delta']:.1f}",
            f"2^{line['failure_log2']:.0f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    figure = f"![How often noise exceeds t deviations](../../../docs/results/{Path(NOISE_FILE).stem}.png)"
    return "\n\n".join(["\n".join(lines), figure, origin(NOISE_FILE, results)])
