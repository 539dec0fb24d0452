"""Who may know where rows are: the packages below an engine do not import it, nor what stands above them."""

import ast
from pathlib import Path

import pytest

import vfxgb

PACKAGE = Path(vfxgb.__file__).parent
# Package -> what it does not import.
FORBIDDEN = {
    "numeric": {"rows", "binning", "tree", "protocols", "engine", "train", "predict", "estimator"},
    "rows": {"binning", "tree", "protocols", "engine", "train", "predict", "estimator"},
    "binning": {"tree", "protocols", "engine", "train", "predict", "estimator"},
    "tree": {"engine", "predict", "estimator"},
    "protocols": {"engine", "predict", "estimator"},
    "engine": {"tree", "protocols", "train", "predict", "estimator"},
}


def imported(path: Path) -> set[str]:
    """The packages of vfxgb that a file imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names |= {f"{node.module}.{each.name}" for each in node.names}
    return {name.split(".")[1] for name in names if name.startswith("vfxgb.")}


@pytest.mark.parametrize("package", FORBIDDEN)
def test_imports(package) -> None:
    files = sorted((PACKAGE / package).rglob("*.py"))
    assert files
    assert {
        str(path.relative_to(PACKAGE)): found for path in files if (found := imported(path) & FORBIDDEN[package])
    } == {}
