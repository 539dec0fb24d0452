"""Arguments of the `vfxgb` command: each command's module adds its own with `add(commands)`."""

import argparse

from vfxgb import __version__
from vfxgb.cli import audit, bench, certs, check, demo, exits, init, inspect, merge, predict, report, serve, train
from vfxgb.cli.parser import OneLineParser

COMMANDS = (demo, certs, init, check, serve, train, predict, inspect, report, merge, bench, audit)


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command; the namespace it returns has `run`, taking that namespace."""
    parser = OneLineParser(
        prog="vfxgb",
        description="XGBoost across organisations that may not pool their data.",
        epilog=exits.table(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"vfxgb {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="command")
    for command in COMMANDS:
        command.add(commands)
    return parser
