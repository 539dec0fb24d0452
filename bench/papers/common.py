"""What the scripts of this folder share: arguments, data, facts of the machine, result files, plots.

A script is a file with a `main(argv)` that ends in

    if __name__ == "__main__":
        sys.exit(common.guarded(main))

`vfxgb bench papers` finds it by that line, shows the first line of its docstring and, for the time left, reads its
MINUTES: how long it takes on two idle cores with --quick and without. Its main looks like this:

    args = common.parse(common.parser(__doc__), argv)
    run = common.Run("name", "Title", "table 1 of papers/000", args)
    data = common.rows_of("adult", rows)                  # real, or generated of the same shape
    run.use(data)
    ...
    run.table("Heading", ["method", "AUC"], [["plain", "0.91"]])
    with run.plot("name", 1, 2) as axes: ...
    run.found("What the paper says.", True, "What was measured.")
    run.write({"cells": ...})

which writes name.json, name.md and the plots to the folder `out`.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.bench.datasets import Loaded, load
from vfxgb.bench.machine import machine_facts
from vfxgb.bench.papers import NEEDED, USER_RESULTS, missing_packages, refuse_local_changes
from vfxgb.bench.script_folders import results_folder
from vfxgb.cli.exits import INTERRUPTED, USAGE
from vfxgb.errors import VfxgbError

FOLDER = Path(__file__).resolve().parent
# Okabe and Ito: told apart with any kind of colour vision, and each line has a marker and a dash of its own as well.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F", "#882255", "#999933")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
DASHES = ("-", "--", "-.", ":")


def parser(about: str | None, seeds: int | None = None) -> argparse.ArgumentParser:
    """The arguments of every script; `seeds`: how many runs of each kind by default, None if one is enough."""
    options = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="small sizes, for a first look; minutes instead of hours")
    options.add_argument("--threads", type=int, default=2, help="of each party (%(default)s)")
    out = f"folder of the results (./{USER_RESULTS}; without --quick, in a source tree: docs/results)"
    options.add_argument("--out", type=Path, default=None, help=out)
    if seeds is not None:
        options.add_argument("--seeds", type=int, default=seeds, help="runs of each kind (%(default)s)")
    return options


def parse(parser: argparse.ArgumentParser, argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The arguments, with `out` filled in and made.

    Ends with one line if a package is missing. Raises VfxgbError if `out` is docs/results and files differ from the
    commit.
    """
    args = parser.parse_args(argv)
    missing = missing_packages()
    if missing:
        sys.exit(f"{' and '.join(missing)} missing: pip install 'vfxgb[bench]'")
    if args.out is None:
        args.out = results_folder(args.quick, FOLDER, USER_RESULTS)
    refuse_local_changes(args.out, FOLDER)
    args.out.mkdir(parents=True, exist_ok=True)
    return args


def guarded(main: Callable[[], int]) -> int:
    """Run a script: an interruption and a user's mistake are one line each, not a traceback."""
    try:
        return main()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except VfxgbError as error:
        print(error, file=sys.stderr)
        return USAGE


def rows_of(name: str, rows: int | None = None) -> Loaded:
    """The first rows (None: all) of a table of VFXGB_DATA, or a generated one of its shape; `source` says which."""
    return load(name, rows)


def choose(data: Loaded, rows: NDArray[np.int64]) -> Loaded:
    """Some rows of a table, copied."""
    return Loaded(np.ascontiguousarray(data.X[rows]), data.y[rows], data.n_active, data.source)


def choose_columns(data: Loaded, columns: Sequence[int]) -> Loaded:
    """Some columns of a table, copied, in their order; the active party's are those that were its before."""
    n_active = sum(column < data.n_active for column in columns)
    return Loaded(np.ascontiguousarray(data.X[:, columns]), data.y, n_active, data.source)


def facts() -> dict[str, str]:
    """Machine, versions and commit of a measurement."""
    return {"commit": "unknown"} | machine_facts() | {name: version(name) for name in NEEDED}


