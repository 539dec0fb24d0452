"""Facts of a measurement: the commit, where there is a source tree."""

import subprocess
from pathlib import Path

from vfxgb.bench.machine import commit, machine_facts


def test_facts_are_text() -> None:
    facts = machine_facts()
    assert {"processor", "cores", "kernels", "python", "vfxgb", "numpy"} <= set(facts)
    assert all(isinstance(value, str) and value for value in facts.values())


def test_the_commit_of_a_source_tree(tmp_path: Path) -> None:
    assert commit(tmp_path) == ""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    (tmp_path / "file").write_text("1")
    subprocess.run([*git, "add", "file"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "one"], check=True)
    head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True)
    assert commit(tmp_path) == head.stdout.strip()
    (tmp_path / "file").write_text("2")
    assert commit(tmp_path) == head.stdout.strip() + "+"
