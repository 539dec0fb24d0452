"""The workflows: actions of others are pinned by hash, and nobody may write more than a job needs."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

WORKFLOWS = sorted((Path(__file__).parents[2] / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")


def read(path: Path) -> dict[Any, Any]:
    document: dict[Any, Any] = yaml.safe_load(path.read_text())
    return document


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_hash(path: Path) -> None:
    used = [line.strip().removeprefix("- ") for line in path.read_text().splitlines() if "uses:" in line]
    assert used
    assert [line for line in used if not PINNED.match(line)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_jobs_may_read_unless_they_say_why(path: Path) -> None:
    document = read(path)
    assert document["permissions"] == {"contents": "read"}
    asked = {name: set(job["permissions"]) for name, job in document["jobs"].items() if "permissions" in job}
    assert asked == ({"publish": {"id-token", "attestations", "contents"}} if path.name == "release.yml" else {})
    for job in document["jobs"].values():
        assert job["timeout-minutes"] <= 120


def test_what_is_published_is_signed_and_listed() -> None:
    (path,) = (path for path in WORKFLOWS if path.name == "release.yml")
    steps = read(path)["jobs"]["publish"]["steps"]
    used = [step["uses"].partition("@")[0] for step in steps]
    assert used.index("actions/attest-build-provenance") < used.index("pypa/gh-action-pypi-publish")
    text = path.read_text()
    assert "cyclonedx-py environment" in text


def test_every_nightly_step_has_a_job() -> None:
    root = Path(__file__).parents[2]
    (path,) = (path for path in WORKFLOWS if path.name == "nightly.yml")
    steps = read(path)["jobs"]["nightly"]["strategy"]["matrix"]["step"]
    script = (root / ".ci" / "nightly").read_text()
    assert [f"steps=({' '.join(steps)})"] == [line.strip() for line in script.splitlines() if "steps=(t" in line]
    for step in steps:
        assert f"\n{step}() {{\n" in script


def test_an_unknown_nightly_step_is_refused() -> None:
    """Before anything is built."""
    script = Path(__file__).parents[2] / ".ci" / "nightly"
    done = subprocess.run([str(script), "tsam"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: tsam is no step, wanted one of: tsan constant_time frames explore\n"
