"""Table III and figures 5 to 7 of papers/003 (FEDXGB): what a sum over many users costs the server and a user.

    python bench/papers/fedxgb_aggregation.py [--quick] [--parts table figures memory] [--out docs/results]

writes fedxgb_aggregation.json, .md and .png to the folder `out`; parts that are not asked for stay as they are there.

    table     one call of every aggregator, 500 users and 500 entries, N of the paper's 512 bits (which protect nothing)
              and of 2048; `masks` has no N
    figures   `bcp` at the paper's size of N and `masks`, against users (up to 1,000), entries and the share of users
              that drop out
    memory    a call of 1,000 users and 1,000 entries, `masks` and `bcp`: peak memory of the process that is all of them

As in the paper a plaintext holds one entry, except where "packed" is said, and set-up is not counted. Keys for single
calls (stages `join` and `share`) are: here they are fresh for every call. aggregation_run.py says how time is taken.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import common
import numpy as np
from aggregation_bench import ROWS, Bench, Results, Row
from aggregation_run import Call

from vfxgb.crypto.sizes import MIN_BITS
from vfxgb.secagg import aggregator_names

NAME = "fedxgb_aggregation"
MINUTES = (1.0, 40.0)
PARTS = ("table", "figures", "memory")
FIGURE_ROWS = ("bcp", "masks")
# Server s, user s, server MB, user MB, of table III.
PAPER = {
    "bcp": (557.97, 3.03, 30.57, 0.12),
    "ibmhom, printed": (596.03, 4.67, 67.13, 0.18),
    "fpe": (952.07, 2.55, 30.58, 0.08),
}
PAPER_BITS, PAPER_SIZE = 512, (500, 500)
MOST_BCP_SECONDS, MOST_MASKS_SECONDS, MOST_BYTES = 60.0, 3.0, 4 << 30
ABOUT = (
    "Keys of 512 bits are the paper's and protect nothing. `bcp` is the paper's scheme, corrected; `ibmhom, printed` "
    "and `fpe` are what it compares itself with, `ibmhom, reduced` combines partial decryptions with shorter "
    "exponents. One entry in a plaintext, except for `bcp, packed`. A user has one thread; one call, without set-up."
)
HEAD = [
    *("", "server s", "user s", "of it for keys", "server MB in", "server MB out", "user MB out", "user MB in"),
    *("paper: server s", "user s", "server MB", "user MB"),
]


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
    """Aggregator -> its results."""
    return {label: figures_of(bench, args, rows[label]) for label in FIGURE_ROWS if label in rows}


def figures_of(bench: Bench, args: argparse.Namespace, row: Row) -> dict[str, Any]:
    """Results against users (figures 5, 7) and entries (figures 6, 7); those of the fixed size are in both."""
    bits = args.bits[0] if row.keyed else None
    by_users: Results = []
    for users in sorted({*args.figure_users, args.users}):
        calls = [Call(args.entries, dropout) for dropout in args.dropouts]
        fixed = len(calls)
        if users == args.users:
            more = [entries for entries in args.figure_entries if entries != args.entries]
            calls += [Call(entries, dropout) for entries in more for dropout in args.dropouts]
        results = bench.ask(row, bits or 0, users, calls)
        by_users += results[:fixed]
        if users == args.users:
            by_entries = list(results)
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
    costs = {}
    for label in ("masks", "bcp, packed"):
        if label in rows:
            call = [Call(args.memory_entries)]
            costs[label] = bench.ask(rows[label], args.bits[-1], args.memory_users, call, warm_up=False)[0]
    return costs


def goals(document: dict[str, Any]) -> dict[str, bool]:
    """What was to be shown, as far as it was measured."""
    reached = {}
    for bits, rows in document.get("table", {}).get("results", {}).items():
        seconds = {label: result["server seconds"] for label, result in rows.items()}
        if "masks" in seconds:
            reached[f"{bits} bits: server of masks within {MOST_MASKS_SECONDS:g} s"] = (
                seconds["masks"] <= MOST_MASKS_SECONDS
            )
        if "bcp" in seconds and int(bits) == 512:
            reached[f"{bits} bits: server of bcp within {MOST_BCP_SECONDS:g} s"] = seconds["bcp"] <= MOST_BCP_SECONDS
        if {"bcp", "ibmhom, printed"} <= set(seconds):
            reached[f"{bits} bits: server of bcp below ibmhom's as printed"] = (
                seconds["bcp"] < seconds["ibmhom, printed"]
            )
    for label, result in document.get("memory", {}).get("results", {}).items():
        what = f"{label}: {result['users']:,} users and {result['entries']:,} entries below 4 GiB"
        reached[what] = result["peak bytes"] < MOST_BYTES
    return reached


def report(run: common.Run, document: dict[str, Any]) -> None:
    """Tables, plot and findings of the parts there are."""
    for part in PARTS:
        if part in document:
            machine, settings = document[part]["machine"], document[part]["settings"]
            WRITERS[part](run, document[part]["results"])
            run.text(
                f"{machine['processor']}, {machine['cores']} cores, load {machine['load average']} before, commit "
                f"{document[part]['commit']}, {settings['repetitions']} repetition(s), "
                f"{document[part]['seconds']:.0f} s in all."
            )
    run.heading("What was to be shown")
    run.text("\n".join(f"- {what}: {'yes' if met else '**no**'}" for what, met in document["goals"].items()))
    if "table" in document:
        conclude_table(run, document["table"]["results"])
    if "figures" in document:
        for label, figures in document["figures"]["results"].items():
            conclude_figures(run, label, figures)


def write_table(run: common.Run, by_bits: dict[str, Any]) -> None:
    for bits, rows in by_bits.items():
        size = next(iter(rows.values()))
        lines = []
        for label, result in rows.items():
            cells = [label, f"{result['server seconds']:.2f}", f"{result['user seconds']:.3f}"]
            cells += [f"{result['user seconds of keys']:.3f}"]
            bytes_of = ("server received", "server sent", "user sent", "user received")
            cells += [f"{result[key] / 1e6:.2f}" for key in bytes_of]
            known = label in PAPER and is_papers(result, bits)
            lines.append(cells + ([f"{value:.2f}" for value in PAPER[label]] if known else [""] * 4))
        run.table(f"Table III: {size['users']} users, {size['entries']} entries, {bits} bits", HEAD, lines)


def is_papers(result: dict[str, Any], bits: str) -> bool:
    """Whether a result has the size of the paper's table."""
    return int(bits) == PAPER_BITS and (result["users"], result["entries"]) == PAPER_SIZE


