"""Parties that depart from `sealed`, with what they get by it, without limits and under them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from protocol_variants import params_of
from simulated_runs import fit_tables
from vfxgb.audit.auditor import view_of
from vfxgb.audit.row_comparisons import told_by
from vfxgb.audit.truth import Truth
from vfxgb.data.table import Table
from vfxgb.params import TrainParams
from vfxgb.protocols.sealed import columns, tournament
from vfxgb.train.simulate import FitResult

ROWS, DEPTH, BINS = 150, 4, 8
FEATURES = {"bank": 3, "shop": 3}
CANDIDATES = FEATURES["shop"] * (BINS - 1)
# A share of a score is in the topmost bits of a word: this is half of the largest score.
HALF = np.uint64(1 << 61)


def run(trees: int, labels: Any = None, **own: Any) -> FitResult:
    """A recorded training of a bank with a shop that has CANDIDATES candidate splits."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(ROWS, sum(FEATURES.values()))).astype(np.float32)
    y = (X[:, 0] + X[:, 3] + X[:, 4] * X[:, 1] + 0.5 * rng.normal(size=ROWS) > 0.8).astype(float)
    tables = {
        "bank": Table.read(X[:, :3], names=["f0", "f1", "f2"], party="bank"),
        "shop": Table.read(X[:, 3:], names=["f3", "f4", "f5"], party="shop"),
    }
    params = TrainParams(objective="binary:logistic", n_estimators=trees, max_depth=DEPTH, max_bin=BINS, n_jobs=1)
    given = {**params_of("sealed"), **own}
    y = y if labels is None else labels
    return fit_tables(tables, "bank", y, None, ROWS, params, protocol="sealed", protocol_params=given, record=True)


def known_bits(result: FitResult) -> tuple[float, int]:
    """The share of all (row, candidate split) of the shop that the bank was told; and of how many candidates any."""
    transcript = result.transcript
    assert transcript is not None
    truth = Truth(transcript)
    told, splits = told_by(view_of(transcript, "bank", truth), "shop"), truth.cuts()["shop"].splits
    known: dict[tuple[int, ...], np.ndarray] = {}
    for side, (*place, number) in zip(told.sides, told.places, strict=True):
        column = tuple(splits[tuple(place)][number].tolist())
        known[column] = known.get(column, np.zeros(ROWS, dtype=np.bool_)) | (side != 0)
    return float(sum(rows.sum() for rows in known.values()) / (CANDIDATES * ROWS)), len(known)


def one_after_the_other() -> Iterator[int]:
    while True:
        yield from range(CANDIDATES)


@pytest.fixture
def choosing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bank adds so much to its share of one column that it wins every node of the level; each level another."""
    wanted, real = one_after_the_other(), tournament.pick_shares

    def pick(*given: Any) -> Any:
        lines = real(*given).copy()
        lines[:, next(wanted)] += HALF
        return lines

    monkeypatch.setattr(tournament, "pick_shares", pick)


# All columns, one a level: 21 candidates at depth 4.
ENOUGH = -(-CANDIDATES // DEPTH)


def test_a_bank_that_chooses_who_wins_takes_all_columns(choosing: None) -> None:
    """Every column in about as many trees as there are columns over depth; rows below leaves are not told."""
    share, different = known_bits(run(ENOUGH))
    assert different == CANDIDATES
    assert share > 0.8


def test_an_honest_bank_learns_less(choosing: None, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen, _ = known_bits(run(ENOUGH))
    monkeypatch.undo()
    honest, different = known_bits(run(ENOUGH))
    assert honest < 0.6 * chosen
    assert different <= CANDIDATES


@pytest.mark.parametrize("limit", [0.3, 0.5])
def test_a_limit_on_columns_holds_against_it(choosing: None, limit: float) -> None:
    """However long it goes on: three times as many trees give no more columns."""
    share, different = known_bits(run(3 * ENOUGH, max_won_columns=limit))
    assert different == int(limit * CANDIDATES)
    assert share <= limit


def test_a_limit_on_wins_holds_against_it(choosing: None) -> None:
    """At a root every row is told, so that as many columns as wins is the most."""
    share, different = known_bits(run(ENOUGH, max_wins=5))
    assert different <= 5
    assert share <= 5 / CANDIDATES


@pytest.mark.parametrize(("limit", "most"), [(1.0, CANDIDATES), (0.3, int(0.3 * CANDIDATES))])
def test_invented_labels(limit: float, most: int) -> None:
    """Labels that are coins make other columns win than true ones do; the limit holds here, too."""
    labels = np.random.default_rng(5).integers(0, 2, ROWS).astype(float)
    share, different = known_bits(run(3 * ENOUGH, labels, max_won_columns=limit))
    assert different <= most
    assert share <= most / CANDIDATES
    assert different > most / 2


@pytest.fixture
def marking(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shop encrypts columns of single rows, with the largest weight: column j is row j alone."""
    real = columns.CandidateColumns.__init__

    def init(self: Any, *given: Any) -> None:
        real(self, *given)
        self._bits = np.packbits(np.eye(ROWS, dtype=np.uint8)[: len(self)], axis=1, bitorder="little")
        self._weights = np.full(len(self), 32, dtype=np.int32)

    monkeypatch.setattr(columns.CandidateColumns, "__init__", init)


def marked(result: FitResult) -> tuple[int, list[bool]]:
    """Open nodes; and for each that a single row has won, whether its gradient stands out most of all marked rows."""
    transcript = result.transcript
    assert transcript is not None
    truth = Truth(transcript)
    slots = sum(entry.amount for entry in result.ledger.entries if entry.message == "argmax-winners")
    told = told_by(view_of(transcript, "bank", truth), "shop")
    largest = []
    for side, (round_index, tree, _, _) in zip(told.sides, told.places, strict=True):
        (winner,) = np.flatnonzero(side > 0)
        g, h = truth.note("bank", "pairs", round_index, tree).T.astype(float)
        inside = np.flatnonzero(side)
        apart = np.abs(g - g[inside].sum() / h[inside].sum() * h)
        others = inside[inside < CANDIDATES]
        # Gradients are rounded to integers before they are compared.
        largest.append(bool(apart[winner] >= 0.999 * apart[others].max()))
    return slots, largest


def test_a_shop_that_marks_rows_learns_who_stands_out(marking: None) -> None:
    """In nodes where nothing of the bank's divides better it learns which of its rows has the largest |u|, no more."""
    result = run(10)
    slots, largest = marked(result)
    assert 0.02 * slots < len(largest) < 0.5 * slots
    assert np.mean(largest) > 0.95
    # A single row seldom divides a node better than the bank's own best: most of these winners are refused.
    assert len(result.passive_shares["shop"].records) < 0.5 * len(largest)
