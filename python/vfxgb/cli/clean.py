"""`vfxgb clean`: removes old runs from a party's folder, after it has said which and how much."""

import argparse
from pathlib import Path

from vfxgb.cli.exits import OK
from vfxgb.cli.parser import Commands, at_least_zero

UNTOUCHED = "accounts, budgets, releases and the log are not touched"


def add(commands: Commands) -> None:
    """Add `clean` to the commands."""
    parser = commands.add_parser(
        "clean",
        help="remove old runs from a party's folder",
        description="Says which runs of a party's folder can go and how many bytes they take; with --yes it removes "
        "them. Runs with a model stay unless --models asks for them, and runs that a process works on stay in any "
        "case. A run that is removed cannot be resumed. What peers were shown over all runs stays counted: the "
        "accounts and budgets are never touched.",
    )
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="the folder that a party's configuration names")
    parser.add_argument("--yes", action="store_true", help="remove them; without it nothing is changed")
    parser.add_argument("--models", action="store_true", help="runs with a model, too: nobody can predict with it then")
    parser.add_argument(
        "--older", metavar="DAYS", type=at_least_zero, default=0.0, help="only runs unchanged for so many days (0)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show what would go, and remove it if that is asked for."""
    from vfxgb.party.cleaning import remove, survey
    from vfxgb.party.folder import PartyFolder
    from vfxgb.report.words import size

    runs = survey(PartyFolder(arguments.folder), arguments.models, arguments.older)
    going = [run for run in runs if not run.kept]
    staying = [run for run in runs if run.kept]
    for run in going:
        print(f"  {run.name}  {size(run.size):>9}  {run.what}")
    for reason in sorted({run.kept for run in staying}):
        names = ", ".join(run.name for run in staying if run.kept == reason)
        print(f"kept, {reason}: {names}")
    total = f"{len(going)} of {len(runs)} runs, {size(sum(run.size for run in going))}"
    if not going:
        print(f"nothing to remove in {arguments.folder}; {UNTOUCHED}")
    elif arguments.yes:
        remove(runs)
        print(f"removed {total}; {UNTOUCHED}")
    else:
        print(f"would remove {total}; {UNTOUCHED}; add --yes to do it")
    return OK
