"""Hidden routing: every byte against the twin, results for any shape, and what either party can see."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import transfer_twin
from dealt_transfers import SESSION, connect, dealt
from instruction_sets import INSTRUCTION_SETS
from routing_twin import RoutingTwin, packed, unpacked
from vfxgb import _native
from vfxgb.errors import TransferError
from vfxgb.ot import Receiver, Sender
from vfxgb.ot.silent import SilentReceiver, SilentSender, SilentShape
from vfxgb.routing import Level, RoutingReceiver, RoutingSender
from vfxgb.routing.receiver import BATCH_DOMAIN, ROUND_DOMAIN

Wanted = NDArray[np.uint16]


def parties(**how: Any) -> tuple[RoutingReceiver, RoutingSender]:
    threads = how.get("threads", 1)
    receiver, sender = connect(checked=True, **how)
    return RoutingReceiver(receiver, threads), RoutingSender(sender, threads)


def level_of(*entries: int, planes: int = 1) -> Level:
    return Level(np.array(entries, dtype=np.int32), planes)


def case(level: Level, rows: int, seed: int) -> tuple[Wanted, NDArray[np.uint8]]:
    """(wanted entries, the sender's bits uint8[lines, rows])."""
    rng = np.random.default_rng(seed)
    wanted = np.array([rng.integers(0, count + 1, rows) for count in level.entries.tolist()], dtype=np.uint16)
    return wanted, rng.integers(0, 2, (level.lines, rows), dtype=np.uint8)


def truth(level: Level, wanted: Wanted, bits: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """What the receiver must get, row by row."""
    out = np.zeros((len(level), level.planes, wanted.shape[1]), dtype=np.bool_)
    line = 0
    for group, count in enumerate(level.entries.tolist()):
        for plane in range(level.planes):
            for row, entry in enumerate(wanted[group].tolist()):
                out[group, plane, row] = entry > 0 and bits[line + entry - 1, row]
            line += count
    return out


def take(
    receiver: RoutingReceiver, sender: RoutingSender, level: Level, wanted: Wanted, bits: NDArray[np.uint8]
) -> NDArray[np.bool_]:
    question, asked = receiver.ask(level, wanted)
    lines = np.packbits(bits, axis=1, bitorder="little")
    return asked.read(sender.answer(level, wanted.shape[1], question, lines))


@pytest.mark.parametrize("path", INSTRUCTION_SETS)
@pytest.mark.parametrize(("entries", "planes"), [((1,), 1), ((3, 1, 2), 1), ((1, 1), 2), ((130, 5), 1), ((64,), 2)])
def test_every_byte(monkeypatch: pytest.MonkeyPatch, entries: tuple[int, ...], planes: int, path: str) -> None:
    monkeypatch.setenv("VFXGB_SIMD", path)
    level, rows, first = level_of(*entries, planes=planes), 9, 77
    wanted, bits = case(level, rows, 1)
    rng, delta = np.random.default_rng(2), dealt()[0]
    t = rng.integers(0, 256, (level.transfers * rows, 16), dtype=np.uint8)
    random = rng.integers(0, 2, len(t), dtype=np.uint8)
    q = t ^ (np.frombuffer(delta, np.uint8) * random[:, np.newaxis])
    twin = RoutingTwin(transfer_twin.Keys(SESSION, 5, 6), first, list(entries), planes, wanted, random)
    native, place = _native.routing, (SESSION, 5, 6)
    corrections, masks = native.choose_bits(*place, level.entries, planes, first, t, random, wanted)
    assert (corrections, masks) == (twin.corrections(), twin.receiver_masks(t))
    lines = packed(bits)
    sent = native.mask_bits(*place, delta, level.entries, planes, first, q, corrections, lines, rows)
    assert sent == twin.sent(q, delta, bits)
    taken = native.read_bits(level.entries, planes, wanted, masks, sent)
    assert np.array_equal(taken, truth(level, wanted, bits))


@settings(max_examples=40, deadline=None)
@given(
    entries=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    planes=st.integers(1, 2),
    rows=st.integers(1, 300),
    seed=st.integers(0, 1000),
    threads=st.integers(1, 3),
)
def test_any_shape(entries: list[int], planes: int, rows: int, seed: int, threads: int) -> None:
    level = level_of(*entries, planes=planes)
    wanted, bits = case(level, rows, seed)
    receiver, sender = parties(threads=threads)
    assert np.array_equal(take(receiver, sender, level, wanted, bits), truth(level, wanted, bits))


@pytest.mark.parametrize("count", [255, 256, 1023, 5000])
def test_wide_levels(count: int) -> None:
    level = level_of(count)
    assert level.transfers == count.bit_length()
    wanted, bits = case(level, 130, 3)
    assert np.array_equal(take(*parties(), level, wanted, bits), truth(level, wanted, bits))


def test_threads_and_paths_give_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    level, rows = level_of(5, 17, 1), 40_000
    wanted, bits = case(level, rows, 4)
    rng = np.random.default_rng(2)
    q = rng.integers(0, 256, (level.transfers * rows, 16), dtype=np.uint8)
    random = rng.integers(0, 2, len(q), dtype=np.uint8)
    found = set()
    for path, threads in [("", 1), ("", 2), *((name, 2) for name in _native.paths.instruction_sets())]:
        monkeypatch.setenv("VFXGB_SIMD", path)
        both = _native.routing.choose_bits(SESSION, 1, 2, level.entries, 1, 0, q, random, wanted, threads)
        sent = _native.routing.mask_bits(
            SESSION, 1, 2, dealt()[0], level.entries, 1, 0, q, both[0], packed(bits), rows, threads
        )
        found.add((*both, sent))
    assert len(found) == 1


def test_stock_serves_several_questions_and_runs_out() -> None:
    receiver, sender = parties()
    level = level_of(3, 1)
    batch, request = receiver.make_stock(3 * 10 * 2 + 1)
    sender.take_stock(batch, 61, request)
    for seed in range(4):
        wanted, bits = case(level, 10, seed)
        question, asked = receiver.ask(level, wanted)
        assert (question.count == 0) == (seed < 2) == (question.batch == batch)
        answer = sender.answer(level, 10, question, np.packbits(bits, axis=1, bitorder="little"))
        assert np.array_equal(asked.read(answer), truth(level, wanted, bits))
        assert receiver.in_stock == (61 - 30 * (seed + 1) if seed < 2 else 1)


def test_a_question_takes_the_first_batch_that_has_enough() -> None:
    receiver, sender = parties()
    level = level_of(3, 1)
    for count in (70, 29, 90):
        batch, request = receiver.add_stock(count)
        sender.add_stock(batch, count, request)
    assert receiver.stocked == sender.stocked == [70, 29, 90]
    lost = None
    for seed, left in enumerate(([40, 29, 90], [10, 29, 90], [60], [30], [0])):
        wanted, bits = case(level, 10, seed)
        question, asked = receiver.ask(level, wanted)
        answer = sender.answer(level, 10, question, np.packbits(bits, axis=1, bitorder="little"))
        assert np.array_equal(asked.read(answer), truth(level, wanted, bits))
        assert receiver.stocked == sender.stocked == left
        lost = lost or question
    with pytest.raises(TransferError, match="takes 30 transfers of batch 0, and 0 of batch 2 are left"):
        sender.answer(level, 10, lost, np.packbits(bits, axis=1, bitorder="little"))


def test_silent_transfers_serve() -> None:
    receiver, sender = connect()
    shape = SilentShape(trees=4, depth=8, secret=256, insecure=True)
    mine, theirs = SilentReceiver(receiver, ROUND_DOMAIN, shape), SilentSender(sender, ROUND_DOMAIN, shape)
    mine.finish(theirs.refill(mine.refill()))
    level = level_of(6, 2)
    wanted, bits = case(level, 150, 9)
    taken = take(RoutingReceiver(mine), RoutingSender(theirs), level, wanted, bits)
    assert np.array_equal(taken, truth(level, wanted, bits))


def test_what_the_sender_receives_does_not_depend_on_what_is_wanted() -> None:
    """Sizes are equal whatever is wanted, and with the receiver's randomness fixed each wish gives another string:

    corrections are wishes plus random bits, so that all strings are equally likely for all wishes.
    """
    level, rows = level_of(7, 1, 3), 2000
    nobody = np.zeros((3, rows), dtype=np.uint16)
    everyone = np.broadcast_to(level.entries[:, np.newaxis], (3, rows)).astype(np.uint16)
    counts = []
    for wanted in (nobody, everyone, case(level, rows, 5)[0]):
        question, _ = parties()[0].ask(level, wanted)
        assert len(question.corrections) == level.transfers * rows // 8
        ones = unpacked(bytes(question.corrections), rows).sum(axis=1)
        counts.append(ones)
        # Each line is as many fair coins as there are rows: five deviations.
        assert np.abs(ones - rows / 2).max() < 5 * np.sqrt(rows) / 2
    assert len({tuple(ones) for ones in counts}) == 3


def test_corrections_are_the_wish_plus_random_choices() -> None:
    level, rows = level_of(5), 64
    receiver, _ = connect(checked=True)
    request = receiver.request
    kept: list[Any] = []

    def watched(*given: Any) -> Any:
        made = request(*given)
        kept.append(made[1].choices.copy())
        return made

    receiver.request = watched  # type: ignore[method-assign]
    wanted, _ = case(level, rows, 6)
    question, _ = RoutingReceiver(receiver).ask(level, wanted)
    lines = unpacked(bytes(question.corrections), rows)
    found = lines ^ kept[0].reshape(level.transfers, rows)
    assert np.array_equal((found << np.arange(3, dtype=np.uint8)[:, np.newaxis]).sum(axis=0), wanted[0])


def test_a_receiver_that_keeps_its_keys_opens_one_bit_of_a_row_and_no_other() -> None:
    """Attack: with the masks it can compute, a receiver guesses all bits; others than the chosen one are coin tosses.

    It reads every entry with the strings it has: right for the entry it chose, half right for the rest. The sum of any
    two masks is no better: each place of a string serves one entry.
    """
    level, rows, domain = level_of(3), 20_000, BATCH_DOMAIN
    receiver, sender = connect(checked=True)
    routing = RoutingReceiver(receiver)
    request, kept = receiver.request, []

    def watched(*given: Any) -> Any:
        made = request(*given)
        kept.append((made[1].rows.copy(), made[1].choices.copy()))
        return made

    receiver.request = watched  # type: ignore[method-assign]
    wanted = np.full((1, rows), 2, dtype=np.uint16)
    bits = np.random.default_rng(7).integers(0, 2, (3, rows), dtype=np.uint8)
    question, asked = routing.ask(level, wanted)
    sent = RoutingSender(sender).answer(level, rows, question, np.packbits(bits, axis=1, bitorder="little"))
    assert np.array_equal(asked.read(sent)[0, 0], bits[1])
    t, random = kept[0]
    guesses = []
    for entry in (1, 2, 3):
        # The receiver pretends to have wanted another entry: masks for that, from the strings it has.
        other = np.full((1, rows), entry, dtype=np.uint16)
        _, masks = _native.routing.choose_bits(SESSION, domain, 0, level.entries, 1, 0, t, random, other)
        guesses.append(_native.routing.read_bits(level.entries, 1, other, masks, sent)[0, 0])
    right = [int((guess == line).sum()) for guess, line in zip(guesses, bits, strict=True)]
    assert right[1] == rows
    sums = int((guesses[0] ^ guesses[2] ^ bits[0] ^ bits[2]).sum())
    for count in (right[0], right[2], sums):
        assert abs(count - rows / 2) < 5 * np.sqrt(rows) / 2


def test_a_session_that_is_resumed_goes_on_with_transfers_that_were_not_used() -> None:
    """Both parties restore their transfers at the larger position; a question of before is refused then."""
    receiver, sender = connect(checked=True)
    level = level_of(3, 1)
    wanted, bits = case(level, 40, 11)
    routing, answering = RoutingReceiver(receiver), RoutingSender(sender)
    assert np.array_equal(take(routing, answering, level, wanted, bits), truth(level, wanted, bits))
    # The receiver had sent one more question when the session was lost.
    lost, _ = routing.ask(level, wanted)
    states, position = (receiver.state(), sender.state()), max(receiver.position, sender.position)
    routing = RoutingReceiver(Receiver.restore("shop", states[0], position))
    answering = RoutingSender(Sender.restore("bank", states[1], position))
    lines = np.packbits(bits, axis=1, bitorder="little")
    with pytest.raises(TransferError, match="found batch 1 of 120 transfers, wanted batch 0"):
        answering.answer(level, 40, lost, lines)
    with pytest.raises(TransferError, match="wanted session"):
        answering.answer(level, 40, replace(lost, batch=0), lines)
    assert np.array_equal(take(routing, answering, level, wanted, bits), truth(level, wanted, bits))
