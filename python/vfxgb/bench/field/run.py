"""`vfxgb bench field`: measure what is missing, then write the page and the figures from the file of results."""

from dataclasses import replace
from pathlib import Path

from vfxgb.bench.field.axes import LINES, SHAPES, Settings
from vfxgb.bench.field.figure import draw
from vfxgb.bench.field.measure import Field, Request
from vfxgb.bench.field.page import lines_of, markdown, shapes_of
from vfxgb.bench.field.peers import ADAPTERS, Peers
from vfxgb.bench.field.results import FAILED, WRONG, read_document
from vfxgb.bench.progress import say
from vfxgb.bench.script_folders import results_folder, scripts_folder
from vfxgb.errors import MissingPackageError, UnknownNameError

TOPIC = "field"
USER_RESULTS = Path("vfxgb-field")
ENVIRONMENTS = Path.home() / ".cache/vfxgb/field"
GUIDE = "field.md"


def choose(settings: Settings, shapes: tuple[str, ...], lines: tuple[str, ...]) -> Settings:
    """The settings with some shapes and lines only; those they have where none is named. Raises UnknownNameError."""
    for what, names, known in (("shapes", shapes, SHAPES), ("lines", lines, LINES)):
        unknown = [name for name in names if name not in {one.name for one in known}]
        if unknown:
            wanted = ", ".join(one.name for one in known)
            raise UnknownNameError(f"bench field: found {what} {', '.join(unknown)}, wanted some of {wanted}")
    return replace(
        settings,
        shapes=tuple(shape for shape in SHAPES if shape.name in shapes) or settings.shapes,
        lines=tuple(line for line in LINES if line.name in lines) or settings.lines,
    )


def run(request: Request, out: Path | None, environments: Path | None, page_only: bool = False) -> int:
    """Measure and write; 1 if an entrant failed or gave a wrong model, else 0.

    `out`: None for `results_folder`. `environments`: where peers have environments of their own, None for the user's
    cache. With `page_only` nothing is measured. Raises as Field.run, FormatError for a file that is none of results.
    """
    folder = scripts_folder(TOPIC)
    quick = request.settings.quick
    out = out or results_folder(quick, folder, USER_RESULTS)
    out.mkdir(parents=True, exist_ok=True)
    name = f"{TOPIC}_quick" if quick else TOPIC
    file = out / f"{name}.json"
    try:
        if not page_only:
            Field(request, Peers(folder, folder / ADAPTERS, environments or ENVIRONMENTS), file).run()
    finally:
        # Also of a run that was broken off: what is done is worth reading.
        write_page(file, out, name)
    bad = [cell for cell in read_document(file)["cells"].values() if cell["state"] in (FAILED, WRONG)]
    return int(bool(bad))


def write_page(file: Path, out: Path, name: str) -> None:
    """Write the page, and a figure for each shape where matplotlib is installed. Raises FormatError, OSError."""
    if not file.is_file():
        return
    document = read_document(file)
    figures = {}
    try:
        for shape in shapes_of(document):
            if lines_of(document, shape):
                figure = f"{name}_{shape.name}.png"
                draw(document, shape, out / figure)
                figures[shape.name] = figure
    except MissingPackageError as missing:
        say(str(missing))
    # In docs/results of a source tree the guide is one folder up; anywhere else it is only named.
    beside = (out.resolve().parent / GUIDE).is_file()
    guide = f"[How to read it](../{GUIDE})" if beside else f"docs/{GUIDE} of the sources says how to read it"
    (out / f"{name}.md").write_text(markdown(document, figures, guide), encoding="utf-8")
    say(f"results: {out / name}.md")
