"""`vfxgb bench scale`: arguments, tables and the JSON file of the measurements made by bench_scale.py."""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from vfxgb.cli.bench_scale import PARTS, SCHEMES, ScaleSettings, measure, quick
from vfxgb.cli.exits import OK
from vfxgb.cli.machine import machine_facts
from vfxgb.cli.output import write_json
from vfxgb.cli.parser import Commands, positive_int
from vfxgb.cli.scale_points import cpu_seconds, points
from vfxgb.cli.scale_results import Costs, Trained, read_costs, read_trained
from vfxgb.errors import FormatError

NAME_WIDTH = 34
COLUMN_WIDTH = 11
POINT_WIDTH = 72
MEGA = 1e6
# What the numbers should not exceed: wall time on a cluster, as a part of that in one process.
OVERHEAD_GOAL = 1.15


def add(topics: Commands) -> None:
    """Add `scale` to the topics of `vfxgb bench`."""
    default = ScaleSettings()
    scale = topics.add_parser(
        "scale",
        help="rows in shards: on a Dask cluster of this machine, and in memory-mapped files",
        description="Trains with batch_he from Parquet files: with rows in one process and on a Dask cluster of this "
        "machine in several shards, in turn, and compares time and models; with growing tables, for the memory of the "
        "process that is not a worker; and, if asked, under a limit of memory. Needs vfxgb[dask] and pyarrow. With "
        "--json, parts that are not measured stay in the file as they are.",
    )
    scale.add_argument("--parts", type=part_list, default=default.parts, help=f"of {','.join(PARTS)} (the first three)")
    scale.add_argument("--out-of-core", action="store_true", help="that part too: many rows, some gigabytes on disk")
    scale.add_argument("--scheme", choices=SCHEMES, default=default.scheme, help="(%(default)s)")
    scale.add_argument("--key-bits", type=positive_int, default=default.key_bits, help="(%(default)s)")
    scale.add_argument("--rows", type=positive_int, default=default.rows, help="of part shards (%(default)s)")
    scale.add_argument("--features", type=positive_int, default=default.features, help="of both parties (%(default)s)")
    scale.add_argument("--trees", type=positive_int, default=default.trees, help="(%(default)s)")
    scale.add_argument("--depth", type=positive_int, default=default.depth, help="(%(default)s)")
    scale.add_argument("--bins", type=positive_int, default=default.bins, help="(%(default)s)")
    scale.add_argument("--shards", type=int_list, default=default.shards, help="comma-separated (1,2,4)")
    scale.add_argument("--repeats", type=positive_int, default=default.repeats, help="of part shards (%(default)s)")
    scale.add_argument(
        "--memory-rows", type=int_list, default=default.memory_rows, help="of part memory (250000,1000000,4000000)"
    )
    scale.add_argument(
        "--large-rows", type=positive_int, default=default.large_rows, help="of part out-of-core (%(default)s)"
    )
    scale.add_argument("--memory-limit", default=default.memory_limit, help="of part out-of-core (%(default)s)")
    scale.add_argument("--folder", type=Path, default=None, help="for the data, which stays there (a temporary one)")
    scale.add_argument("--quick", action="store_true", help="few rows, keys that protect nothing: a minute at most")
    scale.add_argument("--json", metavar="FILE", default=None, help="write all raw numbers to this file")
    scale.set_defaults(run=run)


def int_list(text: str) -> tuple[int, ...]:
    """A comma-separated list of positive integers, without repeats."""
    found = tuple(positive_int(part) for part in text.split(","))
    if len(set(found)) != len(found):
        raise argparse.ArgumentTypeError(f"found {text!r}, wanted every number once")
    return found


