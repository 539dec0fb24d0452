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
from vfxgb.model.file import load_share
from vfxgb.model.shares import ActiveShare, PassiveShare


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
    active, passive = read_shares(arguments.shares)
    if arguments.json is not None:
        write_json(describe(active, passive), arguments.json)
        return 0
    trees = _chosen(active, arguments.tree, arguments.all)
    print(draw_text(active, passive, trees))
    return 0


def read_shares(paths: list[str]) -> tuple[ActiveShare | None, dict[str, PassiveShare]]:
    """The shares in files, which must be of one run. Raises ShareMismatchError."""
    active: ActiveShare | None = None
    passive: dict[str, PassiveShare] = {}
    first: ActiveShare | PassiveShare | None = None
    for path in map(Path, paths):
        share = load_share(path)
        first = first or share
        if (share.run, share.seal.model) != (first.run, first.seal.model):
            raise ShareMismatchError(
                f"reading {str(path)!r}: its share is of another run, or another state of it, than that of "
                f"{first.party!r}; give shares that were saved together"
            )
        if share.party in passive or (active is not None and share.party == active.party):
            raise ShareMismatchError(f"reading {str(path)!r}: a second share of party {share.party!r}; give it once")
        if isinstance(share, ActiveShare):
            active = share
        else:
            passive[share.party] = share
    return active, passive


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