class Steps:
    """Lines on stderr: what is being done, how much of it, and how long the rest will take."""

    def __init__(self, total: float) -> None:
        self._total, self._done, self._next = total, 0.0, 0.0
        self._start = time.perf_counter()

    def begin(self, what: str, cost: float = 1.0) -> None:
        """A step begins, which makes up `cost` of the total."""
        self._done += self._next
        self._next = cost
        self._say(what)

    def finish(self, what: str, cost: float = 1.0) -> None:
        """A step has ended that made up `cost` of the total; for steps side by side, which do not begin in turn."""
        self._done += cost
        self._say(what)

    def _say(self, what: str) -> None:
        left = ""
        if self._done:
            seconds = (time.perf_counter() - self._start) * (self._total - self._done) / self._done
            left = f", about {duration(seconds)} left"
        share = min(1.0, self._done / self._total)
        print(f"  {share:4.0%} {what} ...{left}", file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """Seconds up to two minutes, then minutes."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Lines of a Markdown table; the first `left` columns are text, the others numbers."""
    marks = "|" + "---|" * left + "---:|" * (len(head) - left)
    return [f"| {' | '.join(head)} |", marks, *(f"| {' | '.join(cells)} |" for cells in rows)]


class Run:
    """One run of a script, and the files it writes: `name`.json, `name`.md and plots.

    `paper`: which table or figure of which paper. `about`: what is measured, and how, in a few sentences.
    """

    def __init__(self, name: str, title: str, paper: str, args: argparse.Namespace, about: str = "") -> None:
        self.name, self.title, self.paper, self.about = name, title, paper, about
        self.quick: bool = args.quick
        self.out: Path = args.out
        # How many seeds there are: 0, 1, ...
        self.settings: dict[str, Any] = {
            "threads": args.threads,
            "seeds": 1 if args.quick else vars(args).get("seeds", 1),
        }
        self.machine = facts()
        self.data: list[str] = []
        self._start = time.perf_counter()
        self._body: list[str] = []
        self._findings: list[str] = []

    def use(self, data: Loaded | str) -> None:
        """Say in the result which data were used; the same twice counts once."""
        source = data if isinstance(data, str) else data.source
        if source not in self.data:
            self.data.append(source)

    def set(self, **settings: Any) -> None:
        """Settings that the result lists."""
        self.settings |= settings

    def heading(self, text: str) -> None:
        """A section of the Markdown file."""
        self._body += ["", f"## {text}"]

    def text(self, *paragraphs: str) -> None:
        """Paragraphs of the section."""
        for paragraph in paragraphs:
            self._body += ["", paragraph]

    def table(self, heading: str, head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> None:
        """A table, below a heading of its own unless that is empty."""
        if heading:
            self.heading(heading)
        self._body += ["", *markdown_table(head, rows, left)]

    @contextmanager
    def plot(self, name: str, rows: int, columns: int, size: tuple[float, float] = (4.4, 3.4)) -> Iterator[Any]:
        """Axes, as an array of rows and columns; on leaving saved as `name`.png and shown in the Markdown file.

        `size`: inches of one panel.
        """
        with saved_plot(self.out / f"{name}.png", rows, columns, size) as axes:
            yield axes
        self._body += ["", f"![{self.title}]({name}.png)"]

    def found(self, claim: str, holds: bool | str, text: str) -> None:
        """One point of "What reproduces, and what does not": a claim of the paper, an answer, what was measured.

        `holds`: yes, no, or words such as "in part".
        """
        answer = holds if isinstance(holds, str) else "yes" if holds else "no"
        self._findings.append(f"- *{claim}* **{answer[:1].upper()}{answer[1:]}.** {text}")

    def document(self, results: Mapping[str, Any]) -> dict[str, Any]:
        """What the JSON file holds: where the numbers come from, then the numbers."""
        head = {"name": self.name, "title": self.title, "paper": self.paper, "quick": self.quick}
        load = machine_facts().get("load average", "unknown")
        head |= {"machine": {**self.machine, "load average afterwards": load}, "settings": self.settings}
        head |= {"seeds": list(range(self.settings["seeds"])), "data": self.data}
        return {**head, "seconds": round(time.perf_counter() - self._start, 1), **results}

    def markdown(self, document: Mapping[str, Any]) -> str:
        """The Markdown file."""
        machine = document["machine"]
        packages = ("vfxgb", "python", "numpy", "gmpy2", "phe", *NEEDED, "commit")
        quick = " --quick" if self.quick else ""
        raw = f"Raw numbers: [{self.name}.json]({self.name}.json)."
        lines = [f"# {self.title}", "", f"Written by `vfxgb bench papers {self.name}{quick}`: {self.paper}. {raw}"]
        lines += ["", self.about] if self.about else []
        if self.quick:
            lines += ["", "`--quick`: small sizes, to see that it works; nothing follows from these numbers."]
        before, after = (machine.get(f"load average{when}", "unknown") for when in ("", " afterwards"))
        head = {
            "machine": f"{machine['processor']}, {machine['cores']} cores, kernels {machine['kernels']}, load average "
            f"{before} before and {after} after",
            "versions": ", ".join(f"{name} {machine.get(name, 'not recorded')}" for name in packages),
            "data": "; ".join(document["data"]) or "none",
            "settings": ", ".join(f"{name.replace('_', ' ')} {shown(v)}" for name, v in document["settings"].items()),
            "took": duration(document["seconds"]),
        }
        lines += ["", *markdown_table(["", ""], [[name, text] for name, text in head.items()], left=2)]
        lines += self._body
        if self._findings:
            lines += ["", "## What reproduces, and what does not", "", *self._findings]
            lines += ["", "Points E1, E2, ... are those of docs/errata.md."] if "(E" in str(self._findings) else []
        return "\n".join(lines) + "\n"

    def write(self, results: Mapping[str, Any]) -> None:
        """Write both files, and print the Markdown."""
        document = {**self.document(results), "finished": True}
        text = self.markdown(document)
        write_document(self.out, self.name, document)
        (self.out / f"{self.name}.md").write_text(text, encoding="utf-8")
        print(text)


def shown(value: Any) -> str:
    """A setting as text."""
    if isinstance(value, Mapping):
        return "(" + ", ".join(f"{name} {shown(entry)}" for name, entry in value.items()) + ")"
    if isinstance(value, (list, tuple)):
        return "/".join(shown(entry) for entry in value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def read_document(out: Path, name: str) -> dict[str, Any]:
    """The JSON file of an earlier run, so that its numbers need not be measured again; empty if there is none."""
    path = out / f"{name}.json"
    document: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return document


def write_document(out: Path, name: str, document: Mapping[str, Any]) -> None:
    """Write the JSON file in one step: whoever interrupts finds the old one or the new one."""
    path, new = out / f"{name}.json", out / f".{name}.json.new"
    new.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    new.replace(path)


def line_style(place: int) -> dict[str, Any]:
    """Colour, marker and dash of the line at this place, for `axis.plot(x, y, **line_style(0))`."""
    return {
        "color": COLORS[place % len(COLORS)],
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": DASHES[place % len(DASHES)],
        "markersize": 4,
        "linewidth": 1.4,
    }


@contextmanager
def saved_plot(path: Path, rows: int, columns: int, size: tuple[float, float]) -> Iterator[Any]:
    """Axes of a figure that is saved to a PNG file."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    look = {"axes.grid": True, "axes.axisbelow": True, "grid.alpha": 0.3, "font.size": 9}
    look |= {"axes.spines.top": False, "axes.spines.right": False}
    with mpl.rc_context(look):
        figure, axes = plt.subplots(rows, columns, figsize=(size[0] * columns, size[1] * rows), squeeze=False)
        try:
            yield axes
            figure.tight_layout()
            figure.savefig(path, dpi=120)
        finally:
            plt.close(figure)
