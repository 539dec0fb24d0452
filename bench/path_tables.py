"""The table of docs/speed.md that compares the kernels of big integers with each other, from docs/results.

update_readme.py writes it. All numbers are of processor time.
"""

from pathlib import Path
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
