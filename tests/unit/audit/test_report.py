"""Findings, the report and the command."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from vfxgb.audit import AuditReport, Finding, audit
from vfxgb.audit.claims import mean_finding
from vfxgb.cli import main
from vfxgb.errors import MissingPackageError, UnknownNameError


def finding(success: float, guess: float, count: int = 100, round_index: int = 0) -> Finding:
    return Finding("x", "bank", "shop", "labels", round_index, 0, 0, count, success, guess, count, detail="d")


@pytest.mark.parametrize(
    ("success", "guess", "count", "verdict"),
    [
        (0.6, 0.6, 100, "no better than guessing"),
        (0.7, 0.6, 100, "no better than guessing"),  # three standard errors are 0.147
        (0.7, 0.6, 10000, "partly recovered"),
        (0.95, 0.6, 100, "mostly recovered"),
        (1.0, 0.6, 100, "recovered"),
        (0.0, 0.0, 100, "no better than guessing"),
        (0.01, 0.0, 100, "partly recovered"),
        (1.0, 1.0, 100, "no better than guessing"),
    ],
)
def test_verdicts(success: float, guess: float, count: int, verdict: str) -> None:
    assert finding(success, guess, count).verdict == verdict


def test_means_are_weighted() -> None:
    found = mean_finding([finding(1.0, 0.5, 100), finding(0.5, 0.5, 300, 2)])
    assert (found.success, found.guess, found.count, found.claims) == (0.625, 0.5, 400, 2)
    assert (found.rounds, found.tree) == ("1-3", 0)
    assert finding(1.0, 0.5, round_index=-1).rounds == "all"


def test_report(recorded: Any, tmp_path: Path) -> None:
    report = recorded().audit()
    text = report.text()
    for words in ("plain-sign", "success", "guess", "recovered", "not run", "smm1-read", "no message"):
        assert words in text
    report.save_json(tmp_path / "audit.json")
    read = json.loads((tmp_path / "audit.json").read_text())
    assert read["format"] == "vfxgb audit"
    assert len(read["findings"]) == len(report.findings)
    assert {"success", "guess", "margin", "better", "verdict", "round", "rows"} <= set(read["findings"][0])
    report.save_plot(tmp_path / "audit.svg")
    assert b"<svg" in (tmp_path / "audit.svg").read_bytes()[:2000]
    AuditReport("plain", (), ()).save_plot(tmp_path / "empty.png")
    with pytest.raises(OSError, match=r"audit\.xyz, wanted one that ends in one of"):
        report.save_plot(tmp_path / "audit.xyz")


def test_a_report_is_repeatable(recorded: Any) -> None:
    transcript = recorded().transcript_
    assert audit(transcript).to_dict() == audit(transcript).to_dict()


def test_wrong_names(recorded: Any) -> None:
    with pytest.raises(UnknownNameError, match="'none-such', wanted one of"):
        recorded().audit(["none-such"])


def test_a_plot_needs_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingPackageError, match=r"vfxgb\[audit\]"):
        AuditReport("plain", (), ()).save_plot(tmp_path / "x.png")


def test_command(recorded: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, out, plot = tmp_path / "run.vfxt", tmp_path / "a.json", tmp_path / "a.png"
    recorded().transcript_.save(run)
    assert main(["audit", str(run), "--json", str(out), "--plot", str(plot)]) == 0
    assert "plain-sign" in capsys.readouterr().out
    assert json.loads(out.read_text())["protocol"] == "plain"
    assert plot.read_bytes()[:4] == b"\x89PNG"
    assert main(["audit", "--attacks", "solve", str(run)]) == 0
    assert "solve   bank      binned table  shop" in capsys.readouterr().out
    assert main(["audit", str(run), "--attack", "leaf-purity", "--attack", "node-votes"]) == 0
    output = capsys.readouterr().out
    assert "leaf-purity" in output
    assert "node-votes" in output
    assert "plain-sign" not in output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["audit"], "RUN"),
        (["audit", "{folder}/absent.vfxt"], "No such file"),
        (["audit", "{folder}/other.txt"], "it is no transcript"),
        (["audit", "{folder}/other.txt", "--attack", "none-such"], "invalid choice: 'none-such'"),
        (["audit", "{folder}/run.vfxt", "--attack", "leaf-purity", "--json", "{folder}/none/a.json"], "No such file"),
        (["audit", "{folder}/run.vfxt", "--attack", "leaf-purity", "--plot", "{folder}/a.xyz"], "ends in one of"),
    ],
)
def test_mistakes_are_one_line(
    recorded: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    recorded().transcript_.save(tmp_path / "run.vfxt")
    (tmp_path / "other.txt").write_text("hello" * 100)
    assert main([argument.format(folder=tmp_path) for argument in arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
