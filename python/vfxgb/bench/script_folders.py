"""Where the scripts of benchmarks are: in bench/ of a source tree; a wheel holds them as vfxgb/bench/scripts."""

from pathlib import Path

from vfxgb.errors import VfxgbError


def scripts_folder(topic: str) -> Path:
    """The folder of the scripts of "papers", "peers" or "field". Raises VfxgbError where they are not."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "bench/scripts" / topic, package.parents[1] / "bench" / topic):
        if folder.is_dir():
            return folder
    raise VfxgbError(f"bench {topic}: its scripts are not in this installation; install vfxgb again from a wheel")


def results_folder(quick: bool, scripts: Path, otherwise: Path) -> Path:
    """Where results go if nobody says: docs/results of a source tree, but never what --quick measures."""
    committed = scripts.parents[1] / "docs/results"
    return committed if committed.is_dir() and not quick else otherwise
