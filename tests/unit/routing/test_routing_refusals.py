"""What hidden routing refuses, by name, before it has used anything up."""

from dataclasses import replace

import numpy as np
import pytest

from dealt_transfers import connect
from vfxgb.errors import TransferError
from vfxgb.ot.consistency import prove
from vfxgb.routing import Level, Question, RoutingReceiver, RoutingSender
from vfxgb.routing.receiver import MAX_BATCH

ROWS = 20
LEVEL = Level(np.array([3, 1], dtype=np.int32))
WANTED = np.ones((2, ROWS), dtype=np.uint16)
BITS = np.full((LEVEL.lines, 3), 255, dtype=np.uint8)


def pair(seed: int = 0, session: bytes = bytes(32)) -> tuple[RoutingReceiver, RoutingSender]:
    receiver, sender = connect(checked=True, seed=seed, session=session)
    return RoutingReceiver(receiver), RoutingSender(sender)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda asked: replace(asked, corrections=asked.corrections[:-1]), "leaves rows out, or disagrees"),
        (lambda asked: replace(asked, corrections=asked.corrections + b"\0"), "9 for 20 rows"),
        (lambda asked: replace(asked, batch=1), "found batch 1 of 60 transfers, wanted batch 0 of 60"),
        (lambda asked: replace(asked, count=59), "found batch 0 of 59 transfers, wanted batch 0 of 60"),
        (lambda asked: replace(asked, transfers=b""), "and none are left"),
        (lambda asked: replace(asked, transfers=asked.transfers[:-1]), "truncated"),
        (lambda asked: replace(asked, transfers=bytes(asked.transfers[:-1]) + b"!"), "damaged"),
        (
            lambda asked: replace(asked, transfers=pair(session=bytes(31) + b"x")[0].ask(LEVEL, WANTED)[0].transfers),
            "wanted session",
        ),
    ],
)
def test_a_question_that_does_not_fit(change, wanted: str) -> None:
    """It is refused, and the right one is still answered."""
    receiver, sender = pair()
    question, asked = receiver.ask(LEVEL, WANTED)
    with pytest.raises(TransferError, match=wanted):
        sender.answer(LEVEL, ROWS, change(question), BITS)
    assert asked.read(sender.answer(LEVEL, ROWS, question, BITS)).all()


def test_rows_left_out_and_other_splits() -> None:
    receiver, sender = pair()
    fewer, _ = receiver.ask(LEVEL, WANTED[:, :16])
    with pytest.raises(TransferError, match="found 6 bytes of choices, wanted 9 for 20 rows"):
        sender.answer(LEVEL, ROWS, fewer, BITS)
    other = Level(np.array([4, 1], dtype=np.int32))
    with pytest.raises(TransferError, match="disagrees on the splits of this level"):
        sender.answer(other, 16, fewer, BITS)


def test_a_question_without_a_proof_of_its_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without proofs an active party could compute the other's secret; whoever leaves them out gets no bit."""
    receiver, sender = pair()
    unproven, _ = connect(checked=False)
    question, _ = RoutingReceiver(unproven).ask(LEVEL, WANTED)
    with pytest.raises(TransferError, match=r"found a block of session .*, wanted session"):
        sender.answer(LEVEL, ROWS, question, BITS)
    question, asked = receiver.ask(LEVEL, WANTED)
    assert asked.read(sender.answer(LEVEL, ROWS, question, BITS)).all()
    with monkeypatch.context() as patched:
        patched.setattr("vfxgb.ot.transfers.prove", lambda *given: bytes(len(prove(*given))))
        forged, _ = receiver.ask(LEVEL, WANTED)
    with pytest.raises(TransferError, match="does not pass its check, wanted one choice in each transfer"):
        sender.answer(LEVEL, ROWS, forged, BITS)
    honest, _ = receiver.ask(LEVEL, WANTED)
    with pytest.raises(TransferError, match="an earlier request did not pass its check"):
        sender.answer(LEVEL, ROWS, replace(honest, batch=1), BITS)


def test_a_question_that_comes_again() -> None:
    receiver, sender = pair()
    question, _ = receiver.ask(LEVEL, WANTED)
    sender.answer(LEVEL, ROWS, question, BITS)
    with pytest.raises(TransferError, match="found batch 0 of 60 transfers, wanted batch 1"):
        sender.answer(LEVEL, ROWS, question, BITS)


def test_stock_serves_once() -> None:
    receiver, sender = pair()
    batch, request = receiver.make_stock(70)
    sender.take_stock(batch, 70, request)
    question, _ = receiver.ask(LEVEL, WANTED)
    assert question.count == 0
    sender.answer(LEVEL, ROWS, question, BITS)
    with pytest.raises(TransferError, match="takes 60 transfers of batch 0, and 10 of batch 0 are left"):
        sender.answer(LEVEL, ROWS, question, BITS)
    with pytest.raises(TransferError, match="found batch 0 of 70 transfers, wanted batch 1"):
        sender.take_stock(batch, 70, request)


@pytest.mark.parametrize("count", [0, -1, MAX_BATCH + 1])
def test_batches_that_are_too_large_or_none(count: int) -> None:
    receiver, sender = pair()
    with pytest.raises(TransferError, match=f"found a batch of {count} transfers"):
        receiver.make_stock(count)
    with pytest.raises(TransferError, match=f"found batch 0 of {count} transfers"):
        sender.take_stock(0, count, b"")


def test_wishes_that_are_none() -> None:
    receiver, _ = pair()
    with pytest.raises(TransferError, match="found entry 2 of group 1, wanted at most 1"):
        receiver.ask(LEVEL, WANTED + np.uint16(1))
    with pytest.raises(TransferError, match=r"found choices of shape \(1, 20\)"):
        receiver.ask(LEVEL, WANTED[:1])


def test_answers_of_another_size() -> None:
    receiver, sender = pair()
    question, asked = receiver.ask(LEVEL, WANTED)
    sent = sender.answer(LEVEL, ROWS, question, BITS)
    for wrong in (b"", sent[:-1], sent + b"\0"):
        with pytest.raises(TransferError, match="wanted 12 for 20 rows and 4 bits each"):
            asked.read(wrong)


@pytest.mark.parametrize("entries", [[0], [65_536], [3, -1]])
def test_levels_that_are_none(entries: list[int]) -> None:
    with pytest.raises(TransferError, match="wanted 1 to 65535 splits"):
        Level(np.array(entries, dtype=np.int32))
    with pytest.raises(TransferError, match="wanted int32"):
        Level(np.array([1], dtype=np.int64))


def test_names_show_no_secret() -> None:
    receiver, sender = pair()
    question, asked = receiver.ask(LEVEL, WANTED)
    assert isinstance(question, Question)
    assert "wanted" not in repr(asked)
    assert "masks" not in repr(asked)
    assert repr(receiver) == "RoutingReceiver(peer='shop', in_stock=0)"
    assert repr(sender) == "RoutingSender(peer='bank', batch=0)"
