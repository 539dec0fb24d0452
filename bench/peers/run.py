"""One run: which peers are there, what they can do, how fast; peers.json and peers.md."""

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from peers import operations, training
from peers.child import Child, PeerFailedError
from peers.inputs import Sizes
from peers.ratios import OURS, operation_ratios, training_ratio
from peers.tables import markdown
from peers.training import Plan
from peers.worker import load_peer
from vfxgb.bench.machine import machine_facts
from vfxgb.errors import UnknownNameError

ADAPTERS = Path(__file__).resolve().parent / "adapters"
RESULT = "peers"
MEASURED, MISSING, FAILED = "measured", "missing", "failed"


@dataclass(frozen=True)
class Settings:
    """What to measure. `bits`: key sizes of operations."""

    quick: bool
    bits: tuple[int, ...]
    sizes: Sizes
    repeats: int
    plan: Plan


FULL = Settings(
    quick=False,
    bits=(2048, 3072),
    sizes=Sizes(batch=1000, few=50, rows=4096, features=5, bins=32),
    repeats=5,
    plan=Plan(
        tables=("give_credit", "default_credit"),
        rows=None,
        small=("default_credit", 10_000),
        depth=6,
        bins=32,
        key_bits=2048,
        trees=20,
        encrypted_trees=1,
    ),
)
QUICK = replace(
    FULL,
    quick=True,
    bits=(2048,),
    sizes=Sizes(batch=100, few=20, rows=1024, features=5, bins=32),
    repeats=2,
    plan=replace(FULL.plan, rows=2000, small=("default_credit", 300), trees=3),
)


class Steps:
    """Lines on stderr that say what is being done, with the seconds since the start."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def __call__(self, what: str) -> None:
        print(f"{time.perf_counter() - self._start:6.0f} s  {what}", file=sys.stderr, flush=True)


def adapter_names(folder: Path = ADAPTERS) -> list[str]:
    """vfxgb and the others, by name."""
    names = sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))
    return [OURS, *(name for name in names if name != OURS)]


def chosen(names: Sequence[str], folder: Path = ADAPTERS) -> list[str]:
    """vfxgb and those named; all if none is. Raises UnknownNameError for a name that is no adapter."""
    known = adapter_names(folder)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UnknownNameError(f"bench peers: found {', '.join(unknown)}, wanted some of {', '.join(known[1:])}")
    return list(dict.fromkeys([OURS, *names])) if names else known


def run(settings: Settings, names: Sequence[str], out: Path, folder: Path = ADAPTERS) -> int:
    """Measure, write peers.json and peers.md to `out`, print the tables; 1 if a peer failed that is there, else 0."""
    asked = chosen(names, folder)
    # A folder that cannot be written should fail now, not after the measurement.
    out.mkdir(parents=True, exist_ok=True)
    document = measure(settings, asked, folder)
    (out / f"{RESULT}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    text = markdown(document)
    (out / f"{RESULT}.md").write_text(text, encoding="utf-8")
    print(text)
    failed = any(peer["state"] == FAILED for peer in document["peers"].values()) or document["failed_trainings"]
    return int(bool(failed))


def measure(settings: Settings, names: Sequence[str], folder: Path) -> dict[str, Any]:
    """What the JSON file holds."""
    say = Steps()
    facts, before = machine_facts(), _load()
    peers, schemes, trainers = {}, {}, {}
    for name in names:
        peers[name], answer = _look(folder, name)
        if answer is not None:
            schemes[name], trainers[name] = answer["schemes"], answer["trainers"]
        else:
            say(f"{name} is {peers[name]['state']}: {peers[name]['why']}; {peers[name]['install']}")
    measured: list[dict[str, Any]] = []
    for bits in settings.bits:
        more, failed = operations.measure(folder, schemes, bits, settings.sizes, settings.repeats, say)
        measured += more
        for name, why in failed.items():
            say(f"{name} failed: {why}")
            peers[name] |= {"state": FAILED, "why": why}
            del schemes[name]
    jobs = training.jobs(trainers, settings.plan)
    trained, failed_trainings = training.measure(folder, jobs, settings.plan, say)
    for line in trained:
        line["ratio"] = training_ratio(line, trained)
    return {
        "machine": facts,
        "load": {"before": before, "after": _load()},
        "settings": asdict(settings),
        "peers": peers,
        "operations": measured,
        "ratios": operation_ratios(measured),
        "training": trained,
        "failed_trainings": failed_trainings,
    }


def _look(folder: Path, name: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """What is known of a peer, and its own answer, None if it cannot be used."""
    try:
        peer = load_peer(folder, name)
    except Exception as error:
        about = {"title": name, "install": "", "notes": [], "batch": None, "version": None}
        return {**about, "state": FAILED, "why": f"its adapter: {type(error).__name__}: {error}"}, None
    about = {
        "title": peer.title,
        "install": peer.install,
        "notes": list(peer.notes),
        "batch": peer.most,
        "version": None,
    }
    with Child(folder, name) as child:
        try:
            answer = child.ask("hello")
        except PeerFailedError as failure:
            return {**about, "state": FAILED, "why": str(failure)}, None
    if "missing" in answer:
        return {**about, "state": MISSING, "why": answer["missing"]}, None
    return {**about, "version": answer["version"], "state": MEASURED, "why": ""}, answer


def _load() -> str:
    return f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown"
