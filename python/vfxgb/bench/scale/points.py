"""The cost model next to what was measured, and what it says of sizes that nobody measured: from a file of results.

`document`: what `vfxgb bench scale --json` writes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from vfxgb.bench.scale.model import (
    KeyCosts,
    Place,
    Shape,
    Work,
    level_additions,
    memory,
    received_bytes,
    seconds_apart,
    seconds_together,
    sent_bytes,
    work,
)
from vfxgb.bench.scale.results import Costs, Trained, read_costs, read_trained

# What the tables of docs/scale.md project to: rows, workers of each party, and cores of a worker.
PROJECTED_ROWS = (10**8, 10**9)
PROJECTED_WORKERS = (10, 100)
WORKER_CORES = 8
SHARDS_PER_WORKER = 2
PROJECTED_FEATURES, PROJECTED_BINS, PROJECTED_DEPTH = 10, 32, 5
# Bytes per second of lines between the parties.
LINES = {"1 Gbit/s": 125e6, "10 Gbit/s": 1250e6}


@dataclass(frozen=True)
class Point:
    """Something that was measured, in `unit`, and what the model says."""

    name: str
    what: str
    unit: str
    predicted: float
    measured: float

    @property
    def ratio(self) -> float:
        """Divide what was measured by what was predicted."""
        return self.measured / self.predicted


@dataclass(frozen=True)
class Projection:
    """One tree of a size that was not measured, each party with `workers`.

    These are seconds: `once` for reading and binning at the party that takes longer, `encrypt` and `sums` for all
    encryption and all sums, `trees` for a whole tree by line. These are bytes: `sent` go in both directions,
    `bank_worker` and `shop_worker` are the memory of rows on a worker, `files` lie in the shop's run folder.
    """

    scheme: str
    rows: int
    workers: int
    once: float
    encrypt: float
    sums: float
    trees: dict[str, float]
    sent: float
    bank_worker: float
    shop_worker: float
    files: float


def key_of(costs: Costs, scheme: str, bits: int) -> KeyCosts:
    """The constants of a kind of key. Raises KeyError for one that was not measured."""
    for key in costs.keys:
        if (key.scheme, key.key_bits) == (scheme, bits):
            return key
    raise KeyError(f"no constants of {scheme} with {bits} bits; measure part costs again")


def shape_of(way: Trained) -> Shape:
    """Return the shape of what was trained."""
    return Shape(way.rows, way.features[0], way.features[1], way.bins, way.depth)


def place_of(way: Trained) -> Place:
    """Where it was; rows in one process are one shard there."""
    return Place(max(1, way.workers), way.threads, way.shards, way.holds_key)


def predicted_work(way: Trained, costs: Costs) -> Work:
    """What the model says of one tree."""
    place = place_of(way)
    return work(shape_of(way), key_of(costs, way.scheme, way.key_bits), costs.rows, place, place)


def predicted_seconds(way: Trained, costs: Costs, cores: int) -> float | None:
    """Wall time of one tree with all parties on one machine, None for a kind of key without constants."""
    try:
        return seconds_together(predicted_work(way, costs), shape_of(way), cores)
    except KeyError:
        return None


def points(document: Mapping[str, Any]) -> list[Point]:
    """Every measured number that the model speaks of; of trainings of one tree."""
    costs = read_costs(document)
    if costs is None:
        return []
    all_points: list[Point] = []
    for part in ("shards", "memory", "out-of-core"):
        ways = [way for way in read_trained(document, part) if way.protocol == "batch_he"]
        for way in ways:
            if document[part]["settings"]["trees"] == 1:
                all_points += _points_of(way, costs, int(document[part]["machine"]["cores"]))
        all_points += _memory_points(ways, costs) if part == "memory" else []
    return all_points


def _points_of(way: Trained, costs: Costs, cores: int) -> list[Point]:
    shape, key = shape_of(way), key_of(costs, way.scheme, way.key_bits)
    wall = seconds_together(predicted_work(way, costs), shape, cores)
    name = f"{way.name}, {way.rows:,} rows" if "rows" not in way.name else way.name
    additions = sum(level_additions(shape, way.shards, level) for level in range(way.depth))
    first = way.runs[0]
    return [
        Point(name, "wall time", "s", wall, median(way.wall_seconds(run) for run in way.runs)),
        Point(name, "processor time", "s", wall * cores, median(way.cpu_seconds(run) for run in way.runs)),
        Point(name, "additions", "10^6", additions / 1e6, first.operations.get("additions", 0) / 1e6),
        Point(name, "sent and received", "MB", _traffic(shape, key) / 1e6, (first.sent + first.received) / 1e6),
    ]


def _memory_points(ways: list[Trained], costs: Costs) -> list[Point]:
    """What a row takes on a worker, from tables of different size: both parties share the workers there."""
    peaks = {way.rows: max(way.runs[0].worker_peak_bytes, default=0) for way in ways}
    if len(peaks) < 2 or not all(peaks.values()):
        return []
    small, large = min(peaks), max(peaks)
    way = next(trained for trained in ways if trained.rows == large)
    shape, key, place = shape_of(way), key_of(costs, way.scheme, way.key_bits), place_of(way)
    held = memory(shape, key, place, place)
    predicted = (held.active_worker + held.waiting + held.passive_worker) / (large / way.workers)
    measured = (peaks[large] - peaks[small]) / ((large - small) / way.workers)
    name = f"{way.name}, against {small:,}"
    return [Point(name, "memory of a row, both parties", "bytes", predicted, measured)]


def _traffic(shape: Shape, key: KeyCosts) -> float:
    return sent_bytes(shape, key) + received_bytes(shape, key)


def projections(document: Mapping[str, Any], bits: int) -> list[Projection]:
    """What a tree of many rows would cost with keys of so many bits, by scheme, rows and workers."""
    costs = read_costs(document)
    if costs is None:
        return []
    return [
        project(key, costs, rows, workers)
        for key in costs.keys
        if key.key_bits == bits
        for rows in PROJECTED_ROWS
        for workers in PROJECTED_WORKERS
    ]


def project(key: KeyCosts, costs: Costs, rows: int, workers: int) -> Projection:
    """Predict one tree of `rows` rows at parties of `workers` workers."""
    shape = Shape(rows, PROJECTED_FEATURES, PROJECTED_FEATURES, PROJECTED_BINS, PROJECTED_DEPTH)
    place = Place(workers, WORKER_CORES, SHARDS_PER_WORKER * workers)
    needed = work(shape, key, costs.rows, place, place)
    held = memory(shape, key, place, place)
    return Projection(
        scheme=key.scheme,
        rows=rows,
        workers=workers,
        once=max(needed.once_active, needed.once_passive) / place.all_cores,
        encrypt=needed.encrypt / place.all_cores,
        sums=(needed.read + needed.root + needed.deeper) / place.all_cores,
        trees={name: seconds_apart(needed, shape, key, place, place, line) for name, line in LINES.items()},
        sent=_traffic(shape, key),
        bank_worker=held.active_worker + held.waiting,
        shop_worker=held.passive_worker,
        files=held.files,
    )
