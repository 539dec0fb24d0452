"""Arguments of the `vfxgb` command: each command's module adds its own with `add(commands)`."""

import argparse
from importlib import import_module

from vfxgb import __version__
from vfxgb.cli import exits
from vfxgb.cli.parser import OneLineParser

# Modules of this folder, in the order of the help.
COMMANDS = (
    "demo",
    "certs",
    "users",
    "init",
    "parameters",
    "check",
    "serve",
    "train",
    "predict",
    "inspect",
    "report",
    "merge",
    "clean",
    "bench",
    "audit",
)


def build_parser(first: str = "") -> argparse.ArgumentParser:
    """The parser of the command; the namespace it returns has `run`, taking that namespace.

    `first`: the first argument. If it names a command, that module alone is loaded, which saves most of a second.
    """
    parser = OneLineParser(
        prog="vfxgb",
        description="XGBoost across organisations that may not pool their data.",
        epilog=exits.table(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"vfxgb {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="command")
    if first in COMMANDS:
        # Arguments that nobody knows are found here, after the command has read its own.
        parser.helper = f"{parser.prog} {first}"
    for name in [first] if first in COMMANDS else COMMANDS:
        import_module(f"vfxgb.cli.{name}").add(commands)
    return parser
