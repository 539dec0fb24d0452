"""`vfxgb bench papers`: the scripts that reproduce tables and figures of papers, one process each.

They are in bench/papers of the source tree; script_folders.py says where a wheel has them. A script is a file of that
folder that can be run; what it is about is the first line of its docstring, and its MINUTES say how long it takes on
two idle cores with --quick and without. Each writes its own files; the index papers.md is written here, from what is
there. Results that are committed are of one commit: docs/results is refused while files differ from it, and a run that
was interrupted is resumed with what has been finished from the same commit.
"""

import ast
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vfxgb.bench.children import INTERRUPTED
from vfxgb.bench.machine import commit, local_changes
from vfxgb.bench.progress import say
from vfxgb.bench.script_folders import results_folder, scripts_folder
from vfxgb.errors import UnknownNameError, VfxgbError

INDEX = "papers.md"
USER_RESULTS = Path("vfxgb-papers")
NEEDED = ("matplotlib", "xgboost")
RUNNABLE = "__name__ == '__main__'"
# What a script is taken to last that does not say.
UNKNOWN_MINUTES = (1.0, 10.0)
# How many changed files an error names.
NAMED_CHANGES = 5
# An interrupted child is left to end by itself, then told, then killed.
OWN_END_SECONDS, TOLD_END_SECONDS = 1.0, 10.0


@dataclass(frozen=True)
class Script:
    """A script: what it is about, and how many minutes it takes with --quick and without."""

    name: str
    path: Path
    about: str
    minutes: tuple[float, float]


def missing_packages() -> list[str]:
    """What the scripts need and is not installed."""
    return [name for name in NEEDED if find_spec(name) is None]


