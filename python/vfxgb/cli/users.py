"""`vfxgb users directory`: the directory of users, from the public parts that they sent."""

import argparse
from pathlib import Path

from vfxgb.cli.parser import Commands


def add(commands: Commands) -> None:
    """Add `users` to the commands."""
    parser = commands.add_parser(
        "users",
        help="assemble the directory of users who made their own keys",
        description="What the server or a coordinator does with the files that users made by `vfxgb certs --user`.",
    )
    topics = parser.add_subparsers(title="topics", required=True, metavar="topic")
    directory = topics.add_parser(
        "directory",
        help="write users.json and the users' certificates from their public parts",
        description="Checks every public part (NAME.user) and writes users.json, with the certificates beside it, into "
        "a new folder. Users are numbered in the order of their names, so that everybody who has the same files gets "
        "the same digest. The server keeps the folder; every user gets users.json and compares the digest that is "
        "printed (vfxgb certs --show users.json).",
    )
    directory.add_argument("files", metavar="FILE", type=Path, nargs="+", help="the users' public parts, NAME.user")
    directory.add_argument("-o", "--out", metavar="FOLDER", type=Path, required=True, help="where to write it")
    directory.add_argument(
        "--aggregator", default="masks", metavar="NAME", help="how users' sums are protected (masks)"
    )
    directory.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Assemble the directory, and say what it holds."""
    from vfxgb.horizontal.directory import read_users
    from vfxgb.horizontal.enrolment import assemble

    path = assemble(arguments.files, arguments.out, arguments.aggregator)
    directory = read_users(path)
    print(f"directory of {len(directory.parties)} users  {path}")
    print(f"digest  {directory.digest().hex()}")
    return 0
