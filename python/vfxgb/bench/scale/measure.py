"""`vfxgb bench scale`: training on rows in shards. The measurements; their tables are in report.py.

Two parties, a bank with the labels and a shop, `batch_he`, `ot_shares` or `sealed`, data in Parquet files. Parts:

    costs        the constants of the cost model (model.py), which is that of `batch_he`
    shards       one training with rows in the memory of one process, and with rows on a Dask cluster of this machine in
                 1, 2 and 4 shards, in turn; the models must be equal
    memory       what the parties' own process takes while tables of growing size are worked on by a cluster
    out-of-core  one training from memory-mapped files, under a limit of memory

Every training has a process of its own (job.py), and so has the cluster (cluster.py).
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from vfxgb.bench.children import ask
from vfxgb.bench.progress import say
from vfxgb.bench.scale.cluster import running_cluster
from vfxgb.bench.scale.costs import key_costs, row_costs, typical
from vfxgb.bench.scale.data import ScaleData, write_data
from vfxgb.bench.scale.job import ScaleJob, ScaleRun
from vfxgb.bench.scale.points import predicted_seconds
from vfxgb.bench.scale.results import Costs, Trained
from vfxgb.crypto.sizes import DEFAULT_BITS, MIN_BITS, check_requested_bits
from vfxgb.errors import ParameterError, VfxgbError
from vfxgb.threads import available_cores

PARTS = ("costs", "shards", "memory", "out-of-core")
PROTOCOLS = ("batch_he", "ot_shares", "sealed")
# Those that are measured unless others are asked for.
DEFAULT_PARTS = {"batch_he": PARTS[:3], "ot_shares": PARTS[1:3], "sealed": PARTS[1:3]}
QUICK_GROUPS = {"group_bits": 768, "insecure": True}
# With secret coins and orders no two models are equal, wherever the rows are.
FIXED_COINS = {"coins": "random_state", "order_seed": 0}
SCHEMES = ("ou", "paillier")
WARM_UP_ROWS = 2000
MEMORY_FEATURES, MEMORY_DEPTH, MEMORY_BITS = 4, 3, 2048
MEMORY_WORKERS, MEMORY_SHARDS = 2, 4
QUICK_BITS = 512
QUICK: dict[str, Any] = {
    "rows": 3000,
    "features": 4,
    "depth": 3,
    "bins": 8,
    "repeats": 1,
    "large_rows": 4000,
    "cost_rows": 4000,
    "memory_rows": (2000, 4000),
    "memory_limit": "1GB",
    "cost_batch": 200,
    "shards": (2,),
}


@dataclass(frozen=True)
class ScaleSettings:
    """What to measure.

    The tables of part `memory` have `memory_rows` rows; those of part `out-of-core` have `large_rows` and are worked on
    within `memory_limit`. The constants are measured on `cost_rows` rows and `cost_batch` ciphertexts. `insecure`
    allows small keys.
    """

    parts: tuple[str, ...] = DEFAULT_PARTS["batch_he"]
    protocol: str = "batch_he"
    scheme: str = "ou"
    key_bits: int = DEFAULT_BITS
    rows: int = 1_000_000
    features: int = 20
    trees: int = 1
    depth: int = 5
    bins: int = 32
    shards: tuple[int, ...] = (1, 2, 4)
    repeats: int = 3
    memory_rows: tuple[int, ...] = (250_000, 1_000_000, 4_000_000)
    memory_bits: int = MEMORY_BITS
    large_rows: int = 10_000_000
    memory_limit: str = "6GB"
    cost_rows: int = 200_000
    cost_batch: int = 4000
    insecure: bool = False


def quick(settings: ScaleSettings) -> ScaleSettings:
    """The same in small: to see that it works, with keys that protect nothing."""
    default = ScaleSettings()
    # What the user asked for stays.
    changes = {name: value for name, value in QUICK.items() if getattr(settings, name) == getattr(default, name)}
    return replace(settings, **changes, key_bits=QUICK_BITS, memory_bits=QUICK_BITS, insecure=True)


def measure(settings: ScaleSettings, folder: Path | None, costs: Costs | None = None) -> dict[str, Any]:
    """Part -> its results: Costs, or a list of Trained. Data is written to `folder`, None for a temporary one.

    `costs`: an earlier result of part `costs`, if there is one: it says how long trainings will take. Raises
    KeySizeError, MissingPackageError, ParameterError, and VfxgbError when a training fails or models differ.
    """
    check_requested_bits(settings.key_bits, settings.insecure)
    if settings.protocol != "batch_he" and "costs" in settings.parts:
        raise ParameterError(
            f"bench scale: found part costs for protocol {settings.protocol}, wanted one of "
            f"{', '.join(DEFAULT_PARTS[settings.protocol])}: the cost model is that of batch_he; leave --parts out"
        )
    steps = {"shards": _shards, "memory": _memory, "out-of-core": _out_of_core}
    results: dict[str, Any] = {}
    measured: list[Costs] = []
    with _folder(folder) as place:
        if "costs" in settings.parts:
            results["costs"] = costs = _costs(settings, place)
            measured.append(costs)
        for part, step in steps.items():
            if part in settings.parts:
                results[part] = step(settings, place, costs)
                if measured:
                    # A machine that others use too is not equally fast all the time.
                    measured.append(_costs(settings, place))
    if measured:
        results["costs"] = typical(measured)
    return results


@contextmanager
def _folder(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="vfxgb-scale-") as made:
        yield Path(made)


def _costs(settings: ScaleSettings, folder: Path) -> Costs:
    """Measure the costs of every kind of key that the other parts or the tables of docs/scale.md use."""
    kinds = dict.fromkeys([("ou", settings.memory_bits), *((scheme, settings.key_bits) for scheme in SCHEMES)])
    threads = available_cores()
    keys = []
    for scheme, bits in kinds:
        say(f"costs: {scheme}, {bits} bits")
        keys.append(key_costs(scheme, bits, settings.cost_batch, threads, insecure=settings.insecure))
    return Costs(keys, row_costs(folder, settings.cost_rows, threads))


def _shards(settings: ScaleSettings, folder: Path, costs: Costs | None) -> list[Trained]:
    data, small = (write_data(folder, rows, settings.features) for rows in (settings.rows, WARM_UP_ROWS))
    cores = available_cores()
    ways = [_way(settings, data, "local threads", 0, cores)]
    for count in settings.shards:
        # More workers than cores would only be in each other's way.
        workers = min(count, cores)
        name = f"dask, {count} shard{'s' if count > 1 else ''}"
        ways.append(_way(settings, data, name, workers, max(1, cores // workers), shards=count))
    if settings.protocol == "batch_he":
        # Encryption by the public key costs more: once is enough to say how much. Without a key there is nothing else.
        apart = next((way for way in ways if way.workers == 2), ways[-1])
        ways.append(msgspec.structs.replace(apart, name=f"{apart.name}, key withheld", holds_key=False))
    for repeat in range(settings.repeats):
        for place, way in enumerate(ways):
            if way.holds_key or repeat == 0:
                turn = f"({repeat + 1} of {settings.repeats if way.holds_key else 1})"
                say(f"shards: {way.name} {turn}{_about(settings, way, costs)}")
                ways[place] = _train(settings, way, data, small.paths)
    if len({run.model for way in ways for run in way.runs}) != 1:
        raise VfxgbError("bench scale: models differ between ways to train, wanted equal ones; this is a bug")
    return ways


def _memory(settings: ScaleSettings, folder: Path, costs: Costs | None) -> list[Trained]:
    trained = []
    for rows in settings.memory_rows:
        data = write_data(folder, rows, MEMORY_FEATURES)
        key = {"scheme": "ou", "key_bits": settings.memory_bits}
        name = f"dask, {rows:,} rows"
        way = _way(settings, data, name, MEMORY_WORKERS, 1, **key, depth=MEMORY_DEPTH, shards=MEMORY_SHARDS)
        say(f"memory: {way.name}{_about(settings, way, costs)}")
        trained.append(_train(settings, way, data, None))
    return trained


def _out_of_core(settings: ScaleSettings, folder: Path, costs: Costs | None) -> list[Trained]:
    say(f"out-of-core: writing {settings.large_rows:,} rows")
    data = write_data(folder, settings.large_rows, settings.features)
    way = _way(settings, data, f"memory_limit={settings.memory_limit}", 0, available_cores())
    say(f"out-of-core: training on {data.nbytes / 1e9:.1f} GB of Parquet{_about(settings, way, costs)}")
    engine = {"engine": "local", "memory_limit": settings.memory_limit, "engine_folder": str(folder)}
    return [_train(settings, way, data, None, engine)]


def _way(settings: ScaleSettings, data: ScaleData, name: str, workers: int, threads: int, **changes: Any) -> Trained:
    """A way to train that was not tried yet, by the settings but for `changes`."""
    shared = {field: getattr(settings, field) for field in ("depth", "bins", "scheme", "key_bits", "protocol")}
    place = {"workers": workers, "threads": threads, "shards": max(1, workers), "holds_key": True}
    no_key = {} if settings.protocol == "batch_he" else {"scheme": "", "key_bits": 0}
    return Trained(name, data.rows, data.features, runs=[], **{**shared, **place, **changes, **no_key})


def _train(
    settings: ScaleSettings,
    way: Trained,
    data: ScaleData,
    warm_up: dict[str, str] | None,
    engine: dict[str, Any] | None = None,
) -> Trained:
    """One more run of a way to train."""
    with running_cluster(way.workers, way.threads) if way.workers else nullcontext() as address:
        if address is not None:
            engine = {"engine": "dask", "workers_hold_key": way.holds_key, "shards": way.shards}
        job = ScaleJob(
            data=data.paths,
            warm_up=warm_up,
            engine=engine or {},
            address=address,
            params=_params(settings, way),
            trees=settings.trees,
            depth=way.depth,
            bins=way.bins,
            threads=available_cores(),
            protocol=way.protocol,
        )
        run = ask("vfxgb.bench.scale.job", job, ScaleRun, way.name)
    return msgspec.structs.replace(way, runs=[*way.runs, run])


def _params(settings: ScaleSettings, way: Trained) -> dict[str, Any]:
    """The protocol_params of a way to train."""
    if way.protocol == "batch_he":
        return {"scheme": way.scheme, "key_bits": way.key_bits, "insecure": way.key_bits < MIN_BITS}
    return {**(QUICK_GROUPS if settings.insecure else {}), **(FIXED_COINS if way.protocol == "sealed" else {})}


def _about(settings: ScaleSettings, way: Trained, costs: Costs | None) -> str:
    """How long a training should take, if anything is known about that."""
    modelled = way.protocol == "batch_he"
    seconds = predicted_seconds(way, costs, available_cores()) if modelled and costs is not None else None
    return "" if seconds is None else f", about {settings.trees * seconds:.0f} s on an idle machine"
