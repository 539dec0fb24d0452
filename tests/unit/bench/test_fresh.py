"""bench/fresh.py in a source tree that is made up: what is measured, what is skipped, what is refused, what failed."""

import importlib
import json
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[3] / "bench"
# Writes a file of results as the commands do: with the commit that is measured, or with {more}.
SCRIPT = """
import json, sys
from pathlib import Path
from vfxgb.bench.machine import commit
with Path("../calls.txt").open("a") as calls:
    calls.write(sys.argv[1] + "\\n")
Path("docs/results", sys.argv[1]).write_text(json.dumps({{"machine": {{"commit": commit(Path(".")) {more}}}}}))
"""


def git(root: Path, *rest: str) -> str:
    named = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.run([*named, *rest], check=True, capture_output=True, text=True).stdout.strip()


def keep(root: Path, message: str) -> str:
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", message)
    return git(root, "rev-parse", "--short", "HEAD")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "docs/results").mkdir(parents=True)
    (root / "good.py").write_text(SCRIPT.format(more=""))
    (root / "bad.py").write_text("raise SystemExit(3)")
    git(root.parent, "init", "-q", str(root))
    keep(root, "one")
    return root


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    monkeypatch.setenv("VFXGB_DATA", "/somewhere")
    script = importlib.import_module("fresh")
    monkeypatch.setattr(script, "SHORT", {"a.json": 1, "b.json": 2})
    monkeypatch.setattr(script, "LONG", {"c.json": 90})
    monkeypatch.setattr(script, "PAPERS", {})
    monkeypatch.setattr(script, "COMMANDS", {f"{name}.json": f"python good.py {name}.json" for name in "abc"})
    monkeypatch.setattr(script.update_readme, "write_pages", lambda root: (root / "docs/page.md").write_text("tables"))
    return script


def calls(tree: Path) -> list[str]:
    file = tree.parent / "calls.txt"
    return file.read_text().split() if file.is_file() else []


def test_a_commit_is_measured_once(fresh: ModuleType, tree: Path, capfd: pytest.CaptureFixture[str]) -> None:
    head = git(tree, "rev-parse", "--short", "HEAD")
    assert fresh.main([], tree) == 0
    assert calls(tree) == ["a.json", "b.json"]
    assert fresh.commits(tree / "docs/results/a.json") == {head}
    assert (tree / "docs/page.md").read_text() == "tables"
    said = capfd.readouterr().err
    assert "[1/2] a.json: about 1 min; all: about 3 min left" in said
    assert f"tables of other commits than {head}:\n  c.json: commit none; python good.py c.json" in said
    # Results and pages that were written are no changes, and a commit of them is the same code.
    assert fresh.main([], tree) == 0
    keep(tree, "results")
    assert fresh.main([], tree) == 0
    assert calls(tree) == ["a.json", "b.json"]
    assert fresh.main(["--again", "b.json"], tree) == 0
    assert fresh.main(["--long"], tree) == 0
    assert calls(tree) == ["a.json", "b.json", "b.json", "c.json"]
    assert "every table is of commit" in capfd.readouterr().err


def test_other_code_is_measured_again(fresh: ModuleType, tree: Path) -> None:
    assert fresh.main([], tree) == 0
    (tree / "code.py").write_text("1")
    keep(tree, "two")
    assert fresh.main(["a.json"], tree) == 0
    assert calls(tree) == ["a.json", "b.json", "a.json"]


def test_changes_are_refused(
    fresh: ModuleType, tree: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "bad.py").write_text("pass")
    assert fresh.main([], tree) == 2
    assert "found changes that are not committed" in capfd.readouterr().err
    keep(tree, "two")
    monkeypatch.delenv("VFXGB_DATA")
    assert fresh.main([], tree) == 2
    assert "found no VFXGB_DATA" in capfd.readouterr().err
    assert calls(tree) == []
    with pytest.raises(SystemExit):
        fresh.main(["d.json"], tree)
    assert "found d.json, wanted some of a.json, b.json, c.json" in capfd.readouterr().err


def test_one_that_fails_does_not_stop_the_others(
    fresh: ModuleType, tree: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fresh.COMMANDS["a.json"] = "python bad.py"
    fresh.COMMANDS["c.json"] = "build/release/bench/none"
    assert fresh.main(["--long"], tree) == 1
    assert calls(tree) == ["b.json"]
    said = capfd.readouterr().err
    assert "failed: a.json: exit code 3" in said
    assert "failed: c.json: there is no build/release/bench/none: cmake --preset release" in said


def test_a_table_does_not_lose_what_is_not_installed(
    fresh: ModuleType, tree: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fresh, "NEEDS", {"a.json": {"json": "no need", "no_such_module": "pip install nothing"}})
    assert fresh.main([], tree) == 1
    assert calls(tree) == ["b.json"]
    assert "failed: a.json: its table would lose what it had; pip install nothing" in capfd.readouterr().err


def test_a_command_that_leaves_another_commit_has_failed(
    fresh: ModuleType, tree: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tree / "good.py").write_text(SCRIPT.format(more="and 'abc1234'"))
    keep(tree, "two")
    assert fresh.main(["a.json"], tree) == 1
    assert "failed: a.json: its command left a file of commit abc1234" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("document", "wanted"),
    [
        ({"machine": {"commit": "1a"}}, {"1a"}),
        ({"context": {"commit": "2b"}}, {"2b"}),
        ({"shards": {"machine": {"commit": "1a"}}, "memory": {"machine": {}}}, {"1a", "unknown"}),
        ({"machine": {}}, {"unknown"}),
        ({"numbers": [1]}, {"unknown"}),
    ],
)
def test_what_a_file_records(fresh: ModuleType, tmp_path: Path, document: Any, wanted: set[str]) -> None:
    (tmp_path / "file.json").write_text(json.dumps(document))
    assert fresh.commits(tmp_path / "file.json") == wanted


def test_commands(fresh: ModuleType, tmp_path: Path) -> None:
    """They run under this interpreter, with the protocols that the file has; a microbenchmark is told the commit."""
    (tmp_path / "a.json").write_text('{"settings": {"protocols": ["plain", "ldp:epsilon=1"]}}')
    fresh.COMMANDS["a.json"] = "vfxgb bench train --protocols PROTOCOLS"
    assert fresh.command_of("a.json", tmp_path, "1a")[1:] == [
        *("-m", "vfxgb", "bench", "train", "--protocols", "plain,ldp:epsilon=1")
    ]
    fresh.COMMANDS["b.json"] = "build/release/bench/cpp/bench_x --benchmark_filter='^(a|b)'"
    words = fresh.command_of("b.json", tmp_path, "1a")
    assert words[1] == "--benchmark_filter=^(a|b)"
    assert words[2].startswith("--benchmark_context=commit=1a,processor=")
