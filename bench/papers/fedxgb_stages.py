"""Table II of papers/003 (FEDXGB): time and bytes of the stages that find one split, 500 users, nobody drops out.

    VFXGB_DATA=<folder> python bench/papers/fedxgb_stages.py [--quick] [--users 500] [--threads 2] [--out docs/results]

writes fedxgb_stages.json, .md and .png. The split is that of the root of the first tree on adult, whose rows are dealt
to the users at random. Its stages are the paper's:

    mask key sharing   keys for this sum, and their shares: `join` and `share`
    split finding      the users' sums, masked; who is there, signed; opening: `mask`, `sign`, `unmask`

As in the paper set-up is not counted. One call carries the sums of all candidates (E3), where the paper has one for
each candidate and sum. Sums that are opened are compared with those of the pooled rows, and have to be equal.
"""

import sys
from collections.abc import Sequence
from typing import Any

import common
import numpy as np
from aggregation_bench import ROWS, Bench
from aggregation_run import Call, UserRows

from vfxgb.bench.datasets import Loaded

NAME = "fedxgb_stages"
MINUTES = (0.3, 8.0)
BINS = 32
FRACTION_BITS = 30
# Row of ROWS, bits of N; `masks` has none.
CHOSEN = {"bcp, 512 bits": ("bcp", 512), "bcp, packed, 2048 bits": ("bcp, packed", 2048), "masks": ("masks", 0)}
STAGES = ("mask key sharing", "split finding", "total")
# User s, server s, user MB, server MB, as printed; None where the paper has no number.
PAPER: dict[str, tuple[float | None, ...]] = {
    "mask key sharing": (0.89, None, 0.06, None),
    "split finding": (1.22, 249.97, 26.86, 46.25),
    "total": (2.11, 249.97, 0.05, 13.57),
}
COSTS = ("user s", "server s", "user MB", "server MB")


def dealt(data: Loaded, users: int) -> UserRows:
    """Rows in bins at public cut points, with the gradients of the first round, as many to each user."""
    X = np.nan_to_num(data.X, nan=-1.0)
    wanted = np.linspace(0, 1, BINS + 1)[1:-1]
    bins = np.stack([np.searchsorted(np.quantile(column, wanted), column, side="right") for column in X.T], axis=1)
    mean = float(np.mean(data.y))
    pairs = np.stack([mean - data.y, np.full(len(data.y), mean * (1 - mean))], axis=1)
    owner = np.random.default_rng(0).permutation(np.arange(len(data.y)) % users)
    return UserRows(bins, np.rint(pairs * 2**FRACTION_BITS).astype(np.int64), owner, BINS)


def stage_costs(result: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Stage -> cost -> value."""
    total = {
        "user s": result["user seconds"],
        "server s": result["server seconds"],
        "user MB": (result["user sent"] + result["user received"]) / 1e6,
        "server MB": (result["server sent"] + result["server received"]) / 1e6,
    }
    keys = {
        "user s": result["user seconds of keys"],
        "server s": result["server seconds of keys"],
        "user MB": result["user bytes of keys"] / 1e6,
        "server MB": result["server bytes of keys"] / 1e6,
    }
    finding = {cost: total[cost] - keys[cost] for cost in COSTS}
    return dict(zip(STAGES, (keys, finding, total), strict=True))


def report(run: common.Run, by_label: dict[str, dict[str, dict[str, float]]]) -> None:
    """Tables, plot and findings."""
    head = ["stage", *COSTS, *(f"paper: {cost}" for cost in COSTS)]
    for label, stages in by_label.items():
        printed = label == next(iter(CHOSEN)) and not run.quick
        rows = []
        for stage, costs in stages.items():
            paper = ["" if value is None else f"{value:.2f}" for value in PAPER[stage]] if printed else [""] * 4
            rows.append([stage, *(f"{costs[cost]:.3f}" for cost in COSTS), *paper])
        run.table(label, head, rows)
    with run.plot(NAME, 1, 4, (3.2, 3.2)) as axes:
        for axis, cost in zip(axes[0], COSTS, strict=True):
            base = np.zeros(len(by_label))
            for place, stage in enumerate(STAGES[:-1]):
                heights = np.array([stages[stage][cost] for stages in by_label.values()])
                color, hatch = common.COLORS[place], ("", "//")[place]
                axis.bar(
                    range(len(by_label)), heights, 0.6, base, label=stage, color=color, hatch=hatch, edgecolor="white"
                )
                base += heights
            axis.set_xticks(range(len(by_label)), [label.replace(", ", "\n") for label in by_label], fontsize=7)
            axis.set(title=cost)
        axes[0][0].legend(fontsize=7)
    conclude(run, by_label)


def conclude(run: common.Run, by_label: dict[str, dict[str, dict[str, float]]]) -> None:
    label, stages = next(iter(by_label.items()))
    finding, total = stages[STAGES[1]], stages[STAGES[2]]
    share = {cost: finding[cost] / total[cost] for cost in COSTS}
    run.found(
        "Most of the cost is split finding.",
        min(share["server s"], share["user s"]) > 0.5,
        f"With {label} it is {share['user s']:.0%} of a user's time, {share['server s']:.0%} of the server's, "
        f"{share['user MB']:.0%} of a user's bytes and {share['server MB']:.0%} of the server's.",
    )
    if not run.quick:
        paper = PAPER["total"]
        run.found(
            f"The server needs {paper[1]} s and a user {paper[0]} s to find a split.",
            "less" if total["server s"] < (paper[1] or 0) else "more",
            f"{total['server s']:.2f} s and {total['user s']:.3f} s here. How many candidates the paper's split has it "
            f"does not say; ours has {run.settings['entries']:,} entries in one call.",
        )
    run.found(
        "The totals of the table.",
        "no",
        "The paper's totals of communication are below the rows that they are totals of (E21); here they add up.",
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = common.parser(__doc__)
    parser.add_argument("--users", type=int, default=500)
    parser.add_argument("--rows", nargs="+", choices=list(CHOSEN), default=list(CHOSEN), help="lines to measure (all)")
    args = common.parse(parser, argv)
    if args.quick:
        args.users = 20
    about = (
        "What finding the split of the root costs the server and one user. `bcp` is the paper's scheme, corrected, "
        "with one entry in a plaintext at the paper's 512 bits, which protect nothing (E8), and packed at 2048; "
        "`masks` is the default here. Bytes are sent and received together; a user's time is the median of three that "
        "had one thread each. Sums were equal to those of the pooled rows."
    )
    run = common.Run(NAME, "Stages of a split over many users", "table II of FEDXGB (papers/003)", args, about)
    data = common.rows_of("adult", 2_000 if args.quick else None)
    rows = dealt(data, args.users)
    run.use(data)
    run.set(users=args.users, bins=BINS, entries=rows.entries)
    bench = Bench(args.threads, rows=rows, trace=False)
    results = {}
    for label in args.rows:
        row, bits = CHOSEN[label]
        (results[label],) = bench.ask(ROWS[row], bits, args.users, [Call(rows.entries)])
    by_label = {label: stage_costs(result) for label, result in results.items()}
    report(run, by_label)
    run.write({"stages": by_label, "results": results})
    return 0


if __name__ == "__main__":
    sys.exit(common.guarded(main))