def write_figures(run: common.Run, by_label: dict[str, Any]) -> None:
    for label, figures in by_label.items():
        write_figures_of(run, label, figures)


def write_figures_of(run: common.Run, label: str, figures: dict[str, Any]) -> None:
    points = {
        (result["users"], result["entries"], result["dropout"]): result
        for result in figures["users"] + figures["entries"]
    }
    lines = []
    for (users, entries, dropout), result in sorted(points.items()):
        cells = [str(users), str(entries), f"{dropout:.0%}", f"{result['server seconds']:.2f}"]
        cells += [f"{result['server received'] / 1e6:.2f}", f"{result['user seconds']:.3f}"]
        lines.append([*cells, f"{result['user sent'] / 1e6:.3f}", f"{result['user memory'] / 1e6:.2f}"])
    head = ["users", "entries", "dropped", "server s", "server MB in", "user s", "user MB out", "user memory MB"]
    bits = f", {figures['bits']} bits" if figures["bits"] else ""
    run.table(f"Figures 5 to 7: `{label}`{bits}", head, lines, left=0)
    growth = ["Straight lines through what a user spends without dropouts:", ""]
    for size, fits in figures["growth"].items():
        time_fit, memory_fit = fits["user seconds"], fits["user memory"]
        growth.append(
            f"- against {size}: {1e6 * time_fit['slope']:.1f} µs and {memory_fit['slope'] / 1e3:.2f} kB for each more; "
            f"the worst point is {time_fit['worst']:.0%} and {memory_fit['worst']:.0%} off"
        )
    run.text("\n".join(growth))
    plot(run, label, figures)


