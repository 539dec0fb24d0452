"""`vfxgb bench train`: what training costs, per tree. The measurements; their tables are in report.py.

Every configuration is trained in a process of its own (job.py), all parties in memory, one after the other.
Parts:

    configurations  `batch_he` with each scheme and randomness, against the arithmetic floor of the same run; beside
                    them `sealed`, `ot_shares`, `plain` and xgboost
    ablation        `batch_he` with one optimisation switched off at a time; `secureboost` against `batch_he` with all
                    that both share switched off
    linear          one tree of generated tables of growing size, and with `ot_shares` of more and more bins
    protocols       any protocols, the first of them being the measure of the others; broken ones are called broken
    shapes          the same on generated tables of several shapes, with medians over trees, flights, and processor time
                    and bytes by step; protocols that compare scores of integers must give the models of `plain`
    paths           `batch_he` with kernels up to one instruction set and up to another, in turn
"""

import json
from dataclasses import dataclass, replace
from importlib.util import find_spec
from statistics import median
from typing import Any

import msgspec

from vfxgb.bench.children import ask
from vfxgb.bench.datasets import DATA_SETS, SYNTHETIC, SYNTHETIC_FEATURES
from vfxgb.bench.ops.paths import VARIABLE, check_paths
from vfxgb.bench.progress import say
from vfxgb.bench.train.costs import floor_seconds
from vfxgb.bench.train.job import ONCE_PHASES, SETUP_BYTES, STEP_TREES, XGBOOST, JobResult, TrainJob, TrainRun
from vfxgb.bench.train.shapes import Shape
from vfxgb.contract import ProtocolSpec
from vfxgb.crypto.sizes import check_requested_bits
from vfxgb.errors import ParameterError, ProtocolParameterError
from vfxgb.protocols import make_protocol_params, protocol_by_name

# name -> (scheme, randomness)
CONFIGS = {
    "paillier-djn": ("paillier", "djn"),
    "paillier-short": ("paillier", "short"),
    "ou-djn": ("ou", "djn"),
    "ou-short": ("ou", "short"),
}
ABLATION_CONFIGS = ("paillier-djn", "ou-short")
LINEAR_CONFIGS = ("ou-short",)
PROTOCOL_CONFIGS = ("paillier-djn", "ou-short")
SWITCHES = ("joint_buckets", "pack_sums", "subtract", "pool", "stream")
BATCH, SINGLE, PLAIN, SHARES, SEALED = "batch_he", "secureboost", "plain", "ot_shares", "sealed"
# The limit that its memory is measured under.
SHARES_PARAMS = {"memory_limit": "1GB"}
# A small group for base transfers.
QUICK_GROUP = {"group_bits": 768, "insecure": True}
# Trees of protocols that take milliseconds each.
CHEAP_TREES = 20
# Of a table of some shape: trees beyond the first, and rows on which models are compared with those of `plain`.
SHAPE_TREES = 6
TWIN_ROWS = 150_000
# How often each path trains; the paths alternate.
PATH_REPEATS = 3
# Phases in which a party waits for another.
WAITING = "wait"
COST_BATCH = 4000
LINEAR_ROWS = 1_000_000
LINEAR_SHARES = (0.1, 0.3, 1.0)
LINEAR_FEATURES = (5, 10, 20)
LINEAR_BINS = (16, 32, 64)


@dataclass(frozen=True)
class TrainSettings:
    """What to measure. `rows`, `features`, `configs`: None for what each part uses by default.

    `trees`: trees beyond the first that the time per tree is taken from. `protocols`: names, each with parameters or
    without ("ldp:mechanism=laplace:epsilon=1"). `shapes`: generated tables on which these are measured, in place of
    `data`. `paths`: kernels of big integers to compare. `insecure`: allow keys below 2048 bits.
    """

    data: str = "give_credit"
    rows: int | None = None
    features: tuple[int, int] | None = None
    depth: int = 6
    bins: int = 32
    key_bits: int = 2048
    threads: int = 2
    trees: int = 2
    configs: tuple[str, ...] | None = None
    ablation: bool = False
    linear: bool = False
    protocols: tuple[str, ...] = ()
    shapes: tuple[Shape, ...] = ()
    paths: tuple[str, ...] = ()
    insecure: bool = False


