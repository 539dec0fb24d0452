"""All cells of a field, one after the other: those that are done stay, and every new one is kept at once.

Cells that are expected to be short go first, small shapes and fast lines before others; then those that take longer,
the shortest first. So a run that ends with its time has as many cells as fit into it, and the next run goes on.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vfxgb.bench.field.axes import FEWEST_TREES, LAST_TREES, PROBE_LINE, PROBES, Settings
from vfxgb.bench.field.cell import measure_cell
from vfxgb.bench.field.estimate import Expected, Known, expected, trees_within
from vfxgb.bench.field.peers import Peers
from vfxgb.bench.field.results import FAILED, MEASURED, NOT_RUN, Cell, Results, cells_of, entrant_name
from vfxgb.bench.field.tables import Tables
from vfxgb.bench.machine import machine_facts
from vfxgb.bench.progress import say
from vfxgb.errors import UnknownNameError

# A cell is given up after this many times its limit: what is expected is not certain.
PATIENCE = 2.0
LEAST_PATIENCE = 15.0


@dataclass(frozen=True)
class Request:
    """What to run of a field. `peers`: all if empty. `entrants`: all if empty. `again`: also those that are done."""

    settings: Settings
    peers: Sequence[str] = ()
    entrants: Sequence[str] = ()
    again: bool = False
    install: bool = False


class Field:
    """A field on its way from settings to results."""

    def __init__(self, request: Request, peers: Peers, results: Path) -> None:
        self._request, self._peers = request, peers
        self._settings = request.settings
        self._results = Results(results, request.settings)
        self._tables = Tables()
        self._began = time.monotonic()

    def run(self) -> dict[str, Any]:
        """Measure what is missing; gives the document. Raises UnknownNameError, KeyboardInterrupt, OSError."""
        document = self._results.document
        document["machine"] = machine_facts()
        described = {name: self._describe(name) for name in self._peers.chosen(self._request.peers)}
        document["peers"] |= described
        self._results.save()
        cells = self._cells(described)
        # Installing is not measured.
        self._began = time.monotonic()
        # Of each entrant it is known how long it takes before any cell is begun.
        for cell in {cell.name: cell for cell in cells}.values():
            self._probe(cell)
        todo = list(cells)
        while todo:
            costs = {cell: self._expected(cell) for cell in todo if self._refused(cell) is None}
            cell = min(todo, key=lambda one: self._rank(costs.get(one), cells.index(one)))
            self._measure(cell, costs, f"{len(cells) - len(todo) + 1}/{len(cells)}")
            todo.remove(cell)
        return document

    def _rank(self, cost: Expected | None, place: int) -> tuple[bool, float]:
        """The order in which cells are run: short ones as they are, then the others by what they take."""
        seconds = 0.0 if cost is None else cost.seconds(FEWEST_TREES)
        is_long = seconds > self._settings.enough_seconds
        return (is_long, seconds if is_long else place)

    def _describe(self, name: str) -> dict[str, Any]:
        described = self._peers.describe(name)
        if "missing" in described and self._request.install and "requirements" in described:
            self._peers.install(name, described)
            described = self._peers.describe(name)
        if "missing" in described:
            say(f"{name} is left out: {described['missing']}; to install it: {described.get('install', 'unknown')}")
        return described

    def _cells(self, described: Mapping[str, Mapping[str, Any]]) -> list[Cell]:
        """Those to run, small shapes and fast lines first, entrant after entrant."""
        wanted = set(self._request.entrants)
        there = {name: one["entrants"] for name, one in described.items() if "entrants" in one}
        known = {entrant for entrants in there.values() for entrant in entrants}
        if wanted - known:
            raise UnknownNameError(
                f"bench field: found entrants {', '.join(sorted(wanted - known))}, wanted some of "
                f"{', '.join(sorted(known))}"
            )
        cells = [cell for name, entrants in there.items() for cell in cells_of(name, entrants, self._settings)]
        cells = [cell for cell in cells if not wanted or cell.entrant in wanted]
        cells = [cell for cell in cells if self._request.again or not self._results.done(cell)]
        shapes, lines = list(self._settings.shapes), [None, *self._settings.lines]
        return sorted(cells, key=lambda cell: (shapes.index(cell.shape), lines.index(cell.line)))

    def _entrant(self, cell: Cell) -> dict[str, Any]:
        entrant: dict[str, Any] = self._results.document["peers"][cell.peer]["entrants"][cell.entrant]
        return entrant

    def _probe(self, cell: Cell) -> None:
        """Try an entrant on small tables, unless that was done."""
        before = self._results.probes.get(cell.name, [])
        if before and all(found["state"] == MEASURED for found in before) and not self._request.again:
            return
        tried: list[dict[str, Any]] = []
        self._results.probes[cell.name] = tried
        for shape in PROBES:
            small = Cell(cell.peer, cell.entrant, shape, PROBE_LINE if cell.line else None)
            say(f"trying {small.words}")
            tried.append(self._run(small, FEWEST_TREES, self._patience()))
            self._results.save()
            if tried[-1]["state"] != MEASURED or self._is_slow(tried[-1]):
                return

    def _is_slow(self, small: Mapping[str, Any]) -> bool:
        """Whether the larger of the small tables would take too long: by processor time, as what starts processes and
        waits for a line does not grow with rows."""
        parties = [party["tree"] for party in small["cpu"].values()]
        tree = sum(parties) if parties else small["tree_seconds"]
        growth = PROBES[-1].cells / PROBES[0].cells
        return bool(growth * small["grown"] * tree > self._settings.limit_seconds)

    def _run(self, cell: Cell, trees: int, limit: float) -> dict[str, Any]:
        entrant, threads = self._entrant(cell), self._settings.threads
        return measure_cell(cell, entrant, self._peers, self._tables, trees, threads, limit)

    def _patience(self) -> float:
        """Seconds after which a training is given up; it does not go far beyond what all may take."""
        patience = PATIENCE * self._settings.limit_seconds
        left = self._left()
        return patience if left is None else max(LEAST_PATIENCE, min(patience, left))

    def _left(self) -> float | None:
        """Seconds that are left for all cells, None for any number."""
        budget = self._settings.budget_seconds
        return None if budget is None else budget - (time.monotonic() - self._began)

    def _measure(self, cell: Cell, costs: Mapping[Cell, Expected], place: str) -> None:
        """Run a cell, or write down why not. `costs` has those of this cell and of all that are still to come."""
        settings = self._settings
        refused = self._refused(cell)
        if refused is not None:
            self._results.put(cell, {"state": FAILED, "why": f"on a small table: {refused['why']}"})
            return
        cost = costs[cell]
        least = cost.seconds(FEWEST_TREES)
        trees = self._trees(cost, settings.limit_seconds)
        if not trees:
            self._not_run(cell, least, f"{in_words(settings.limit_seconds)} is the limit")
            return
        left = self._left()
        if left is not None:
            trees = self._trees(cost, min(left, settings.limit_seconds))
            if not trees:
                self._not_run(cell, least, f"{in_words(max(0.0, left))} of the run were left; the next run goes on")
                return
        ahead = sum(self._planned(other) for other in costs.values())
        ahead = ahead if left is None else min(ahead, left)
        say(f"[{place}] {cell.words}: about {in_words(cost.seconds(trees))}; all: about {in_words(ahead)} left")
        found = self._run(cell, trees, self._patience())
        self._results.put(cell, found)
        if found["state"] != MEASURED:
            say(f"{cell.words}: {found['state']}: {found['why']}")

    def _not_run(self, cell: Cell, seconds: float, why: str) -> None:
        trees = self._entrant(cell)["warm_trees"] + FEWEST_TREES + LAST_TREES
        about = f"would take about {in_words(seconds)} with {trees} trees; {why}"
        say(f"{cell.words}: not run: {about}")
        self._results.put(cell, {"state": NOT_RUN, "why": about})

    def _expected(self, cell: Cell) -> Expected:
        """What a cell will take, by the cells of its entrant and its probe."""
        return expected(cell, self._known(cell))

    def _known(self, cell: Cell) -> list[Known]:
        """The entrant's cells and its probes."""
        line, tried = PROBE_LINE if cell.line else None, self._results.probes[cell.name]
        known = [Known(shape, line, found) for shape, found in zip(PROBES, tried, strict=False)]
        shapes = {shape.name: shape for shape in self._settings.shapes}
        lines = {line.name: line for line in self._settings.lines}
        known += [
            Known(shapes[found["shape"]], lines.get(found["line"]), found)
            for found in self._results.cells.values()
            if entrant_name(found["peer"], found["entrant"]) == cell.name and found["shape"] in shapes
        ]
        return known

    def _refused(self, cell: Cell) -> dict[str, Any] | None:
        """The probe that went wrong, if one did."""
        tried = self._results.probes[cell.name]
        return next((found for found in tried if found["state"] != MEASURED), None)

    def _planned(self, cost: Expected) -> float:
        """Seconds that a cell will take, 0 if it will not be run."""
        trees = self._trees(cost, self._settings.limit_seconds)
        return cost.seconds(trees) if trees else 0.0

    def _trees(self, cost: Expected, limit: float) -> int:
        """How many trees of a cell are timed, 0 if it is not run."""
        return trees_within(self._settings.enough_seconds, limit, self._settings.trees, cost)


def in_words(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
