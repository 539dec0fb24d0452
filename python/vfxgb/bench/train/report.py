"""`vfxgb bench train`: tables and the JSON of the measurements made by measure.py."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

import msgspec

from vfxgb.bench.lines import MEGA, Column, Columns, megabytes
from vfxgb.bench.train.job import XGBOOST
from vfxgb.bench.train.measure import BATCH, SINGLE, Measurement, TrainSettings
from vfxgb.protocols import protocol_by_name

COLUMNS = Columns(name_width=36, width=12)
# What the numbers should not exceed.
FLOOR_GOAL = 1.4
TRAFFIC_GOAL = 1.1
MEMORY_GOAL = 2.5
BATCH_GOAL = 0.55
OPERATIONS = ("encryptions", "additions", "packing", "rerandomisations", "decryptions")
PLAIN_SUMS = "row additions"
# What the JSON holds of each measurement beside memory, and what of it only runs with ciphertexts have.
REPORTED = (
    *("name", "seconds", "cpu_seconds", "floor", "loaded_floor", "operations", "costs", "sent", "received"),
    *("once_seconds", "once_bytes", "ciphertext_bytes", "gradients_bytes"),
    *("median_seconds", "median_cpu", "flights", "message_bytes", "step_cpu"),
)
PATH_TIMES = ("seconds", "cpu_seconds")
ENCRYPTED = ("floor", "loaded_floor", "ciphertext_bytes", "gradients_bytes")


def report_lines(settings: TrainSettings, parts: dict[str, list[Measurement]]) -> list[str]:
    """Everything that is printed after the machine."""
    lines: list[str] = []
    for part, measurements in parts.items():
        several = {"linear": "generated tables; ", "shapes": "generated tables; "}
        source = several.get(part, f"{measurements[0].result.source}; ")
        grown = "" if part == "shapes" else f"depth {settings.depth}, {settings.bins} bins, "
        sizes = f"{source}{grown}{settings.key_bits}-bit keys, {settings.threads} threads"
        head = f"{sizes}, two parties in one process"
        lines += [head, *PARTS[part](measurements), ""]
    return lines[:-1]


def _encrypted(cell: Callable[[Measurement], str]) -> Callable[[Measurement], str]:
    """The cell of a run with ciphertexts, empty for any other."""
    return lambda run: cell(run) if run.result.costs else ""


def _count(operation: str) -> Column:
    return operation, lambda run: f"{run.operations.get(operation, 0):,.0f}"


def _cost(operation: str) -> Column:
    return operation, lambda run: f"{1e6 * run.costs[operation]:,.2f}" if operation in run.costs else ""


def _saved(run: Measurement) -> str:
    additions = run.operations.get("additions")
    return f"{run.operations.get(PLAIN_SUMS, 0.0) / additions:.2f}x" if additions else ""


def _of_gradients(count: int | None, run: Measurement) -> str:
    """Bytes as a multiple of those of one ciphertext a row, where both are known."""
    return f"{count / run.gradients_bytes:.2f}" if run.result.costs and count is not None else ""


def _without_fixed(run: Measurement) -> int | None:
    return None if run.peak_bytes is None else run.peak_bytes - (run.result.fixed_bytes or 0)


SECONDS: Column = ("s a tree", lambda run: f"{run.seconds:.3f}")
CPU: Column = ("CPU", lambda run: f"{run.cpu_seconds:.3f}")
MEGABYTES: Column = ("MB", lambda run: f"{(run.sent + run.received) / MEGA:.2f}")
PEAK: Column = ("peak MB", lambda run: megabytes(run.peak_bytes))
TIMES: tuple[Column, ...] = (
    ("seconds", lambda run: f"{run.seconds:.3f}"),
    ("floor", _encrypted(lambda run: f"{run.floor:.3f}")),
    ("ratio", _encrypted(lambda run: f"{run.seconds / run.floor:.2f}")),
    ("busy floor", _encrypted(lambda run: f"{run.loaded_floor:.3f}")),
    ("ratio", _encrypted(lambda run: f"{run.seconds / run.loaded_floor:.2f}")),
    ("CPU", _encrypted(CPU[1])),
)
COUNTS: tuple[Column, ...] = (
    *map(_count, OPERATIONS[:2]),
    ("per feature", _count(PLAIN_SUMS)[1]),
    ("saved", _saved),
    *map(_count, OPERATIONS[2:]),
)
TRAFFIC: tuple[Column, ...] = (
    ("sent", lambda run: f"{run.sent / MEGA:.2f}"),
    ("received", lambda run: f"{run.received / MEGA:.2f}"),
    ("ciphertexts", _encrypted(lambda run: f"{run.ciphertext_bytes / MEGA:.2f}")),
    ("ratio", _encrypted(lambda run: f"{(run.sent + run.received) / run.ciphertext_bytes:.3f}")),
)
ONCE: tuple[Column, ...] = (
    ("seconds", lambda run: f"{run.once_seconds:.3f}"),
    ("MB", lambda run: f"{run.once_bytes / MEGA:.2f}"),
)
MEMORY: tuple[Column, ...] = (
    ("one tree", PEAK[1]),
    ("fixed", lambda run: megabytes(run.result.fixed_bytes)),
    ("with pool", lambda run: megabytes(run.peak_with_pool)),
    ("rows x ct", lambda run: megabytes(run.gradients_bytes) if _of_gradients(run.peak_bytes, run) else ""),
    ("ratio", lambda run: _of_gradients(run.peak_bytes, run)),
    ("less fixed", lambda run: _of_gradients(_without_fixed(run), run)),
)
LINEAR: tuple[Column, ...] = (
    SECONDS,
    ("us a row", lambda run: f"{1e6 * run.seconds / run.result.rows:.2f}"),
    ("us a cell", lambda run: f"{1e6 * run.seconds / (run.result.rows * run.result.features[1]):.2f}"),
    _count("additions"),
    ("MB", lambda run: f"{(run.sent + run.received - run.once_bytes) / MEGA:.2f}"),
    PEAK,
    ("set-up s", lambda run: f"{run.once_seconds:.3f}" if run.once_bytes else ""),
    ("set-up MB", lambda run: f"{run.once_bytes / MEGA:.2f}" if run.once_bytes else ""),
)


def _config_lines(measurements: Sequence[Measurement]) -> list[str]:
    encrypted = [run for run in measurements if run.result.costs]
    return [
        "per tree: what a longer training took beyond one of a single tree, over the trees it had more; without keys",
        "",
        *COLUMNS.table("seconds per tree", TIMES, measurements),
        f"floor: operations x cost of one on one thread / threads (goal: ratio at most {FLOOR_GOAL})",
        "busy floor: the same at the cost measured with all threads at work; CPU: processor time of all threads",
        "",
        *COLUMNS.table("operations per tree", COUNTS, encrypted),
        "per feature: additions if every row of a node to build were added once per feature",
        "saved: what joint buckets and node totals bring, marginals and left sums counted",
        "",
        *COLUMNS.table("microseconds each, one thread", [_cost(name) for name in OPERATIONS], encrypted),
        "",
        *COLUMNS.table("megabytes per tree", TRAFFIC, (run for run in measurements if run.job.protocol != XGBOOST)),
        f"ciphertexts: rows x ciphertext + packed sums (goal: ratio at most {TRAFFIC_GOAL})",
        "",
        *COLUMNS.table("once per training", ONCE, (run for run in measurements if run.once_seconds)),
        "keys, or the set-up of masks with its bytes in both directions",
        "",
        *COLUMNS.table("peak memory, megabytes", MEMORY, measurements),
        "of both parties together with the messages on their way, beyond the table; one tree: nothing large in it but",
        f"the passive party's ciphertexts (goal: ratio at most {MEMORY_GOAL}); fixed: the same with 1,000 rows,",
        "that is keys and tables; with pool: also the randomness that the active party makes ahead",
    ]


def _ablation_lines(measurements: Sequence[Measurement]) -> list[str]:
    base = batch = measurements[0]
    ratio: Column = ("x all on", lambda run: f"{run.seconds / base.seconds:.2f}")
    columns = (SECONDS, ratio, CPU, *map(_count, OPERATIONS), MEGABYTES)
    lines = ["", *COLUMNS.table("", columns, ())]
    for run in measurements:
        if run.name.endswith("all on"):
            base = run
        lines += COLUMNS.table("", columns, [run])[1:]
        if run.name.endswith("all off") and run.job.protocol == BATCH:
            batch = run
        if run.job.protocol == SINGLE:
            traffic = (batch.sent + batch.received) / (run.sent + run.received)
            lines.append(
                f"with all off {BATCH} takes {batch.seconds / run.seconds:.3f} of the time (processor time: "
                f"{batch.cpu_seconds / run.cpu_seconds:.3f}) and {traffic:.3f} of the bytes of {SINGLE} (goal: at "
                f"most {BATCH_GOAL})"
            )
    return lines


def _linear_lines(measurements: Sequence[Measurement]) -> list[str]:
    return [
        "the first tree, key generation and set-up left out and, where there is one, beside it",
        "",
        *COLUMNS.table("", LINEAR, measurements),
        "a cell: a row's value of one feature of the passive party",
    ]


def _protocol_lines(measurements: Sequence[Measurement]) -> list[str]:
    first = measurements[0]
    columns: tuple[Column, ...] = (
        ("s a tree", lambda run: f"{run.seconds:.4f}"),
        ("x first", lambda run: f"{run.seconds / first.seconds:.2f}"),
        ("CPU", lambda run: f"{run.cpu_seconds:.4f}"),
        ("x first", lambda run: f"{run.cpu_seconds / first.cpu_seconds:.2f}"),
        MEGABYTES,
        PEAK,
    )
    lines = ["", *COLUMNS.table("", columns, measurements)]
    for name in dict.fromkeys(run.job.protocol for run in measurements):
        spec = protocol_by_name(name)
        if spec.security == "broken":
            lines.append(f"{name} is broken and for research only; run with insecure=True. {spec.attacks[0]}")
        if "small_nodes" in spec.params.__struct_fields__:
            lines.append(f"{name} alone leaves nodes with too few rows to the active party: its trees can differ")
    return lines


def _path_lines(measurements: Sequence[Measurement]) -> list[str]:
    paths = list(dict.fromkeys(str(run.job.path) for run in measurements))
    names = list(dict.fromkeys(run.name for run in measurements))
    middle = {
        name: [median(getattr(run, kind) for run in measurements if run.name == name) for kind in PATH_TIMES]
        for name in names
    }
    lines = [f"medians of {len(measurements) // len(names)} trainings by each path, the paths in turn", ""]
    lines.append(COLUMNS.line("a tree", ["seconds", f"x {paths[0]}", "CPU", f"x {paths[0]}"]))
    for place, name in enumerate(names):
        first = middle[names[place - place % len(paths)]]
        cells = [(f"{time:.3f}", f"{time / base:.2f}") for time, base in zip(middle[name], first, strict=True)]
        lines.append(COLUMNS.line(name, [cell for pair in cells for cell in pair]))
    return [*lines, "CPU: processor seconds of both parties, all threads"]


SHAPES_COLUMNS = Columns(name_width=62, width=11)
SHAPES: tuple[Column, ...] = (
    ("median s", lambda run: _three(run.median_seconds)),
    ("median CPU", lambda run: _three(run.median_cpu)),
    MEGABYTES,
    ("flights", lambda run: "" if run.flights is None else f"{run.flights:.0f}"),
    ("set-up s", lambda run: f"{run.once_seconds:.2f}" if run.once_bytes else ""),
    ("set-up MB", lambda run: f"{run.once_bytes / MEGA:.1f}" if run.once_bytes else ""),
    ("as plain", lambda run: "" if run.result.twin is None else f"{run.result.twin.splits} splits"),
)


def _three(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.3f}"


def _shape_lines(measurements: Sequence[Measurement]) -> list[str]:
    trees = max(run.job.extra for run in measurements) - 1
    lines = [
        "",
        *SHAPES_COLUMNS.table("a tree", SHAPES, measurements),
        f"medians of the {trees} trees between the first and the last; CPU: processor time of both parties",
        "flights: messages that had to follow one upon the other, one each way at a time counted once",
        "as plain: splits of trees that were grown once more by plain from the same integers, and were the same",
    ]
    for run in measurements:
        lines += ["", f"{run.name}: processor milliseconds a tree, one thread a party"]
        lines += _shares({name: 1e3 * seconds for name, seconds in run.step_cpu.items()})
        if run.message_bytes:
            lines += ["kilobytes a tree, by type of message", *_shares(_kilobytes(run))]
    return lines


def _kilobytes(run: Measurement) -> dict[str, float]:
    return {name: count / 1e3 for name, count in run.message_bytes.items()}


def _shares(amounts: dict[str, float]) -> list[str]:
    """The largest first; what is below a hundredth of all is left out."""
    least = sum(amounts.values()) / 100
    shown = sorted((amount, name) for name, amount in amounts.items() if amount >= least)
    return [f"  {name:<40}{amount:>12,.1f}" for amount, name in reversed(shown)]


PARTS = {
    "shapes": _shape_lines,
    "configurations": _config_lines,
    "ablation": _ablation_lines,
    "linear": _linear_lines,
    "protocols": _protocol_lines,
    "paths": _path_lines,
}


def to_json(settings: TrainSettings, facts: dict[str, str], parts: dict[str, list[Measurement]]) -> dict[str, Any]:
    """All raw numbers, and what is reported of them per tree."""
    return {
        "machine": facts,
        "settings": asdict(settings),
        **{part: [_measurement_json(run) for run in measurements] for part, measurements in parts.items()},
    }


def _measurement_json(run: Measurement) -> dict[str, Any]:
    values = {name: getattr(run, name) for name in REPORTED}
    if not run.result.costs:
        values.update(dict.fromkeys(ENCRYPTED))
    return {
        **values,
        "fixed_bytes": run.result.fixed_bytes,
        "peak_bytes": run.peak_bytes,
        "peak_with_pool": run.peak_with_pool,
        "job": msgspec.to_builtins(run.job),
        "result": msgspec.to_builtins(run.result),
    }
