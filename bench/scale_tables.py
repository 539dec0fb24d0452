"""The tables of docs/scale.md: what `vfxgb bench scale` measured, the cost model next to it, and what that projects.

update_readme.py writes them. A part that was not measured, or only with --quick, says so.
"""

from functools import partial
from pathlib import Path
from typing import Any

from origins import at_commit
from speed_tables import RESULTS, load, number

from vfxgb.bench.scale.points import (
    PROJECTED_BINS,
    PROJECTED_DEPTH,
    PROJECTED_FEATURES,
    SHARDS_PER_WORKER,
    WORKER_CORES,
    Point,
    points,
    projections,
)
from vfxgb.bench.scale.report import about, counted, typical_seconds
from vfxgb.bench.scale.results import read_costs, read_trained

FILE = "scale.json"
MASKS_FILE, COLUMNS_FILE = "scale_ot_shares.json", "scale_sealed.json"
PROTOCOLS = {MASKS_FILE: "ot_shares", COLUMNS_FILE: "sealed"}
SCHEMES = {"paillier": "Paillier", "ou": "Okamoto-Uchiyama"}
KEY_COSTS = (
    ("encrypt", "encrypt, key owner"),
    ("encrypt_public", "encrypt, public key"),
    ("read", "check and take in"),
    ("add", "add"),
    ("pack", "shift into a packed sum"),
    ("rerandomise", "new randomness"),
    ("decrypt", "decrypt"),
)
ROW_COSTS = (
    ("bin_cell", "read Parquet, cut points, bins", "row and feature"),
    ("sum_cell", "plain sums of the active party", "row and feature"),
    ("gradient", "gradients and slots", "row"),
    ("split", "who goes left, rows in order", "row and level"),
)
MEGA, GIGA = 1e6, 1e9


def results(folder: Path, file: str = FILE) -> dict[str, Any]:
    """The parts that were measured with keys that protect something."""
    if not (folder / file).is_file():
        return {}
    return {part: measured for part, measured in load(file, folder).items() if not measured["settings"]["insecure"]}


def missing(part: str, file: str = FILE) -> str:
    protocol = f" --protocol {PROTOCOLS[file]}" if file in PROTOCOLS else ""
    return f"`vfxgb bench scale{protocol} --parts {part}` has not been run at full size yet."


