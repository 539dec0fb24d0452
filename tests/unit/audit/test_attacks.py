"""What attacks find in real runs. The figures are those of ERRATA 1.4, E62 and E64."""

from typing import Any

import numpy as np
import pytest

from vfxgb import VFXGBRegressor
from vfxgb.audit import audit
from vfxgb.audit.truth import Truth

from .conftest import PARTIES, QUICK_HE, QUICK_OT

# Attacks on gradients, sums and memberships. Node sets say what they say whatever the protocol (E64), and so do
# equations in opened sums (E62), which test_solve.py is about.
NODE_SETS = ("leaf-purity", "node-votes")
ELSEWHERE = (*NODE_SETS, "solve")


def test_plain_gives_labels_and_gradients(recorded: Any) -> None:
    found = recorded(missing=0.1, subsample=0.8).audit(["plain-sign"]).findings
    assert {finding.attacker for finding in found} == {"shop", "club"}
    assert {finding.target for finding in found} == {"labels", "gradients"}
    assert all(finding.success == 1.0 and finding.better for finding in found)


def test_numbers_are_no_labels() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    reg = VFXGBRegressor(parties=PARTIES, protocol="plain", n_estimators=2, max_depth=2, record=True).fit(
        X, X.sum(axis=1)
    )
    report = reg.audit(["plain-sign", "leaf-purity"])
    assert {finding.target for finding in report.findings} == {"gradients"}
    assert [attack.why for attack in report.not_run] == ["the labels of this run are numbers, not classes"]


def test_big_buckets_of_batch_he_give_nothing(recorded: Any) -> None:
    """No attack on single buckets beats guessing by more than luck explains, and no set of rows is found at all."""
    report = recorded("batch_he", QUICK_HE, rows=400, min_bucket_rows=20, n_estimators=4).audit()
    attacked = [finding for finding in report.summary if finding.attack not in ELSEWHERE]
    assert {finding.attack for finding in attacked} == {"equal-ciphertexts", "small-buckets"}
    assert {finding.attacker for finding in attacked} == {"bank", "shop", "club"}
    for finding in attacked:
        assert finding.success <= finding.guess + finding.margin
        assert not finding.better
    assert all(finding.success == 0.0 for finding in report.findings if finding.attack == "small-buckets")


def test_big_buckets_of_ot_shares_give_nothing(recorded: Any) -> None:
    """The same sums, hidden in another way: the same attacks find as little."""
    report = recorded("ot_shares", QUICK_OT, rows=400, min_bucket_rows=20, n_estimators=4).audit()
    attacked = [finding for finding in report.summary if finding.attack not in ELSEWHERE]
    assert {finding.attack for finding in attacked} == {"equal-masks", "small-buckets"}
    assert {finding.attacker for finding in attacked} == {"bank", "shop", "club"}
    assert not any(finding.better or finding.success > finding.guess + finding.margin for finding in attacked)
    assert all(finding.success == 0.0 for finding in report.findings if finding.attack == "small-buckets")


