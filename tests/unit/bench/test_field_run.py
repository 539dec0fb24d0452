"""`vfxgb bench field` over entrants that are made up: right, alone, wrong, failing, missing; then over plain."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vfxgb.bench.field import run as field
from vfxgb.bench.field.axes import LINES, QUICK, Shape
from vfxgb.bench.field.measure import Field, Request
from vfxgb.bench.field.page import markdown
from vfxgb.bench.field.parties import EntrantFailedError, Events
from vfxgb.bench.field.peers import Peers
from vfxgb.bench.field.results import Cell, Results, read_document
from vfxgb.bench.field.shaper import LOG_SECONDS
from vfxgb.errors import BenchmarkError, FormatError, UnknownNameError

SCRIPTS = Path(__file__).resolve().parents[3] / "bench/field"
TINY = Shape("50k", 400, (3, 2), 3, 4)
SETTINGS = replace(QUICK, shapes=(TINY,), lines=LINES[:1], trees=1, budget_seconds=3600.0)

# A bank that sends 1,000 bytes a tree to a shop, which answers 10; predictions are the labels, plus {wrong}.
FAKE = """
import os
import socket
import time
from field.adapter import ACTIVE, PASSIVE, Entrant, Peer

def exactly(connection, size):
    while size:
        size -= len(connection.recv(size))

def play(job, reporter):
    print("a licence banner on stdout")
    {trouble}
    listening = None
    if job.role == PASSIVE:
        listening = socket.create_server(("127.0.0.1", job.listen[PASSIVE]))
    table = job.table(ACTIVE if job.role == "both" else job.role)
    assert table.shape == (job.rows, job.features[job.role == PASSIVE])
    reporter.ready()
    if job.role == PASSIVE:
        connection, _ = listening.accept()
        for _ in range(job.trees):
            exactly(connection, 1000)
            connection.sendall(bytes(10))
        return
    reporter.begin()
    if job.role == ACTIVE:
        connection = socket.create_connection(("127.0.0.1", job.dial[PASSIVE]))
    for place in range(job.trees):
        if job.role == ACTIVE:
            connection.sendall(bytes(1000))
            exactly(connection, 10)
        reporter.tree(messages=2 * place + 2, round_trips=place + 1)
        time.sleep({pause})
    job.save_predictions(0.5 + {sign} * (job.labels() - 0.5))

PEER = Peer(
    title="{name}", distribution="nothing", module="{module}", requirements=("no-such-package-of-{name}",),
    install="pip install {name}", source="made up", play=play,
    entrants=lambda: {{"one": Entrant("sums", "who | learns what", alone={alone})}},
)
"""
# The shaper counts what is sent within LOG_SECONDS together: a tree begins later than that after the one before.
RIGHT = {"trouble": "pass", "sign": "1", "module": "json", "alone": "False", "pause": str(2 * LOG_SECONDS)}
OTHERS = {
    "right": {},
    "alone": {"alone": "True"},
    "wrong": {"sign": "-1"},
    "failing": {"trouble": "raise ValueError('two\\nlines')"},
    "crash": {"trouble": "os.abort()"},
    "missing": {"module": "no_such_module"},
}


@pytest.fixture(scope="module")
def adapters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adapters")
    for name, changes in OTHERS.items():
        (folder / f"{name}.py").write_text(FAKE.format(**{**RIGHT, "name": name, **changes}))
    (folder / "vfxgb.py").write_text("raise RuntimeError('not finished')\n")
    return folder


@pytest.fixture(scope="module")
def peers(adapters: Path, tmp_path_factory: pytest.TempPathFactory) -> Peers:
    return Peers(SCRIPTS, adapters, tmp_path_factory.mktemp("environments"))


@pytest.fixture(scope="module")
def document(peers: Peers, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Of a run over all made-up peers."""
    file = tmp_path_factory.mktemp("out") / "field.json"
    measured = Field(Request(SETTINGS), peers, file).run()
    assert read_document(file) == json.loads(json.dumps(measured))
    return measured


