"""Encrypt, add, scale and decrypt: every peer under a key of its own of the same size, in turns.

All peers do an operation once, then all of them the next one, and all of it is repeated, so that a busy moment of the
machine hits everybody. What an operation gives is decrypted and compared before it is measured.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from peers.child import Child, PeerFailedError
from peers.inputs import Sizes

Say = Callable[[str], None]


def measure(
    folder: Path, schemes: dict[str, list[str]], bits: int, sizes: Sizes, repeats: int, say: Say
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """(measurements, peer -> why it failed). `schemes`: peer -> its schemes, for those that can be measured.

    A measurement has peer, scheme, bits, operation, count, wall and cpu (seconds of a batch, per repeat), microseconds
    (processor time of one operation, the median) and `wrong`, empty unless the answer was wrong: then nothing is timed.
    """
    measured: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    with ExitStack() as stack:
        lines: list[tuple[Child, dict[str, Any]]] = []
        for name, known in schemes.items():
            for scheme in known:
                if name in failed:
                    break
                say(f"{bits} bits: {name}, {scheme}: key and check")
                child = stack.enter_context(Child(folder, name))
                try:
                    answers = child.ask("prepare", scheme=scheme, bits=bits, sizes=asdict(sizes))["operations"]
                except PeerFailedError as failure:
                    failed[name] = str(failure)
                    break
                for operation, answer in answers.items():
                    line = {"peer": name, "scheme": scheme, "bits": bits, "operation": operation}
                    lines.append((child, {**line, **answer, "wall": [], "cpu": []}))
        # Of all peers the same operation one after the other.
        order = list(dict.fromkeys(line["operation"] for _, line in lines))
        lines.sort(key=lambda entry: order.index(entry[1]["operation"]))
        for repeat in range(repeats):
            say(f"{bits} bits: repeat {repeat + 1} of {repeats}")
            for child, line in lines:
                if not line["wrong"] and child.name not in failed:
                    _once(child, line, failed)
        measured = [line for _, line in lines if line["peer"] not in failed]
    for line in measured:
        line["microseconds"] = 1e6 * median(line["cpu"]) / line["count"] if line["cpu"] else None
    return measured, failed


def _once(child: Child, line: dict[str, Any], failed: dict[str, str]) -> None:
    try:
        seconds = child.ask("measure", operation=line["operation"])
    except PeerFailedError as failure:
        failed[child.name] = str(failure)
        return
    line["wall"].append(seconds["wall"])
    line["cpu"].append(seconds["cpu"])
