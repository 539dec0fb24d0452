"""The table of docs/speed.md that compares the kernels of big integers with each other, from docs/results.

update_readme.py writes it. All numbers are of processor time.
"""

from pathlib import Path
from typing import Any

from origins import at_commit, origin
from speed_tables import RESULTS, from_file, load, microseconds, number

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


def training_line(folder: Path) -> list[str]:
    """Processor seconds of a tree by each path, as far as both were measured."""

    def line(new: dict[str, Any]) -> list[str]:
        old = load("train_avx2.json", folder)
        times = [results["configurations"][0]["cpu_seconds"] for results in (old, new)]
        rows = f"a tree of `batch_he` with {new['settings']['key_bits']}-bit Paillier keys on give_credit"
        said = (
            f"By `avx2`, {rows} takes both parties {times[0]:.2f} processor seconds, by `ifma` {times[1]:.2f}: "
            f"{times[1] / times[0]:.2f} times as long."
        )
        return [f"{said} {origin('train_ifma.json', new)}"]

    return from_file(folder / "train_ifma.json", line)


def paths_section(folder: Path = RESULTS) -> str:
    """Operations on ciphertexts and training, by one kernel and by another."""
    small, large = load("paths_2048.json", folder), load("paths_3072.json", folder)
    head = (
        "Microseconds of processor time per operation, medians of "
        f"{small['settings']['repeats']}, batches of {small['settings']['count']:,}, the paths in turn in the same run."
    )
    made = f"{origin('paths_2048.json', small)} The other by `--bits 3072`{at_commit(large['machine'])}."
    return "\n\n".join(
        [head, "\n".join(by_path_lines(small)), "\n".join(by_path_lines(large)), made, *training_line(folder)]
    )
