"""`vfxgb bench peers`: vfxgb next to other libraries. The measurements are those of bench/peers."""

import importlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vfxgb.bench.script_folders import results_folder, scripts_folder

USER_RESULTS = Path("vfxgb-peers")


def run(names: Sequence[str], quick: bool, repeats: int | None, out: Path | None) -> int:
    """Measure and write the results; gives the exit code.

    `names`: the peers, all if empty. `repeats`: None for the default. `out`: None for `results_folder`. Raises
    VfxgbError where bench/peers is not installed, UnknownNameError for a peer that is not known.
    """
    folder = scripts_folder("peers")
    peers = load(folder)
    settings = peers.QUICK if quick else peers.FULL
    if repeats is not None:
        settings = replace(settings, repeats=repeats)
    code: int = peers.run(settings, names, out or results_folder(quick, folder, USER_RESULTS))
    return code


def load(folder: Path) -> Any:
    """The module `run` of the package in `folder`."""
    if str(folder.parent) not in sys.path:
        sys.path.append(str(folder.parent))
    return importlib.import_module(f"{folder.name}.run")
