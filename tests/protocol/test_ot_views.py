"""What the parties of `ot_shares` see and hold: nothing that depends on labels but masked gradients."""

import numpy as np
import pytest
from scipy import stats

import ot_twin as twin
from ot_again import G, H, RunTwin
from ot_runs import QUICK, masked_bytes, masked_rows, messages_to, seed_randomness, tables, train, watch
from vfxgb import _native
from vfxgb.audit.view import AttackerView
from vfxgb.protocols.ot_shares.messages import OtGradients


def test_masked_gradients_look_random_whatever_the_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """A passive party's view: every byte uniform, the same for rows of either label, no value twice."""
    seed_randomness(monkeypatch, 1)
    rows = 1200
    data = tables(rows)
    result = train({"chunk_rows": 1000, "setup_rows": 500}, data=data, record=True, n_estimators=2, max_depth=1)
    view = AttackerView(result.transcript.records["shop"], result.transcript.catalogue, "ot_shares", None)
    wire = b"".join(bytes(one.pairs) for one in view.messages("bank", OtGradients.TAG, OtGradients))
    counts = np.bincount(np.frombuffer(wire, dtype=np.uint8), minlength=256)
    assert stats.chisquare(counts).pvalue > 1e-4
    assert len(np.unique(masked_bytes(result)[:, 0])) == 2 * 2 * rows
    labels = np.tile(data[1] > 0, 2)
    for slot in (0, 1):
        pairs = masked_bytes(result, slot)
        for column, shift in ((0, 35), (0, 0), (1, 32), (1, 0)):
            byte = (pairs[:, column] >> np.uint64(shift)).astype(np.int64) & 255
            table = np.stack([np.bincount(byte[labels == one] >> 3, minlength=32) for one in (False, True)])
            assert stats.chi2_contingency(table).pvalue > 1e-4


def test_other_labels_change_the_masked_gradients_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs with one seed of everything: up to its first answer the passive party sees the same, but for d."""
    data = tables()
    views, notes = [], []
    for y in ((data[1] > 0).astype(np.float64), (data[1] > 0.5).astype(np.float64)):
        seed_randomness(monkeypatch, 2)
        result = train(data=data, y=y, record=True, n_estimators=1, max_depth=1)
        received = messages_to(
            result, "shop", "bank", lambda tag: tag not in ("choose", "end-round", "finish", "sealed")
        )
        views.append((received, masked_bytes(result)))
        record = result.transcript.records["bank"]
        notes.append(next(one.array for one in record.notes if one.name == "pairs"))
    (one, d_one), (other, d_other) = views
    assert [tag for tag, _ in one] == [tag for tag, _ in other]
    differing = {tag for (tag, a), (_, b) in zip(one, other, strict=True) if a != b}
    assert differing == {OtGradients.TAG}
    # Equal masks, so what differs is what the pairs differ by: the reason that no mask may be used twice.
    apart = (notes[0] - notes[1]).astype(np.uint64)
    chunks = [apart[first : first + QUICK["chunk_rows"]] for first in range(0, 40, QUICK["chunk_rows"])]
    wanted = np.concatenate([chunk for some in chunks for chunk in (some, some)])
    assert np.array_equal(
        (d_one - d_other) % np.array([2**G, 2**H], np.uint64), wanted % np.array([2**G, 2**H], np.uint64)
    )


def test_what_a_passive_party_holds_does_not_give_its_own_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leaf of a row's own bin is nowhere in its state, and its mask is unrelated to those it can make."""
    seed_randomness(monkeypatch, 3)
    seen = watch(monkeypatch)
    result = train({"setup_rows": 400}, data=tables(400), record=True, n_estimators=1, max_depth=1)
    again = RunTwin(result, seen)
    held = b"".join(copaths.tobytes() for copaths in seen.copaths.values())
    received = b"".join(payload for _, payload in messages_to(result, "shop", "bank", lambda _: True))
    assert seen.delta not in held + received
    blocks = {held[i : i + 16] for i in range(0, len(held), 16)}
    apart = []
    for slot in range(2):
        for row in range(400):
            hole = int(again.holes[slot, row])
            assert again.leaves[slot][row][hole].to_bytes(16, "little") not in blocks
            masks = again.masks(slot, row, 0)
            known = twin.total([mask for b, mask in enumerate(masks) if b != hole])
            apart.append(twin.minus(masks[hole], known))
    data = np.array(apart, dtype=np.uint64).view(np.uint8)
    assert stats.chisquare(np.bincount(data.ravel(), minlength=256)).pvalue > 1e-4


def test_one_state_of_the_passive_party_goes_with_any_mask() -> None:
    """Trees of two leaves: one and the same state of the passive party goes with every secret of the active one."""
    leaves, holes = np.array([2], np.int32), np.array([[0] * 8], np.uint16)
    known = bytes(range(128))
    held = _native.ot_shares.HeldTrees(bytes(32), leaves, 8, 8)
    held.fill(0, holes, known)
    rows, slots = np.arange(8, dtype=np.int32), np.zeros(1, np.int32)
    nothing = np.zeros((8, 2), np.int64)
    seen = []
    for delta in (b"\1" * 16, b"\2" * 16):
        # The passive party knows leaf 1 = root ^ delta, so roots follow from delta.
        roots = bytes(a ^ b for a, b in zip(known, delta * 8, strict=True))
        owned = _native.ot_shares.OwnedTrees(bytes(32), delta, leaves, 8, 8)
        owned.fill(0, 8, roots)
        d, sums = owned.cover(5, 1, rows, slots, nothing)
        shares = held.row_sums(5, 1, rows, slots, masked_rows(d))
        assert np.array_equal(shares, sums)  # sums of zeros: it fits
        seen.append(d)
    assert (seen[0] != seen[1]).all()
