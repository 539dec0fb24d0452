"""The verdict of a field: on which axes vfxgb is ahead of which peer, and on which it is not, and by how much.

An axis is a shape and a line. On each axis every entrant of another library stands next to one protocol of vfxgb: the
fastest that was measured there and protects at least as much. All measures are taken from this one protocol, so that a
lead in time cannot be paid with another protocol's bytes. What trains on pooled data protects nothing and is no peer.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vfxgb.bench.field.axes import LEVELS, LINES, PROBE_LINE, PROBES, SHAPES
from vfxgb.bench.field.published import published
from vfxgb.bench.field.results import MEASURED, NOT_RUN, entrant_name

OURS, POOLED, NOISE = "vfxgb", "pooled", "noise"
RANKS = {level.name: level.rank for level in LEVELS}
SECONDS = "seconds a tree"
MEGA = 1e6
# More lines of one measure and peer are summed up in one.
FEW = 4

Found = Mapping[str, Any]


@dataclass(frozen=True)
class Comparison:
    """A measure of a peer's entrant next to ours on an axis; `ours` is None where nothing of ours was measured."""

    measure: str
    axis: str
    peer: str
    theirs: float
    entrant: str
    ours: float | None

    @property
    def lead(self) -> float:
        """How many times as much the peer needs; below one where vfxgb is behind, 0 where it has nothing to show."""
        if self.ours is None:
            return 0.0
        return self.theirs / self.ours if self.ours > 0 else float("inf")

    @property
    def ahead(self) -> bool:
        """Whether vfxgb needs no more than the peer."""
        return self.lead >= 1


def measures_of(cell: Found) -> dict[str, float]:
    """What a measured cell gave, as far as it is known; less is better of each."""
    values = {SECONDS: cell["tree_seconds"], "seconds of set-up": cell["setup_seconds"]}
    if cell["bytes"]:
        values["MB a tree"] = sum(way["tree"] for way in cell["bytes"].values()) / MEGA
        values["MB of set-up"] = sum(way["setup"] for way in cell["bytes"].values()) / MEGA
    if cell["cpu"]:
        values["processor seconds a tree"] = sum(party["tree"] for party in cell["cpu"].values())
        values["peak MB"] = sum(cell["peak_bytes"].values()) / MEGA
    return values


def compare(document: Found) -> list[Comparison]:
    """Every measure of every peer on every axis where it was measured.

    An entrant that was measured on none of the shapes is compared on the largest of the small tables that it finished.
    """
    found: list[Comparison] = []
    for cell in document["cells"].values():
        if _is_peer(document, cell) and cell["state"] == MEASURED:
            found += _beside(document, cell, _cells_beside(document, cell), _axis(cell["shape"], cell["line"]))
    measured = {comparison.peer for comparison in found}
    for name, tried in document["probes"].items():
        peer, entrant = name.split(" ", 1)
        done = [place for place, probe in enumerate(tried) if probe["state"] == MEASURED]
        if name in measured or not done or entrant not in document["peers"][peer].get("entrants", {}):
            continue
        head = {"peer": peer, "entrant": entrant}
        if _is_peer(document, head):
            axis = f"{PROBES[done[-1]].rows:,} rows, {PROBE_LINE.words}"
            found += _beside(document, {**head, **tried[done[-1]]}, _probes_beside(document, done[-1]), axis)
    return found


def compare_published(document: Found) -> list[Comparison]:
    """Seconds a tree of papers, on the axes that are closest to theirs, where something of ours was measured."""
    found = []
    for shape in SHAPES:
        for system, stated in published(shape.name):
            if system.level is None:
                continue
            cells = _ours_at(document, shape.name, stated.beside)
            best = _best(document, cells, system.level)
            if best is not None:
                axis = f"{_axis(shape.name, stated.beside)} (theirs: {stated.line})"
                name, ours = best["entrant"], best["tree_seconds"]
                found.append(Comparison(SECONDS, axis, system.name, stated.seconds, name, ours))
    return found


def verdict(document: Found) -> Iterator[str]:
    """The section of the page, in Markdown."""
    comparisons = compare(document)
    yield (
        "Each entrant of another library next to one protocol of vfxgb on the same axis (shape and line): the fastest "
        "that protects at least as much by the levels below, and is exact unless the other one is noisy, too. An "
        "entrant whose parties are in one process waits for no line, and stands next to vfxgb over the fastest one. An "
        "entrant that was measured on no shape stands next to vfxgb on a small table. xgboost on pooled data is the "
        "floor, not a peer."
    )
    yield ""
    if not comparisons:
        yield "Nothing of another library was measured: there is no verdict."
        return
    yield from _summary(comparisons)
    yield ""
    behind = [comparison for comparison in comparisons if not comparison.ahead]
    if behind:
        axes = len({(comparison.measure, comparison.axis, comparison.peer) for comparison in comparisons})
        yield f"**Ahead in {axes - len(behind)} of {axes} comparisons.** Not ahead:"
        yield ""
        yield from _lines_behind(behind)
    else:
        yield "**Ahead of every peer on every axis that was measured.**"
    yield from _not_compared(document)
    yield from _next_to_papers(document)


def _summary(comparisons: list[Comparison]) -> Iterator[str]:
    yield "| measure | comparisons | ahead | lead, least to greatest |"
    yield "|---|---:|---:|---:|"
    for measure in dict.fromkeys(comparison.measure for comparison in comparisons):
        some = [comparison for comparison in comparisons if comparison.measure == measure]
        leads = [comparison.lead for comparison in some if comparison.ours is not None]
        span = f"{times(min(leads))} to {times(max(leads))}" if leads else ""
        yield f"| {measure} | {len(some)} | {sum(comparison.ahead for comparison in some)} | {span} |"


