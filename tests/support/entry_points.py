"""A package that has been installed: what pip writes about its entry points."""

import os
from pathlib import Path

EXTENDING = Path(__file__).resolve().parents[2] / "examples" / "extending"


def install(folder: Path, group: str, entries: str) -> dict[str, str]:
    """Make `folder` that of an installed package with these entry points of `group`; returns an environment with it.

    The modules of examples/extending can be imported there.
    """
    info = folder / "another_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: another-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{entries}\n")
    path = os.pathsep.join([str(folder), str(EXTENDING), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path}
