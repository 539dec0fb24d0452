"""The example of docs/extending.md: the page shows the files as they are, and the protocol passes the suite."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import pseudo_huber
from rounded.attack import ATTACK
from rounded.messages import RoundedGradients, RoundedSums
from rounded.spec import SPEC
from tampering import Change, error_of, replaced, toy_run
from vfxgb.errors import MessageError, ProtocolParameterError
from vfxgb.protocols import make_protocol_params
from vfxgb.registry import Registry
from vfxgb.transport.messages import pack_bytes

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "extending"
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
QUOTED = dict(re.findall(r"\[rounded/(\w+\.py)\]\(\S+\):\n\n```python\n(.*?)```\n", PAGE, re.DOTALL))


@pytest.fixture(autouse=True)
def registered(registry: Registry) -> None:
    """`rounded` in a registry that no other test sees."""
    registry.register(SPEC)


def test_the_page_shows_all_of_it() -> None:
    files = {path.name for path in (FOLDER / "rounded").glob("*.py")} - {"__init__.py"}
    assert set(QUOTED) == files == {"params.py", "messages.py", "active.py", "passive.py", "spec.py", "attack.py"}


@pytest.mark.parametrize("name", sorted(QUOTED))
def test_the_page_shows_the_file_as_it_is(name: str) -> None:
    assert QUOTED[name] == (FOLDER / "rounded" / name).read_text(encoding="utf-8")


def test_the_page_shows_the_objective_as_it_is() -> None:
    (quoted,) = re.findall(r"\[pseudo_huber\.py\]\(\S+\):\n\n```python\n(.*?)```\n", PAGE, re.DOTALL)
    assert quoted == (FOLDER / "pseudo_huber.py").read_text(encoding="utf-8")


def test_its_entry_point_is_the_one_that_the_page_names() -> None:
    project = (FOLDER / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.entry-points."vfxgb.protocols"]\nrounded = "rounded.spec:SPEC"\n' in project
    assert SPEC.name == "rounded"
    assert f'[project.entry-points."vfxgb.attacks"]\n{ATTACK.name} = "rounded.attack:ATTACK"\n' in project
    objective = pseudo_huber.SPEC.name
    assert f'[project.entry-points."vfxgb.objectives"]\n"{objective}" = "pseudo_huber:SPEC"\n' in project


def test_it_passes_the_conformance_suite() -> None:
    """The command of the page, whole, over memory and over TLS."""
    suites = re.findall(r"pytest (tests/protocol/\S+) --protocol=rounded\.spec", PAGE)
    assert len(suites) == 2
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *suites, "--protocol=rounded.spec"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout
    assert int(re.search(r"(\d+) passed", run.stdout)[1]) > 150
    assert "skipped" not in run.stdout


def other_sums(**changes: Any) -> Change:
    return replaced(RoundedSums, trees=lambda trees: [msgspec.structs.replace(tree, **changes) for tree in trees])


@pytest.mark.parametrize(
    ("change", "at", "said"),
    [
        (replaced(RoundedGradients, round=7), "bank", "found round, tree and rows"),
        (replaced(RoundedGradients, tree=1), "bank", "found round, tree and rows"),
        (replaced(RoundedGradients, rows=59), "bank", "found round, tree and rows"),
        (replaced(RoundedGradients, pairs=lambda data: data[:-1]), "bank", "shop reading gradients: found 239 bytes"),
        (replaced(RoundedSums, depth=2), "shop", "found round, depth and trees"),
        (replaced(RoundedSums, trees=[]), "shop", "found round, depth and trees"),
        (other_sums(n_candidates=-1), "shop", "found -1 candidates"),
        (other_sums(n_candidates=3), "shop", "reading sums of shop, tree 0: found"),
        (other_sums(directions=pack_bytes(b"1")), "shop", "reading sums of shop, tree 0: found 1 bytes"),
    ],
)
def test_messages_that_cannot_be_right(change: Change, at: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    error = error_of(monkeypatch, change, at, "rounded", {})
    assert isinstance(error, MessageError)
    assert said in str(error)


def test_width_is_what_travels() -> None:
    sizes = {}
    for width in (1, 2, 4):
        ledger = toy_run("rounded", {"width": width}).ledger
        (entry,) = (one for one in ledger.entries if one.message == "rounded-gradients")
        sizes[width] = entry.bytes
        assert entry.amount == 2 * 60
    # Two rounds of 60 rows of two numbers.
    assert sizes[2] - sizes[1] == pytest.approx(240, abs=8)
    assert sizes[4] - sizes[2] == pytest.approx(480, abs=8)


def test_other_widths_are_refused() -> None:
    with pytest.raises(ProtocolParameterError, match="width"):
        make_protocol_params(SPEC, {"width": 3})
