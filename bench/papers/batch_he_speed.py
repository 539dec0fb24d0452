"""Figures 4 to 6 of papers/004 (Batch HE): time of batched against single encryption, over keys, rows and trees.

    VFXGB_DATA=<folder> python bench/papers/batch_he_speed.py [--quick] [--trees 10] [--repeats 1] [--out docs/results]

writes batch_he_speed.json, .md and .png. "batch" is `batch_he`, g and h of a row in one ciphertext; "non-batch" is
`secureboost`, a ciphertext each. Both have Paillier keys and all of their optimisations; they run one right after the
other, both parties in one process.

    figure 4   default_credit, keys of 128 to 1024 bits as in the paper, and of 2048, the least that is safe
    figure 5   give_credit, 30,000 to 91,500 training rows
    figure 6   default_credit, 10 to 90 trees: one run of 90, and the time after 10, 30, ... of them

The paper shows wall time. Bars and ratios here are of processor time, of all threads of both parties, which other
programs on the machine lengthen less than wall time; that is in the tables, too. With --repeats everything is measured
that many times: tables and bars are means, and ratios are shown from the least to the largest. The paper has no key for
figures 5 and 6; 1024 bits is the default of FATE, which it used. Depth 3, learning rate 0.3, 32 bins: FATE's defaults.
"""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import common
from batch_he_data import PAPER_TRAIN_ROWS, split

from vfxgb import VFXGBClassifier
from vfxgb.bench.datasets import ACTIVE, Loaded
from vfxgb.bench.real_trees import assert_real_trees
from vfxgb.train.callbacks import TrainingCallback, TrainingState

NAME = "batch_he_speed"
MINUTES = (0.3, 5.0)
DEPTH, RATE, BINS = 3, 0.3, 32
KEY = 1024
KINDS = {"non-batch": "secureboost", "batch": "batch_he"}
TIMES = ("total CPU", "per tree CPU")
# What the paper says in words about the time with batching as a share of the time without; its bars have no numbers.
PAPER = {
    "4": "total below 75 %; per tree towards 50 % as keys grow",
    "5": "total below 70 %",
    "6": "less as trees become more",
    "all": "total 75 % to 55 %, per tree 60 % to 50 %; at best 48 minutes instead of 85",
}


@dataclass
class Clock(TrainingCallback):
    """Wall and processor time when the first round begins and after each round."""

    begin: tuple[float, float] = (0.0, 0.0)
    rounds: list[tuple[float, float]] = field(default_factory=list)

    def before_iteration(self, state: TrainingState) -> bool:
        if state.iteration == 0:
            self.begin = now()
        return False

    def after_iteration(self, state: TrainingState) -> bool:  # noqa: ARG002 - as in the base
        self.rounds.append(now())
        return False


@dataclass(frozen=True)
class Point:
    """One pair of bars of a figure: what it is called on the axis, its rows, key and trees."""

    label: str
    data: Loaded
    key_bits: int
    trees: int

    @property
    def cost(self) -> float:
        """About how it compares with other points, for the time left: a product grows with the square of the key."""
        return self.trees * len(self.data.y) * (self.key_bits + 256) ** 2


def now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def run_point(point: Point, threads: int, at: Sequence[int] = ()) -> list[dict[str, Any]]:
    """Per number of trees in `at` (default: all): kind -> seconds, total and per tree; megabytes sent per tree."""
    at = at or [point.trees]
    entries: list[dict[str, Any]] = [{"rows": len(point.data.y), "key_bits": point.key_bits, "trees": n} for n in at]
    for kind, protocol in KINDS.items():
        clock, start = Clock(), now()
        model = VFXGBClassifier(
            n_estimators=point.trees,
            max_depth=DEPTH,
            learning_rate=RATE,
            max_bin=BINS,
            parties=point.data.parties,
            active=ACTIVE,
            protocol=protocol,
            protocol_params={"key_bits": point.key_bits, "insecure": point.key_bits < 2048},
            n_jobs=threads,
        ).fit(point.data.X, point.data.y, verbose=False, callbacks=[clock])
        assert_real_trees(model.model_.active_share, f"{kind} with {point.key_bits} bits on {point.data.source}")
        (traffic,) = model.traffic_.values()
        for entry in entries:
            n = entry["trees"]
            wall, cpu = clock.rounds[n - 1]
            entry[kind] = {
                "total": wall - start[0],
                "total CPU": cpu - start[1],
                "per tree": (wall - clock.begin[0]) / n,
                "per tree CPU": (cpu - clock.begin[1]) / n,
                "MB per tree": (traffic.sent_bytes + traffic.received_bytes) / point.trees / 1e6,
            }
    return entries


def ratio(entry: dict[str, Any], what: str) -> float:
    return float(entry["batch"][what] / entry["non-batch"][what])


