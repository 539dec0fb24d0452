"""Phases in words: every phase there is has its words, and stages add up to the run's time."""

import re
from pathlib import Path

import msgspec
import pytest

import vfxgb
from report_runs import record
from vfxgb.report.phases import WORDS, doing, phase_words, stages

# Steps of protocols for research, whose names say all there is to say.
UNTOLD = {"add vectors", "null space", "orthonormalise", "products", "read parts", "send vectors"}


def test_every_phase_of_the_package_has_words() -> None:
    source = "\n".join(file.read_text() for file in Path(vfxgb.__file__).parent.rglob("*.py"))
    named = set(re.findall(r'\bphase\("([^"]+)"\)', source))
    assert len(named) > 30
    assert named - UNTOLD <= set(WORDS)
    assert phase_words("products") == ""


def test_stages_add_up_to_the_whole() -> None:
    run = msgspec.to_builtins(record(seconds=10.0, timings={"bank": {"align": 2.0, "set-up": 1.0, "wait": 5.0}}))
    found = stages(run)
    assert [seconds for _, seconds in found] == [2.0, 1.0, 7.0]
    assert found[2][0].startswith("Training 3 rounds")
    # Parties that measured no such stage say nothing of it; other parties' times are not this one's.
    assert stages(run | {"timings": {"shop": {"align": 2.0}}}) == [(found[2][0], 10.0)]


@pytest.mark.parametrize(
    ("rounds", "said"),
    [(0, "find the rows that all have"), (4, "round 5 of 20"), (20, "finish the model")],
)
def test_what_a_run_does_now(rounds: int, said: str) -> None:
    run = msgspec.to_builtins(record(state="running", rounds=rounds, planned_rounds=20))
    assert said in doing(run)
    assert doing(run | {"state": "finished"}) == ""
