"""Table III and figures 5 to 7 of papers/003 (FEDXGB): what a sum over many users costs the server and a user.

    python bench/papers/fedxgb_aggregation.py [--quick] [--parts table figures memory] [--out docs/results]

writes fedxgb_aggregation.json, .md and .png to the folder `out`; parts that are not asked for stay as they are there.

    table     one call of every aggregator, 500 users and 500 entries, N of the paper's 512 bits (which protect nothing)
              and of 2048; `masks` has no N
    figures   `bcp` at the paper's size against users, entries and the share of users that drop out
    memory    a call of 1,000 users and 1,000 entries, `masks` and `bcp`: peak memory of the process that is all of them

As in the paper a plaintext holds one entry, except where "packed" is said, and set-up is not counted. Keys for single
calls (stages `join` and `share`) are: here they are fresh for every call. aggregation_run.py says how time is taken.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from aggregation_run import Call, Job, measure

from vfxgb.cli.machine import machine_facts
from vfxgb.crypto import primes
from vfxgb.crypto.sizes import MIN_BITS
from vfxgb.secagg import aggregator_names

ROOT = Path(__file__).resolve().parent.parent.parent
NAME = "fedxgb_aggregation"
PARTS = ("table", "figures", "memory")
# Server s, user s, server MB, user MB, of table III.
PAPER = {
    "bcp": (557.97, 3.03, 30.57, 0.12),
    "ibmhom, printed": (596.03, 4.67, 67.13, 0.18),
    "fpe": (952.07, 2.55, 30.58, 0.08),
}
MOST_BCP_SECONDS, MOST_MASKS_SECONDS, MOST_BYTES = 60.0, 3.0, 4 << 30
ABOUT = (
    f"Written by bench/papers/{NAME}.py: table III and figures 5 to 7 of FEDXGB (papers/003). Keys of 512 bits are the "
    "paper's and protect nothing. `bcp` is the paper's scheme, corrected; `ibmhom, printed` and `fpe` are what it "
    "compares itself with, `ibmhom, reduced` combines partial decryptions with shorter exponents. One entry in a "
    "plaintext, except for `bcp, packed`. The server has two threads, a user one; one call, without set-up."
)
HEAD = (
    "| | server s | user s | of it for keys | server MB in | server MB out | user MB out | user MB in | "
    "paper: server s | user s | server MB | user MB |"
)
Results = list[dict[str, Any]]


@dataclass(frozen=True)
class Row:
    """A row of the table: an aggregator, its parameters, and whether they include a key."""

    aggregator: str
    params: dict[str, Any] = field(default_factory=dict)
    keyed: bool = True
    secure_only: bool = False


ROWS = {
    "bcp": Row("bcp", {"slots": 1}),
    "bcp, packed": Row("bcp", secure_only=True),
    "masks": Row("masks", keyed=False),
    "ibmhom, printed": Row("ibmhom", {"slots": 1, "coefficients": "printed"}),
    "ibmhom, reduced": Row("ibmhom", {"slots": 1}),
    "fpe": Row("fpe", {"slots": 1}),
}


class Bench:
    """Runs jobs, one process each, with one modulus for all jobs of a size."""

    def __init__(self, threads: int, repetitions: int) -> None:
        self._threads, self._repetitions = threads, repetitions
        self._primes: dict[int, tuple[int, int]] = {}
        self._known: dict[tuple[Any, ...], dict[str, Any]] = {}

    def ask(self, row: Row, bits: int, users: int, calls: Sequence[Call], warm_up: bool = True) -> Results:
        """One result per call, the median of all repetitions; what was asked before is not measured again."""
        keys = [(row.aggregator, str(row.params), bits * row.keyed, users, call) for call in calls]
        if any(key not in self._known for key in keys):
            results = self._measure(row, bits, users, calls, warm_up)
            self._known |= dict(zip(keys, results, strict=True))
        return [self._known[key] for key in keys]

    def _measure(self, row: Row, bits: int, users: int, calls: Sequence[Call], warm_up: bool) -> Results:
        params = dict(row.params)
        if row.keyed:
            params |= {"key_bits": bits, "insecure": bits < MIN_BITS}
        if row.aggregator == "fpe":
            params["prepared"] = 1 + self._repetitions * sum(call.entries for call in calls)
        sizes = ", ".join(f"{call.entries} entries and {call.dropout:.0%} dropped" for call in calls)
        print(f"{row.aggregator} {params}: {users} users, {sizes} ...", file=sys.stderr, flush=True)
        start = time.perf_counter()
        job = Job(
            row.aggregator,
            users,
            tuple(calls) * self._repetitions,
            params,
            self._factors(bits) if row.keyed else None,
            self._threads,
            warm_up=warm_up,
            trace=True,
        )
        found = measure(job)
        print(f"    {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        return [middle(found[place :: len(calls)]) for place in range(len(calls))]

    def _factors(self, bits: int) -> tuple[int, int]:
        if bits not in self._primes:
            self._primes[bits] = (primes.safe_prime(bits // 2), primes.safe_prime(bits // 2))
        return self._primes[bits]


def middle(results: Results) -> dict[str, Any]:
    """The result with the median of the server's seconds."""
    wanted = median(sorted(result["server seconds"] for result in results)[: (len(results) + 1) // 2 * 2 - 1])
    return min(results, key=lambda result: abs(result["server seconds"] - wanted))


def table_part(bench: Bench, args: argparse.Namespace, rows: dict[str, Row]) -> dict[str, Any]:
    """Bits -> row -> result."""
    return {
        str(bits): {
            label: bench.ask(row, bits, args.users, [Call(args.entries)])[0]
            for label, row in rows.items()
            if bits >= MIN_BITS or not row.secure_only
        }
        for bits in args.bits
    }


def figures_part(bench: Bench, args: argparse.Namespace, rows: dict[str, Row]) -> dict[str, Any]:
    """Results against users (figures 5, 7) and entries (figures 6, 7); those of the fixed size are in both."""
    row, bits = rows["bcp"], args.bits[0]
    by_users: Results = []
    ends = sorted({args.dropouts[0], args.dropouts[-1]})
    for users in sorted({*args.figure_users, args.users}):
        calls = [Call(args.entries, dropout) for dropout in args.dropouts]
        fixed = len(calls)
        if users == args.users:
            more = [entries for entries in args.figure_entries if entries != args.entries]
            calls += [Call(entries, dropout) for entries in more for dropout in ends]
        results = bench.ask(row, bits, users, calls)
        by_users += results[:fixed]
        if users == args.users:
            by_entries = [r for r in results if r["dropout"] in ends]
    by_entries.sort(key=lambda result: (result["entries"], result["dropout"]))
    growth = {
        "users": growth_of(by_users, "users"),
        "entries": growth_of(by_entries, "entries"),
    }
    return {"bits": bits, "users": by_users, "entries": by_entries, "growth": growth}


def growth_of(results: Results, size: str) -> dict[str, dict[str, float]]:
    """A straight line through what a user spends without dropouts, and how far the worst point is off it."""
    points = [result for result in results if result["dropout"] == 0]
    x = np.array([point[size] for point in points], dtype=float)
    lines = {}
    for cost in ("user seconds", "user memory"):
        y = np.array([point[cost] for point in points], dtype=float)
        slope, base = np.polyfit(x, y, 1) if len(points) > 1 else (0.0, y[0])
        lines[cost] = {"slope": slope, "base": base, "worst": float(np.max(np.abs(base + slope * x - y) / y))}
    return lines


def memory_part(bench: Bench, args: argparse.Namespace, rows: dict[str, Row]) -> dict[str, Any]:
    """`bcp` with a safe key and packed, as anybody would use it."""
    found = {}
    for label in ("masks", "bcp, packed"):
        if label in rows:
            call = [Call(args.memory_entries)]
            found[label] = bench.ask(rows[label], args.bits[-1], args.memory_users, call, warm_up=False)[0]
    return found


def goals(document: dict[str, Any]) -> dict[str, bool]:
    """What was to be shown, as far as it was measured."""
    found = {}
    for bits, rows in document.get("table", {}).get("results", {}).items():
        seconds = {label: result["server seconds"] for label, result in rows.items()}
        if "masks" in seconds:
            found[f"{bits} bits: server of masks within {MOST_MASKS_SECONDS:g} s"] = (
                seconds["masks"] <= MOST_MASKS_SECONDS
            )
        if "bcp" in seconds and int(bits) == 512:
            found[f"{bits} bits: server of bcp within {MOST_BCP_SECONDS:g} s"] = seconds["bcp"] <= MOST_BCP_SECONDS
        if {"bcp", "ibmhom, printed"} <= set(seconds):
            found[f"{bits} bits: server of bcp below ibmhom's as printed"] = seconds["bcp"] < seconds["ibmhom, printed"]
    for label, result in document.get("memory", {}).get("results", {}).items():
        what = f"{label}: {result['users']:,} users and {result['entries']:,} entries below 4 GiB"
        found[what] = result["peak bytes"] < MOST_BYTES
    return found


def markdown(document: dict[str, Any]) -> str:
    lines = [
        "# Sums over many users: time and bytes",
        "",
        ABOUT,
        "",
    ]
    for part in PARTS:
        if part in document:
            machine, settings = document[part]["machine"], document[part]["settings"]
            lines += WRITERS[part](document[part]["results"])
            about = (
                f"{machine['processor']}, {machine['cores']} cores, load {machine['load average']} before, commit "
                f"{document[part]['commit']}, {settings['repetitions']} repetition(s), "
                f"{document[part]['seconds']:.0f} s in all."
            )
            lines += ["", about, ""]
    lines += ["## What was to be shown", ""]
    lines += [f"- {what}: {'yes' if met else '**no**'}" for what, met in document["goals"].items()]
    return "\n".join(lines) + "\n"


def table_lines(found: dict[str, Any]) -> list[str]:
    lines = []
    for bits, rows in found.items():
        size = next(iter(rows.values()))
        lines += [
            f"## Table III: {size['users']} users, {size['entries']} entries, {bits} bits",
            "",
            HEAD,
            "|---|" + "---:|" * 11,
        ]
        for label, result in rows.items():
            cells = [f"{result['server seconds']:.2f}", f"{result['user seconds']:.3f}"]
            cells += [f"{result['user seconds of keys']:.3f}"]
            bytes_of = ("server received", "server sent", "user sent", "user received")
            cells += [f"{result[key] / 1e6:.2f}" for key in bytes_of]
            cells += [f"{value:.2f}" for value in PAPER[label]] if label in PAPER and int(bits) == 512 else [""] * 4
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
        lines.append("")
    return lines[:-1]


def figures_lines(found: dict[str, Any]) -> list[str]:
    lines = [
        f"## Figures 5 to 7: `bcp`, {found['bits']} bits",
        "",
        f"See [{NAME}.png]({NAME}.png).",
        "",
        "| users | entries | dropped | server s | server MB in | user s | user MB out | user memory MB |",
        "|---:|" + "---:|" * 7,
    ]
    points = {
        (result["users"], result["entries"], result["dropout"]): result for result in found["users"] + found["entries"]
    }
    for (users, entries, dropout), result in sorted(points.items()):
        cells = [str(users), str(entries), f"{dropout:.0%}", f"{result['server seconds']:.2f}"]
        cells += [f"{result['server received'] / 1e6:.2f}", f"{result['user seconds']:.3f}"]
        cells += [f"{result['user sent'] / 1e6:.3f}", f"{result['user memory'] / 1e6:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "Straight lines through what a user spends without dropouts:", ""]
    for size, fits in found["growth"].items():
        time_fit, memory_fit = fits["user seconds"], fits["user memory"]
        lines.append(
            f"- against {size}: {1e6 * time_fit['slope']:.1f} µs and {memory_fit['slope'] / 1e3:.2f} kB for each more; "
            f"the worst point is {time_fit['worst']:.0%} and {memory_fit['worst']:.0%} off"
        )
    return lines


def memory_lines(found: dict[str, Any]) -> list[str]:
    lines = [
        "## Memory: all users and the server in one process",
        "",
        "| | users | entries | peak MB | wall s | server s | a user's MB |",
        "|---|" + "---:|" * 6,
    ]
    for label, result in found.items():
        cells = [label, f"{result['users']:,}", f"{result['entries']:,}", f"{result['peak bytes'] / 1e6:,.0f}"]
        cells += [f"{result[key]:.1f}" for key in ("wall seconds", "server seconds")]
        lines.append("| " + " | ".join([*cells, f"{result['user memory'] / 1e6:.2f}"]) + " |")
    return lines


def plot(found: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    panels = (
        ("server seconds", 1, "server, s", "5a", "6a"),
        ("server received", 1e-6, "server, MB in", "5b", "6b"),
        ("user seconds", 1e3, "user, ms", "7a", "7a"),
        ("user sent", 1e-6, "user, MB out", "7b", "7b"),
    )
    color = {dropout: f"C{place}" for place, dropout in enumerate(sorted({r["dropout"] for r in found["users"]}))}
    figure, axes = plt.subplots(2, 4, figsize=(15, 6.4))
    for line, size in zip(axes, ("users", "entries"), strict=True):
        for axis, (key, scale, label, *names) in zip(line, panels, strict=True):
            for dropout in sorted({result["dropout"] for result in found[size]}):
                if dropout and key.startswith("user"):
                    continue
                points = [result for result in found[size] if result["dropout"] == dropout]
                x, y = [point[size] for point in points], [scale * point[key] for point in points]
                axis.plot(x, y, marker="o", markersize=3, color=color[dropout], label=f"{dropout:.0%} dropped")
            axis.set(xlabel=size, ylabel=label, title=f"figure {names[size == 'entries']}")
            axis.set_ylim(bottom=0)
    axes[0][0].legend(fontsize=7)
    figure.suptitle(f"bcp, {found['bits']} bits (insecure, as in the paper)")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close("all")


WRITERS = {"table": table_lines, "figures": figures_lines, "memory": memory_lines}
MAKERS = {"table": table_part, "figures": figures_part, "memory": memory_part}


def commit() -> str:
    """The commit measured, with a plus if files differ from it."""
    git = ["git", "-C", str(ROOT)]
    name = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    changes = subprocess.run([*git, "status", "--short", "-uno"], capture_output=True, text=True, check=False).stdout
    return (name.strip() or "unknown") + ("+" if changes.strip() else "")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--aggregators", nargs="+", choices=aggregator_names(), default=list(aggregator_names()))
    parser.add_argument("--users", type=int, default=500)
    parser.add_argument("--entries", type=int, default=500)
    parser.add_argument("--bits", type=int, nargs="+", default=[512, 2048], help="the figures take the first")
    parser.add_argument("--figure-users", type=int, nargs="+", default=[100, 200, 500])
    parser.add_argument("--figure-entries", type=int, nargs="+", default=[100, 500, 1000])
    parser.add_argument("--dropouts", type=float, nargs="+", default=[0.0, 0.1, 0.2, 0.3])
    parser.add_argument("--memory-users", type=int, default=1000)
    parser.add_argument("--memory-entries", type=int, default=1000)
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2, help="of the server")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/results")
    args = parser.parse_args()
    if args.quick:
        args.users, args.entries, args.bits = 20, 30, [512, 2048]
        args.figure_users, args.figure_entries = [10, 20], [10, 30, 60]
        args.memory_users, args.memory_entries = 30, 60
    return args


def main() -> int:
    args = arguments()
    rows = {label: row for label, row in ROWS.items() if row.aggregator in args.aggregators}
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / f"{NAME}.json"
    document: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    bench = Bench(args.threads, args.repetitions)
    settings = {key: value for key, value in vars(args).items() if key not in ("out", "parts")}
    # The table has one of the figures' points.
    for part in sorted(args.parts, key=("figures", "table", "memory").index):
        machine, start = machine_facts(), time.perf_counter()
        results = MAKERS[part](bench, args, rows)
        document[part] = {
            "machine": machine,
            "commit": commit(),
            "settings": settings,
            "seconds": time.perf_counter() - start,
            "results": results,
        }
        document["goals"] = goals(document)
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    text = markdown(document)
    print(text)
    (args.out / f"{NAME}.md").write_text(text, encoding="utf-8")
    if "figures" in document:
        plot(document["figures"]["results"], args.out / f"{NAME}.png")
    return int(not args.quick and not all(document["goals"].values()))


if __name__ == "__main__":
    sys.exit(main())
