"""One cell: the parties of an entrant train over a line; what comes out is checked, then counted.

Time of a tree: the median over all trees but the first ones and the last. Set-up: what the first ones take beyond it,
from the moment that the parties are connected, keys and tables included. Bytes are those that the shaper passed on,
whatever the entrant sends them with. Processor time and memory are those of all processes of a party.
"""

import dataclasses
import json
import os
import socket
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from vfxgb.bench.datasets import ACTIVE, PASSIVE
from vfxgb.bench.field.axes import LAST_TREES, PROBES
from vfxgb.bench.field.parties import EntrantFailedError, Event, Events, PartyProcess, environment
from vfxgb.bench.field.peers import Peers
from vfxgb.bench.field.process_cost import Cost
from vfxgb.bench.field.results import FAILED, MEASURED, WRONG, Cell
from vfxgb.bench.field.shaper import HOST, Passed, ShapedLine, Way
from vfxgb.bench.field.tables import Tables, WrongModelError
from vfxgb.bench.machine import commit
from vfxgb.transport.network.certificates import issue, make_authority

BOTH = "both"
START_SECONDS = 300.0
# Counters that a party may tell with a tree.
COUNTERS = ("messages", "round_trips")
LONGEST_WHY = 500


@dataclasses.dataclass(frozen=True)
class Run:
    """What was heard and seen of a training. `costs`: role -> until each event; `passed`: None without a line."""

    events: list[Event]
    costs: dict[str, list[Cost | None]]
    passed: Passed | None


def measure_cell(
    cell: Cell, entrant: Mapping[str, Any], peers: Peers, tables: Tables, trees: int, threads: int, limit: float
) -> dict[str, Any]:
    """Train and count. `trees` are timed, `limit`: the seconds that it may take. Gives what results.py keeps."""
    seen = {"commit": commit(), "load": _load(), "at": datetime.now(timezone.utc).isoformat(timespec="seconds")}
    head = {"trees": trees, "threads": threads, **seen}
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="vfxgb-field-") as name:
        folder = Path(name)
        tables.write(cell.shape, folder)
        warm = entrant["warm_trees"]
        grown = warm + trees + LAST_TREES
        try:
            run = train(cell, peers, folder, grown, threads, limit)
            checked = tables.check(cell.shape, grown, entrant["twin"], folder, cell.shape not in PROBES)
            numbers = counted(run, warm, trees)
        except EntrantFailedError as failure:
            return {**head, "state": FAILED, "why": str(failure)[:LONGEST_WHY], "took": time.monotonic() - began}
        except WrongModelError as wrong:
            return {**head, "state": WRONG, "why": str(wrong), "took": time.monotonic() - began}
    return {**head, "state": MEASURED, **checked, **numbers, "grown": grown, "took": time.monotonic() - began}


def train(cell: Cell, peers: Peers, folder: Path, trees: int, threads: int, limit: float) -> Run:
    """Run the parties. Raises EntrantFailedError."""
    roles = (ACTIVE, PASSIVE) if cell.line else (BOTH,)
    cores = _cores(roles)
    events = Events()
    with ExitStack() as stack:
        listen = _free_ports(roles)
        dial, line = dict(listen), None
        if cell.line is not None:
            make_certificates(folder)
            # What the active party sends goes there, whoever dialled.
            ways: dict[str, Way] = {PASSIVE: "there", ACTIVE: "back"}
            line = stack.enter_context(ShapedLine(cell.line, [(listen[role], ways[role]) for role in roles]))
            dial = dict(zip(roles, line.ports, strict=True))
        parties = {}
        for role in roles:
            job = _job(cell, role, folder, trees, threads, listen, dial)
            variables = environment(peers.scripts.parent, job["threads"], f"{role}-{uuid.uuid4().hex}")
            file = folder / f"{role}-job.json"
            file.write_text(json.dumps(job), encoding="utf-8")
            command = peers.command(cell.peer, "run", str(file))
            parties[role] = stack.enter_context(PartyProcess(role, command, variables, cores[role], events))
        for _ in events.until("ready", roles, time.monotonic() + START_SECONDS, f"starting {cell.name}"):
            pass
        for party in parties.values():
            party.go()
        heard: list[Event] = []
        costs: dict[str, list[Cost | None]] = {role: [] for role in roles}
        for event in events.until("done", roles, time.monotonic() + limit, f"training with {cell.name}"):
            if event.role == roles[0] and event.name in ("begin", "tree"):
                heard.append(event)
                for role, party in parties.items():
                    costs[role].append(party.processes.cost())
        return Run(heard, costs, line.passed() if line else None)