@dataclass(frozen=True)
class Measurement:
    """A job and what came of it, per tree.

    `seconds` is wall time. `cpu_seconds` is processor time of all threads, which other programs on the machine do not
    lengthen as they do wall time; it includes key generation where there is one run only. `operations` are counts,
    `sent` and `received` are bytes. `peak_bytes` is the peak of the process in a run of one tree, in which no
    randomness is made ahead for a next one, so that nothing large but the passive party's ciphertexts is in it;
    `peak_with_pool` is that of the longer run.
    """

    name: str
    job: TrainJob
    result: JobResult
    seconds: float
    cpu_seconds: float
    operations: dict[str, float]
    sent: float
    received: float
    peak_bytes: int | None
    peak_with_pool: int | None

    @property
    def costs(self) -> dict[str, float]:
        """Seconds of one operation on one thread, by name."""
        return {name: median(times["1"]) for name, times in self.result.costs.items()}

    @property
    def floor(self) -> float:
        """Seconds per tree of the arithmetic alone, on all threads."""
        return floor_seconds(self.operations, self.costs, self.job.threads)

    @property
    def loaded_floor(self) -> float:
        """The floor at what an operation costs while all threads are at work: what these cores can do together."""
        costs = {name: median(times[str(self.job.threads)]) for name, times in self.result.costs.items()}
        return floor_seconds(self.operations, costs, 1)

    @property
    def once_seconds(self) -> float:
        """Seconds of what is done once per training, in the run of one tree."""
        return self.result.single.key_seconds

    @property
    def once_bytes(self) -> int:
        """Bytes of it in both directions; 0 where nobody counts them."""
        return self.result.single.operations.get(SETUP_BYTES, 0)

    @property
    def median_seconds(self) -> float | None:
        """Median wall time of the trees between the first and the last; None where there are fewer than three trees."""
        return None if self.result.whole is None else _middle(self.result.whole.rounds)

    @property
    def median_cpu(self) -> float | None:
        """Median processor time of these trees."""
        return None if self.result.whole is None else _middle(self.result.whole.round_cpu)

    @property
    def flights(self) -> float | None:
        """Messages a tree that had to follow one upon the other, one each way at a time counted once."""
        single, whole = self.result.single, self.result.whole
        return None if whole is None else (whole.flights - single.flights) / self.job.extra

    @property
    def message_bytes(self) -> dict[str, float]:
        """Bytes a tree by type of message, in both directions; those of the set-up are in none."""
        single, whole = self.result.single, self.result.whole
        if whole is None:
            return {}
        a_tree = {
            name: (count - single.messages.get(name, 0)) / self.job.extra for name, count in whole.messages.items()
        }
        return {name: count for name, count in a_tree.items() if count > 0}

    @property
    def step_cpu(self) -> dict[str, float]:
        """Processor seconds a tree by party and step, with one thread a party; the rest of the process is "rest"."""
        if not self.result.steps:
            return {}
        single, whole = self.result.steps
        steps = {
            f"{party}: {phase}": (seconds - single.phase_cpu.get(party, {}).get(phase, 0.0)) / STEP_TREES
            for party, phases in whole.phase_cpu.items()
            for phase, seconds in phases.items()
            if phase != WAITING
        }
        steps["rest"] = (whole.cpu_seconds - single.cpu_seconds) / STEP_TREES - sum(steps.values())
        # What is done once is in both runs.
        return {step: seconds for step, seconds in steps.items() if step.partition(": ")[2] not in ONCE_PHASES}

    @property
    def ciphertext_bytes(self) -> float:
        """Bytes per tree of gradients and packed sums: one ciphertext per row, and what was decrypted."""
        return (self.result.rows + self.operations.get("decryptions", 0.0)) * self.result.wire_bytes

    @property
    def gradients_bytes(self) -> int:
        """n times the size of a ciphertext: what memory is compared with."""
        return self.result.rows * self.result.wire_bytes