def mean_of(runs: Sequence[dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """The figures of several runs as one: means of all times and bytes, and the ratios of each run."""
    first = runs[0]
    figures: dict[str, dict[str, Any]] = {}
    for number, figure in first.items():
        points = {}
        for label, entry in figure["points"].items():
            same = [run[number]["points"][label] for run in runs]
            means = {
                k: {what: sum(repeated[k][what] for repeated in same) / len(same) for what in entry[k]} for k in KINDS
            }
            ratios = {what: [ratio(repeated, what) for repeated in same] for what in entry["batch"]}
            points[label] = {**entry, **means, "ratios": ratios}
        figures[number] = {"axis": figure["axis"], "points": points}
    return figures


def spread(entry: dict[str, Any], what: str) -> str:
    """The ratio, from the least to the largest of all runs."""
    low, high = f"{min(entry['ratios'][what]):.0%}", f"{max(entry['ratios'][what]):.0%}"
    return low if low == high else f"{low} to {high}"


def both(entry: dict[str, Any], what: str) -> list[str]:
    return [f"{entry[kind][what]:.2f}" for kind in KINDS]


def key_points(args: Any) -> list[Point]:
    """Figure 4."""
    data = split("default_credit", 2_000 if args.quick else None).train
    keys = (128, 512) if args.quick else (128, 256, 512, 1024, 2048)
    return [Point(f"{bits:,}", data, bits, args.trees) for bits in keys]


def size_points(args: Any) -> list[Point]:
    """Figure 5."""
    sizes = (2_000, 4_000) if args.quick else (30_000, 60_000, PAPER_TRAIN_ROWS["give_credit"])
    return [Point(f"{size:,}", split("give_credit", size).train, args.key_bits, args.trees) for size in sizes]


def tree_point(args: Any) -> tuple[Point, list[int]]:
    """Figure 6: the longest run, and where to look at it."""
    counts = [2, 4, 6] if args.quick else [10, 30, 50, 70, 90]
    data = split("default_credit", 2_000 if args.quick else None).train
    return Point("", data, args.key_bits, counts[-1]), counts


def measure(args: Any, use: Callable[[Loaded], None]) -> dict[str, dict[str, Any]]:
    """Figure -> what its axis shows, and label -> result."""
    keys, sizes = key_points(args), size_points(args)
    longest, counts = tree_point(args)
    points = [*keys, *sizes, longest]
    for point in points:
        use(point.data)
    steps = common.Steps(sum(point.cost for point in points))
    # The very first training of a process also loads and sets up what all of them share.
    run_point(Point("", keys[0].data.head(1_000), keys[0].key_bits, 1), args.threads)
    figures: dict[str, dict[str, Any]] = {"4": {"axis": "bits of the key"}, "5": {"axis": "training rows"}}
    for number, chosen in (("4", keys), ("5", sizes)):
        figures[number]["points"] = {}
        for point in chosen:
            steps.begin(f"figure {number}: {point.label} {figures[number]['axis']}", point.cost)
            (figures[number]["points"][point.label],) = run_point(point, args.threads)
    steps.begin(f"figure 6: {longest.trees} trees", longest.cost)
    measured = run_point(longest, args.threads, counts)
    points_of_trees = {str(n): entry for n, entry in zip(counts, measured, strict=True)}
    return {**figures, "6": {"axis": "trees", "points": points_of_trees}}


def report(run: common.Run, figures: dict[str, dict[str, Any]]) -> None:
    """Tables, plot and findings."""
    head = ["", "CPU s: non-batch", "batch", "ratio", "wall s: non-batch", "batch"]
    head += ["CPU s per tree: non-batch", "batch", "ratio", "MB per tree: non-batch", "batch"]
    for number, figure in figures.items():
        rows = []
        for label, entry in figure["points"].items():
            cells = [label, *both(entry, "total CPU"), spread(entry, "total CPU"), *both(entry, "total")]
            cells += [*both(entry, "per tree CPU"), spread(entry, "per tree CPU")]
            rows.append([*cells, *both(entry, "MB per tree")])
        first = next(iter(figure["points"].values()))
        fixed = {"4": ("rows", "trees"), "5": ("key_bits", "trees"), "6": ("rows", "key_bits")}[number]
        words = {"rows": "training rows", "trees": "trees", "key_bits": "bits"}
        said = ", ".join(f"{first[name]:,} {words[name]}" for name in fixed)
        run.table(f"Figure {number}: {figure['axis']} ({said})", head, rows)
        run.text(f"The paper: {PAPER[number]}.")
    plot(run, figures)
    conclude(run, figures)


def plot(run: common.Run, figures: dict[str, dict[str, Any]]) -> None:
    with run.plot(NAME, 2, 3) as axes:
        for column, (number, figure) in enumerate(figures.items()):
            for row, what in enumerate(TIMES):
                bars(axes[row][column], figure["points"], what)
                axes[row][column].set(
                    title=f"figure {number}{'ab'[row]}", xlabel=figure["axis"], ylabel=f"{what} seconds"
                )
        axes[0][0].legend(fontsize=8)


def bars(axis: Any, points: dict[str, Any], what: str) -> None:
    """Two bars per point, as in the paper, with the ratio above them."""
    places = range(len(points))
    for shift, (kind, hatch) in enumerate(zip(KINDS, ("", "//"), strict=True)):
        heights = [entry[kind][what] for entry in points.values()]
        x = [place + 0.4 * shift - 0.2 for place in places]
        axis.bar(x, heights, 0.4, label=kind, color=common.COLORS[shift], hatch=hatch, edgecolor="white")
    for place, entry in zip(places, points.values(), strict=True):
        top = max(entry[kind][what] for kind in KINDS)
        axis.text(place, 1.02 * top, f"{ratio(entry, what):.0%}", ha="center", va="bottom", fontsize=8)
    axis.set_xticks(list(places), list(points))
    axis.margins(y=0.12)


def trend(first: float, last: float) -> str:
    """Whether a share has become smaller by more than it moves from run to run."""
    return "yes" if last < first - 0.05 else "hardly" if last < first else "no"


def conclude(run: common.Run, figures: dict[str, dict[str, Any]]) -> None:
    def span(numbers: Sequence[str], what: str) -> tuple[float, float]:
        entries = [entry for number in numbers for entry in figures[number]["points"].values()]
        every = [value for entry in entries for value in entry["ratios"][what]]
        return min(every), max(every)

    low, high = span("456", "per tree CPU")
    run.found(
        "Building a tree takes 60 % to 50 % of the time.",
        high <= 0.65,
        f"{low:.0%} to {high:.0%} of the processor time here.",
    )
    low, high = span("456", "total CPU")
    run.found(
        "The whole training takes 75 % to 55 % of the time.",
        high <= 0.75,
        f"{low:.0%} to {high:.0%} of the processor time here. Total and per tree are close to each other, as nothing "
        "like the start of a job in FATE stands beside the trees: what is there besides is a key, and cut points.",
    )
    keys = list(figures["4"]["points"].values())
    first, last = ratio(keys[0], "per tree CPU"), ratio(keys[-1], "per tree CPU")
    run.found(
        "Batching saves more as keys grow.",
        trend(first, last),
        f"{first:.0%} of the processor time per tree at {keys[0]['key_bits']:,} bits, {last:.0%} at "
        f"{keys[-1]['key_bits']:,}.",
    )
    for number, claim in (("5", "rows"), ("6", "trees")):
        points = list(figures[number]["points"].values())
        first, last = ratio(points[0], "total CPU"), ratio(points[-1], "total CPU")
        run.found(
            f"Batching saves more with more {claim}.",
            trend(first, last),
            f"{first:.0%} of the processor time at {points[0][claim]:,}, {last:.0%} at {points[-1][claim]:,}.",
        )
    shares = [ratio(entry, "MB per tree") for figure in figures.values() for entry in figure["points"].values()]
    run.found(
        "Half the bytes.",
        max(shares) < 0.52,
        f"{min(shares):.1%} to {max(shares):.1%} of the bytes of single ciphertexts.",
    )
    slowest = max(
        (e for f in figures.values() for e in f["points"].values()), key=lambda e: e["non-batch"]["per tree CPU"]
    )
    seconds = slowest["non-batch"]["per tree CPU"]
    run.text(
        "The paper's longest training is said to take 85 minutes without batching; the slowest line here takes "
        f"{seconds:.1f} s of processor time per tree. Machines and code differ, and keys below 2048 bits protect "
        "nothing."
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = common.parser(__doc__)
    parser.add_argument("--trees", type=int, default=10, help="of figures 4 and 5; the paper has 50 (%(default)s)")
    parser.add_argument("--key-bits", type=int, default=KEY, help="of figures 5 and 6 (%(default)s)")
    parser.add_argument("--repeats", type=int, default=1, help="how often everything is measured (%(default)s)")
    args = common.parse(parser, argv)
    if args.quick:
        args.trees, args.key_bits = 2, 512
    about = (
        "Time of a training with g and h of a row in one ciphertext (`batch_he`) against a ciphertext each "
        "(`secureboost`), both with Paillier keys, in turn, both parties in one process. Time per tree does not depend "
        "on the number of trees (figure 6), so that figures 4 and 5 have fewer than the paper's 50. Ratios and bars "
        "are of processor time of all threads of both parties, which other programs on the machine lengthen less than "
        "wall time. Columns are split between the parties as FATE splits them, which for default_credit is not "
        "the paper's 5 and 20."
    )
    run = common.Run(
        NAME, "Batched against single encryption: time", "figures 4 to 6 of Batch HE (papers/004)", args, about
    )
    run.set(depth=DEPTH, learning_rate=RATE, bins=BINS, trees=args.trees, key_bits=args.key_bits, repeats=args.repeats)
    runs = [measure(args, run.use) for _ in range(args.repeats)]
    figures = mean_of(runs)
    report(run, figures)
    run.write({"figures": figures, "runs": runs})
    return 0


if __name__ == "__main__":
    sys.exit(common.guarded(main))
