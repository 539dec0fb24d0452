"""`vfxgb bench train`: tables and the JSON of the measurements made by measure.py."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from vfxgb.bench.lines import MEGA, Columns, megabytes
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


def report_lines(settings: TrainSettings, parts: dict[str, list[Measurement]]) -> list[str]:
    """Everything that is printed after the machine."""
    tables = {
        "configurations": _config_lines,
        "ablation": _ablation_lines,
        "linear": _linear_lines,
        "protocols": _protocol_lines,
    }
    lines: list[str] = []
    for part, measurements in parts.items():
        source = "generated tables" if part == "linear" else measurements[0].result.source
        head = (
            f"{source}; depth {settings.depth}, {settings.bins} bins, {settings.key_bits}-bit keys, "
            f"{settings.threads} threads, two parties in one process"
        )
        lines += [head, *tables[part](measurements), ""]
    return lines[:-1]


def _config_lines(measurements: Sequence[Measurement]) -> list[str]:
    encrypted = [run for run in measurements if run.result.costs]
    blocks = (
        _time_lines(measurements),
        _operation_lines(encrypted),
        _cost_lines(encrypted),
        _traffic_lines(measurements),
        _once_lines(measurements),
        _memory_lines(measurements),
    )
    lines = [
        "per tree: what a longer training took beyond one of a single tree, over the trees it had more; without keys"
    ]
    for block in blocks:
        lines += ["", *block]
    return lines


def _time_lines(measurements: Sequence[Measurement]) -> list[str]:
    lines = [COLUMNS.line("seconds per tree", ["seconds", "floor", "ratio", "busy floor", "ratio", "CPU"])]
    for run in measurements:
        cells = [f"{run.seconds:.3f}"]
        if run.result.costs:
            cells += [f"{run.floor:.3f}", f"{run.seconds / run.floor:.2f}"]
            cells += [f"{run.loaded_floor:.3f}", f"{run.seconds / run.loaded_floor:.2f}"]
            cells.append(f"{run.cpu_seconds:.3f}")
        lines.append(COLUMNS.line(run.name, cells))
    lines.append(f"floor: operations x cost of one on one thread / threads (goal: ratio at most {FLOOR_GOAL})")
    lines.append(
        "busy floor: the same at the cost measured with all threads at work; CPU: processor time of all threads"
    )
    return lines


def _operation_lines(measurements: Sequence[Measurement]) -> list[str]:
    lines = [COLUMNS.line("operations per tree", [*OPERATIONS[:2], "per feature", "saved", *OPERATIONS[2:]])]
    for run in measurements:
        counts = run.operations
        cells = [f"{counts.get(name, 0):,.0f}" for name in OPERATIONS]
        without = counts.get(PLAIN_SUMS, 0.0)
        saved = f"{without / counts['additions']:.2f}x" if counts.get("additions") else ""
        lines.append(COLUMNS.line(run.name, [*cells[:2], f"{without:,.0f}", saved, *cells[2:]]))
    lines.append("per feature: additions if every row of a node to build were added once per feature")
    lines.append("saved: what joint buckets and node totals bring, marginals and left sums counted")
    return lines


def _cost_lines(measurements: Sequence[Measurement]) -> list[str]:
    lines = [COLUMNS.line("microseconds each, one thread", OPERATIONS)]
    for run in measurements:
        cells = [f"{1e6 * run.costs[name]:,.2f}" if name in run.costs else "" for name in OPERATIONS]
        lines.append(COLUMNS.line(run.name, cells))
    return lines


def _traffic_lines(measurements: Sequence[Measurement]) -> list[str]:
    lines = [COLUMNS.line("megabytes per tree", ["sent", "received", "ciphertexts", "ratio"])]
    for run in measurements:
        if run.job.protocol == XGBOOST:
            continue
        cells = [f"{run.sent / MEGA:.2f}", f"{run.received / MEGA:.2f}"]
        if run.result.costs:
            ratio = (run.sent + run.received) / run.ciphertext_bytes
            cells += [f"{run.ciphertext_bytes / MEGA:.2f}", f"{ratio:.3f}"]
        lines.append(COLUMNS.line(run.name, cells))
    lines.append(f"ciphertexts: rows x ciphertext + packed sums (goal: ratio at most {TRAFFIC_GOAL})")
    return lines


def _once_lines(measurements: Sequence[Measurement]) -> list[str]:
    return [
        COLUMNS.line("once per training", ["seconds", "MB"]),
        *(
            COLUMNS.line(run.name, [f"{run.once_seconds:.3f}", f"{run.once_bytes / MEGA:.2f}"])
            for run in measurements
            if run.once_seconds
        ),
        "keys, or the set-up of masks with its bytes in both directions",
    ]


def _memory_lines(measurements: Sequence[Measurement]) -> list[str]:
    lines = [
        COLUMNS.line("peak memory, megabytes", ["one tree", "fixed", "with pool", "rows x ct", "ratio", "less fixed"])
    ]
    for run in measurements:
        fixed = run.result.fixed_bytes
        cells = [megabytes(run.peak_bytes), megabytes(fixed), megabytes(run.peak_with_pool)]
        if run.result.costs and run.peak_bytes is not None:
            cells += [megabytes(run.gradients_bytes), f"{run.peak_bytes / run.gradients_bytes:.2f}"]
            cells.append(f"{(run.peak_bytes - (fixed or 0)) / run.gradients_bytes:.2f}")
        lines.append(COLUMNS.line(run.name, cells))
    return [
        *lines,
        "of both parties together with the messages on their way, beyond the table; one tree: nothing large in it but",
        f"the passive party's ciphertexts (goal: ratio at most {MEMORY_GOAL}); fixed: the same with 1,000 rows,",
        "that is keys and tables; with pool: also the randomness that the active party makes ahead",
    ]


def _ablation_lines(measurements: Sequence[Measurement]) -> list[str]:
    lines = ["", COLUMNS.line("", ["s a tree", "x all on", "CPU", *OPERATIONS, "MB"])]
    base = measurements[0]
    batch = measurements[0]
    for run in measurements:
        if run.name.endswith("all on"):
            base = run
        cells = [f"{run.seconds:.3f}", f"{run.seconds / base.seconds:.2f}", f"{run.cpu_seconds:.3f}"]
        cells += [f"{run.operations.get(name, 0):,.0f}" for name in OPERATIONS]
        lines.append(COLUMNS.line(run.name, [*cells, f"{(run.sent + run.received) / MEGA:.2f}"]))
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
    lines = [
        "the first tree, key generation and set-up left out and, where there is one, beside it",
        "",
        COLUMNS.line("", ["s a tree", "us a row", "us a cell", "additions", "MB", "peak MB", "set-up s", "set-up MB"]),
    ]
    for run in measurements:
        rows = run.result.rows
        cells = rows * run.result.features[1]
        lines.append(
            COLUMNS.line(
                run.name,
                [
                    f"{run.seconds:.3f}",
                    f"{1e6 * run.seconds / rows:.2f}",
                    f"{1e6 * run.seconds / cells:.2f}",
                    f"{run.operations.get('additions', 0):,.0f}",
                    f"{(run.sent + run.received - run.once_bytes) / MEGA:.2f}",
                    megabytes(run.peak_bytes),
                    *([f"{run.once_seconds:.3f}", f"{run.once_bytes / MEGA:.2f}"] if run.once_bytes else []),
                ],
            )
        )
    lines.append("a cell: a row's value of one feature of the passive party")
    return lines


def _protocol_lines(measurements: Sequence[Measurement]) -> list[str]:
    first = measurements[0]
    lines = ["", COLUMNS.line("", ["s a tree", "x first", "CPU", "x first", "MB", "peak MB"])]
    for run in measurements:
        cells = [f"{run.seconds:.4f}", f"{run.seconds / first.seconds:.2f}"]
        cells += [f"{run.cpu_seconds:.4f}", f"{run.cpu_seconds / first.cpu_seconds:.2f}"]
        cells += [f"{(run.sent + run.received) / MEGA:.2f}", megabytes(run.peak_bytes)]
        lines.append(COLUMNS.line(run.name, cells))
    for name in dict.fromkeys(run.job.protocol for run in measurements):
        spec = protocol_by_name(name)
        if spec.security == "broken":
            lines.append(f"{name} is broken and for research only; run with insecure=True. {spec.attacks[0]}")
        if "small_nodes" in spec.params.__struct_fields__:
            lines.append(f"{name} alone leaves nodes with too few rows to the active party: its trees can differ")
    return lines


def to_json(settings: TrainSettings, facts: dict[str, str], parts: dict[str, list[Measurement]]) -> dict[str, Any]:
    """All raw numbers, and what is reported of them per tree."""
    return {
        "machine": facts,
        "settings": asdict(settings),
        **{part: [_measurement_json(run) for run in measurements] for part, measurements in parts.items()},
    }


def _measurement_json(run: Measurement) -> dict[str, Any]:
    encrypted = bool(run.result.costs)
    return {
        "name": run.name,
        "seconds": run.seconds,
        "cpu_seconds": run.cpu_seconds,
        "floor": run.floor if encrypted else None,
        "loaded_floor": run.loaded_floor if encrypted else None,
        "operations": run.operations,
        "costs": run.costs,
        "sent": run.sent,
        "received": run.received,
        "once_seconds": run.once_seconds,
        "once_bytes": run.once_bytes,
        "ciphertext_bytes": run.ciphertext_bytes if encrypted else None,
        "gradients_bytes": run.gradients_bytes if encrypted else None,
        "fixed_bytes": run.result.fixed_bytes,
        "peak_bytes": run.peak_bytes,
        "peak_with_pool": run.peak_with_pool,
        "job": msgspec.to_builtins(run.job),
        "result": msgspec.to_builtins(run.result),
    }
