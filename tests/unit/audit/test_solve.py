"""The passive party's table from opened sums: what the attack `solve` finds, where, and what it is made of."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from vfxgb.audit import Transcript, audit
from vfxgb.audit.attacks import solve
from vfxgb.audit.chain_links import join
from vfxgb.audit.chains import chains_of
from vfxgb.audit.claims import Finding
from vfxgb.audit.cut_solver import left_shares, nearest_bins
from vfxgb.audit.opened_sums import opened_trees
from vfxgb.audit.truth import Truth
from vfxgb.audit.view import AttackerView
from vfxgb.errors import MissingPackageError
from vfxgb.protocols import protocol_by_name

from .conftest import QUICK_HE, QUICK_OT

# Enough trees that there are more equations than rows.
SMALL_NODES = dict(protocol_by_name("smm2").quick_params)
ENOUGH = {"n_estimators": 40, "max_depth": 5, "max_bin": 16, "learning_rate": 0.1}


def found(transcript: Transcript) -> dict[str, Finding]:
    """The finding about every passive party."""
    return {finding.victim: finding for finding in audit(transcript, ["solve"]).findings}


def view_of_bank(transcript: Transcript) -> AttackerView:
    return AttackerView(transcript.records["bank"], transcript.catalogue, transcript.protocol, transcript.params)


def in_true_order(transcript: Transcript) -> Transcript:
    """The same run, had the passive parties shown their candidates as they stand, in every tree the same."""
    orders = {
        (party, note.round, note.tree): note.array
        for party, record in transcript.records.items()
        for note in record.notes
        if note.name == "order"
    }
    bank = transcript.records["bank"]
    notes = []
    for note in bank.notes:
        if note.name.startswith("left-sums:"):
            shown = np.empty_like(note.array)
            shown[:, orders[note.name.rsplit(":", 1)[1], note.round, note.tree]] = note.array
            note = replace(note, array=shown)
        notes.append(note)
    return replace(transcript, records={**transcript.records, "bank": replace(bank, notes=notes)})


@pytest.mark.parametrize(
    ("protocol", "own"),
    [("plain", None), ("ot_shares", QUICK_OT), ("batch_he", QUICK_HE), ("secureboost", QUICK_HE)],
)
def test_the_table_is_computed_once_there_are_as_many_equations_as_rows(recorded: Any, protocol: str, own: Any) -> None:
    """The active party follows the protocol, and the passive parties' orders are secret where the protocol has one."""
    clf = recorded(protocol, own, rows=250, **ENOUGH)
    for party, one in found(clf.transcript_).items():
        assert clf.ledger_.opened[party].equations >= 250
        assert one.success >= 0.95, one.detail
        assert one.guess < 0.1
        assert one.better
        assert "40 of 40 trees joined" in one.detail


def test_it_is_computed_where_candidates_stand_in_one_order(recorded: Any) -> None:
    transcript = in_true_order(recorded(rows=250, **ENOUGH).transcript_)
    assert all(finding.success >= 0.95 for finding in found(transcript).values())


def test_larger_buckets_do_not_prevent_it(recorded: Any) -> None:
    """`min_bucket_rows` withholds sums, equations in other words: what is left is enough if there are more trees."""
    floor = {**ENOUGH, "n_estimators": 80, "min_bucket_rows": 10}
    transcript = in_true_order(recorded(rows=250, **floor).transcript_)
    assert all(finding.success >= 0.9 for finding in found(transcript).values())


def test_missing_values_are_one_more_bin(recorded: Any) -> None:
    one = found(recorded(rows=250, missing=0.1, **ENOUGH).transcript_)["shop"]
    assert one.success >= 0.95, one.detail


@pytest.mark.parametrize("sampling", [{"colsample_bytree": 0.7}, {"subsample": 0.8}])
def test_sampling_does_not_prevent_it(recorded: Any, sampling: dict[str, float]) -> None:
    one = found(recorded(rows=250, **{**ENOUGH, "n_estimators": 60}, **sampling).transcript_)["shop"]
    assert one.success >= 0.9, one.detail


def test_features_withheld_by_level_do_not_prevent_it_in_one_order(recorded: Any) -> None:
    given = {**ENOUGH, "n_estimators": 60, "colsample_bylevel": 0.7}
    one = found(in_true_order(recorded(rows=250, **given).transcript_))["shop"]
    assert one.success >= 0.9, one.detail


def test_one_small_tree_gives_little(recorded: Any) -> None:
    """A dozen equations for 250 rows: what a tree says about who shares a node, and no more."""
    few = {**ENOUGH, "n_estimators": 1, "max_depth": 2}
    for finding in found(recorded(rows=250, **few).transcript_).values():
        assert finding.success <= finding.guess + 0.1, finding.detail


def test_protocols_that_open_nothing_give_it_nothing(recorded: Any) -> None:
    for protocol, own in (("ldp", {"epsilon": 4}), ("federboost", {"epsilon": 4})):
        clf = recorded(protocol, own, rows=120)
        report = audit(clf.transcript_, ["solve"])
        assert not report.findings
        assert [attack.why for attack in report.not_run] == ["no sums were opened"]
        assert not clf.ledger_.opened