def measure(settings: TrainSettings) -> dict[str, list[Measurement]]:
    """Part -> its measurements, in order. Raises ParameterError for settings that do not fit together."""
    check(settings)
    makers = {
        "ablation": _ablation_jobs,
        "linear": _linear_jobs,
        "paths": _path_jobs,
        "shapes" if settings.shapes else "protocols": _shape_jobs if settings.shapes else _protocol_jobs,
    }
    parts = {part: make(settings) for part, make in makers.items() if getattr(settings, part)}
    parts = parts or {"configurations": _config_jobs(settings)}
    jobs = [(part, name, job) for part, named in parts.items() for name, job in named]
    measured: dict[str, list[Measurement]] = {part: [] for part in parts}
    for place, (part, name, job) in enumerate(jobs, 1):
        say(f"{part}: {name} ({place} of {len(jobs)})")
        measured[part].append(make_measurement(name, job, run_in_child(job, name)))
    return measured


def check(settings: TrainSettings) -> None:
    """Raise ParameterError for settings that do not fit together, KeySizeError for keys that are not allowed."""
    check_requested_bits(settings.key_bits, settings.insecure)
    _protocol_jobs(settings)
    if settings.shapes:
        _check_shapes(settings)
    if settings.paths:
        _check_paths(settings)
    if settings.features is not None and (settings.data != SYNTHETIC or settings.linear):
        wanted = f"--data {SYNTHETIC}" + (" without --linear" if settings.linear else "")
        raise ParameterError(f"bench train: --features needs {wanted}")
    if not settings.linear or settings.ablation:
        most = DATA_SETS[settings.data].rows if settings.data in DATA_SETS else None
        if most is not None and settings.rows is not None and settings.rows > most:
            raise ParameterError(
                f"bench train: found --rows {settings.rows}, wanted at most the {most} of {settings.data}; use "
                f"--data {SYNTHETIC}"
            )


def _config_jobs(settings: TrainSettings) -> list[tuple[str, TrainJob]]:
    jobs = [
        (f"{BATCH} {name}", _job(settings, BATCH, name, cost_batch=COST_BATCH)) for name in settings.configs or CONFIGS
    ]
    quick = dict(QUICK_GROUP) if settings.insecure else {}
    jobs.append((SEALED, _job(settings, SEALED, None, params=quick, extra=CHEAP_TREES)))
    jobs.append((SHARES, _shares_job(settings, extra=CHEAP_TREES)))
    jobs.append((PLAIN, _job(settings, PLAIN, None, extra=CHEAP_TREES)))
    if find_spec(XGBOOST) is not None:
        jobs.append((XGBOOST, _job(settings, XGBOOST, None, extra=CHEAP_TREES)))
    return jobs


def _ablation_jobs(settings: TrainSettings) -> list[tuple[str, TrainJob]]:
    every, none = dict.fromkeys(SWITCHES, True), dict.fromkeys(SWITCHES, False)
    jobs: list[tuple[str, TrainJob]] = []
    for name in settings.configs or ABLATION_CONFIGS:
        jobs.append((f"{name}, all on", _job(settings, BATCH, name, every)))
        jobs += [
            (f"{name}, without {switch}", _job(settings, BATCH, name, every | {switch: False})) for switch in SWITCHES
        ]
        jobs += [(f"{name}, {kind}, all off", _job(settings, kind, name, none)) for kind in (BATCH, SINGLE)]
    return jobs


