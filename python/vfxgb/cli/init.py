"""`vfxgb init`: a commented configuration to begin with."""

import argparse
from pathlib import Path

from vfxgb.cli.parser import Commands, UsageError

PEER_OF = {"active": "shop", "passive": "bank", "server": "user1", "user": "server"}


def add(commands: Commands) -> None:
    """Add `init` to the commands."""
    parser = commands.add_parser(
        "init",
        help="write a commented configuration",
        description="Writes a configuration with every key, its meaning and its default. Nothing is overwritten.",
    )
    parser.add_argument("file", metavar="PARTY.toml", type=Path, help="the file to write")
    parser.add_argument("--role", choices=tuple(PEER_OF), default="active", help="(%(default)s)")
    parser.add_argument("--party", metavar="NAME", default=None, help="the party's name (that of the file)")
    parser.add_argument("--peer", metavar="NAME", default=None, help="the other party's name (by role)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the file and say what comes next."""
    from vfxgb.party.config_rules import PARTY_NAME
    from vfxgb.party.template import template

    file: Path = arguments.file
    party, peer = arguments.party or file.stem, arguments.peer or PEER_OF[arguments.role]
    for name in (party, peer):
        if not PARTY_NAME.fullmatch(name):
            raise UsageError(f"vfxgb init: {name!r} is no name of a party, wanted letters, digits, dots and dashes")
    try:
        with file.open("x", encoding="utf-8") as text:
            text.write(template(party, arguments.role, peer, file.name))
    except FileExistsError:
        raise UsageError(f"vfxgb init: {str(file)!r} is there already; choose another name or delete it") from None
    print(f"wrote {file}; fill it in, then: vfxgb check {file}")
    return 0
