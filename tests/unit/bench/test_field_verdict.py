"""The verdict of a field, on results that are made up: ahead everywhere, behind by how much, nothing to compare."""

from collections.abc import Mapping
from typing import Any

import pytest

from vfxgb.bench.field.verdict import SECONDS, compare, compare_published, measures_of, times, verdict

LEVELS = {
    "vfxgb plain": "clear",
    "vfxgb open": "sums",
    "vfxgb closed": "splits",
    "vfxgb noisy": "noise",
    "other he": "sums",
    "other bare": "clear",
    "xgboost hist": "pooled",
}


def measured(tree: float, setup: float = 1.0, mega: float = 2.0, cpu: float = 3.0, peak: float = 4.0) -> dict[str, Any]:
    halves = {way: {"tree": mega / 2 * 1e6, "setup": 0.5e6} for way in ("there", "back")}
    parties = {role: {"tree": cpu / 2, "setup": 0.0} for role in ("bank", "shop")}
    peaks = dict.fromkeys(("bank", "shop"), peak / 2 * 1e6)
    numbers = {"tree_seconds": tree, "setup_seconds": setup, "bytes": halves, "cpu": parties, "peak_bytes": peaks}
    return {"state": "measured", "trees": 1, **numbers}


def made_up(cells: Mapping[tuple[str, str, str | None], dict[str, Any]], **probes: Any) -> dict[str, Any]:
    """A document with cells at (entrant, shape, line), and probes by entrant with _ for its space."""
    peers: dict[str, Any] = {}
    for name, level in LEVELS.items():
        peer, entrant = name.split(" ")
        peers.setdefault(peer, {"entrants": {}})["entrants"][entrant] = {"level": level, "alone": False}
    found = {}
    for (name, shape, line), cell in cells.items():
        peer, entrant = name.split(" ")
        found[f"{name} {shape} {line}"] = {"peer": peer, "entrant": entrant, "shape": shape, "line": line, **cell}
    return {"peers": peers, "cells": found, "probes": {name.replace("_", " "): one for name, one in probes.items()}}


def text(document: Mapping[str, Any]) -> str:
    return "\n".join(verdict(document))


def test_ahead_everywhere() -> None:
    document = made_up(
        {
            ("vfxgb open", "50k", "lan"): measured(0.5),
            ("other he", "50k", "lan"): measured(5.0, 2.0, 4.0, 6.0, 8.0),
            ("xgboost hist", "50k", None): measured(0.001, 0, 0, 0, 0),
        }
    )
    found = compare(document)
    assert {comparison.measure: comparison.lead for comparison in found} == {
        SECONDS: 10,
        "seconds of set-up": 2,
        "MB a tree": 2,
        "MB of set-up": 1,
        "processor seconds a tree": 2,
        "peak MB": 2,
    }
    assert "**Ahead of every peer on every axis that was measured.**" in text(document)
    assert "| seconds a tree | 1 | 1 | 10x to 10x |" in text(document)


def test_behind_is_said_by_how_much() -> None:
    """The fastest of ours counts with all of its measures, though another one of ours sends less."""
    document = made_up(
        {
            ("vfxgb open", "50k", "10/50"): measured(0.5, mega=8.0),
            ("vfxgb closed", "50k", "10/50"): measured(0.6, mega=0.1),
            ("other he", "50k", "10/50"): measured(0.25, mega=2.0),
        }
    )
    said = text(document)
    assert "**Ahead in 4 of 6 comparisons.** Not ahead:" in said
    assert "- seconds a tree, 50k, 10/50: vfxgb open 0.5, other he 0.25: 2x as much." in said
    assert "- MB a tree, 50k, 10/50: vfxgb open 8, other he 2: 4x as much." in said


