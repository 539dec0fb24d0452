"""States as files: what was kept comes back, and nothing else is taken for a state."""

import hashlib
import math
import stat
import struct
from dataclasses import asdict
from pathlib import Path

import msgspec
import numpy as np
import pytest

from vfxgb.dp.event import Event
from vfxgb.errors import CheckpointError
from vfxgb.model.shares import LEAF, TreeShape
from vfxgb.runtime.ledger import Entry, Ledger
from vfxgb.train.checkpoint import (
    ActiveState,
    BegunRounds,
    KeptArray,
    KeptRelease,
    PassiveState,
    RoundMark,
    array_bytes,
    keep_records,
    keep_tree,
    load_state,
    read_array,
    restore_records,
    restore_tree,
    save_state,
)
from vfxgb.train.digests import START, state_link, trees_link

RECORDS = [(0, 0.1, True), (2, -math.inf, False)]


def tree(value: float = 0.25) -> TreeShape:
    return TreeShape(
        party=np.array([1, LEAF, LEAF], dtype=np.int16),
        record=np.array([0, -1, -1], dtype=np.int32),
        left=np.array([1, -1, -1], dtype=np.int32),
        right=np.array([2, -1, -1], dtype=np.int32),
        parent=np.array([-1, 0, 0], dtype=np.int32),
        value=np.array([0.0, value, -0.5]),
        gain=np.array([3.0, 0.0, 0.0]),
        cover=np.array([8.0, 4.0, 4.0]),
    )


def active_state() -> ActiveState:
    return ActiveState(
        run="ab" * 16,
        party="bank",
        protocol="ldp",
        settings=bytes(32),
        data=bytes(32),
        rounds=1,
        stopped=False,
        salt="cd" * 32,
        trees_digest=b"t" * 32,
        passive={"shop": b"s" * 32},
        trees=[keep_tree(tree())],
        records=keep_records(RECORDS),
        margins=array_bytes(np.array([[0.1], [np.nan]], dtype=np.float32)),
        labels=array_bytes(np.ones(2, dtype=np.float32)),
        release=KeptRelease(1, 2.0**-20, [array_bytes(np.arange(4))]),
        evals_log={"b": {"auc": [0.5, math.nan]}, "a": {"logloss": [math.inf]}},
        best_iteration=0,
        best_score=0.5,
        learning_rate=0.3,
        first_rows=array_bytes(np.array([0, 4, 4])),
        first_rate=0.3,
        events=[Event("masked", math.inf, "shop", "labels", 1, holds=False, reason="none")],
        ledger=[Entry("bank", "shop", "level", "rows", "rows", 2, 300, 16)],
        opened_equations={"shop": 12},
    )


def passive_state() -> PassiveState:
    marks = [RoundMark(0, 2, b"t" * 32, b"s" * 32)]
    releases = {"key": KeptArray.of(np.array([[1, 2], [3, 4]], dtype=np.uint16))}
    return PassiveState(
        run="ab" * 16,
        party="shop",
        protocol="plain",
        settings=bytes(32),
        data=bytes(32),
        salt="ef" * 32,
        records=keep_records(RECORDS),
        marks=marks,
        releases=releases,
        events=[],
        ledger=[],
        begun=BegunRounds(3, 1, 1),
        disclosed={"small_sums": 5},
    )


@pytest.mark.parametrize("state", [active_state(), passive_state()], ids=["active", "passive"])
def test_a_state_comes_back_and_only_its_owner_can_read_the_file(state, tmp_path: Path) -> None:
    path = tmp_path / "party.run"
    assert load_state(type(state), path) is None
    save_state(state, path)
    save_state(state, path)
    found = load_state(type(state), path)
    assert msgspec.msgpack.encode(found) == msgspec.msgpack.encode(state)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["party.run"]


def test_the_order_of_eval_sets_is_kept(tmp_path: Path) -> None:
    """Early stopping watches the last one."""
    save_state(active_state(), tmp_path / "x")
    found = load_state(ActiveState, tmp_path / "x")
    assert found is not None
    assert list(found.evals_log) == ["b", "a"]
    assert asdict(found.ledger[0]) == asdict(active_state().ledger[0])


def test_files_that_are_no_state_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "party.run"
    save_state(active_state(), path)
    good = path.read_bytes()
    body = good[:-32]

    def signed(data: bytes) -> bytes:
        return data + hashlib.sha256(data).digest()

    cases = {
        "no checkpoint": b"",
        "or truncated": good[:20],
        "truncated or damaged": good[:-1],
        "no checkpoint of vfxgb": b"X" + good[1:],
        "found version 9, wanted 3": good[:8] + b"\x09" + good[9:],
        "damaged": good[:100] + bytes([good[100] ^ 1]) + good[101:],
        "malformed": signed(body[:-5]),
        "it is malformed": signed(body[:16] + msgspec.msgpack.encode({"run": 3})),
    }
    for match, data in cases.items():
        path.write_bytes(data)
        with pytest.raises(CheckpointError, match=match):
            load_state(ActiveState, path)
    path.write_bytes(good)
    with pytest.raises(CheckpointError, match="of the other side, wanted one of the passive party"):
        load_state(PassiveState, path)


