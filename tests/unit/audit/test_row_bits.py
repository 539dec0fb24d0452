"""Rows' bits at winning splits as an attack: what they pin down, and what the attack is made of."""

from typing import Any

import numpy as np
import pytest

from vfxgb.audit import Transcript, attack_by_name, audit
from vfxgb.audit.auditor import view_of
from vfxgb.audit.row_comparisons import (
    Told,
    by_feature,
    middle_bins,
    pinned,
    positions,
    possible_bins,
    refined_bins,
    told_by,
)
from vfxgb.audit.truth import Truth
from vfxgb.audit.view import CutsOf
from vfxgb.protocols import protocol_by_name

from .conftest import QUICK_OT

QUICK = dict(protocol_by_name("sealed").quick_params)
# The trees of test_solve.py, whose table `solve` computes from sums that `ot_shares` opens.
TREES = {"n_estimators": 40, "max_depth": 5, "max_bin": 16, "learning_rate": 0.1}
BINS = 8


@pytest.fixture(scope="module")
def transcript(recorded: Any) -> Transcript:
    run: Transcript = recorded("sealed", QUICK, rows=250, **TREES).transcript_
    return run


def truth_of(transcript: Transcript, party: str) -> np.ndarray:
    return Truth(transcript).note(party, "bins").astype(np.int64)


def test_sums_are_not_there_to_solve_for(recorded: Any, transcript: Transcript) -> None:
    """The same table and trees: nearly all bins from opened sums, and no attack on sums without them."""
    shown = audit(recorded("ot_shares", QUICK_OT, rows=250, **TREES).transcript_, ["solve"])
    assert {finding.victim: finding.success >= 0.95 for finding in shown.findings} == {"shop": True, "club": True}
    assert audit(transcript, ["solve"]).findings == ()


def test_bits_order_rows_without_any_cut(transcript: Transcript) -> None:
    for finding in audit(transcript, ["row-bits"]).findings:
        assert finding.better, finding.detail
        assert 0.15 < finding.success < 0.9


def test_cuts_that_are_known_tell_more(transcript: Transcript) -> None:
    found = {name: {f.victim: f.success for f in audit(transcript, [name]).findings} for name in ("row-bits-cuts",)}
    assert all(share > 0.25 for share in found["row-bits-cuts"].values())
    assert set(found["row-bits-cuts"]) == {"shop", "club"}


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_what_is_possible_holds_the_truth(recorded: Any, missing: float) -> None:
    """The naive twin: every comparison says of a true bin what its cut says."""
    transcript = recorded("sealed", QUICK, rows=120, missing=missing, n_estimators=4, max_bin=16).transcript_
    view = view_of(transcript, "bank", Truth(transcript), attack_by_name("row-bits-cuts"))
    for peer, cuts in view.known_cuts.items():
        told, bins = told_by(view, peer), truth_of(transcript, peer)
        for side, (*place, split) in zip(told.sides, told.places, strict=True):
            feature, cut, default_left = cuts.splits[tuple(place)][split].tolist()
            absent = bins[:, feature] == cuts.n_bins[feature]
            left = np.where(absent, bool(default_left), bins[:, feature] <= cut)
            assert np.array_equal(side[side != 0] > 0, left[side != 0])
        possible = list(possible_bins(told, cuts))
        for feature, allowed in enumerate(possible):
            assert allowed[np.arange(len(bins)), bins[:, feature]].all()
        assert any(not allowed[:, :-1].all() for allowed in possible)
        certain = np.mean([(allowed.sum(axis=1) == 1).mean() for allowed in possible])
        assert pinned(possible) == pytest.approx(certain)


def test_refused_winners_are_counted(recorded: Any) -> None:
    """With a gamma that nothing reaches every winner is refused, and its bits were told all the same."""
    clf = recorded("sealed", QUICK, rows=120, n_estimators=2, gamma=1e6)
    assert all(set(tree.party.tolist()) == {-1} for tree in clf.model_.active_share.trees)
    view = view_of(clf.transcript_, "bank", Truth(clf.transcript_))
    assert sum(len(told_by(view, peer).sides) for peer in ("shop", "club")) == 2


def test_notes_are_the_rows_of_nodes(transcript: Transcript) -> None:
    """At a root every row is compared; further down each row at most once a level and tree."""
    view = view_of(transcript, "bank", Truth(transcript))
    told = told_by(view, "shop")
    roots = [side for side, place in zip(told.sides, told.places, strict=True) if place[2] == 0]
    assert roots
    assert all(np.count_nonzero(side) == 250 for side in roots)
    levels = {place[:3] for place in told.places}
    for level in levels:
        mine = [side for side, place in zip(told.sides, told.places, strict=True) if place[:3] == level]
        assert np.count_nonzero(mine, axis=0).max() <= 1


def comparisons(features: int, splits: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sides of random splits in random nodes, the feature of each, and the bins."""
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, BINS, size=(2000, features))
    feature, cut = rng.integers(0, features, splits), rng.integers(0, BINS - 1, splits)
    inside = rng.random((splits, 2000)) < rng.uniform(0.1, 1.0, size=(splits, 1))
    sides = np.where(cut[:, None] >= bins[:, feature].T, 1, -1) * inside
    return sides.astype(np.int8), feature, bins


def test_splits_are_sorted_by_feature() -> None:
    sides, feature, _ = comparisons(3, 60)
    groups = by_feature(sides, 3)
    assert len(groups) == 3
    assert all(len(set(feature[group].tolist())) == 1 for group in groups)
    assert sum(len(group) for group in groups) == 60


def test_rows_are_put_in_order() -> None:
    sides, _, bins = comparisons(1, 40)
    places = positions(sides, BINS)
    assert np.corrcoef(places, bins[:, 0])[0, 1] > 0.9
    assert np.mean(refined_bins(sides, places, BINS) == bins[:, 0]) > 0.9


def test_nothing_is_found_in_coins() -> None:
    """Bits that are no comparisons give no order: the attack has no way to the truth but through them."""
    rng = np.random.default_rng(0)
    sides = rng.choice([-1, 1], size=(40, 2000)).astype(np.int8)
    bins = rng.integers(0, BINS, size=2000)
    for group in by_feature(sides, 3):
        guessed = refined_bins(sides[group], positions(sides[group], BINS), BINS)
        assert abs(np.mean(guessed == bins) - 1 / BINS) < 4 * np.sqrt(1 / BINS / 2000)


def test_bins_of_a_toy() -> None:
    sides = np.array([[1, 1, -1, -1], [1, -1, 0, 0]], dtype=np.int8)
    cuts = CutsOf(np.array([4]), np.array([False]), {(0, 0, 0): np.array([[0, 1, 0], [0, 0, 0]])})
    (possible,) = possible_bins(Told(sides, ((0, 0, 0, 0), (0, 0, 0, 1))), cuts)
    wanted = [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 1, 1, 0]]
    assert possible.astype(int).tolist() == wanted
    assert pinned([possible]) == 0.5
    assert middle_bins(possible).tolist() == [0, 1, 2, 2]
