"""The process of one party: `python -m field.party FOLDER NAME describe`, or `... run JOB.json`.

`describe` prints one line of JSON: whether the library can be imported, its version, its entrants. `run` tells events
(adapter.Reporter) until the training is done, then waits until its stdin is closed: its memory can be looked at.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from field.adapter import Job, Peer, Reporter


def load_peer(folder: Path, name: str) -> Peer:
    """The PEER of an adapter of any folder; those of this package are imported as its modules."""
    if folder.resolve() == Path(__file__).resolve().parent / "adapters":
        module = importlib.import_module(f"field.adapters.{name}")
    else:
        spec = importlib.util.spec_from_file_location(f"field.adapters.{name}", folder / f"{name}.py")
        if spec is None or spec.loader is None:
            raise ImportError(f"no adapter {name} in {folder}")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    peer: Peer = module.PEER
    return peer


def describe(peer: Peer) -> dict[str, Any]:
    """What the benchmark has to know of a peer; `missing` where its library cannot be imported."""
    about = {"title": peer.title, "install": peer.install, "source": peer.source, "notes": list(peer.notes)}
    about["requirements"] = list(peer.requirements)
    try:
        module = importlib.import_module(peer.module)
    except Exception as error:  # whatever a broken installation raises
        return {**about, "missing": one_line(error)}
    try:
        release = version(peer.distribution)
    except PackageNotFoundError:
        release = getattr(module, "__version__", "unknown")
    entrants = {name: asdict(entrant) for name, entrant in peer.entrants().items()}
    return {**about, "version": release, "entrants": entrants}


def one_line(error: BaseException) -> str:
    """Kind and message of an error, without line breaks."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def run(peer: Peer, job: Job, reporter: Reporter) -> int:
    """Play a party; the exit code."""
    try:
        peer.play(job, reporter)
    except Exception as error:
        reporter.tell("failed", why=one_line(error))
        return 1
    reporter.tell("done")
    sys.stdin.read()
    return 0


def main(folder: str, name: str, do: str, *job: str) -> int:
    """Describe a peer, or play a party of it."""
    reporter = Reporter()
    try:
        peer = load_peer(Path(folder), name)
    except Exception as error:
        reporter.tell("failed", why=f"its adapter: {one_line(error)}")
        return 1
    if do == "describe":
        reporter.tell("described", **describe(peer))
        return 0
    given = json.loads(Path(job[0]).read_text(encoding="utf-8"))
    return run(peer, Job(**{**given, "features": tuple(given["features"])}), reporter)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