def test_masks_that_come_again_would_show(recorded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One mask for all rows, put into a transcript: the attack must see it."""
    from vfxgb.audit.attacks import equal_masks

    transcript = recorded("ot_shares", QUICK_OT, rows=120).transcript_
    labels = Truth(transcript).labels.astype(np.uint64)
    monkeypatch.setattr(equal_masks, "_pairs", lambda *_: {0: np.stack([labels + 77, labels * 0 + 5], axis=1)})
    (first, *_) = audit(transcript, ["equal-masks"]).of("equal-masks")
    assert first.success == 1.0
    assert first.better


def test_node_sets_are_compared_with_own_features(recorded: Any) -> None:
    report = recorded("batch_he", QUICK_HE, rows=400, min_bucket_rows=20, n_estimators=4).audit(NODE_SETS)
    votes, purity = report.of("node-votes"), report.of("leaf-purity")
    assert [vote.attacker for vote in votes] == ["club", "shop"]
    for vote in votes:
        assert "own features" in vote.detail
        assert vote.guess >= 0.5
    # Leaves of a tree that learned anything are purer than leaves filled at random.
    assert all(finding.better for finding in purity)
    alone = recorded("batch_he", QUICK_HE, rows=400, reduced_leakage=True).audit(["leaf-purity"])
    assert "reduced_leakage" in alone.not_run[0].why


@pytest.mark.parametrize(("protocol", "own"), [("plain", None), ("secureboost", QUICK_HE), ("ot_shares", QUICK_OT)])
def test_small_buckets_are_solved(recorded: Any, protocol: str, own: Any) -> None:
    """E62. In later rounds rows have gradients of their own, and small buckets are found, nearly all rightly."""
    report = recorded(protocol, own, rows=100, max_bin=64, n_estimators=5).audit(["small-buckets"])
    assert all(finding.attacker == "bank" and finding.better for finding in report.summary)
    counts = [
        [int(part.split()[0]) for part in finding.detail.split("; ")[1].split(", ")] for finding in report.findings
    ]
    claimed, right = np.sum(counts, axis=0)
    assert claimed > 50
    assert right >= 0.95 * claimed


def test_small_buckets_of_the_first_round_are_not(recorded: Any) -> None:
    """Two gradients only: sums give counts and positives, and never which rows."""
    report = recorded(rows=100, max_bin=64, n_estimators=1).audit(["small-buckets"])
    assert all(finding.success == 0.0 for finding in report.findings)


def test_deterministic_encryption_would_show(recorded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same ciphertexts for the same gradients, put into a transcript: the attack must see it."""
    from vfxgb.audit.view import AttackerView

    transcript = recorded("batch_he", QUICK_HE, rows=120).transcript_
    labels = Truth(transcript).labels
    real = AttackerView.messages

    def doctored(self: AttackerView, peer: str, tag: str, kind: Any) -> Any:
        for message in real(self, peer, tag, kind):
            if tag == "he-gradients":
                part = labels[message.first : message.first + message.count].astype("<u8")
                yield kind(
                    **{
                        **{f: getattr(message, f) for f in message.__struct_fields__},
                        "ciphertexts": part.data.cast("B"),
                    }
                )
            else:
                yield message

    monkeypatch.setattr(AttackerView, "messages", doctored)
    first = audit(transcript, ["equal-ciphertexts"]).of("equal-ciphertexts")[0]
    assert (first.target, first.success) == ("leaf labels", 1.0)
    assert first.better


SMM1 = {"insecure": True, "r": 40}


def test_smm1_gives_the_split_matrix(recorded: Any) -> None:
    """A0 (known answer 16): at r'/n <= 0.05 at least 99.9 % of M by rounding."""
    report = recorded("smm1", SMM1, rows=800, max_depth=1).audit(["smm1-read"])
    assert {(finding.attacker, finding.victim) for finding in report.findings} == {("bank", "shop"), ("bank", "club")}
    for finding in report.findings:
        assert float(finding.detail.removeprefix("r'/n ")) <= 0.05
        assert finding.success >= 0.999
        assert finding.guess < 0.9


def test_smm1_with_more_masking(recorded: Any) -> None:
    """A1: columns exactly, by linear programs, at r'/n of up to 0.3."""
    report = recorded("smm1", {"insecure": True, "r": 45}, rows=150, max_depth=1).audit(["smm1-lp"])
    assert {finding.victim for finding in report.findings} == {"shop", "club"}
    assert all(finding.success == 1.0 and finding.better for finding in report.findings)
    assert "columns a node" in report.remarks["smm1-lp"]


def test_smm1_over_levels(recorded: Any) -> None:
    """A5': the equations of three levels leave next to nothing open."""
    report = recorded("smm1", {"insecure": True, "r": 60}, rows=150).audit(["smm1-linear"])
    assert max(finding.success for finding in report.findings) == 1.0
    assert all(finding.better for finding in report.summary)
    # Masks of levels that withhold columns do not add up; the attack then keeps to one node.
    alone = recorded("smm1", {"insecure": True, "r": 60}, rows=150, min_bucket_rows=10).audit(["smm1-linear"])
    assert all(finding.success > finding.guess for finding in alone.findings)


def test_smm1_vectors_alone_give_labels(recorded: Any) -> None:
    """A2, at a passive party, from what it was sent in the first round."""
    (found,) = {
        finding.success
        for finding in recorded("smm1", SMM1, rows=24).audit(["smm1-lattice"]).findings
        if finding.node == 0
    }
    assert found == 1.0


def test_smm2_gives_the_labels(recorded: Any) -> None:
    """A0: at least 99 % of labels by sign in the first round."""
    report = recorded("smm2", {"insecure": True, "r": 20, "l1": 4, "l2": 4}, rows=800, max_depth=1).audit(["smm2-read"])
    assert {finding.attacker for finding in report.findings} == {"shop", "club"}
    first = [finding for finding in report.summary if finding.round == 0]
    assert first
    for finding in first:
        assert finding.success >= 0.99
        assert finding.guess < 0.8
    # Later gradients differ in size; the sign is right most of the time.
    assert all(finding.better for finding in report.summary)


def test_smm2_with_more_masking(recorded: Any) -> None:
    """A3: labels exactly, by linear programs, at r'/n of up to 0.3; A5: gradients exactly, over levels."""
    own = {"insecure": True, "r": 60, "l1": 4, "l2": 4}
    report = recorded("smm2", own, rows=200).audit(["smm2-lp", "smm2-linear"])
    roots = [finding for finding in report.findings if finding.attack == "smm2-lp" and finding.node == 0]
    assert {root.attacker for root in roots} == {"shop", "club"}
    assert all(root.success == 1.0 and root.better for root in roots)
    gradients = [finding for finding in report.findings if finding.attack == "smm2-linear"]
    assert {gradient.round for gradient in gradients} == {0, 1}
    assert max(gradient.success for gradient in gradients) > 0.9


def test_smm2_vectors_alone_give_buckets(recorded: Any) -> None:
    """A4, at the active party."""
    own = {"insecure": True, "r": 8, "l1": 2, "l2": 2}
    report = recorded("smm2", own, rows=28, max_bin=4, max_depth=1, n_estimators=1).audit(["smm2-lattice"])
    assert any(finding.better for finding in report.findings)