def write_memory(run: common.Run, costs: dict[str, Any]) -> None:
    lines = []
    for label, result in costs.items():
        cells = [label, f"{result['users']:,}", f"{result['entries']:,}", f"{result['peak bytes'] / 1e6:,.0f}"]
        cells += [f"{result[key]:.1f}" for key in ("wall seconds", "server seconds")]
        lines.append([*cells, f"{result['user memory'] / 1e6:.2f}"])
    head = ["", "users", "entries", "peak MB", "wall s", "server s", "a user's MB"]
    run.table("Memory: all users and the server in one process", head, lines)


def plot(run: common.Run, label: str, figures: dict[str, Any]) -> None:
    panels = (
        ("server seconds", 1, "server, s", "5a", "6a"),
        ("server received", 1e-6, "server, MB in", "5b", "6b"),
        ("user seconds", 1e3, "user, ms", "7a", "7a"),
        ("user sent", 1e-6, "user, MB out", "7b", "7b"),
    )
    dropouts = sorted({result["dropout"] for result in figures["users"]})
    with run.plot(f"{NAME}_{label}", 2, 4, (3.7, 3.2)) as axes:
        for line, size in zip(axes, ("users", "entries"), strict=True):
            for axis, (key, scale, unit, *names) in zip(line, panels, strict=True):
                for place, dropout in enumerate(dropouts):
                    points = [result for result in figures[size] if result["dropout"] == dropout]
                    if not points or (dropout and key.startswith("user")):
                        continue
                    x, y = [point[size] for point in points], [scale * point[key] for point in points]
                    axis.plot(x, y, label=f"{dropout:.0%} dropped", **common.line_style(place))
                axis.set(xlabel=size, ylabel=unit, title=f"figure {names[size == 'entries']}")
                axis.set_ylim(0, 1.08 * axis.dataLim.y1)
        axes[0][0].legend(fontsize=7)


def conclude_table(run: common.Run, by_bits: dict[str, Any]) -> None:
    """What the paper concludes from table III, at its own size of N where that was measured."""
    bits = str(PAPER_BITS) if str(PAPER_BITS) in by_bits else next(iter(by_bits))
    rows = by_bits[bits]
    server = {label: result["server seconds"] for label, result in rows.items()}
    if {"bcp", "ibmhom, printed", "ibmhom, reduced"} <= set(rows):
        run.found(
            "The server is faster than IBMHOM's.",
            server["bcp"] < server["ibmhom, printed"],
            f"{server['bcp']:.2f} s against {server['ibmhom, printed']:.2f} s as printed, at {bits} bits. Most of the "
            "size of its exponents is a factor that all of them share; with that divided out it takes "
            f"{server['ibmhom, reduced']:.2f} s.",
        )
    if {"bcp", "fpe"} <= set(rows):
        user = {label: result["user seconds"] for label, result in rows.items()}
        run.found(
            "FPE's server is slower, its users are faster.",
            server["fpe"] > server["bcp"] and user["fpe"] < user["bcp"],
            f"Server {server['fpe']:.2f} s against {server['bcp']:.2f} s, user {user['fpe']:.3f} s against "
            f"{user['bcp']:.3f} s. A user of `bcp` also makes, shares and signs fresh keys for every sum, which the "
            "paper leaves out and which its protocol needs (E14, E16).",
        )
    if "bcp" in rows and is_papers(rows["bcp"], bits):
        run.found(
            f"The server needs {PAPER['bcp'][0]:.0f} s, a user {PAPER['bcp'][1]:.2f} s.",
            "less" if server["bcp"] < PAPER["bcp"][0] else "more",
            f"{server['bcp']:.2f} s and {rows['bcp']['user seconds']:.3f} s here, on another machine and with another "
            "library; keys of 512 bits protect nothing (E8).",
        )


