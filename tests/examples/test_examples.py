"""Every script of examples/ runs, asserts what it shows and prints something."""

import ast
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py"))


def test_the_index_names_all_of_them() -> None:
    index = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    named = {name for name in SCRIPTS if f"]({name})" in index}
    assert named == set(SCRIPTS)
    assert len(SCRIPTS) == index.count(".py)")


@pytest.mark.parametrize("name", SCRIPTS)
def test_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = EXAMPLES / name
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree))
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()