def _check_paths(settings: TrainSettings) -> None:
    others = [name for name in ("ablation", "linear", "protocols", "shapes") if getattr(settings, name)]
    if others:
        raise ParameterError(
            f"bench train: found --paths with --{others[0]}, wanted one of them: --paths trains `{BATCH}` alone"
        )
    check_paths(settings.paths)


def _path_jobs(settings: TrainSettings) -> list[tuple[str, TrainJob]]:
    """Every configuration by one path right after the other, so that both meet the same machine; all of it again."""
    return [
        (f"{name}, {path}", _job(settings, BATCH, name, path=path))
        for _ in range(PATH_REPEATS)
        for name in settings.configs or PROTOCOL_CONFIGS
        for path in settings.paths
    ]


def _linear_jobs(settings: TrainSettings) -> list[tuple[str, TrainJob]]:
    most = settings.rows or LINEAR_ROWS
    active, passive = SYNTHETIC_FEATURES
    sizes = [(max(2, round(most * share)), passive) for share in LINEAR_SHARES]
    sizes += [(max(2, round(most * LINEAR_SHARES[0])), count) for count in LINEAR_FEATURES if count != passive]
    jobs = [
        (
            f"{name}, {rows:,} x ({active}+{count})",
            _job(settings, BATCH, name, data=SYNTHETIC, rows=rows, features=(active, count), extra=0),
        )
        for name in settings.configs or LINEAR_CONFIGS
        for rows, count in sizes
    ]
    grown = [(rows, count, settings.bins) for rows, count in sizes]
    grown += [(sizes[0][0], passive, bins) for bins in LINEAR_BINS if bins != settings.bins]
    return jobs + [
        (
            f"{SHARES}, {rows:,} x ({active}+{count}), {bins} bins",
            _shares_job(settings, data=SYNTHETIC, rows=rows, features=(active, count), bins=bins, extra=0),
        )
        for rows, count, bins in grown
    ]


def _shares_job(settings: TrainSettings, **changes: Any) -> TrainJob:
    """A job of `ot_shares`; `insecure` means a small group for its base transfers, too."""
    params = {**SHARES_PARAMS, **(QUICK_GROUP if settings.insecure else {})}
    return _job(settings, SHARES, None, params=params, **changes)


def _protocol_jobs(settings: TrainSettings) -> list[tuple[str, TrainJob]]:
    """Protocols with keys, and those that fall back on one, per configuration; others over more trees.

    Raises ParameterError for parameters that a protocol does not take.
    """
    jobs: list[tuple[str, TrainJob]] = []
    if len(set(settings.protocols)) != len(settings.protocols):
        raise ParameterError(f"bench train: --protocols {','.join(settings.protocols)} names one twice")
    for text in settings.protocols:
        name, *given = text.split(":")
        spec = protocol_by_name(name)
        params = _asked(spec, dict(_parameter(text) for text in given))
        configs = settings.configs or PROTOCOL_CONFIGS
        fields = spec.params.__struct_fields__
        if "key_bits" in fields:
            keyed = [(f"{text} {config}", _job(settings, name, config)) for config in configs]
            jobs += [(label, msgspec.structs.replace(job, params={**job.params, **params})) for label, job in keyed]
            continue
        # Those that fall back on encryption take seconds a tree.
        extra = settings.trees if "he" in fields else max(settings.trees, CHEAP_TREES)
        jobs.append((text, _job(settings, name, None, params=params, extra=extra)))
        if "he" in fields and not given:
            inner = {config: _job(settings, BATCH, config).params for config in configs}
            jobs += [
                (
                    f"{name}, small nodes {config}",
                    _job(settings, name, None, params={**params, "small_nodes": BATCH, "he": inner[config]}),
                )
                for config in configs
            ]
    return jobs