def _lines_behind(behind: list[Comparison]) -> Iterator[str]:
    """A line for each axis; those of a measure and peer that has many of them in one line."""
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in behind:
        groups.setdefault((comparison.measure, comparison.peer), []).append(comparison)
    for (measure, peer), some in groups.items():
        if len(some) <= FEW:
            yield from (f"- {measure}, {comparison.axis}: {_words(comparison)}." for comparison in some)
        else:
            every = "; ".join(f"{comparison.axis}: {_words(comparison)}" for comparison in some)
            yield f"- {measure}, next to {peer}, on {len(some)} axes: {every}."


def _words(comparison: Comparison) -> str:
    theirs = f"{comparison.peer} {comparison.theirs:,.3g}"
    if comparison.ours is None:
        return f"{theirs}; no protocol of vfxgb that protects as much was measured there"
    more = "more than nothing" if comparison.theirs == 0 else f"{times(1 / comparison.lead)} as much"
    return f"{OURS} {comparison.entrant} {comparison.ours:,.3g}, {theirs}: {more}"


def _not_compared(document: Found) -> Iterator[str]:
    """Cells of peers that have no numbers, by entrant and state."""
    groups: dict[tuple[str, str], int] = {}
    for cell in document["cells"].values():
        if _is_peer(document, cell) and cell["state"] != MEASURED:
            key = (entrant_name(cell["peer"], cell["entrant"]), cell["state"])
            groups[key] = groups.get(key, 0) + 1
    if groups:
        yield ""
        said = ", ".join(f"{name} ({count} {state})" for (name, state), count in groups.items())
        yield f"Without a number, and so not compared: cells of {said}. The tables say why of each."
    unmeasured = [cell for cell in document["cells"].values() if cell["peer"] == OURS and cell["state"] == NOT_RUN]
    if unmeasured:
        yield ""
        yield f"Of vfxgb {len(unmeasured)} cells were not run, as they would have taken too long."


def _next_to_papers(document: Found) -> Iterator[str]:
    comparisons = compare_published(document)
    if not comparisons:
        return
    behind = [comparison for comparison in comparisons if not comparison.ahead]
    leads = [comparison.lead for comparison in comparisons]
    yield ""
    yield (
        f"Next to published seconds a tree, which were measured on other machines with more threads: ahead in "
        f"{len(comparisons) - len(behind)} of {len(comparisons)} comparisons, by {times(min(leads))} to "
        f"{times(max(leads))}."
    )
    if behind:
        yield ""
        yield from (f"- {comparison.axis}: {_words(comparison)}." for comparison in behind)


def times(factor: float) -> str:
    """A ratio as text."""
    if factor == float("inf"):
        return "any number of times"
    return f"{factor:,.0f}x" if factor >= 10 else f"{factor:.2g}x"


def _axis(shape: str, line: str | None) -> str:
    return f"{shape}, {line or 'in one process'}"


def _level(document: Found, cell: Found) -> str:
    level: str = document["peers"][cell["peer"]]["entrants"][cell["entrant"]]["level"]
    return level


def _is_peer(document: Found, cell: Found) -> bool:
    return cell["peer"] != OURS and _level(document, cell) != POOLED


def _best(document: Found, ours: list[Found], level: str) -> Found | None:
    """The fastest of our cells that protects at least as much as `level`."""
    fit = [
        cell
        for cell in ours
        if RANKS[_level(document, cell)] >= RANKS[level] and (_level(document, cell) == NOISE) <= (level == NOISE)
    ]
    return min(fit, key=lambda cell: float(cell["tree_seconds"]), default=None)


def _ours_at(document: Found, shape: str, line: str) -> list[Found]:
    return [
        cell
        for cell in document["cells"].values()
        if (cell["peer"], cell["shape"], cell["line"], cell["state"]) == (OURS, shape, line, MEASURED)
    ]


def _cells_beside(document: Found, cell: Found) -> list[Found]:
    """Ours on the axis of a peer's cell; one without a line stands beside those over the fastest line there is."""
    if cell["line"] is not None:
        return _ours_at(document, cell["shape"], cell["line"])
    over = (_ours_at(document, cell["shape"], line.name) for line in LINES)
    return next((cells for cells in over if cells), [])


def _probes_beside(document: Found, place: int) -> list[Found]:
    """Ours on a small table."""
    return [
        {"peer": OURS, "entrant": name.split(" ", 1)[1], **tried[place]}
        for name, tried in document["probes"].items()
        if name.startswith(f"{OURS} ") and place < len(tried) and tried[place]["state"] == MEASURED
    ]


def _beside(document: Found, cell: Found, ours: list[Found], axis: str) -> Iterator[Comparison]:
    best = _best(document, ours, _level(document, cell))
    own = {} if best is None else measures_of(best)
    name = "" if best is None else best["entrant"]
    peer = entrant_name(cell["peer"], cell["entrant"])
    for measure, theirs in measures_of(cell).items():
        # Where no protocol of ours was measured one line says so, not one for each measure.
        if best is not None and measure in own:
            yield Comparison(measure, axis, peer, theirs, name, own[measure])
        elif best is None and measure == SECONDS:
            yield Comparison(measure, axis, peer, theirs, name, None)
