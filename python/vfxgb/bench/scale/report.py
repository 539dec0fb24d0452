"""`vfxgb bench scale`: tables and the JSON of the measurements made by measure.py."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from vfxgb.bench.lines import MEGA, Columns, megabytes
from vfxgb.bench.scale.points import points
from vfxgb.bench.scale.results import Costs, Trained, read_costs, read_trained
from vfxgb.errors import FormatError

COLUMNS = Columns(name_width=34, width=11)
POINT_WIDTH = 72
# What the numbers should not exceed: wall time on a cluster, as a part of that in one process.
OVERHEAD_GOAL = 1.15


def read_document(json_file: str | None) -> dict[str, Any]:
    """What the file of results holds already; a path that cannot be written fails now, not after the measurement."""
    if json_file is None or json_file == "-":
        return {}
    path = Path(json_file)
    path.touch()
    text = path.read_text(encoding="utf-8")
    try:
        document: dict[str, Any] = json.loads(text) if text else {}
    except json.JSONDecodeError as error:
        raise FormatError(f"bench scale: {path.name} is not a file of results ({error}); name another one") from None
    return document


def report_lines(document: Mapping[str, Any], parts: Sequence[str]) -> list[str]:
    """Everything that is printed after the machine, of the parts just measured."""
    lines: list[str] = []
    costs = read_costs(document)
    if "costs" in parts and costs is not None:
        lines += [*_cost_lines(costs), ""]
    for part, show in (("shards", _shard_lines), ("memory", _memory_lines), ("out-of-core", _out_of_core_lines)):
        if part in parts:
            lines += [*show(read_trained(document, part)), ""]
    compared = points(document)
    if compared:
        heads = COLUMNS.line("", ["predicted", "measured", "ratio"])
        lines.append(f"{'the cost model':<{POINT_WIDTH}}{heads[COLUMNS.name_width :]}")
        for point in compared:
            cells = COLUMNS.line("", [f"{point.predicted:,.2f}", f"{point.measured:,.2f}", f"{point.ratio:.2f}"])
            name = f"{point.name}: {point.what}, {point.unit}"
            lines.append(f"{name:<{POINT_WIDTH}}{cells[COLUMNS.name_width :]}")
    return lines


def _cost_lines(costs: Costs) -> list[str]:
    names = ("encrypt", "encrypt_public", "read", "add", "pack", "rerandomise", "decrypt")
    lines = [COLUMNS.line("microseconds, one core", [*names, "wire bytes"])]
    for key in costs.keys:
        cells = [f"{1e6 * getattr(key, name):,.2f}" for name in names]
        lines.append(COLUMNS.line(f"{key.scheme}, {key.key_bits} bits", [*cells, str(key.wire_bytes)]))
    row = costs.rows
    lines.append(
        f"nanoseconds: bins {1e9 * row.bin_cell:.1f} and plain sums {1e9 * row.sum_cell:.1f} per row and feature, "
        f"gradients {1e9 * row.gradient:.1f} and splits {1e9 * row.split:.1f} per row"
    )
    return lines


def about(way: Trained) -> str:
    """Say what was trained."""
    protected = f"{way.scheme} with {way.key_bits}-bit keys" if way.protocol == "batch_he" else way.protocol
    return (
        f"{way.rows:,} rows x ({way.features[0]}+{way.features[1]}) features, depth {way.depth}, {way.bins} bins, "
        f"{protected}"
    )


def counted(way: Trained) -> str:
    """Say whether times include what is done once per training beside reading."""
    return "key generation left out" if way.protocol == "batch_he" else "set-up included"


def _shard_lines(ways: Sequence[Trained]) -> list[str]:
    base, cpu = typical_seconds(ways[0])
    lines = [
        f"{about(ways[0])}; from Parquet to the model, {counted(ways[0])}; medians",
        COLUMNS.line("", ["workers", "threads", "seconds", "ratio", "CPU s", "ratio", "worker MB"]),
    ]
    for way in ways:
        wall, used = typical_seconds(way)
        peak = max((max(run.worker_peak_bytes, default=0) for run in way.runs), default=0)
        cells = [str(way.workers or ""), str(way.threads), f"{wall:.2f}", f"{wall / base:.3f}", f"{used:.2f}"]
        lines.append(COLUMNS.line(way.name, [*cells, f"{used / cpu:.3f}", f"{peak / MEGA:.0f}" if peak else ""]))
    lines.append(f"all models are equal; goal: ratio of seconds at most {OVERHEAD_GOAL} where the key is not withheld")
    return lines


def typical_seconds(way: Trained) -> tuple[float, float]:
    """Medians of wall time and processor time."""
    return median(map(way.wall_seconds, way.runs)), median(map(way.cpu_seconds, way.runs))


def _memory_lines(ways: Sequence[Trained]) -> list[str]:
    lines = [
        f"the process that is not a worker, both parties in it; {about(ways[0]).split(' x ')[1]}",
        COLUMNS.line("", ["shards", "seconds", "start MB", "peak + MB", "worker MB"]),
    ]
    for way in ways:
        (run,) = way.runs
        peak = max(run.worker_peak_bytes, default=None)
        cells = [str(way.shards), f"{way.wall_seconds(run):.2f}"]
        cells += [megabytes(run.start_bytes), megabytes(run.peak_bytes)]
        lines.append(COLUMNS.line(way.name, [*cells, megabytes(peak)]))
    lines.append("start: resident with everything loaded and connected; peak: by how much it rose while training")
    return lines


def _out_of_core_lines(ways: Sequence[Trained]) -> list[str]:
    (way,) = ways
    (run,) = way.runs
    peak = None if run.peak_bytes is None or run.start_bytes is None else run.peak_bytes + run.start_bytes
    wall, cpu = typical_seconds(way)
    apart = f" ({run.key_seconds:.1f} s)" if run.key_seconds else ""
    lines = [
        f"{about(way)}; {way.name}, both parties in one process",
        f"{wall:.1f} s, {counted(way)}{apart}; processor time {cpu:.1f} s",
        f"peak memory {megabytes(peak)} MB, of which at most {megabytes(run.anonymous_bytes)} MB not pages of files",
        f"disk: {megabytes(run.read_bytes)} MB read, {megabytes(run.written_bytes)} MB written",
    ]
    for party, phases in run.phases.items():
        shown = [f"{phase} {seconds:.1f} s" for phase, seconds in phases.items() if seconds >= run.seconds / 1000]
        lines.append(f"{party}: {', '.join(shown)}")
    return lines
