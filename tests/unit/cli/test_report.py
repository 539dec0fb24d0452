"""`vfxgb report` of run folders."""

import argparse
import json
from pathlib import Path

import pytest

from vfxgb.cli import report
from vfxgb.cli.parser import UsageError
from vfxgb.errors import FormatError
from vfxgb.party.folder import PartyFolder, RunFolder
from vfxgb.party.record import RunRecord, TrafficRecord, versions
from vfxgb.runtime.ledger import Ledger

RUN = "ab" * 16


def _run(*given: object) -> int:
    parser = argparse.ArgumentParser()
    report.add(parser.add_subparsers())
    arguments = parser.parse_args(["report", *map(str, given)])
    return arguments.run(arguments)


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    """A finished run with everything in it."""
    made = PartyFolder(tmp_path / "bank").make().run(RUN).make()
    ledger = Ledger()
    ledger.notes.append("shop: a note of the ledger")
    made.write_ledger(ledger)
    made.write(
        RunRecord(
            run=RUN,
            party="bank",
            role="active",
            state="finished",
            started=1e9,
            purpose="credit scoring",
            parties=("bank", "shop"),
            protocol="ldp",
            attacks=("an attack that is known",),
            train={"n_estimators": 20, "eval_metric": ["auc"]},
            rows={"train": 12_345},
            features=("age",),
            rounds=20,
            planned_rounds=20,
            evals={"valid": {"auc": [0.5 + i / 100 for i in range(20)]}},
            best_iteration=19,
            best_score=0.69,
            seconds=12.5,
            timings={"bank": {"open": 2.0, "bucket sums": 3.0}},
            operations={"encrypt": 1000},
            traffic={"shop": TrafficRecord(1500, 2_500_000, 3, 4, 3, 1600, 2_400_000)},
            versions=versions(),
            facts={"users": 7},
        )
    )
    return made


@pytest.mark.parametrize("place", ["run", "file", "party"])
def test_all_of_it_in_plain_words(folder, place, capsys) -> None:
    path = {"run": folder.path, "file": folder.run_file, "party": folder.path.parent.parent}[place]
    assert _run(path) == 0
    shown = capsys.readouterr().out
    for wanted in (
        f"run {RUN} as bank (active) saw it, with shop",
        "finished: 20 of 20 rounds, begun 2001-09-09",
        "purpose: credit scoring",
        "12,345 train",
        "valid auc by round: 0: 0.5,",
        "19: 0.69",
        "best round: 19 (0.69)",
        "bucket sums 3.00 s, open 2.00 s",
        "1.5 kB to it in 3 messages, 2.5 MB from it in 4, 3 round trips; 2.4 MB on the wire",
        "a note of the ledger",
        "- an attack that is known",
        "n_estimators = 20",
        "users: 7",
        "python = 3.",
        "ledger.json",
    ):
        assert wanted in shown


def test_json_holds_the_record_and_the_ledger(folder, tmp_path) -> None:
    assert _run(folder.path, "--json", tmp_path / "report.json") == 0
    document = json.loads((tmp_path / "report.json").read_text())
    assert document["run"]["evals"]["valid"]["auc"][0] == 0.5
    assert document["ledger"]["notes"] == ["shop: a note of the ledger"]


def test_a_run_that_failed_before_it_began(tmp_path, capsys) -> None:
    made = RunFolder(tmp_path / "x").make()
    made.write(RunRecord(run="x", party="shop", role="passive", state="failed", started=0.0, error="the bank is gone"))
    assert _run(made.path) == 0
    assert "ended by: the bank is gone" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("run.json", "{", "no record of a run"),
        ("run.json", '{"format": "other"}', "no record of a run"),
        ("ledger.json", "[1", "no JSON"),
        ("ledger.json", "[]", "it is no ledger"),
    ],
)
def test_damaged_files(folder, name: str, text: str, message: str) -> None:
    (folder.path / name).write_text(text)
    with pytest.raises(FormatError, match=message):
        _run(folder.path)


def test_no_run_at_all(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"there is no run\.json"):
        _run(tmp_path)


def test_a_page(folder, tmp_path, capsys) -> None:
    assert _run(folder.path, "-o", tmp_path / "report.html") == 0
    assert "report.html: open it in a browser" in capsys.readouterr().out
    text = (tmp_path / "report.html").read_text()
    assert text.startswith("<!doctype html>")
    assert "credit scoring" in text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("-o", "x.html", "--json", "y.json"), "both -o and --json"),
        (("--audit", "a.json"), "name its file with -o"),
        (("--share", "s.json"), "name its file with -o"),
    ],
)
def test_arguments_that_do_not_go_together(folder, given, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        _run(folder.path, *given)
