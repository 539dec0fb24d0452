"""Transfers in batches: every byte against the twin for all transfer bits, and what can be made of a batch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import transfer_twin as twin
from dealt_transfers import OPENING, OVERHEAD, SESSION, connect, dealt, make
from instruction_sets import INSTRUCTION_SETS
from vfxgb.errors import TransferError
from vfxgb.ot import Place, Receiver, Sender, TransferSettings
from vfxgb.ot.batch import pack_choices
from vfxgb.ot.transfer_bits import MAX_TRANSFER_BITS, pieces

ALL_BITS = range(1, MAX_TRANSFER_BITS + 1)


def numbers(rows: NDArray[np.uint8]) -> list[int]:
    return [twin.number(bytes(row)) for row in rows]


@pytest.mark.parametrize("path", INSTRUCTION_SETS)
@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("bits", ALL_BITS)
def test_every_byte(monkeypatch: pytest.MonkeyPatch, bits: int, checked: bool, path: str) -> None:
    """Two requests, one with choices and one without: what is sent, both parties' rows and choices, and the proofs."""
    monkeypatch.setenv("VFXGB_SIMD", path)
    delta, pairs, _ = dealt()
    trees = twin.grow([(twin.number(bytes(zero)), twin.number(bytes(one))) for zero, one in pairs], bits)
    masks = bytes(range(16))
    monkeypatch.setattr("vfxgb.ot.transfers._native.rand.random_bytes", lambda count: masks[:count])
    receiver, sender = connect(bits, checked)
    digest = twin.seed_digest(SESSION, trees)
    position = 0
    for block, (count, chosen) in enumerate([(130, True), (5, False)]):
        choices = np.random.default_rng(1).integers(0, 2, count, dtype=np.uint8) if chosen else None
        groups = -(-count // 128) + checked
        named = None
        if choices is not None:
            packed = pack_choices(choices).ljust(16 * (groups - checked), b"\0") + masks[: 16 * checked]
            named = [twin.number(packed[i : i + 16]) for i in range(0, len(packed), 16)]
        wanted = twin.extend(trees, position, groups, named)
        kind = 1 if chosen else 3
        opening = twin.opening(trees) + digest if block == 0 else b""
        payload, part = opening + wanted.sent, slice(len(opening), len(opening) + len(wanted.sent))
        if checked:
            payload += twin.prove(SESSION, twin.before(digest, position, kind), wanted)
        place = Place(7, block)
        request, own = receiver.request(place, count, None if choices is None else pack_choices(choices))
        assert request == twin.seal(kind, bits, SESSION, 7, block, position, payload, part)
        batch = sender.answer(place, count, request, chosen)
        t, r = own.correlated()
        assert numbers(t) == wanted.rows[:count]
        assert r.tolist() == [wanted.choices[j // 128] >> j % 128 & 1 for j in range(count)]
        assert numbers(batch.correlated()) == twin.sender_rows(wanted, twin.number(delta))[:count]
        position += groups
        assert receiver.position == sender.position == position


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("bits", ALL_BITS)
def test_bytes_of_a_request(bits: int, checked: bool) -> None:
    """128 / k bits a transfer, one fewer if its choice is random; the opening comes once."""
    receiver, _ = connect(bits, checked)
    groups, proof = 8 + checked, 48 * checked
    sizes = [
        len(receiver.request(Place(0, block), 1024, choices)[0]) for block, choices in enumerate([bytes(128), None])
    ]
    assert sizes[0] == OVERHEAD + OPENING + groups * 16 * pieces(bits) + proof
    assert sizes[1] == OVERHEAD + groups * 16 * (pieces(bits) - 1) + proof


def test_keys() -> None:
    """The receiver has the key of its choice, and all of them are those of the definition."""
    own, batch = make(*connect(), 150)
    q = numbers(batch.rows)
    keys = twin.Keys(SESSION, 0, 0)
    zero, one = batch.keys()
    got, choices = own.keys()
    assert 40 < choices.sum() < 110
    np.testing.assert_array_equal(got, np.where(choices[:, np.newaxis], one, zero))
    assert not (zero == one).all(axis=1).any()
    delta = twin.number(batch.delta)
    assert numbers(zero) == [keys.key(row, j) for j, row in enumerate(q)]
    assert numbers(one) == [keys.key(row ^ delta, j) for j, row in enumerate(q)]


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("width", [1, 2, 8, 32, 128])
def test_tables(bits: int, width: int) -> None:
    own, batch = make(*connect(), 5 * bits)
    delta, q, t = twin.number(batch.delta), numbers(batch.rows), numbers(own.rows)
    tables = batch.tables(bits, width)
    entries, chosen = own.tables(bits, width)
    assert tables.shape == (5, -(-(2**bits) * width // 8))
    assert entries.shape == (5, -(-width // 8))
    keys = twin.Keys(SESSION, 0, 0)
    for i in range(5):
        table, first = int.from_bytes(tables[i].tobytes(), "little"), bits * i
        for entry in range(2**bits):
            rows = [q[first + row] ^ (delta if entry >> row & 1 else 0) for row in range(bits)]
            assert table >> entry * width & (1 << width) - 1 == keys.entry(rows, first, entry, width)
        assert int.from_bytes(entries[i].tobytes(), "little") == keys.entry(
            t[first : first + bits], first, int(chosen[i]), width
        )


def test_no_entry_of_a_table_follows_from_others() -> None:
    """Masks that were sums of the same keys would cancel: entries 0, 1, 2 and 3 would add up to zero."""
    _, batch = make(*connect(), 2 * 400)
    tables = batch.tables(2, 16).view("<u2")
    assert np.count_nonzero(np.bitwise_xor.reduce(tables, axis=1)) > 390


@settings(deadline=None, max_examples=25)
@given(
    bits=st.integers(1, 4),
    width=st.sampled_from([1, 2, 4, 8, 16]),
    lines=st.integers(0, 30),
    transfer_bits=st.integers(1, 8),
    seed=st.integers(0, 2**32),
)
def test_chosen_messages(bits: int, width: int, lines: int, transfer_bits: int, seed: int) -> None:
    """Random transfers, corrected choices, messages: one of each line arrives."""
    generator = np.random.default_rng(seed)
    own, batch = make(*connect(transfer_bits, seed=seed), lines * bits + 3)
    messages = generator.integers(0, 256, (lines, 2**bits, width), dtype=np.uint8)
    wanted = generator.integers(0, 2**bits, lines, dtype=np.uint8)
    corrections, choice = own.choose(wanted, bits, width)
    assert len(corrections) == -(-lines * bits // 8)
    got = choice.read(batch.send(messages, corrections))
    np.testing.assert_array_equal(got, messages[np.arange(lines), wanted])
    assert len(own) == len(batch) == 3


def test_chosen_messages_without_a_correction() -> None:
    """A request that names the choices saves the corrections."""
    receiver, sender = connect()
    wanted = np.array([1, 0, 0, 1, 1], dtype=np.uint8)
    request, own = receiver.request(Place(0, 0), 5, pack_choices(wanted))
    batch = sender.answer(Place(0, 0), 5, request, chosen=True)
    messages = np.arange(5 * 2 * 16, dtype=np.uint8).reshape(5, 2, 16)
    corrections, choice = own.choose(wanted, 1, 16)
    assert not any(corrections)
    np.testing.assert_array_equal(choice.read(batch.send(messages)), messages[np.arange(5), wanted])


def test_parts_of_a_batch_are_as_the_whole() -> None:
    """Taking transfers in parts gives the keys that the whole batch would have given."""
    (receiver, sender), (other, _) = connect(), connect()
    own, batch = make(receiver, sender, 300)
    _, whole = make(other, connect()[1], 300)
    parts = [batch.take(70).keys()[0], batch.take(130).keys()[0], batch.keys()[0]]
    np.testing.assert_array_equal(np.concatenate(parts), whole.keys()[0])
    assert len(own.take(299)) == 299
    assert len(own) == 1


@pytest.mark.parametrize("use", ["correlated", "keys", "tables"])
def test_a_transfer_serves_once(use: str) -> None:
    own, batch = make(*connect(), 12)
    for some, party in ((own, "shop"), (batch, "bank")):
        arguments = (4, 2) if use == "tables" else ()
        getattr(some, use)(*arguments)
        with pytest.raises(TransferError, match=f"with {party}: block 0 of domain 0 has 0 of 12 transfers left.*once"):
            some.keys()
        with pytest.raises(TransferError, match="serves once"):
            some.take(1)


def test_tables_of_other_sizes() -> None:
    own, batch = make(*connect(), 12)
    for some in (own, batch):
        with pytest.raises(TransferError, match=r"found tables of 2\^9 entries"):
            some.tables(9, 1)
        with pytest.raises(TransferError, match="found 12 transfers, wanted a multiple of 5"):
            some.tables(5, 1)
        assert len(some) == 12
    with pytest.raises(TransferError, match="found lines of 3 messages of 1 bytes"):
        batch.send(np.zeros((1, 3, 1), dtype=np.uint8))
    with pytest.raises(TransferError, match="of 3 bytes"):
        batch.send(np.zeros((1, 2, 3), dtype=np.uint8))
    with pytest.raises(TransferError, match="found 2 bytes of corrected choices, wanted 1"):
        batch.send(np.zeros((4, 2, 1), dtype=np.uint8), b"ab")
    with pytest.raises(TransferError, match="found choice 4, wanted one below 4"):
        own.choose(np.array([4], dtype=np.uint8), 2, 1)
    assert len(own) == len(batch) == 12
    _, choice = own.choose(np.zeros(3, dtype=np.uint8), 2, 4)
    with pytest.raises(TransferError, match="choosing messages of shop: found 47 bytes, wanted 48"):
        choice.read(bytes(47))


def test_both_directions() -> None:
    """The sender of the first direction receives in the second one; sessions, secrets and keys are others."""
    receiver, sender = connect(checked=True)
    own, batch = make(receiver, sender, 128)
    back_sender = Sender.reverse(own, TransferSettings(6, True, 1))
    back_receiver = Receiver.reverse(batch, TransferSettings(6, True, 1))
    assert back_sender.session == back_receiver.session != SESSION
    theirs, mine = make(back_receiver, back_sender, 500)
    t, r = theirs.correlated()
    delta = np.frombuffer(back_sender.delta, dtype=np.uint8)
    np.testing.assert_array_equal(mine.correlated(), t ^ delta * r[:, np.newaxis])
    few, _ = make(receiver, sender, 127, 1)
    with pytest.raises(TransferError, match="127 of 127 transfers left, wanted 128"):
        Sender.reverse(few)


def test_secrets_are_not_printed() -> None:
    receiver, sender = connect()
    own, batch = make(receiver, sender, 10)
    printed = repr([receiver, sender, own, batch])
    assert sender.delta.hex() not in printed
    assert str(sender.delta) not in printed
    assert "10 transfers with bank" in printed