def test_small_nodes_of_smm2_are_seen(recorded: Any) -> None:
    clf = recorded("smm2", SMALL_NODES, rows=120, max_depth=3)
    trees = opened_trees(view_of_bank(clf.transcript_), "shop")
    assert clf.ledger_.opened["shop"].equations >= sum(tree.n_equations for tree in trees)


def test_what_is_too_large_is_refused(recorded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = recorded(rows=120).transcript_
    monkeypatch.setattr(solve, "MOST_NUMBERS", 1000)
    (refused,) = audit(transcript, ["solve"]).not_run
    assert refused.why.startswith("too large for this attack: 120 rows, ")
    # With a little more it makes do with the newest trees.
    monkeypatch.setattr(solve, "MOST_NUMBERS", 12 * 120)
    assert "1 of 2 trees" in audit(transcript, ["solve"]).remarks["solve"]


def test_without_scipy_it_says_so(recorded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any) -> Any:
        raise MissingPackageError("scipy is not installed")

    monkeypatch.setattr(solve, "join", missing)
    (refused,) = audit(recorded(rows=120).transcript_, ["solve"]).not_run
    assert refused.why == "scipy is not installed"


def test_a_secret_order_falls_to_ascending_sums(recorded: Any) -> None:
    """Every chain is a feature with its cuts in order: names and thresholds are hidden, the order is not."""
    transcript = recorded(rows=250, **ENOUGH).transcript_
    truth = Truth(transcript)
    for tree in opened_trees(view_of_bank(transcript), "shop")[::8]:
        order = next(
            note.array
            for note in transcript.records["shop"].notes
            if (note.name, note.round, note.tree) == ("order", tree.round, tree.tree)
        )
        cuts = truth.note("shop", "n-bins")[0] - 1
        chains = [order[list(chain.cuts)] for chain in chains_of([tree])]
        assert len(chains) == 2
        right = sum(int((np.diff(chain) == 1).sum()) for chain in chains)
        assert right >= 0.9 * (2 * cuts - 2)


def test_derived_sums_are_those_of_the_siblings(recorded: Any) -> None:
    """Naive twin: the sums of every node, from the passive party's bins."""
    transcript = in_true_order(recorded(rows=120, missing=0.1).transcript_)
    truth = Truth(transcript)
    matrix = truth.columns("shop", 0, 0)
    for tree in opened_trees(view_of_bank(transcript), "shop"):
        every = [*zip(tree.nodes, tree.left, strict=True), *zip(tree.siblings, tree.derived, strict=True)]
        assert len(tree.siblings) > 0
        for node, sums in every:
            order = np.argsort(matrix._order)
            goes_left = matrix.matrix(node.rows)[order]
            assert (goes_left @ tree.pairs[node.rows] == sums).all()
        rows, right, known = tree.equations()
        goes_left = matrix.matrix(np.arange(120))[np.argsort(matrix._order)]
        assert np.allclose(rows @ goes_left.T, right)
        assert known.all()


def test_joined_trees_have_each_cut_in_one_column(recorded: Any) -> None:
    transcript = recorded(rows=250, **ENOUGH).transcript_
    view = view_of_bank(transcript)
    trees = opened_trees(view, "shop")
    joined = join(trees, solve._features(view, "shop", trees))
    orders = {note.round: note.array for note in transcript.records["shop"].notes if note.name == "order"}
    meant = np.array([orders[trees[number].round][positions] for number, positions in joined.members.items()])
    assert (meant == meant[0]).mean() > 0.95


def test_rows_left_of_cuts_are_solved_for() -> None:
    """Enough random equations give the unknowns exactly; bins are where a row begins to go left."""
    random = np.random.default_rng(3)
    bins = random.integers(0, 6, size=40)
    truth = (bins[:, None] <= np.arange(5)[None, :]).astype(np.float64)
    rows = random.normal(size=(60, 40))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    known = np.ones((60, 5), dtype=np.bool_)
    known[50:, 2] = False
    shares = left_shares(rows, np.where(known, rows @ truth, 7.0), known, truth.mean(axis=0))
    assert np.allclose(shares, truth, atol=1e-5)
    assert (nearest_bins(shares) == bins).all()


def test_fewer_equations_than_rows_still_fit_what_the_unknowns_can_be() -> None:
    random = np.random.default_rng(4)
    bins = random.integers(0, 6, size=60)
    truth = (bins[:, None] <= np.arange(5)[None, :]).astype(np.float64)
    rows = random.normal(size=(45, 60))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    known = np.ones((45, 5), dtype=np.bool_)
    nearest = left_shares(rows, rows @ truth, known, truth.mean(axis=0))
    drawn = left_shares(rows, rows @ truth, known, truth.mean(axis=0), [np.arange(5)])
    assert np.allclose(rows @ nearest, rows @ truth, atol=1e-6)
    assert np.allclose(rows @ drawn, rows @ truth, atol=1e-6)
    assert (nearest_bins(drawn) == bins).mean() > (nearest_bins(nearest) == bins).mean()
    assert (nearest_bins(drawn) == bins).mean() > 0.95


def test_bins_of_rows_without_a_value() -> None:
    left = np.array([[0.9, 1.1], [0.1, 0.8], [0.0, 0.1], [0.1, 0.0]])
    assert nearest_bins(left).tolist() == [0, 1, 2, 2]
    assert nearest_bins(left, np.array([0.0, 0.1, 0.2, 0.9])).tolist() == [0, 1, 2, 3]
