"""Measures every speed table of README.md and docs again, from one commit and on one machine, then writes the tables.

    python bench/fresh.py           # what this commit has not measured yet: about an hour on two idle cores
    python bench/fresh.py --list    # the files, their commands, minutes and commits; runs nothing
    python bench/fresh.py --long    # also what takes longer: scale, and sums over many users
    python bench/fresh.py ops_2048.json network.json    # only these

The commands are those of COMMANDS in origins.py. A run may be broken off: the next one goes on with the files that are
missing. A file is fresh if it records a commit whose code is that of HEAD; pages and results are no code. Changes that
are not committed are refused, as no commit could be named then.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import update_readme
from origins import COMMANDS

from vfxgb.bench.machine import commit, machine_facts, same_code
from vfxgb.bench.progress import say

ROOT = Path(__file__).resolve().parent.parent
# file -> minutes on two idle cores, in the order in which they are measured: the tables of README.md first.
SHORT = {
    "train_give_credit.json": 2,
    "train_paths.json": 2,
    "train_default_credit.json": 2,
    "peers.json": 10,
    "side_by_side.json": 3,
    "ops_2048.json": 1,
    "ops_3072.json": 2,
    "paths_2048.json": 1,
    "paths_3072.json": 1,
    "montgomery.json": 1,
    "plain_steps.json": 1,
    "sealed_steps.json": 1,
    "psi.json": 2,
    "network.json": 1,
    "hidden_prediction.json": 2,
    "train_wide.json": 5,
    "linear.json": 3,
    "protocols_adult.json": 2,
    "protocols_default_credit.json": 4,
    "protocols_give_credit.json": 6,
    "ablation_give_credit.json": 7,
}
# These have tables of large sizes, which no smaller run could stand for.
LONG = {
    "fedxgb_aggregation.json": 40,
    "scale_ot_shares.json": 30,
    "scale_sealed.json": 30,
    "scale.json": 180,
}
# Commands of files that belong to a paper.
PAPERS = {"fedxgb_aggregation.json": "vfxgb bench papers fedxgb_aggregation"}
# What a command leaves out of its table where it is not installed: module -> how to install it.
NEEDS = {
    "peers.json": {
        "phe": "pip install phe",
        "xgboost": "pip install xgboost",
        "heu": "pip install sf-heu",
        "fate_utils": "pip install fate_utils==0.1.0",
        "fedtree": "apt install libntl44 && pip install fedtree==1.0.5",
    },
}
MICROBENCHMARK = "build/release/"
DATA = "VFXGB_DATA"
# Above this load average the machine is not idle.
IDLE = 0.5

Document = Mapping[str, Any]


def machines(document: Document) -> list[Mapping[str, Any]]:
    """What a file of results says of the machine; those of parts that are measured one by one, one for each part."""
    if "machine" in document:
        return [document["machine"]]
    if "context" in document:  # Google Benchmark's name for it
        return [document["context"]]
    return [part["machine"] for part in document.values() if isinstance(part, dict) and "machine" in part]


def commits(path: Path) -> set[str]:
    """The commits that a file of results records, `unknown` for a part that records none; empty without a file."""
    if not path.is_file():
        return set()
    found = machines(json.loads(path.read_text(encoding="utf-8")))
    return {str(machine.get("commit", "unknown")) for machine in found} or {"unknown"}


def is_fresh(path: Path, root: Path) -> bool:
    """Whether all of a file was measured with the code of HEAD, nothing of it changed."""
    found = commits(path)
    return bool(found) and all(same_code(name, root) for name in found)


def command_of(name: str, results: Path, head: str) -> list[str]:
    """The command that makes a file, for this interpreter; in it PROTOCOLS are those that the file has."""
    text = PAPERS.get(name) or COMMANDS[name]
    if "PROTOCOLS" in text:
        settings = json.loads((results / name).read_text(encoding="utf-8"))["settings"]
        text = text.replace("PROTOCOLS", ",".join(settings["protocols"]))
    words = shlex.split(text)
    if words[0] == "vfxgb":
        return [sys.executable, "-m", *words]
    if words[0] == "python":
        return [sys.executable, *words[1:]]
    # A microbenchmark records date and load by itself, and else what it is told.
    processor = machine_facts()["processor"].replace(",", " ")
    return [*words, f"--benchmark_context=commit={head},processor={processor}", "--benchmark_out_format=json"]


def what_stops(head: str, root: Path) -> str:
    """Why nothing can be measured; empty if it can."""
    if not head:
        return f"found no commit in {root}, wanted a clone of the sources"
    if head.endswith("+"):
        return f"found changes that are not committed in {root}, wanted none; commit them, or stash them"
    if not os.environ.get(DATA):
        return f"found no {DATA}, wanted the folder of the tables; without it generated ones would take their place"
    return ""


def measure(names: Sequence[str], root: Path, results: Path, head: str) -> dict[str, str]:
    """Run the command of each file; gives file -> how it failed. Goes on after a failure."""
    failed: dict[str, str] = {}
    minutes = {**SHORT, **LONG}
    spent, planned = 0.0, 0.0
    for place, name in enumerate(names):
        ahead = 60.0 * sum(minutes[other] for other in names[place:])
        # What is left is scaled by how long the others took next to what was expected.
        pace = spent / planned if planned else 1.0
        say(
            f"[{place + 1}/{len(names)}] {name}: about {minutes[name]} min; all: about {ahead * pace / 60:.0f} min left"
        )
        began = time.monotonic()
        why = _lacking(name) or _run(command_of(name, results, head), root)
        if not why and not is_fresh(results / name, root):
            why = f"its command left a file of commit {', '.join(sorted(commits(results / name))) or 'none'}"
        if why:
            failed[name] = why
            say(f"{name}: failed: {why}")
            continue
        seconds = time.monotonic() - began
        spent, planned = spent + seconds, planned + 60.0 * minutes[name]
        say(f"{name}: done after {seconds / 60:.1f} min")
    return failed


def _lacking(name: str) -> str:
    """What is not installed and would be missing from a file; empty if nothing is."""
    missing = [how for module, how in NEEDS.get(name, {}).items() if find_spec(module) is None]
    return f"its table would lose what it had; {'; '.join(missing)}" if missing else ""


def _run(command: Sequence[str], root: Path) -> str:
    """Why a command failed; empty if it did not. What it prints goes where this prints."""
    if command[0].startswith(MICROBENCHMARK) and not (root / command[0]).is_file():
        return f"there is no {command[0]}: cmake --preset release && cmake --build --preset release"
    try:
        code = subprocess.run(command, cwd=root, check=False).returncode
    except OSError as error:
        return str(error)
    return f"exit code {code}" if code else ""


def state_lines(names: Sequence[str], root: Path, results: Path) -> Iterator[str]:
    """A line for each file that is not of this commit."""
    for name in names:
        if not is_fresh(results / name, root):
            found = ", ".join(sorted(commits(results / name))) or "none"
            yield f"{name}: commit {found}; {PAPERS.get(name) or COMMANDS[name]}"


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Measure what is missing and write the tables; 1 if something failed, 2 if nothing can be measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="FILE", help="files of docs/results (all that are not long)")
    parser.add_argument("--long", action="store_true", help="also files that take longer")
    parser.add_argument("--again", action="store_true", help="also files that are of this commit already")
    parser.add_argument("--list", action="store_true", help="print files, minutes, commits, and run nothing")
    given = parser.parse_args(arguments)
    every, results, head = {**SHORT, **LONG}, root / "docs/results", commit(root)
    unknown = sorted(set(given.names) - set(every))
    if unknown:
        parser.error(f"found {', '.join(unknown)}, wanted some of {', '.join(every)}")
    chosen = given.names or [*SHORT, *(LONG if given.long else ())]
    if given.list:
        for name in chosen:
            found = ", ".join(sorted(commits(results / name))) or "none"
            print(f"{name:32} {every[name]:4} min  {found:24} {PAPERS.get(name) or COMMANDS[name]}")
        return 0
    why = what_stops(head, root)
    if why:
        say(f"measuring again: {why}")
        return 2
    todo = [name for name in chosen if given.again or not is_fresh(results / name, root)]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    minutes = sum(every[name] for name in todo)
    now = datetime.now(timezone.utc).isoformat(timespec="minutes")
    say(f"commit {head}, {now}, load average {load:.2f}: {len(todo)} of {len(chosen)} files, about {minutes} min")
    if load > IDLE:
        say("something else is running on this machine: times will be too long")
    failed = measure(todo, root, results, head)
    update_readme.write_pages(root)
    others = list(state_lines(list(every), root, results))
    say(f"tables of other commits than {head}:" if others else f"every table is of commit {head}")
    for line in others:
        say(f"  {line}")
    for name, how in failed.items():
        say(f"failed: {name}: {how}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