def constants_section(folder: Path = RESULTS) -> str:
    """The constants of the model."""
    document = results(folder)
    costs = read_costs(document)
    if costs is None:
        return missing("costs")
    machine = document["costs"]["machine"]
    heads = [f"{SCHEMES[key.scheme]}, {key.key_bits} bits" for key in costs.keys]
    lines = [f"| microseconds on one core | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    for name, title in KEY_COSTS:
        cells = [number(1e6 * getattr(key, name)) for key in costs.keys]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    for name, title in (("wire_bytes", "bytes on the line, `w`"), ("element_bytes", "bytes in memory, `m`")):
        lines.append(f"| {title} | " + " | ".join(str(getattr(key, name)) for key in costs.keys) + " |")
    rows = ["| nanoseconds on one core | per | |", "|---|---|---:|"]
    rows += [f"| {title} | {per} | {number(1e9 * getattr(costs.rows, name))} |" for name, title, per in ROW_COSTS]
    text = (
        f"Processor time, all {machine['cores']} cores at work, medians of several times, before and after trainings; "
        f"{machine['processor']}, {machine['kernels'].split()[0]} kernels{at_commit(machine)}."
    )
    return "\n\n".join([text, "\n".join(lines), "\n".join(rows)])


def shards_section(folder: Path = RESULTS, file: str = FILE) -> str:
    """Time in one process and on clusters."""
    document = results(folder, file)
    if "shards" not in document:
        return missing("shards", file)
    ways = read_trained(document, "shards")
    base, cpu = typical_seconds(ways[0])
    part = document["shards"]
    text = (
        f"{about(ways[0])}; trees: {part['settings']['trees']}; from Parquet to the model, {counted(ways[0])}; "
        f"both parties on one machine of {part['machine']['cores']} cores; medians of {len(ways[0].runs)}, in turn; "
        f"load average {part['machine'].get('load average', 'unknown')} before them{at_commit(part['machine'])}. "
        "All models are equal."
    )
    lines = [
        "| | workers | threads of each | wall s | ratio | processor s | ratio |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for way in ways:
        wall, used = typical_seconds(way)
        cells = [str(way.workers or ""), str(way.threads), f"{wall:.1f}", f"{wall / base:.2f}", f"{used:.1f}"]
        lines.append(f"| {way.name} | " + " | ".join([*cells, f"{used / cpu:.2f}"]) + " |")
    return f"{text}\n\n" + "\n".join(lines)


def memory_section(folder: Path = RESULTS, file: str = FILE) -> str:
    """The memory of the process that is not a worker."""
    document = results(folder, file)
    if "memory" not in document:
        return missing("memory", file)
    ways = read_trained(document, "memory")
    text = (
        f"{about(ways[0]).split(' x ')[1]}; {ways[0].workers} workers, {ways[0].shards} shards of each party, both "
        "parties' own sides in one process that is no worker:"
    )
    lines = [
        "| rows | MB before training | MB more at the peak | MB on the largest worker | wall s |",
        "|---:|---:|---:|---:|---:|",
    ]
    for way in ways:
        (run,) = way.runs
        cells = [_mega(run.start_bytes), _mega(run.peak_bytes), _mega(max(run.worker_peak_bytes, default=None))]
        lines.append(f"| {way.rows:,} | " + " | ".join([*cells, f"{way.wall_seconds(run):.1f}"]) + " |")
    return f"{text}\n\n" + "\n".join(lines)


def large_section(folder: Path = RESULTS, file: str = FILE) -> str:
    """Training out of core."""
    document = results(folder, file)
    if "out-of-core" not in document:
        return missing("out-of-core", file)
    (way,) = read_trained(document, "out-of-core")
    (run,) = way.runs
    peak = None if run.peak_bytes is None or run.start_bytes is None else run.start_bytes + run.peak_bytes
    cores = document["out-of-core"]["machine"]["cores"]
    lines = [
        f"{about(way)}, one tree, `{way.name}`, both parties in one process on {cores} cores:",
        "",
        "| | |",
        "|---|---:|",
        f"| wall time, {counted(way)} | {way.wall_seconds(run):,.0f} s |",
        f"| processor time | {way.cpu_seconds(run):,.0f} s |",
        f"| peak memory | {_mega(peak)} MB |",
        f"| of it at most, not pages of files | {_mega(run.anonymous_bytes)} MB |",
        f"| read from disk | {_mega(run.read_bytes)} MB |",
        f"| written to disk | {_mega(run.written_bytes)} MB |",
    ]
    for party, phases in run.phases.items():
        shown = sorted(((seconds, phase) for phase, seconds in phases.items()), reverse=True)
        most = ", ".join(f"{phase} {seconds:,.0f} s" for seconds, phase in shown if seconds >= run.seconds / 100)
        lines.append(f"| {party} | {most} |")
    return "\n".join(lines)


def checked_section(folder: Path = RESULTS) -> str:
    """The model next to what was measured."""
    compared = points(results(folder))
    if not compared:
        return missing("costs,shards,memory")
    lines = ["| | | predicted | measured | measured / predicted |", "|---|---|---:|---:|---:|"]
    lines += [_point(point) for point in compared]
    return "\n".join(lines)


def _point(point: Point) -> str:
    cells = [f"{point.what}, {point.unit}", number(point.predicted), number(point.measured), f"{point.ratio:.2f}"]
    return f"| {point.name} | " + " | ".join(cells) + " |"


def projected_section(folder: Path = RESULTS) -> str:
    """What the model says of many rows."""
    document = results(folder)
    if "costs" not in document:
        return missing("costs")
    bits = document["costs"]["settings"]["key_bits"]
    projected = projections(document, bits)
    text = (
        f"One tree, {bits}-bit keys, {PROJECTED_FEATURES}+{PROJECTED_FEATURES} features, {PROJECTED_BINS} bins, depth "
        f"{PROJECTED_DEPTH}; each party with so many workers of {WORKER_CORES} cores, {SHARDS_PER_WORKER} shards on "
        "each, keys on the workers. A tree takes what is slowest of encryption, the line and the first sums, and then "
        "the rest; reading and binning, once per training, apart."
    )
    lines_of = list(projected[0].trees)
    heads = ["rows", "workers", "read, once", "encrypt", "sums", "GB on the line"]
    heads += [*(f"tree, {line}" for line in lines_of), "GB on a worker: bank", "shop", "GB in the shop's folder"]
    lines = [f"| scheme | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    for projection in projected:
        cells = [
            f"{projection.rows:,}",
            str(projection.workers),
            duration(projection.once),
            duration(projection.encrypt),
            duration(projection.sums),
        ]
        cells += [f"{projection.sent / GIGA:,.0f}", *(duration(projection.trees[line]) for line in lines_of)]
        cells += [
            number(projection.bank_worker / GIGA),
            number(projection.shop_worker / GIGA),
            f"{projection.files / GIGA:,.0f}",
        ]
        lines.append(f"| {SCHEMES[projection.scheme]} | " + " | ".join(cells) + " |")
    return f"{text}\n\n" + "\n".join(lines)


def duration(seconds: float) -> str:
    """Seconds below two minutes, minutes below two hours, else hours."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _mega(count: float | None) -> str:
    return "" if count is None else f"{count / MEGA:,.0f}"


# name of a part of docs/scale.md -> who writes it
SECTIONS = {
    "shards": shards_section,
    "memory": memory_section,
    "large": large_section,
    "constants": constants_section,
    "checked": checked_section,
    "projected": projected_section,
    "masks in shards": partial(shards_section, file=MASKS_FILE),
    "memory of masks": partial(memory_section, file=MASKS_FILE),
    "masks out of core": partial(large_section, file=MASKS_FILE),
    "columns out of core": partial(large_section, file=COLUMNS_FILE),
}