def part_list(text: str) -> tuple[str, ...]:
    """A comma-separated list of parts, without repeats."""
    found = tuple(text.split(","))
    if len(set(found)) != len(found) or not set(found) <= set(PARTS):
        raise argparse.ArgumentTypeError(f"found {text!r}, wanted some of {','.join(PARTS)}")
    return found


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, and write the JSON file if asked. Raises for mistakes and for models that differ."""
    given = {name: value for name, value in vars(arguments).items() if name in ScaleSettings.__dataclass_fields__}
    if arguments.out_of_core:
        given["parts"] = tuple(dict.fromkeys([*given["parts"], PARTS[-1]]))
    settings = quick(ScaleSettings(**given)) if arguments.quick else ScaleSettings(**given)
    document = _read(arguments.json)
    facts = machine_facts()
    for name, value in facts.items():
        print(f"{name:<14} {value}")
    print(flush=True)
    for part, found in measure(settings, arguments.folder, read_costs(document)).items():
        document[part] = {"machine": facts, "settings": asdict(settings), "found": msgspec.to_builtins(found)}
    print("\n".join(report_lines(document, settings.parts)))
    if arguments.json is not None:
        write_json(document, arguments.json)
    return OK


def _read(json_file: str | None) -> dict[str, Any]:
    """What the file holds already; a path that cannot be written fails now, not after the measurement."""
    if json_file is None or json_file == "-":
        return {}
    path = Path(json_file)
    path.touch()
    text = path.read_text(encoding="utf-8")
    try:
        found: dict[str, Any] = json.loads(text) if text else {}
    except json.JSONDecodeError as error:
        raise FormatError(f"bench scale: {path.name} is not a file of results ({error}); name another one") from None
    return found


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
        heads = _line("", ["predicted", "measured", "ratio"])
        lines.append(f"{'the cost model':<{POINT_WIDTH}}{heads[NAME_WIDTH:]}")
        for point in compared:
            cells = _line("", [f"{point.predicted:,.2f}", f"{point.measured:,.2f}", f"{point.ratio:.2f}"])
            name = f"{point.name}: {point.what}, {point.unit}"
            lines.append(f"{name:<{POINT_WIDTH}}{cells[NAME_WIDTH:]}")
    return lines


def _cost_lines(costs: Costs) -> list[str]:
    names = ("encrypt", "encrypt_public", "read", "add", "pack", "rerandomise", "decrypt")
    lines = [_line("microseconds, one core", [*names, "wire bytes"])]
    for key in costs.keys:
        cells = [f"{1e6 * getattr(key, name):,.2f}" for name in names]
        lines.append(_line(f"{key.scheme}, {key.key_bits} bits", [*cells, str(key.wire_bytes)]))
    row = costs.rows
    lines.append(
        f"nanoseconds: bins {1e9 * row.bin_cell:.1f} and plain sums {1e9 * row.sum_cell:.1f} per row and feature, "
        f"gradients {1e9 * row.gradient:.1f} and splits {1e9 * row.split:.1f} per row"
    )
    return lines


def about(way: Trained) -> str:
    """What was trained."""
    return (
        f"{way.rows:,} rows x ({way.features[0]}+{way.features[1]}) features, depth {way.depth}, {way.bins} bins, "
        f"{way.scheme} with {way.key_bits}-bit keys"
    )


def _shard_lines(ways: Sequence[Trained]) -> list[str]:
    base = median(run.seconds for run in ways[0].runs)
    cpu = median(cpu_seconds(run) for run in ways[0].runs)
    lines = [
        f"{about(ways[0])}; from Parquet to the model, without keys; medians",
        _line("", ["workers", "threads", "seconds", "ratio", "CPU s", "ratio", "worker MB"]),
    ]
    for way in ways:
        wall, used = median(run.seconds for run in way.runs), median(cpu_seconds(run) for run in way.runs)
        peak = max((max(run.worker_peak_bytes, default=0) for run in way.runs), default=0)
        cells = [str(way.workers or ""), str(way.threads), f"{wall:.2f}", f"{wall / base:.3f}", f"{used:.2f}"]
        lines.append(_line(way.name, [*cells, f"{used / cpu:.3f}", f"{peak / MEGA:.0f}" if peak else ""]))
    lines.append(f"all models are equal; goal: ratio of seconds at most {OVERHEAD_GOAL} where the key is not withheld")
    return lines


def _memory_lines(ways: Sequence[Trained]) -> list[str]:
    lines = [
        f"the process that is not a worker, both parties in it; {about(ways[0]).split(' x ')[1]}",
        _line("", ["shards", "seconds", "start MB", "peak + MB", "worker MB"]),
    ]
    for way in ways:
        (run,) = way.runs
        peak = max(run.worker_peak_bytes, default=None)
        cells = [str(way.shards), f"{run.seconds:.2f}", _megabytes(run.start_bytes), _megabytes(run.peak_bytes)]
        lines.append(_line(way.name, [*cells, _megabytes(peak)]))
    lines.append("start: resident with everything loaded and connected; peak: by how much it rose while training")
    return lines


def _out_of_core_lines(ways: Sequence[Trained]) -> list[str]:
    (way,) = ways
    (run,) = way.runs
    peak = None if run.peak_bytes is None or run.start_bytes is None else run.peak_bytes + run.start_bytes
    lines = [
        f"{about(way)}; {way.name}, both parties in one process",
        f"{run.seconds:.1f} s without the key ({run.key_seconds:.1f} s); processor time {cpu_seconds(run):.1f} s",
        f"peak memory {_megabytes(peak)} MB, of which at most {_megabytes(run.anonymous_bytes)} MB not pages of files",
        f"disk: {_megabytes(run.read_bytes)} MB read, {_megabytes(run.written_bytes)} MB written",
    ]
    for party, phases in run.phases.items():
        shown = [f"{phase} {seconds:.1f} s" for phase, seconds in phases.items() if seconds >= run.seconds / 1000]
        lines.append(f"{party}: {', '.join(shown)}")
    return lines


def _line(name: str, cells: Sequence[str]) -> str:
    wide = [f"{cell:>{max(COLUMN_WIDTH, len(cell) + 1)}}" for cell in cells]
    return (f"{name:<{NAME_WIDTH}}" + "".join(wide)).rstrip()


def _megabytes(count: float | None) -> str:
    return "unknown" if count is None else f"{count / MEGA:.1f}"