def test_only_what_protects_as_much_is_put_next_to_a_peer() -> None:
    cells = {
        ("vfxgb plain", "50k", "lan"): measured(0.1),
        ("vfxgb noisy", "50k", "lan"): measured(0.2),
        ("vfxgb closed", "50k", "lan"): measured(0.7),
        ("other he", "50k", "lan"): measured(1.4),
        ("other bare", "50k", "lan"): measured(1.0),
    }
    found = {one.peer: one for one in compare(made_up(cells)) if one.measure == SECONDS}
    assert (found["other he"].entrant, found["other bare"].entrant) == ("closed", "plain")
    del cells["vfxgb closed", "50k", "lan"]
    said = text(made_up(cells))
    nobody = "other he 1.4; no protocol of vfxgb that protects as much was measured there"
    assert f"- seconds a tree, 50k, lan: {nobody}." in said


def test_one_process_stands_next_to_the_fastest_line() -> None:
    alone = {**measured(1.0), "bytes": {}}
    cells = {
        ("vfxgb open", "50k", "100/20"): measured(3.0),
        ("vfxgb open", "50k", "200/20"): measured(2.0),
        ("other he", "50k", None): alone,
    }
    found = {one.measure: one for one in compare(made_up(cells))}
    assert found[SECONDS].ours == 2.0
    assert "MB a tree" not in found
    assert "in one process: vfxgb open 2, other he 1: 2x as much" in text(made_up(cells))


def test_who_was_only_tried_is_compared_on_a_small_table() -> None:
    failed = {"state": "failed", "why": "no"}
    cells = {("other he", "50k", "lan"): {"state": "not run", "why": "long"}}
    document = made_up(
        cells, vfxgb_open=[measured(0.1), measured(0.2)], other_he=[measured(4.0), measured(6.0)], other_bare=[failed]
    )
    (seconds,) = [one for one in compare(document) if one.measure == SECONDS]
    assert (seconds.theirs, seconds.ours) == (6.0, 0.2)
    assert seconds.axis.startswith("2,000 rows")
    assert "cells of other he (1 not run)" in text(document)


def test_many_axes_of_a_peer_are_one_line() -> None:
    axes = [(shape, line) for shape in ("50k", "100k", "1m") for line in ("lan", "100/20")]
    cells = {("vfxgb open", *axis): measured(2.0) for axis in axes}
    cells |= {("other he", *axis): measured(1.0) for axis in axes}
    lines = [line for line in verdict(made_up(cells)) if line.startswith("- seconds a tree")]
    assert len(lines) == 1
    assert "on 6 axes: 50k, lan: vfxgb open 2, other he 1: 2x as much; 50k, 100/20:" in lines[0]


def test_published_numbers_are_compared_apart() -> None:
    """Squirrel publishes 6 s and Pivot, which hides more than anything of ours, 168 s."""
    document = made_up({("vfxgb closed", "50k", "lan"): measured(12.0), ("other he", "50k", "lan"): measured(13.0)})
    (squirrel,) = compare_published(document)
    assert (squirrel.peer.partition(" ")[0], squirrel.lead) == ("Squirrel", 0.5)
    said = text(document)
    assert "ahead in 0 of 1 comparisons, by 0.5x to 0.5x." in said
    assert said.endswith("vfxgb closed 12, Squirrel (USENIX Security 2023) 6: 2x as much.")


def test_nothing_to_compare() -> None:
    assert "there is no verdict" in text(made_up({("vfxgb open", "50k", "lan"): measured(1.0)}))


def test_what_is_nothing() -> None:
    """A peer that needs nothing of something is ahead; nothing next to something is a lead of any number of times."""
    document = made_up(
        {
            ("vfxgb open", "50k", "lan"): measured(1.0, setup=0.5),
            ("other he", "50k", "lan"): measured(1.0, setup=0.0),
        }
    )
    assert "- seconds of set-up, 50k, lan: vfxgb open 0.5, other he 0: more than nothing." in text(document)
    assert times(float("inf")) == "any number of times"
    assert measures_of({**measured(1.0), "bytes": {}, "cpu": {}}).keys() == {SECONDS, "seconds of set-up"}


@pytest.mark.parametrize(("factor", "words"), [(1.234, "1.2x"), (12.3, "12x"), (1234.5, "1,234x"), (0.456, "0.46x")])
def test_factors(factor: float, words: str) -> None:
    assert times(factor) == words