def find_scripts(folder: Path) -> dict[str, Script]:
    """Name -> script, paper by paper."""
    scripts = []
    for path in sorted(folder.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if not any(isinstance(node, ast.If) and ast.unparse(node.test) == RUNNABLE for node in tree.body):
            continue
        about = (ast.get_docstring(tree) or path.stem).partition("\n")[0].rstrip(".")
        scripts.append(Script(path.stem, path, about, _minutes(tree)))
    scripts.sort(key=lambda script: (_paper(script.about), script.name))
    return {script.name: script for script in scripts}


def _minutes(tree: ast.Module) -> tuple[float, float]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["MINUTES"]:
            quick, full = ast.literal_eval(node.value)
            return float(quick), float(full)
    return UNKNOWN_MINUTES


def _paper(about: str) -> str:
    match = re.search(r"papers/(\d+)", about)
    return match.group(1) if match else "~"


def chosen_scripts(scripts: dict[str, Script], names: Sequence[str]) -> list[Script]:
    """Those asked for, each once; all if none is named. Raises UnknownNameError for a name that is no script."""
    unknown = [name for name in names if name not in scripts]
    if unknown:
        raise UnknownNameError(f"bench papers: found {', '.join(unknown)}, wanted some of {', '.join(scripts)}")
    return [scripts[name] for name in dict.fromkeys(names or scripts)]


def list_scripts(scripts: dict[str, Script]) -> str:
    """Names, minutes and subjects."""
    width = max(map(len, scripts), default=0)
    lines = [f"{'':{width}}   minutes on two cores"]
    lines.append(f"{'script':{width}}   quick    full   what it reproduces")
    for script in scripts.values():
        quick, full = script.minutes
        lines.append(f"{script.name:{width}}   {quick:5.1f}   {full:5.0f}   {script.about}")
    return "\n".join(lines)


def run(
    names: Sequence[str],
    quick: bool,
    out: Path | None,
    threads: int | None = None,
    folder: Path | None = None,
    resume: bool = False,
) -> list[str]:
    """Run scripts one after the other and write the index; gives the names of those that failed.

    `out` None stands for `results_folder`. Each party has `threads` threads, None for the scripts' default. The scripts
    are in `folder`. `resume` leaves out those whose results in `out` are finished and of this commit. Raises
    UnknownNameError for a name that is no script, VfxgbError if a package is missing or results for docs/results would
    be of a tree with local changes, KeyboardInterrupt after the index of what was finished is written.
    """
    folder = folder or scripts_folder("papers")
    scripts = find_scripts(folder)
    asked = chosen_scripts(scripts, names)
    missing = missing_packages()
    if missing:
        raise VfxgbError(f"bench papers: {' and '.join(missing)} missing: pip install 'vfxgb[bench]'")
    out = out or results_folder(quick, folder, USER_RESULTS)
    refuse_local_changes(out, folder)
    out.mkdir(parents=True, exist_ok=True)
    if resume:
        measured = commit(folder.parents[1])
        done = [s.name for s in asked if is_finished(_document(out / f"{s.name}.json"), measured, quick, threads)]
        asked = [script for script in asked if script.name not in done]
        say(f"finished from commit {measured} before: {', '.join(done)}" if done else "nothing is finished yet")
    options = ["--out", str(out), *(["--quick"] if quick else [])]
    options += [] if threads is None else ["--threads", str(threads)]
    failed: list[str] = []
    clock = Clock([script.minutes[0 if quick else 1] for script in asked])
    try:
        for place, script in enumerate(asked, 1):
            say(f"[{place}/{len(asked)}] {script.name}: {script.about} (all: {clock.left()})")
            code = run_child([sys.executable, str(script.path), *options])
            seconds = clock.finish()
            if code == INTERRUPTED:
                raise KeyboardInterrupt
            if code:
                failed.append(script.name)
            end = f"failed with code {code}; its words are above" if code else f"wrote {out / script.name}.md"
            say(f"[{place}/{len(asked)}] {script.name}: {end}; {seconds:.0f} s")
    finally:
        write_index(scripts, out)
    if failed:
        say(f"failed: {', '.join(failed)}")
    return failed


def refuse_local_changes(out: Path, folder: Path) -> None:
    """Raise VfxgbError if `out` is docs/results of a source tree whose files differ from its commit.

    `folder`: that of the scripts. Elsewhere such results are marked by a plus behind the commit.
    """
    tree = folder.parents[1]
    if out.resolve() != (tree / "docs/results").resolve():
        return
    changed = local_changes(tree)
    if changed:
        named = ", ".join(changed[:NAMED_CHANGES]) + (", ..." if len(changed) > NAMED_CHANGES else "")
        raise VfxgbError(
            f"bench papers: found {len(changed)} files that differ from commit {commit(tree)[:-1]} ({named}), wanted "
            f"none, as results in {out} are of a commit: commit them, or name another folder with --out"
        )


def is_finished(document: dict[str, Any], measured: str, quick: bool, threads: int | None) -> bool:
    """Whether a result file is the whole of what would be measured now, from `measured`, a commit without changes."""
    same_commit = document.get("machine", {}).get("commit") == measured and not measured.endswith("+")
    same_threads = threads is None or document.get("settings", {}).get("threads") == threads
    return bool(measured and document.get("finished") and document.get("quick") == quick) and (
        same_commit and same_threads
    )


class Clock:
    """Time left, from how long each script was said to take and how long those before it really took."""

    def __init__(self, minutes: Sequence[float], now: Callable[[], float] = time.monotonic) -> None:
        self._wanted = [60 * minute for minute in minutes]
        self._now = now
        self._begin = self._start = now()
        self._done = 0

    def finish(self) -> float:
        """A script has ended; gives its seconds."""
        seconds, self._begin = self._now() - self._begin, self._now()
        self._done += 1
        return seconds

    def left(self) -> str:
        """What is left, in words."""
        before, after = sum(self._wanted[: self._done]), sum(self._wanted[self._done :])
        pace = (self._begin - self._start) / before if before else 1.0
        seconds = pace * after
        return f"about {seconds:.0f} s left" if seconds < 100 else f"about {seconds / 60:.0f} min left"


def run_child(command: Sequence[str]) -> int:
    """The exit code of a process whose stderr is ours; what it prints on stdout is in its files."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603 - our own scripts
    try:
        return process.wait()
    except BaseException:
        # ctrl-C reaches the whole group, but a signal sent to this process alone does not.
        if not _ended(process, OWN_END_SECONDS):
            process.send_signal(signal.SIGINT)
        if not _ended(process, TOLD_END_SECONDS):
            process.kill()
            process.wait()
        raise


def _ended(process: "subprocess.Popen[bytes]", seconds: float) -> bool:
    """Whether a process ends within so many seconds."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def write_index(scripts: dict[str, Script], out: Path) -> None:
    """Write papers.md to the folder of the results, and say where it is. Raises OSError."""
    (out / INDEX).write_text(index(scripts, out), encoding="utf-8")
    say(f"results: {out / INDEX}")


def index(scripts: dict[str, Script], out: Path) -> str:
    """The page that lists every script with what the folder holds of it."""
    lines = [
        "# Tables and figures of the papers",
        "",
        "Written by `vfxgb bench papers`: what each script measured, when it was run last into this folder.",
        "",
        "| table or figure | result | data | commit | took |",
        "|---|---|---|---|---:|",
    ]
    commits: dict[str, int] = {}
    for script in scripts.values():
        page = out / f"{script.name}.md"
        if not page.is_file():
            lines.append(f"| {script.about} | not run: `vfxgb bench papers {script.name}` | | | |")
            continue
        plots = dict.fromkeys(re.findall(r"[\w-]+\.png", page.read_text(encoding="utf-8")))
        links = [f"[{script.name}]({page.name})"]
        links += [f"[{plot}]({plot})" for plot in plots if (out / plot).is_file()]
        document = _document(out / f"{script.name}.json")
        quick = " (--quick)" if document.get("quick") else ""
        data = "; ".join(document.get("data", []))
        took = f"{document['seconds']:.0f} s" if "seconds" in document else ""
        measured = document.get("machine", {}).get("commit", "")
        commits[measured] = commits.get(measured, 0) + 1
        lines.append(f"| {script.about} | {', '.join(links)}{quick} | {data} | {measured} | {took} |")
    return "\n".join([*lines, "", _origin(commits)]) + "\n"


def _origin(commits: dict[str, int]) -> str:
    """Whether the results are all of one commit."""
    if set(commits) == {""} or not commits:
        return "No result says of which commit it is."
    if len(commits) == 1:
        (measured,) = commits
        changed = measured.endswith("+")
        return f"All are of commit {measured}" + (", with local changes." if changed else ", without local changes.")
    counted = ", ".join(f"{count} of {measured or 'an unknown one'}" for measured, count in commits.items())
    return f"They are not of one commit: {counted} (+: with local changes)."


def _document(path: Path) -> dict[str, Any]:
    """A result file; empty if it is not there or not whole."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}