def cell(document: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [one for one in document["cells"].values() if one["peer"] == name]
    return dict(found)


def test_whatever_one_does_the_others_are_measured(document: dict[str, Any]) -> None:
    states = {one["peer"]: one["state"] for one in document["cells"].values()}
    assert states == {
        "right": "measured",
        "alone": "measured",
        "wrong": "wrong",
        "failing": "failed",
        "crash": "failed",
    }
    assert cell(document, "failing")["why"].endswith("ValueError: two lines")
    assert "by SIGABRT" in cell(document, "crash")["why"]
    assert document["peers"]["missing"]["missing"] == "ModuleNotFoundError: No module named 'no_such_module'"
    assert document["peers"]["vfxgb"]["missing"] == "its adapter: RuntimeError: not finished"


def test_bytes_are_those_of_the_line(document: dict[str, Any]) -> None:
    """Whatever an entrant sends with, the shaper counts it, tree by tree, each direction for itself."""
    right = cell(document, "right")
    assert right["bytes"]["there"]["tree"] == 1000
    assert right["bytes"]["back"]["tree"] == 10
    assert (right["messages"], right["round_trips"]) == (2, 1)
    assert set(right["cpu"]) == set(right["peak_bytes"]) == {"bank", "shop"}
    assert min(right["peak_bytes"].values()) > 1e6
    assert cell(document, "alone")["bytes"] == {}
    assert set(cell(document, "alone")["cpu"]) == {"both"}


def test_a_time_counts_only_with_a_right_model(document: dict[str, Any]) -> None:
    wrong = cell(document, "wrong")
    assert "tree_seconds" not in wrong
    assert wrong["why"].startswith("found an AUC of 0.0000, wanted at least ")
    right = cell(document, "right")
    assert right["auc"] == 1.0
    assert right["tree_seconds"] > 0
    assert right["trees"] == SETTINGS.trees


def test_what_is_done_is_not_run_again(document: dict[str, Any], peers: Peers, tmp_path: Path) -> None:
    file = tmp_path / "field.json"
    before = json.loads(json.dumps(document))
    kept, (dropped,) = dict(before["cells"]), [key for key in before["cells"] if key.startswith("right")]
    del kept[dropped]
    file.write_text(json.dumps({**before, "cells": kept}))
    after = Field(Request(SETTINGS, ("right", "failing")), peers, file).run()
    assert {key for key in after["cells"] if after["cells"][key] == before["cells"].get(key)} == set(kept)
    assert after["cells"][dropped]["state"] == "measured"


def test_what_would_take_too_long_is_written_down(document: dict[str, Any], peers: Peers, tmp_path: Path) -> None:
    file = tmp_path / "field.json"
    file.write_text(json.dumps({**document, "cells": {}}))
    after = Field(Request(replace(SETTINGS, limit_seconds=1e-3), ("right",)), peers, file).run()
    found = cell(after, "right")
    assert found["state"] == "not run"
    assert found["why"].startswith("would take about ")
    assert found["why"].endswith(" with 3 trees; 0 s is the limit")


def test_short_cells_go_first_and_a_run_ends_with_its_time(
    document: dict[str, Any], peers: Peers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is expected to take long waits; when the time is over the rest says so, and the next run takes it up."""
    file = tmp_path / "field.json"
    probes = json.loads(json.dumps(document["probes"]))
    for probe in probes["alone one"]:
        probe["tree_seconds"] = 1000.0
    file.write_text(json.dumps({**document, "cells": {}, "probes": probes}))
    order: list[str] = []

    def measure(cell: Cell, *_: Any) -> dict[str, Any]:
        order.append(cell.peer)
        return dict(document["cells"][cell.key])

    monkeypatch.setattr("vfxgb.bench.field.measure.measure_cell", measure)
    settings = replace(SETTINGS, enough_seconds=60.0, limit_seconds=1e6, budget_seconds=1e6)
    Field(Request(settings, ("alone", "right")), peers, file).run()
    assert order == ["right", "alone"]
    file.write_text(json.dumps({**document, "cells": {}, "probes": probes}))
    after = Field(Request(replace(settings, budget_seconds=500.0), ("alone", "right")), peers, file).run()
    assert cell(after, "right")["state"] == "measured"
    assert cell(after, "alone")["state"] == "not run"
    assert "of the run were left; the next run goes on" in cell(after, "alone")["why"]
    order.clear()
    Field(Request(settings, ("alone", "right")), peers, file).run()
    assert order == ["alone"]


@pytest.mark.parametrize(("cpu", "tried"), [(5.0, 1), (3.0, 2)])
def test_who_is_slow_is_not_tried_on_a_larger_table(
    document: dict[str, Any], peers: Peers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpu: float, tried: int
) -> None:
    """Ten times as many rows, three trees: 5 s of processor time for a tree are 150 s, and 120 s are the limit."""
    parties = {"bank": {"tree": cpu, "setup": 0.0}}
    made = {**cell(document, "right"), "cpu": parties, "grown": 3, "took": 1000.0}
    monkeypatch.setattr("vfxgb.bench.field.measure.measure_cell", lambda *_: made)
    after = Field(Request(SETTINGS, ("right",)), peers, tmp_path / "field.json").run()
    assert len(after["probes"]["right one"]) == tried


def test_who_takes_too_long_is_told_how_long_it_had() -> None:
    with pytest.raises(EntrantFailedError, match="training: no end after the 0 s that it may take"):
        list(Events().until("done", ("bank",), time.monotonic(), "training"))


def test_results_of_other_settings_are_not_mixed(document: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "field.json"
    file.write_text(json.dumps(document))
    with pytest.raises(BenchmarkError, match="holds cells with trees=1, wanted trees=3; give another --out"):
        Results(file, replace(SETTINGS, trees=3))
    for text in ("{", "[]", '{"version": 9}'):
        file.write_text(text)
        with pytest.raises(FormatError, match="remove it, or give another --out"):
            read_document(file)


def test_unknown_names(peers: Peers, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="found nobody, wanted some of vfxgb, alone"):
        Field(Request(SETTINGS, ("nobody",)), peers, tmp_path / "field.json").run()
    with pytest.raises(UnknownNameError, match="found entrants two, wanted some of one"):
        Field(Request(SETTINGS, ("right",), ("two",)), peers, tmp_path / "field.json").run()
    with pytest.raises(UnknownNameError, match="found lines 1/1, wanted some of lan"):
        field.choose(QUICK, (), ("1/1",))
    chosen = field.choose(QUICK, ("wide", "1m"), ())
    assert [shape.name for shape in chosen.shapes] == ["wide", "1m"]
    assert chosen.lines == QUICK.lines


def test_the_page(document: dict[str, Any], tmp_path: Path) -> None:
    """It has every cell, says why one has no time, and marks what was published."""
    page = markdown(document, {"50k": "50k.png"}, "[How to read it](../field.md)")
    lines = page.splitlines()
    # The shape first, then the small tables; under load the larger one may have been left out.
    right, *small = [line for line in lines if line.startswith("| right one | sums | **")]
    assert small
    assert "![Seconds of a tree against the level of privacy, by line](50k.png)" in lines
    assert lines.index("## Verdict") < lines.index("## 50,000 x (8+7), depth 4, 8 bins")
    assert "0.0010 + 0.0000" in right
    assert "| wrong one | sums | wrong: found an AUC of 0.0000" in page
    assert "who / learns what" in page
    assert "*published, not measured here: Squirrel (USENIX Security 2023), LAN* | splits | *6.00*" in page
    assert (
        "- missing: ModuleNotFoundError: No module named 'no_such_module'. To install it: `pip install missing`."
        in page
    )
    assert "**This is a quick run**" in page
    cells = lines[: next(place for place, line in enumerate(lines) if line.startswith("| entrant | version |"))]
    assert len({line.count("|") for line in cells if line.startswith(("| right", "| wrong", "| *published"))}) == 1
    # The same from the file of results, with a figure.
    pytest.importorskip("matplotlib")
    file = tmp_path / "field.json"
    file.write_text(json.dumps(document))
    field.write_page(file, tmp_path, "field")
    assert (tmp_path / "field_50k.png").stat().st_size > 10_000
    assert "![Seconds of a tree against the level of privacy, by line](field_50k.png)" in (
        tmp_path / "field.md"
    ).read_text(encoding="utf-8")


def test_an_installation_that_fails_says_how(peers: Peers) -> None:
    described = peers.describe("missing")
    peers.install("missing", {**described, "requirements": ["./no/such/file.whl"]})
    assert peers.describe("missing")["missing"].startswith("installing it failed: ")
    assert not (peers.environments / "missing").exists()


def test_plain_over_a_shaped_line(tmp_path: Path) -> None:
    """The real adapter: two processes, TLS through the shaper, a model that is equal bit for bit."""
    peers = Peers(SCRIPTS, SCRIPTS / "adapters", tmp_path)
    document = Field(Request(SETTINGS, ("vfxgb",), ("plain",)), peers, tmp_path / "field.json").run()
    found = cell(document, "vfxgb")
    assert found["state"] == "measured", found
    assert found["equal"] is True
    assert found["passive_splits"] > 0
    # A pair of 16 bytes for each row goes there, and TLS around it.
    assert found["bytes"]["there"]["tree"] > 16 * TINY.rows
    assert np.isfinite(found["tree_seconds"])
