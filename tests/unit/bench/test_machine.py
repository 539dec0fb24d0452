"""Facts of a measurement: the commit, where there is a source tree."""

import subprocess
from pathlib import Path

import pytest

from vfxgb.bench import machine
from vfxgb.bench.machine import commit, local_changes, machine_facts


def test_facts_are_text() -> None:
    facts = machine_facts()
    assert {"processor", "cores", "kernels", "python", "vfxgb", "numpy"} <= set(facts)
    assert all(isinstance(value, str) and value for value in facts.values())


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A source tree of one commit."""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    (tmp_path / "file").write_text("1")
    subprocess.run([*git, "add", "file"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "one"], check=True)
    return tmp_path


def test_the_commit_of_a_source_tree(tree: Path) -> None:
    git = ["git", "-C", str(tree)]
    head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True)
    assert (commit(tree), local_changes(tree)) == (head.stdout.strip(), [])
    (tree / "file").write_text("2")
    assert (commit(tree), local_changes(tree)) == (head.stdout.strip() + "+", ["file"])


def test_no_commit_outside_a_source_tree_or_without_git(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = tree / "inner"
    bare.mkdir()
    assert (commit(bare), local_changes(bare)) == ("", [])

    def no_git(*args: object, **kwargs: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(machine.subprocess, "run", no_git)
    assert (commit(tree), local_changes(tree)) == ("", [])


def test_results_are_no_changes_and_new_code_is_one(tree: Path) -> None:
    for name in ("docs/results/new.json", "docs/other.txt", "python/new.py"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("1")
    assert local_changes(tree) == ["python/"]
