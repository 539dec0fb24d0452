"""The page of a field, in Markdown, from what its JSON file holds."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from vfxgb.bench.datasets import ACTIVE, PASSIVE
from vfxgb.bench.field.axes import FEWEST_TREES, LEVELS, LINES, PROBE_LINE, PROBES, SHAPES, Shape
from vfxgb.bench.field.cell import BOTH
from vfxgb.bench.field.published import Number, System, published
from vfxgb.bench.field.results import MEASURED, entrant_name
from vfxgb.bench.field.shaper import Line
from vfxgb.bench.field.verdict import verdict

RANKS = {level.name: level.rank for level in LEVELS}
MEGA = 1e6
HEADS = (
    *("entrant", "level", "s a tree", "set-up s", "MB a tree, there + back", "set-up MB", "round trips"),
    *("processor s a tree, active + passive", "peak MB, active + passive", "AUC (`plain`)", "trees", "threads"),
)
# The columns that are words; the others stand right.
WORDS = 2

Document = Mapping[str, Any]
Found = Mapping[str, Any]


def markdown(document: Document, figures: Mapping[str, str], guide: str) -> str:
    """The whole page. `figures`: shape -> the file of its figure, where there is one. `guide`: the sentence that says
    where it is explained how to read it, without its full stop."""
    lines = ["# The field", "", *_head(document, guide)]
    lines += ["", "## Verdict", "", *verdict(document)]
    for shape in shapes_of(document):
        lines += ["", f"## {shape.words}"]
        if shape.name in figures:
            lines += ["", f"![Seconds of a tree against the level of privacy, by line]({figures[shape.name]})"]
        lines += _shape(document, shape)
    lines += ["", "## Small tables", *_small(document)]
    lines += ["", "## Published, on other tables", "", *_others()]
    lines += ["", "## Levels of privacy", "", *(f"- **{level.name}**: {level.words}" for level in LEVELS)]
    lines += ["", "## Entrants", "", *_entrants(document)]
    lines += ["", "## What could not be run", "", *_missing(document)]
    return "\n".join(lines) + "\n"


def shapes_of(document: Document) -> list[Shape]:
    """The shapes of which there is a cell, in the order of the axes."""
    there = {cell["shape"] for cell in document["cells"].values()}
    return [shape for shape in SHAPES if shape.name in there]


def lines_of(document: Document, shape: Shape) -> list[Line]:
    """The lines of which a shape has a cell, in the order of the axes."""
    there = {cell["line"] for cell in document["cells"].values() if cell["shape"] == shape.name}
    return [line for line in LINES if line.name in there]


def level_of(document: Document, cell: Found) -> str:
    """The level of privacy of a cell's entrant."""
    level: str = document["peers"][cell["peer"]]["entrants"][cell["entrant"]]["level"]
    return level


def cells_at(document: Document, shape: Shape, line: Line | None) -> list[Found]:
    """The cells of a shape and a line, the strongest level first, then the fastest; None: those in one process."""
    name = None if line is None else line.name
    cells = [cell for cell in document["cells"].values() if (cell["shape"], cell["line"]) == (shape.name, name)]
    return _ordered(document, cells)


def _ordered(document: Document, cells: Iterable[Found]) -> list[Found]:
    return sorted(cells, key=lambda cell: (-RANKS[level_of(document, cell)], cell.get("tree_seconds", float("inf"))))


def number(value: float | None) -> str:
    """Three digits that mean something; nothing where nothing is known."""
    if value is None:
        return ""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.4f}"


def _head(document: Document, guide: str) -> Iterator[str]:
    settings, machine = document["settings"], document["machine"]
    quick = " --quick" if settings["quick"] else ""
    cells = [cell for cell in document["cells"].values() if "commit" in cell]
    commits = ", ".join(sorted({cell["commit"] for cell in cells if cell["commit"]})) or "unknown"
    loads = [cell["load"] for cell in cells if cell["load"] is not None]
    load = f"{min(loads):.2f} to {max(loads):.2f}" if loads else "unknown"
    yield (
        f"Written by `vfxgb bench field{quick}` on {machine['processor']}, {machine['cores']} cores, kernels "
        f"{machine['kernels']}, Python {machine['python']}, {machine['system']}; commit {commits}; load average "
        f"{load} when cells began. {guide}."
    )
    if settings["quick"]:
        yield ""
        yield (
            "**This is a quick run**: the smallest shape, two lines, and as many cells as fit into "
            f"{settings['budget_seconds'] / 60:.0f} minutes. It shows that everything works, and orders of magnitude."
        )
    yield ""
    yield (
        f"Each party is a process of its own with {settings['threads']} thread(s) and half of the processors; the line "
        "between them is shaped in user space. Seconds a tree: median over the trees that were timed, neither the "
        "first, in which an entrant may still start, nor the last. A time stands only where the model was checked: "
        "*equal* means that every prediction is that of `plain`, bit for bit."
    )


def _shape(document: Document, shape: Shape) -> Iterator[str]:
    groups: list[Line | None] = [*lines_of(document, shape), None]
    for line in groups:
        cells = cells_at(document, shape, line)
        papers = list(published(shape.name, line.name)) if line else []
        if not cells and not papers:
            continue
        yield ""
        yield f"### {line.words}" if line else "### In one process, with no line between the parties"
        yield ""
        yield from _table_head()
        for cell in cells:
            yield f"| {' | '.join(_row(document, cell, document['settings']['trees']))} |"
        for system, stated in papers:
            yield f"| {' | '.join(_published_row(system, stated))} |"


