"""`vfxgb inspect`: what a model share says, to the party that holds it.

The active party's share draws the trees: own splits in clear, those of others as the number of a record that only their
owner can read. A passive party's share lists its own records. With shares of several parties at once, as a simulation
or consent allows, all that they know together is shown.

A folder stands for the share in it: a run's folder for its model, or for the model as it stands while it is trained; a
party's folder for its latest model, after a list of its runs.
"""

import argparse
from pathlib import Path
from typing import Any

from vfxgb.cli.output import warn_of_damage, write_json
from vfxgb.cli.parser import Commands
from vfxgb.errors import FormatError, ShareMismatchError
from vfxgb.model.drawing import describe, draw_text
from vfxgb.model.file import load_shares
from vfxgb.model.shares import ActiveShare
from vfxgb.party.folder import PartyFolder, RunFolder
from vfxgb.party.record import RunRecord


def add(commands: Commands) -> None:
    """Add `inspect` to the commands."""
    parser = commands.add_parser(
        "inspect",
        help="a model share: its trees with owners, importance",
        description="Draws the trees of a model share with the owner of each split, and says how much each party "
        "contributes. Features and thresholds are shown for the shares given and masked for other parties.",
    )
    parser.add_argument(
        "shares",
        metavar="SHARE",
        nargs="+",
        help="file of a share, or the folder of a run or of a party; shares of several parties unmask more",
    )
    parser.add_argument("--tree", metavar="N", action="append", type=int, help="draw this tree; repeatable (the first)")
    parser.add_argument("--all", action="store_true", help="draw all trees")
    parser.add_argument("--json", metavar="FILE", default=None, help="write everything to this file; - prints it")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print, or write, the description of the shares. Exit code 0."""
    files = [find_share(Path(given), listed=arguments.json is None) for given in arguments.shares]
    active, passive = load_shares(files)
    if arguments.json is not None:
        write_json(describe(active, passive), arguments.json)
        return 0
    trees = _chosen(active, arguments.tree, arguments.all)
    print(draw_text(active, passive, trees))
    return 0


def find_share(path: Path, listed: bool = True) -> Path:
    """Return the file of the share that `path` stands for; where `listed`, the runs of a party's folder are printed.

    Raises FormatError for a folder without a model.
    """
    if not path.is_dir():
        return path
    if (path / "runs").is_dir():
        return _latest(PartyFolder(path), listed)
    folder = RunFolder(path)
    for file in (folder.share_file, folder.draft_file):
        if file.is_file():
            return file
    if not folder.run_file.is_file():
        raise FormatError(
            f"looking for a model in {str(path)!r}: there is neither a share nor a folder runs/ in it; give a share, "
            "the folder of a run, or the folder that a party's configuration names"
        )
    record = folder.read()
    raise FormatError(
        f"looking for a model in {str(path)!r}: the run is {record.state} after {record.rounds} of "
        f"{record.planned_rounds} rounds and has none; resume it, or give another run"
    )


def _latest(folder: PartyFolder, listed: bool) -> Path:
    warn_of_damage(folder)
    records = folder.records()
    with_model = [run for run, _ in records if run.share_file.is_file()]
    if listed and records:
        print(f"runs in {folder.path}, the latest first:")
        for run, record in records:
            print(_run_line(run, record))
        print()
    if not with_model:
        raise FormatError(
            f"looking for a model in {str(folder.path)!r}: none of its {len(records)} runs has one; train one first"
        )
    return with_model[0].share_file


def _run_line(run: RunFolder, record: RunRecord) -> str:
    words = [
        f"  {run.run[:8]}  {record.state:<8}  {record.rounds} of {record.planned_rounds} rounds",
        f"{record.began:%Y-%m-%d %H:%M} UTC",
        f"{record.protocol} with {record.others}" if record.others else record.protocol,
        "has a model" if run.share_file.is_file() else "no model",
    ]
    return "  ".join(word for word in words if word)


def _chosen(active: ActiveShare | None, asked: list[int] | None, everything: bool) -> Any:
    """Numbers of the trees to draw. Raises ShareMismatchError for one that is not there."""
    count = 0 if active is None else len(active.trees)
    if everything:
        return range(count)
    if asked is None:
        return range(min(1, count))
    for number in asked:
        if not 0 <= number < count:
            where = "a passive party's share holds no trees" if active is None else f"there are trees 0 to {count - 1}"
            raise ShareMismatchError(f"drawing tree {number}: {where}")
    return asked
