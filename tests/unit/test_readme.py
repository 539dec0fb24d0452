"""README.md says what is true: its example runs, and its tables are those of the result files."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("update_readme", ROOT / "bench/update_readme.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_speed_tables_are_those_of_the_result_files(script: ModuleType) -> None:
    text = README.read_text(encoding="utf-8")
    assert script.updated(text) == text
    assert "| decrypt |" in script.speed_section()


EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 2


@pytest.mark.parametrize("example", EXAMPLES, ids=["train", "encrypt"])
def test_example_runs(example: str) -> None:
    assert "\nassert " in example
    exec(compile(example, "README.md", "exec"), {})