def _small(document: Document) -> Iterator[str]:
    """What every entrant gave on the small tables that it is tried on before anything else."""
    yield ""
    yield (
        f"Every entrant was tried on these first, over {PROBE_LINE.words}; who is slow on the smaller one not on the "
        "larger one. They are too small for an AUC to say much: of an entrant that is not exact any was accepted."
    )
    for place, shape in enumerate(PROBES):
        cells = []
        for name, tried in document["probes"].items():
            peer, entrant = name.split(" ", 1)
            if place < len(tried) and entrant in document["peers"][peer].get("entrants", {}):
                alone = document["peers"][peer]["entrants"][entrant]["alone"]
                line = None if alone else PROBE_LINE.name
                cells.append({"peer": peer, "entrant": entrant, "line": line, **tried[place]})
        if cells:
            yield ""
            yield f"### {shape.words}"
            yield ""
            yield from _table_head()
            for cell in _ordered(document, cells):
                yield f"| {' | '.join(_row(document, cell, FEWEST_TREES))} |"


def _table_head() -> Iterator[str]:
    yield f"| {' | '.join(HEADS)} |"
    yield "|" + "---|" * WORDS + "---:|" * (len(HEADS) - WORDS)


def _row(document: Document, cell: Found, wanted_trees: int) -> list[str]:
    name, level = entrant_name(cell["peer"], cell["entrant"]), level_of(document, cell)
    if cell["state"] != MEASURED:
        return [name, level, _clean(f"{cell['state']}: {cell['why']}"), *[""] * (len(HEADS) - 3)]
    ways = [cell["bytes"].get(way) for way in ("there", "back")]
    roles = [role for role in (ACTIVE, PASSIVE, BOTH) if role in cell["cpu"]]
    fewer = " (fewer)" if cell["trees"] < wanted_trees else ""
    equal = ", *equal*" if cell["equal"] else ""
    return [
        name,
        level,
        f"**{number(cell['tree_seconds'])}**",
        number(cell["setup_seconds"]),
        " + ".join(number(way["tree"] / MEGA) for way in ways if way),
        number(sum(way["setup"] for way in ways if way) / MEGA) if all(ways) else "",
        number(cell["round_trips"]),
        " + ".join(number(cell["cpu"][role]["tree"]) for role in roles),
        " + ".join(number(cell["peak_bytes"][role] / MEGA) for role in roles),
        f"{cell['auc']:.4f} ({cell['reference_auc']:.4f}{equal})",
        f"{cell['trees']} of {cell['grown']}{fewer}",
        f"{cell['threads']} + {cell['threads']}" if cell["line"] else f"{2 * cell['threads']}",
    ]


def _published_row(system: System, stated: Number) -> list[str]:
    threads = "" if stated.threads is None else f"{stated.threads} + {stated.threads}"
    note = f"; {stated.note}" if stated.note else ""
    name = f"*published, not measured here: {system.name}, {stated.line}{note}*"
    megabytes = "" if stated.megabytes is None else f"*{number(stated.megabytes)} in all*"
    empty = [""] * (len(HEADS) - 6)
    return [name, system.level or "", f"*{number(stated.seconds)}*", "", megabytes, *empty, threads]


def _others() -> Iterator[str]:
    yield "Numbers that their authors published for tables that are none of the shapes above; not measured here."
    yield ""
    yield "| system | table | line | s a tree | MB a tree | what it is |"
    yield "|---|---|---|---:|---:|---|"
    for system, stated in published(None):
        seconds, megabytes = f"*{number(stated.seconds)}*", number(stated.megabytes)
        yield f"| {' | '.join([system.name, stated.table, stated.line, seconds, megabytes, system.learns])} |"


def _entrants(document: Document) -> Iterator[str]:
    yield "| entrant | version | level | who learns what | source | notes |"
    yield "|---|---|---|---|---|---|"
    for peer, about in document["peers"].items():
        for name, entrant in about.get("entrants", {}).items():
            keys = [f"keys of {entrant['key_bits']} bits"] if entrant["key_bits"] else []
            notes = "; ".join([*keys, *entrant["notes"], *about["notes"]])
            cells = [entrant_name(peer, name), about["version"], entrant["level"], entrant["learns"], about["source"]]
            yield f"| {' | '.join(_clean(cell) for cell in (*cells, notes))} |"


def _missing(document: Document) -> Iterator[str]:
    missing = {name: about for name, about in document["peers"].items() if "missing" in about}
    for about in missing.values():
        how = f" To install it: `{about['install']}`." if about.get("install") else ""
        yield f"- {about['title']}: {_clean(about['missing'])}.{how}"
    states: dict[str, list[str]] = {}
    for cell in document["cells"].values():
        if cell["state"] != MEASURED:
            states.setdefault(entrant_name(cell["peer"], cell["entrant"]), []).append(
                f"{cell['shape']}, {cell['line'] or 'one process'}: {cell['state']}"
            )
    for name, said in states.items():
        yield f"- {name}: {'; '.join(said)}. The tables above say why."
    if not missing and not states:
        yield "Nothing."


def _clean(text: str) -> str:
    """Text of other programs, fit for a cell of a table."""
    return " ".join(text.split()).replace("|", "/").replace("<", "&lt;").rstrip(".")