def test_every_single_flipped_bit_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "party.run"
    save_state(passive_state(), path)
    good = path.read_bytes()
    for place in range(0, len(good), 7):
        path.write_bytes(good[:place] + bytes([good[place] ^ 4]) + good[place + 1 :])
        with pytest.raises(CheckpointError):
            load_state(PassiveState, path)


def test_trees_and_records_come_back_to_the_last_bit() -> None:
    odd = tree(float(np.nextafter(np.float32(0.1), np.float32(1))))
    back = restore_tree(keep_tree(odd), 2)
    for name in ("party", "record", "left", "right", "parent", "value", "gain", "cover"):
        assert getattr(back, name).dtype == getattr(odd, name).dtype
        assert getattr(back, name).tobytes() == getattr(odd, name).tobytes()
    assert restore_records(keep_records(RECORDS), 3) == RECORDS
    assert restore_records(keep_records([]), 3) == []
    sets = [(0, (2, 5), True), (1, 0.5, False), (2, (0,), False)]
    assert restore_records(keep_records(sets), 3) == sets


@pytest.mark.parametrize("codes", [[2, 5], [1, 3, 0, 0, 7], [-1, 0, 0], [1, -3, 0, 0]])
def test_categories_of_no_records_are_refused(codes: list[int]) -> None:
    good = keep_records([(0, (2,), True), (1, 0.5, False)])
    kept = msgspec.structs.replace(good, sets=np.array(codes, "<i4").tobytes())
    with pytest.raises(CheckpointError, match="the categories of its records are not those of its splits"):
        restore_records(kept, 3)


def test_contents_that_cannot_be_are_refused() -> None:
    with pytest.raises(CheckpointError, match="do not form a tree"):
        restore_tree(keep_tree(tree()), 1)
    with pytest.raises(CheckpointError, match="outside the 2 of this party"):
        restore_records(keep_records(RECORDS), 2)
    with pytest.raises(CheckpointError, match="the margins has 9 bytes, wanted 2 entries of 4"):
        read_array(bytes(9), np.float32, "the margins", 2)


def test_chains_tell_states_apart() -> None:
    one = trees_link(START, "run", "salt", [tree()])
    others = {
        trees_link(START, "run", "salt", [tree(0.26)]),
        trees_link(START, "run", "other", [tree()]),
        trees_link(START, "other", "salt", [tree()]),
        trees_link(one, "run", "salt", [tree()]),
        trees_link(START, "run", "salt", [tree(), tree()]),
        trees_link(START, "run", "salt", []),
    }
    assert len(others | {one}) == 7
    records = keep_records(RECORDS)
    kept = {
        state_link(START, "run", "shop", "salt", one, records),
        state_link(START, "run", "shop", "salt", one, keep_records(RECORDS[:1])),
        state_link(START, "run", "mart", "salt", one, records),
        state_link(START, "run", "shop", "tlas", one, records),
        state_link(START, "run", "shop", "salt", START, records),
        state_link(one, "run", "shop", "salt", one, records),
    }
    assert len(kept) == 6


def test_a_link_is_what_its_definition_says() -> None:
    """SHA-256 over the kind and the parts, each after its length in eight bytes, recomputed from scratch."""

    def naive(kind: str, *parts: bytes) -> bytes:
        text = b"".join(struct.pack("<Q", len(part)) + part for part in parts)
        return hashlib.sha256(f"vfxgb {kind} 1\n".encode() + text).digest()

    def packed(code: str, values: list[float]) -> bytes:
        return struct.pack(f"<{len(values)}{code}", *values)

    arrays = (
        packed("h", [1, -1, -1]),
        packed("i", [0, -1, -1]),
        packed("i", [1, -1, -1]),
        packed("i", [2, -1, -1]),
        packed("i", [-1, 0, 0]),
        packed("d", [0.0, 0.25, -0.5]),
        packed("d", [3.0, 0.0, 0.0]),
        packed("d", [8.0, 4.0, 4.0]),
    )
    link = trees_link(START, "run", "salt", [tree()])
    assert link == naive("round of trees", b"run", b"salt", bytes(32), *arrays)
    records = (packed("i", [0, 2]), packed("d", [0.1, -math.inf]), b"\x01\x00")
    kept = state_link(b"before", "run", "shop", "salt", link, keep_records(RECORDS))
    assert kept == naive("round kept", b"run", b"shop", b"salt", b"before", link, *records)


def test_a_ledger_goes_on_from_its_totals() -> None:
    ledger = Ledger()
    entry = Entry("bank", "shop", "level", "rows", "rows", 2, 300, 16)
    ledger.restore([entry], 3)
    ledger.restore([entry], 4)
    (found,) = ledger.entries
    assert (found.messages, found.bytes, found.amount) == (4, 600, 32)
    assert entry.messages == 2
    assert ledger.totals() == [found]
    assert ledger.totals()[0] is not found
    assert "resumed after 3 rounds" in ledger.text()
