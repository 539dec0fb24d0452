"""`vfxgb bench peers`: vfxgb next to other libraries. It runs bench/peers, which a wheel holds as vfxgb/bench/peers."""

import argparse
import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import vfxgb
from vfxgb.cli.parser import Commands, positive_int
from vfxgb.errors import VfxgbError

USER_RESULTS = Path("vfxgb-peers")


def add(topics: Commands) -> None:
    """Add `peers` to the topics of `vfxgb bench`."""
    peers = topics.add_parser(
        "peers",
        help="speed next to phe, xgboost, HEU, fate_utils and FedTree, as far as they are installed",
        description="Processor time of encryption, sums, decryption and training on one core, next to other libraries "
        "in the same run. What is not installed is left out, and the result says how to install it. Writes peers.json "
        "and peers.md. Tables come from the folder VFXGB_DATA; where it is not set, generated ones of the same shape "
        "are used.",
    )
    peers.add_argument(
        "--peers",
        type=lambda text: tuple(text.split(",")),
        default=(),
        metavar="NAMES",
        help="comma-separated, such as phe,heu (all)",
    )
    peers.add_argument("--quick", action="store_true", help="small sizes, for a first look: a minute or two")
    peers.add_argument("--repeats", type=positive_int, default=None, help="measurements per operation (5, quick: 2)")
    out = f"folder of the results (./{USER_RESULTS}; without --quick, in a source tree: docs/results)"
    peers.add_argument("--out", type=Path, metavar="DIR", default=None, help=out)
    peers.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Do it. Raises VfxgbError where bench/peers is not installed, UsageError for a peer that is not known."""
    folder = peers_folder()
    peers = load(folder)
    settings = peers.QUICK if arguments.quick else peers.FULL
    if arguments.repeats is not None:
        settings = replace(settings, repeats=arguments.repeats)
    committed = folder.parents[1] / "docs/results"
    default = committed if committed.is_dir() and not arguments.quick else USER_RESULTS
    code: int = peers.run(settings, arguments.peers, arguments.out or default)
    return code


def peers_folder() -> Path:
    """Where bench/peers is: in the package if it was installed with it, else in the source tree around it."""
    package = Path(vfxgb.__file__).resolve().parent
    for folder in (package / "bench/peers", package.parents[1] / "bench/peers"):
        if folder.is_dir():
            return folder
    raise VfxgbError("bench peers: bench/peers is not in this installation; install vfxgb again from a wheel")


def load(folder: Path) -> Any:
    """The module `run` of the package in `folder`."""
    if str(folder.parent) not in sys.path:
        sys.path.append(str(folder.parent))
    return importlib.import_module(f"{folder.name}.run")