def conclude_figures(run: common.Run, label: str, figures: dict[str, Any]) -> None:
    """What the paper concludes from figures 5 to 7."""
    least, most = (pick(d for d in {r["dropout"] for r in figures["users"]}) for pick in (min, max))
    largest = max(result["users"] for result in figures["users"])
    at = {result["dropout"]: result for result in figures["users"] if result["users"] == largest}
    seconds, received = ({d: at[d][key] for d in (least, most)} for key in ("server seconds", "server received"))
    words = [f"{seconds[d]:.2f} s and {received[d] / 1e6:.1f} MB with {d:.0%} dropped" for d in (least, most)]
    run.found(
        "Users that drop out cost the server time and hardly any traffic.",
        seconds[most] > seconds[least] and received[most] < 1.1 * received[least],
        f"`{label}`: {', '.join(words)}, of {largest} users.",
    )
    for size, fits in figures["growth"].items():
        worst = max(fit["worst"] for fit in fits.values())
        run.found(
            f"What a user spends grows in a straight line with {size}.",
            worst < 0.2,
            f"`{label}`: no point is more than {worst:.0%} off the line.",
        )


WRITERS = {"table": write_table, "figures": write_figures, "memory": write_memory}
MAKERS = {"table": table_part, "figures": figures_part, "memory": memory_part}


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = common.parser(__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--aggregators", nargs="+", choices=aggregator_names(), default=list(aggregator_names()))
    parser.add_argument("--users", type=int, default=500)
    parser.add_argument("--entries", type=int, default=500)
    parser.add_argument("--bits", type=int, nargs="+", default=[512, 2048], help="the figures take the first")
    parser.add_argument("--figure-users", type=int, nargs="+", default=[100, 200, 500, 1000])
    parser.add_argument("--figure-entries", type=int, nargs="+", default=[100, 500, 1000])
    parser.add_argument("--dropouts", type=float, nargs="+", default=[0.0, 0.1, 0.2, 0.3])
    parser.add_argument("--memory-users", type=int, default=1000)
    parser.add_argument("--memory-entries", type=int, default=1000)
    parser.add_argument("--repetitions", type=int, default=1)
    args = common.parse(parser, argv)
    if args.quick:
        args.users, args.entries, args.bits = 20, 30, [512, 2048]
        args.figure_users, args.figure_entries = [10, 20], [10, 30, 60]
        args.memory_users, args.memory_entries = 30, 60
    return args


def main(argv: Sequence[str] | None = None) -> int:
    args = arguments(argv)
    rows = {label: row for label, row in ROWS.items() if row.aggregator in args.aggregators}
    paper = "table III and figures 5 to 7 of FEDXGB (papers/003)"
    run = common.Run(NAME, "Sums over many users: time and bytes", paper, args, ABOUT)
    run.use("random vectors")
    run.set(users=args.users, entries=args.entries, bits=args.bits, dropouts=args.dropouts)
    before = common.read_document(args.out, NAME)
    # Parts of another commit may have another form, and a page is to be of one commit.
    same = before.get("quick", False) == args.quick
    parts = {p: before[p] for p in PARTS if same and before.get(p, {}).get("commit") == run.machine["commit"]}
    bench = Bench(args.threads, args.repetitions)
    settings = {key: value for key, value in vars(args).items() if key not in ("out", "parts")}
    # The table has one of the figures' points.
    for part in sorted(args.parts, key=("figures", "table", "memory").index):
        machine, start = common.facts(), time.perf_counter()
        results = MAKERS[part](bench, args, rows)
        seconds = time.perf_counter() - start
        commit = machine["commit"]
        parts[part] = {
            "machine": machine,
            "commit": commit,
            "settings": settings,
            "seconds": seconds,
            "results": results,
        }
        common.write_document(args.out, NAME, run.document({**parts, "goals": goals(parts)}))
    document = {**parts, "goals": goals(parts)}
    report(run, document)
    run.write(document)
    return int(not args.quick and not all(document["goals"].values()))


if __name__ == "__main__":
    sys.exit(common.guarded(main))