def _check_shapes(settings: TrainSettings) -> None:
    default = TrainSettings()
    fixed = ("data", "rows", "features", "depth", "bins", "ablation", "linear")
    given = [name for name in fixed if getattr(settings, name) != getattr(default, name)]
    if given:
        raise ParameterError(
            f"bench train: found --shapes with --{given[0]}, wanted it alone: a shape is a generated table with bins "
            "and a depth of its own"
        )
    if not settings.protocols:
        raise ParameterError("bench train: --shapes needs --protocols, such as --protocols plain,ot_shares,sealed")


def _shape_jobs(settings: TrainSettings) -> list[tuple[str, TrainJob]]:
    """Every protocol on every shape; all of them over equally many trees."""
    jobs: list[tuple[str, TrainJob]] = []
    for shape in settings.shapes:
        own = replace(
            settings,
            data=SYNTHETIC,
            rows=shape.rows,
            features=shape.features,
            bins=shape.bins,
            depth=shape.depth,
            shapes=(),
        )
        changes = {"extra": max(settings.trees, SHAPE_TREES), "steps": True, "twin_rows": TWIN_ROWS}
        jobs += [(f"{name}, {shape}", msgspec.structs.replace(job, **changes)) for name, job in _protocol_jobs(own)]
    return jobs


def _asked(spec: ProtocolSpec, given: dict[str, Any]) -> dict[str, Any]:
    """The parameters given, with the consent that a broken protocol needs; quick ones where it has no defaults."""
    params = {**({"insecure": True} if spec.security == "broken" else {}), **given}
    try:
        make_protocol_params(spec, params)
    except ProtocolParameterError as error:
        if given:
            raise ParameterError(f"bench train: --protocols {spec.name}: {error}") from None
        return dict(spec.quick_params)
    return params


def _parameter(text: str) -> tuple[str, Any]:
    """("epsilon", 1) of "epsilon=1". Raises ParameterError without "="."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ParameterError(f"bench train: found {text!r} in --protocols, wanted PROTOCOL:NAME=VALUE:...")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _job(
    settings: TrainSettings, protocol: str, config: str | None, switches: dict[str, Any] | None = None, **changes: Any
) -> TrainJob:
    params: dict[str, Any] = {}
    if config is not None:
        scheme, randomness = CONFIGS[config]
        params = {
            "scheme": scheme,
            "randomness": randomness,
            "key_bits": settings.key_bits,
            "insecure": settings.insecure,
            **(switches or {}),
        }
    shared = {name: getattr(settings, name) for name in ("data", "rows", "features", "depth", "bins", "threads")}
    return TrainJob(**{**shared, "protocol": protocol, "params": params, "extra": settings.trees, **changes})


def run_in_child(job: TrainJob, name: str) -> JobResult:
    """Run a job in a new process. Raises VfxgbError with its error, KeyboardInterrupt when it was interrupted."""
    environment = {} if job.path is None else {VARIABLE: job.path}
    return ask("vfxgb.bench.train.job", job, JobResult, name, environment)


def _middle(values: list[float]) -> float | None:
    return median(values[1:-1]) if len(values) > 2 else None


def make_measurement(name: str, job: TrainJob, result: JobResult) -> Measurement:
    """The numbers per tree: what the longer run took beyond the shorter one, or all of it where there is one only."""
    single, whole = result.single, result.whole
    if whole is None:
        whole, nothing, trees = single, TrainRun([], 0.0, 0.0, {}, {}, 0, 0), 1
    else:
        nothing, trees = single, job.extra
    return Measurement(
        name,
        job,
        result,
        (sum(whole.rounds) - sum(nothing.rounds)) / trees,
        (whole.cpu_seconds - nothing.cpu_seconds) / trees,
        {kind: (count - nothing.operations.get(kind, 0)) / trees for kind, count in whole.operations.items()},
        (whole.sent - nothing.sent) / trees,
        (whole.received - nothing.received) / trees,
        single.peak_bytes,
        whole.peak_bytes,
    )
