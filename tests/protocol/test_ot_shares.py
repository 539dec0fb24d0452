"""`ot_shares` beyond the conformance suite: its twin in Python, parameters, memory, what the ledger says."""

from typing import Any

import numpy as np
import pytest

from ot_again import RunTwin
from ot_runs import QUICK, same_model, tables, train, watch
from simulated_runs import fit_tables
from vfxgb import _native
from vfxgb.data.table import Table
from vfxgb.errors import CapacityError, ProtocolParameterError
from vfxgb.params import TrainParams
from vfxgb.protocols import make_protocol_params, protocol_by_name
from vfxgb.protocols.ot_shares import shares
from vfxgb.protocols.ot_shares.messages import OtGradients, OtSlots, OtSums
from vfxgb.protocols.ot_shares.params import read_size
from vfxgb.protocols.ot_shares.slots import Slots
from vfxgb.train.callbacks import TrainingCallback


@pytest.mark.parametrize("bits", [31, 8])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"n_estimators": 3, "max_depth": 2},
        {"objective": "multi:softprob", "num_class": 3, "subsample": 0.7, "max_depth": 2},
        {"colsample_bytree": 0.5, "n_estimators": 3, "max_depth": 2, "random_state": 3},
    ],
    ids=["binary", "three trees", "multiclass of a sample", "some columns"],
)
def test_every_message_is_what_its_twin_says(
    settings: dict[str, Any], bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gradients, shares and answers bit by bit, and from them every sum, worked out by the definitions alone.

    With 8 bits two trees share their masks.
    """
    seen = watch(monkeypatch)
    data = tables()
    y = np.digitize(data[1], (-0.7, 0.7)).astype(np.float64) if "num_class" in settings else None
    result = train({"precision_bits": bits}, data=data, y=y, record=True, **settings)
    again = RunTwin(result, seen, bits)
    outputs, rounds = settings.get("num_class", 1), settings.get("n_estimators", 2)
    told = {message.round: message for message in again.bank.messages("shop", OtSlots.TAG, OtSlots)}
    assert set(told) == (set(range(rounds)) if "colsample_bytree" in settings else set())
    for round_index in range(rounds):
        for tree in range(outputs):
            columns = list(range(len(again.n_bins)))
            if told:
                used = np.frombuffer(told[round_index].trees[tree], dtype=np.uint8)
                columns = np.flatnonzero(np.unpackbits(used, bitorder="little")).tolist()
            if columns:
                again.tree(round_index, tree, round_index * outputs + tree, columns)
    assert same_model(result, train({"precision_bits": bits}, "plain", data, y, **settings))


def few_values(rows: int = 40) -> tuple[dict[str, Table], np.ndarray]:
    """shop with five columns of 2 to 8 bins, one of them with missing values; bank with one."""
    rng = np.random.default_rng(6)
    X = np.stack([rng.integers(0, count, rows) for count in (2, 3, 8, 2, 4)], axis=1).astype(np.float32)
    score = X.sum(axis=1) - 7 + rng.normal(size=rows)
    X[rng.random(rows) < 0.2, 1] = np.nan
    own = Table.read(rng.normal(size=(rows, 1)), names=["f0"], party="bank")
    return {"bank": own, "shop": Table.read(X, names=list("abcde"), party="shop")}, score


@pytest.mark.parametrize("bits", [31, 8])
@pytest.mark.parametrize(
    ("joint_leaves", "settings", "slots"),
    [(64, {}, 2), (64, {"colsample_bytree": 0.4, "random_state": 5, "max_depth": 2}, 2), (8, {}, 4), (1, {}, 5)],
)
def test_columns_that_share_a_tree(
    joint_leaves: int, settings: dict[str, Any], slots: int, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Masked pairs are those of slots; what is sent and opened are left sums of single columns and nothing else."""
    seen, data = watch(monkeypatch), few_values()
    own = {"precision_bits": bits, "joint_leaves": joint_leaves}
    result = train(own, data=data, record=True, **settings)
    again = RunTwin(result, seen, bits, joint_leaves)
    # Leaves 2, 2, 4, 4 and 8.
    assert len(again.groups) == slots
    assert {len(leaves) for leaves in seen.leaves.values()} == {slots}
    told = {message.round: message for message in again.bank.messages("shop", OtSlots.TAG, OtSlots)}
    for round_index in range(2):
        columns = list(range(5))
        if told:
            used = np.frombuffer(told[round_index].trees[0], dtype=np.uint8)
            columns = np.flatnonzero(np.unpackbits(used, bitorder="little")).tolist()
        if columns:
            again.tree(round_index, 0, round_index, columns)
    assert same_model(result, train({"precision_bits": bits}, "plain", data, **settings))
    entries = {entry.message: entry.amount for entry in result.ledger.learned_by("bank")}
    assert entries["ot-offer"] == 5


def test_what_the_twin_opens_are_the_plain_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same sums as `plain` shows, whatever the order."""
    notes = []
    for protocol, own in (("ot_shares", None), ("plain", {"precision_bits": 31})):
        record = train(own, protocol, record=True).transcript.records["bank"]
        notes.append({(n.name, n.round): np.sort(n.array, axis=1) for n in record.notes if n.name.startswith("left-")})
    assert notes[0].keys() == notes[1].keys()
    assert all(np.array_equal(array, notes[1][key]) for key, array in notes[0].items())


def test_the_order_of_sums_is_that_of_slots_and_cuts() -> None:
    """The note "order" names for each position of the opened sums its candidate, in the true order."""
    result = train(record=True)
    plain = train({"precision_bits": 31}, "plain", record=True)
    for round_index in range(2):
        ours, theirs = (
            {
                one.name: one.array
                for party in ("bank", "shop")
                for one in of.transcript.records[party].notes
                if one.round == round_index and (one.name == "order" or one.name.startswith("left-sums:0"))
            }
            for of in (result, plain)
        )
        by_candidate = [np.empty_like(one["left-sums:0:shop"]) for one in (ours, theirs)]
        for sums, one in zip(by_candidate, (ours, theirs), strict=True):
            sums[:, one["order"]] = one["left-sums:0:shop"]
        assert np.array_equal(*by_candidate)
        # f2 has 9 bins and values missing, so 16 candidates, f3 has 8 bins; each one's stand together and ascend.
        first, second = list(range(16)), list(range(16, 23))
        assert ours["order"].tolist() in (first + second, second + first)


def test_a_level_is_one_message_and_a_tree_needs_no_other() -> None:
    """After the set-up: masked gradients down, shares of sums up, and nothing else of the protocol."""
    result = train(record=True, n_estimators=3)
    tags = [
        (one.tag, one.sent)
        for one in result.transcript.records["shop"].messages
        if one.tag.startswith("ot-") and one.tag not in ("ot-start", "ot-offer", "ot-reply", "ot-request", "ot-answer")
    ]
    assert set(tags) == {(OtGradients.TAG, False), (OtSums.TAG, True)}
    levels = sum(one.tag == "level" for one in result.transcript.records["shop"].messages)
    assert tags.count((OtSums.TAG, True)) == levels


def test_features_without_cuts_have_no_trees() -> None:
    parts, score = tables(missing=0.0)
    flat = Table.read(np.column_stack([np.ones(40), score + 0.5, np.ones(40)]), names=["a", "b", "c"], party="shop")
    result = train(data=({**parts, "shop": flat}, score), record=True)
    assert same_model(result, train({"precision_bits": 31}, "plain", ({**parts, "shop": flat}, score)))
    entries = {entry.message: entry.amount for entry in result.ledger.learned_by("bank")}
    assert (entries["ready"], entries["ot-offer"]) == (3, 1)
    none = {**parts, "shop": Table.read(np.ones((40, 2)), names=["a", "b"], party="shop")}
    alone = train(data=(none, score))
    assert {entry.message for entry in alone.ledger.learned_by("bank")}.isdisjoint({"ot-request"})


@pytest.mark.parametrize(
    "own", [{"keep_leaves": True, "memory_limit": "1MB"}, {"checked": True}, {"precision_bits": None}]
)
def test_settings_do_not_change_the_model(own: dict[str, Any]) -> None:
    assert same_model(train(own), train({"precision_bits": own.get("precision_bits", 31)}, "plain"))


@pytest.mark.parametrize(
    ("path", "keeps"), [("vaes512", False), ("vaes", False), ("aesni", True), ("neon", True), ("portable", True)]
)
def test_leaves_are_kept_where_that_pays(path: str, keeps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native.ot, "aes_path", lambda: path)
    params = make_protocol_params(protocol_by_name("ot_shares"), {"memory_limit": "10kB"})
    slots = Slots(np.array([4, 2], np.int32), np.array([True, False]))
    for owner, keys in ((True, 2), (False, 4)):
        rows = 10_000 // (16 * (keys + 8))  # 5 leaves, the sum of nodes cut off, 2 leaves
        assert shares.keeps_leaves(params, [slots], rows, owner, "bank") == keeps
        assert not shares.keeps_leaves(params, [slots], rows + 1, owner, "bank")
        with pytest.raises(CapacityError, match="bank setting up ot_shares: keys take"):
            shares.keeps_leaves(params, [slots], 10_000 // (16 * keys) + 1, owner, "bank")


def test_a_memory_limit_is_kept() -> None:
    with pytest.raises(CapacityError, match=r"keys take 4,480 bytes, wanted at most memory_limit=3kB"):
        train({"memory_limit": "3kB"})
    with pytest.raises(CapacityError, match="give up keep_leaves"):
        train({"memory_limit": "5kB", "keep_leaves": True})


@pytest.mark.parametrize(
    ("text", "size"), [("1GB", 10**9), ("512 MiB", 2**29), ("1.5k", 1500), ("1000", 1000), ("2TiB", 2**41)]
)
def test_sizes(text: str, size: int) -> None:
    assert read_size(text) == size


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"memory_limit": "much"}, "memory_limit='much'"),
        ({"memory_limit": 0}, "memory_limit"),
        ({"group_bits": 768}, "is no protection"),
        ({"group_bits": 100}, "group_bits"),
        ({"keep_leaves": True}, "needs a memory_limit"),
        ({"chunk_rows": 0}, "chunk_rows"),
        ({"setup_rows": 0}, "setup_rows"),
        ({"precision_bits": 41}, "precision_bits"),
    ],
)
def test_parameters_that_are_refused(given: dict[str, Any], match: str) -> None:
    with pytest.raises(ProtocolParameterError, match=match):
        make_protocol_params(protocol_by_name("ot_shares"), given)


def test_the_ledger_names_what_is_seen() -> None:
    result = train()
    amounts = {(entry.receiver, entry.message): entry.amount for entry in result.ledger.entries}
    assert amounts["bank", "ot-offer"] == 2
    assert amounts["shop", "ot-gradients"] == 2 * 2 * 40
    assert amounts["bank", "ot-sums"] > 0
    text = result.ledger.text()
    assert "in a secret order, how many bins it has" in text
    assert "masked gradients: nothing" in text
    assert "masks towards shop: 2 slots in blocks of 15 rows, 2 trees; guessing one takes about 2^119" in text


def test_progress_of_the_set_up() -> None:
    told: list[tuple[str, int, int]] = []

    class Watch(TrainingCallback):
        def progress(self, state: Any, step: str, done: int, total: int) -> None:
            told.append((step, done, total))

    parts, score = tables()
    params = TrainParams(objective="reg:squarederror", n_estimators=2, max_depth=2, n_jobs=1)
    fit_tables(parts, "bank", score, None, 40, params, protocol="ot_shares", protocol_params=QUICK, callbacks=[Watch()])
    assert told == [("setting up ot_shares", done, 3) for done in (1, 2, 3)]
