"""Arguments of the `vfxgb` command. A command is one file of this folder, and known by being there.

What makes a module a command is a function `add(commands: Commands) -> None` (see parser.py). It adds a parser of the
module's name, whose `run` is set to a function that takes the namespace of arguments and gives an exit code (exits.py):

    def add(commands: Commands) -> None:
        parser = commands.add_parser("check", help="look at everything before a run", description=...)
        parser.set_defaults(run=run)

    def run(arguments: argparse.Namespace) -> int: ...

The command reads arguments and prints. What it does stands in another package, which `run` imports if that takes time.
Whether a file is a command is read off its text, so that `vfxgb train` loads no command but `train`.
"""

import argparse
import re
from importlib import import_module
from pathlib import Path

from vfxgb import __version__
from vfxgb.cli import exits
from vfxgb.cli.parser import OneLineParser

# The order of the help: that in which people meet the commands. Those that are not named here come after, by name.
HELP_ORDER = (
    *("demo", "certs", "users", "init", "parameters", "check", "serve", "train", "predict"),
    *("inspect", "report", "merge", "clean", "bench", "audit"),
)
ADD = re.compile(r"^def add\(commands: Commands\) -> None:$", re.MULTILINE)


def find_commands(folder: Path) -> tuple[str, ...]:
    """The names of the modules in `folder` that are commands, in the order of the help."""
    names = [file.stem for file in folder.glob("*.py") if ADD.search(file.read_text(encoding="utf-8"))]
    places = {name: place for place, name in enumerate(HELP_ORDER)}
    return tuple(sorted(names, key=lambda name: (places.get(name, len(places)), name)))


COMMANDS = find_commands(Path(__file__).parent)


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
