"""`vfxgb inspect`: what a model share says, to the party that holds it.

The active party's share draws the trees: own splits in clear, those of others as the number of a record that only their
owner can read. A passive party's share lists its own records. With shares of several parties at once, as a simulation
or consent allows, all that they know together is shown.
"""

import argparse
from pathlib import Path
from typing import Any

from vfxgb.cli.output import write_json
from vfxgb.cli.parser import Commands
from vfxgb.errors import ShareMismatchError
from vfxgb.model.drawing import describe, draw_text
from vfxgb.model.file import load_shares
from vfxgb.model.shares import ActiveShare


def add(commands: Commands) -> None:
    """Add `inspect` to the commands."""
    parser = commands.add_parser(
        "inspect",
        help="a model share: its trees with owners, importance",
        description="Draws the trees of a model share with the owner of each split, and says how much each party "
        "contributes. Features and thresholds are shown for the shares given and masked for other parties.",
    )
    parser.add_argument(
        "shares", metavar="SHARE", nargs="+", help="file of a share; those of several parties unmask more"
    )
    parser.add_argument("--tree", metavar="N", action="append", type=int, help="draw this tree; repeatable (the first)")
    parser.add_argument("--all", action="store_true", help="draw all trees")
    parser.add_argument("--json", metavar="FILE", default=None, help="write everything to this file; - prints it")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print, or write, the description of the shares. Exit code 0."""
    active, passive = load_shares(map(Path, arguments.shares))
    if arguments.json is not None:
        write_json(describe(active, passive), arguments.json)
        return 0
    trees = _chosen(active, arguments.tree, arguments.all)
    print(draw_text(active, passive, trees))
    return 0


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
