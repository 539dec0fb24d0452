"""The endpoint against its description, docs/scoring.openapi.yaml, by schemathesis: what fits it and what does not."""

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from openapi_spec_validator import validate

from pretended_scores import FEATURES, Pretends, Running
from vfxgb.align import make_ids
from vfxgb.party.access import Token
from vfxgb.party.scoring import Question

FILE = Path(__file__).parents[3] / "docs" / "scoring.openapi.yaml"
SECRET = "0123456789abcdef-secret"
DEADLINE = 300.0


class TakesIdsTwice(Pretends):
    """Each id has to be one, but a request may have it twice: no schema can say that the ids of its rows differ."""

    def read(self, ids: list[Any], columns: dict[str, list[float]]) -> Question:
        for id_ in ids:
            make_ids([id_], "bank")
        return super().read([*range(len(ids))], columns)


def described(**features: Any) -> dict[str, Any]:
    """The description with these features in place of those that /health would list."""
    document = copy.deepcopy(yaml.safe_load(FILE.read_text()))
    document["components"]["schemas"]["Row"]["properties"]["features"] = {
        "type": "object",
        "required": [*features],
        "additionalProperties": False,
        "properties": features,
    }
    return document


def run(serving: Running, document: dict[str, Any], folder: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    """Have schemathesis ask the endpoint whatever the description suggests."""
    (folder / "scoring.yaml").write_text(yaml.safe_dump(document))
    program = "from schemathesis.cli import schemathesis; schemathesis()"
    options = ["--url", f"http://127.0.0.1:{serving.port}", "--seed", "1", "--max-examples", "100", "--no-color"]
    return subprocess.run(
        [sys.executable, "-c", program, "run", "scoring.yaml", *options, *more],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )


def test_the_description_is_one() -> None:
    validate(yaml.safe_load(FILE.read_text()))


@pytest.mark.parametrize("has_token", [False, True])
def test_the_endpoint_answers_as_it_is_described(tmp_path: Path, has_token: bool) -> None:
    serving = Running(TakesIdsTwice(), token=Token(SECRET, "a test") if has_token else None)
    number = {"type": ["number", "null"]}
    more = ("--header", f"Authorization: Bearer {SECRET}") if has_token else ()
    done = run(serving, described(**dict.fromkeys(FEATURES, number)), tmp_path, *more)
    asked = len(serving.scorer.rounds)
    serving.end()
    assert done.returncode == 0, done.stdout[-4000:]
    assert "Tested: 3" in done.stdout
    # Some of the questions were such as have scores.
    assert asked > 10


def test_what_does_not_fit_the_description_would_be_found(tmp_path: Path) -> None:
    """A description with another feature than the model has."""
    serving = Running()
    done = run(serving, described(height={"type": "number"}), tmp_path)
    serving.end()
    assert done.returncode == 1
    assert "Schema-valid request rejected" in done.stdout
