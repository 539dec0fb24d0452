"""The tables of docs/speed.md that compare the kernels of big integers with each other, from docs/results.

update_readme.py writes them: operations on ciphertexts, by processor time, and trainings.
"""

from pathlib import Path
from statistics import median
from typing import Any

from origins import at_commit, origin
from speed_tables import RESULTS, load, microseconds, number

OPERATIONS = {
    "encrypt, owner, djn": "encrypt, key owner",
    "encrypt, public, djn": "encrypt, public key",
    "add, in a long sum": "add, in a long sum",
    "add, element-wise": "add, element-wise",
    "decrypt": "decrypt",
    "from_bytes, checked": "read and check",
}
SCHEMES = {"paillier": "Paillier", "ou": "Okamoto-Uchiyama"}


def by_path_lines(results: dict[str, Any]) -> list[str]:
    """Microseconds of every operation by the first path and by the last, and their ratio."""
    first, *_, last = results["paths"]
    times = {
        (path, operation["scheme"], operation["name"]): microseconds(operation)
        for path in (first, last)
        for operation in results["paths"][path]
    }
    heads = " | ".join(f"{SCHEMES[scheme]}, {first} | {last} | " for scheme in SCHEMES)
    lines = [f"| {results['settings']['bits']}-bit keys, one thread | {heads} |", "|---|" + "---:|" * 6]
    for name, title in OPERATIONS.items():
        cells = []
        for scheme in SCHEMES:
            old, new = times[first, scheme, name], times[last, scheme, name]
            cells += [number(old), number(new), f"**{old / new:.2f}x**"]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return lines


def paths_section(folder: Path = RESULTS) -> str:
    """Operations on ciphertexts, by one kernel and by another."""
    small, large = load("paths_2048.json", folder), load("paths_3072.json", folder)
    head = (
        "Microseconds of processor time per operation, medians of "
        f"{small['settings']['repeats']}, batches of {small['settings']['count']:,}, the paths in turn in the same run."
    )
    made = f"{origin('paths_2048.json', small)} The other by `--bits 3072`{at_commit(large['machine'])}."
    return "\n\n".join([head, "\n".join(by_path_lines(small)), "\n".join(by_path_lines(large)), made])


def training_paths_section(folder: Path = RESULTS) -> str:
    """Encrypted training by the first path and by the last: time of a tree on the clock and of the processor."""
    results = load("train_paths.json", folder)
    settings, measured = results["settings"], results["paths"]
    first, *_, last = settings["paths"]
    times: dict[str, dict[str, tuple[float, float]]] = {}
    for name in dict.fromkeys(line["name"] for line in measured):
        same = [line for line in measured if line["name"] == name]
        config, _, path = name.partition(", ")
        times.setdefault(config, {})[path] = (
            median(line["seconds"] for line in same),
            median(line["cpu_seconds"] for line in same),
        )
    lines = [
        f"| `batch_he`, per tree | seconds, {first} | {last} | | processor seconds, {first} | {last} | |",
        "|---|" + "---:|" * 6,
    ]
    for config, by_path in times.items():
        pairs = zip(by_path[first], by_path[last], strict=True)
        cells = [cell for old, new in pairs for cell in (f"{old:.2f}", f"{new:.2f}", f"**{new / old:.2f}**")]
        lines.append(f"| {config} | " + " | ".join(cells) + " |")
    head = (
        f"{measured[0]['result']['source']}; depth {settings['depth']}, {settings['bins']} bins, "
        f"{settings['key_bits']}-bit keys, {settings['threads']} threads, both parties in one process; medians of "
        f"{len(measured) // len(times) // len(settings['paths'])} trainings by each path, in turn; bold: what part of "
        f"the time of {first} the path {last} takes."
    )
    return "\n\n".join([head, "\n".join(lines), origin("train_paths.json", results)])