def counted(run: Run, warm: int, trees: int) -> dict[str, Any]:
    """The numbers of a cell, from what was heard and seen. `warm`: trees before those that are timed."""
    names = [event.name for event in run.events]
    wanted = warm + trees + LAST_TREES
    if names != ["begin"] + ["tree"] * wanted:
        raise EntrantFailedError(f"found the events {names}, wanted begin and {wanted} trees")
    times = [event.time for event in run.events]
    seconds = Steps(times, warm)
    numbers: dict[str, Any] = {"tree_seconds": seconds.tree, "trees_seconds": seconds.middle}
    numbers["setup_seconds"] = seconds.setup
    numbers["cpu"], numbers["peak_bytes"] = {}, {}
    for role, costs in run.costs.items():
        known = [cost for cost in costs if cost is not None]
        if len(known) == len(costs):
            cpu = Steps([cost.cpu_seconds for cost in known], warm)
            numbers["cpu"][role] = {"tree": cpu.tree, "setup": cpu.setup}
            numbers["peak_bytes"][role] = known[-1].peak_bytes
    numbers["bytes"] = {}
    if run.passed is not None:
        # What passed before the parties said that they are connected is of the set-up, too.
        moments = [float("-inf"), *times[1:]]
        for way in ("there", "back"):
            sent = Steps([run.passed.until(way, moment) for moment in moments], warm)
            numbers["bytes"][way] = {"tree": sent.tree, "setup": sent.setup}
        numbers["shaper_cpu_seconds"] = run.passed.cpu_seconds
    for name in COUNTERS:
        told = [float(event.more[name]) for event in run.events[1:] if name in event.more]
        numbers[name] = Steps([0.0, *told], warm).tree if told else None
    return numbers


class Steps:
    """A counter at the beginning and after each tree: its growth in a tree that is timed, and what came before.

    The set-up is what the first trees take beyond as many that are timed; never less than nothing, as trees differ.
    """

    def __init__(self, counter: Sequence[float], warm: int) -> None:
        steps = [after - before for before, after in pairwise(counter)]
        self.middle = steps[warm:-LAST_TREES]
        self.tree = median(self.middle)
        self.setup = max(0.0, sum(steps[:warm]) - warm * self.tree)


def _job(
    cell: Cell, role: str, folder: Path, trees: int, threads: int, listen: Mapping[str, int], dial: Mapping[str, int]
) -> dict[str, Any]:
    """What a party is told. One process that plays all parties has the threads of both."""
    return {
        "entrant": cell.entrant,
        "role": role,
        "folder": str(folder),
        "rows": cell.shape.rows,
        "features": cell.shape.features,
        "depth": cell.shape.depth,
        "bins": cell.shape.bins,
        "trees": trees,
        "threads": threads if cell.line else 2 * threads,
        "mbit": cell.line.mbit if cell.line else 0.0,
        "delay_ms": cell.line.delay_ms if cell.line else 0.0,
        "listen": dict(listen),
        "dial": dict(dial),
    }


def make_certificates(folder: Path) -> None:
    """A pair of files for each party, for entrants that use TLS."""
    authority = make_authority(folder)
    for party in (ACTIVE, PASSIVE):
        issue(authority, party, (), 7, folder)


def _cores(roles: Sequence[str]) -> dict[str, list[int]]:
    """Role -> its processors: each party has half of them; one process that plays both has all."""
    if not hasattr(os, "sched_getaffinity"):
        return {role: [] for role in roles}
    cores = sorted(os.sched_getaffinity(0))
    if len(roles) == 1 or len(cores) == 1:
        return dict.fromkeys(roles, cores)
    half = len(cores) // 2
    return {roles[0]: cores[:half], roles[1]: cores[half:]}


def _free_ports(roles: Sequence[str]) -> dict[str, int]:
    """Role -> a port that nobody listens on now."""
    held = {role: socket.create_server((HOST, 0)) for role in roles}
    ports = {role: listening.getsockname()[1] for role, listening in held.items()}
    for listening in held.values():
        listening.close()
    return ports


def _load() -> float | None:
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
