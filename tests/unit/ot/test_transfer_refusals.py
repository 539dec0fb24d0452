"""What the two parties of transfers refuse: damaged, foreign and repeated requests, other settings, other processes."""

import multiprocessing
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dealt_transfers import OPENING, OVERHEAD, SESSION, connect, dealt, make
from vfxgb.errors import TransferError
from vfxgb.ot import Place, Receiver, Sender, TransferSettings
from vfxgb.ot.state import AHEAD_GROUPS, PositionFile
from vfxgb.ot.wire import Digested

PLACE = Place(0, 0)


def change(data: bytes, at: int, how: Callable[[int], int] = lambda byte: byte ^ 1) -> bytes:
    return data[:at] + bytes([how(data[at])]) + data[at + 1 :]


@pytest.mark.parametrize(
    ("spoil", "wanted"),
    [
        (lambda data: data[:-1], "wanted 6220"),
        (lambda data: data + b"\0", "wanted 6220"),
        (lambda data: data[:30], "no block of transfers"),
        (lambda data: change(data, 4), "of version 4"),
        (lambda data: change(data, 5, lambda _: 1), "found a request, wanted a request of random transfers"),
        (lambda data: change(data, 6), "found transfers with transfer_bits=5, wanted 4"),
        (lambda data: change(data, 8), "found block 0 of domain 1"),
        (lambda data: change(data, 12), "found block 1 of domain 0"),
        (lambda data: change(data, 20), "from transfer group 1"),
        (lambda data: change(data, 28), "found a block of session"),
        (lambda data: change(data, 36), "wanted 6220"),
        (lambda data: change(data, 44), "does not match"),
        (lambda data: change(data, 4900), "does not match"),
        (lambda data: change(data, len(data) - 1), "does not match"),
    ],
)
def test_spoiled_requests(spoil: Callable[[bytes], bytes], wanted: str) -> None:
    receiver, sender = connect(4, checked=True)
    request, own = receiver.request(PLACE, 300)
    assert len(request) == OVERHEAD + OPENING + 4 * 16 * 31 + 48
    with pytest.raises(TransferError, match=f"transfers with bank.*{wanted}"):
        sender.answer(PLACE, 300, spoil(request))
    batch = sender.answer(PLACE, 300, request)  # nothing was lost
    t, r = own.correlated()
    q = batch.correlated()
    np.testing.assert_array_equal(q, t ^ np.frombuffer(sender.delta, dtype=np.uint8) * r[:, np.newaxis])


@pytest.mark.parametrize("bits", [1, 3, 4, 6, 8])
def test_another_k_is_refused_before_anything_depends_on_it(bits: int) -> None:
    delta, _, seeds = dealt()
    receiver, _ = connect(5)
    sender = Sender("bank", SESSION, delta, seeds, TransferSettings(bits, threads=1))
    request, _ = receiver.request(PLACE, 10)
    with pytest.raises(TransferError, match=f"found transfers with transfer_bits=5, wanted {bits}; both parties must"):
        sender.answer(PLACE, 10, request)
    assert sender.position == 0


@pytest.mark.parametrize("bits", [0, -1, 9])
def test_no_such_k(bits: int) -> None:
    with pytest.raises(TransferError, match=f"found transfer_bits={bits}, wanted 1 to 8"):
        TransferSettings(bits)


def test_foreign_and_repeated_requests() -> None:
    receiver, sender = connect()
    stranger, _ = connect(session=bytes(32))
    with pytest.raises(TransferError, match="found a block of session"):
        sender.answer(PLACE, 10, stranger.request(PLACE, 10)[0])
    requests = [receiver.request(Place(0, block), 10)[0] for block in range(2)]
    with pytest.raises(TransferError, match="once and in order"):
        sender.answer(Place(0, 1), 10, requests[1])
    with pytest.raises(TransferError, match="disagree on the number"):
        sender.answer(PLACE, 1000, requests[0])
    sender.answer(PLACE, 10, requests[0])
    with pytest.raises(TransferError, match="answering block 0 of domain 0: found a place that was used before"):
        sender.answer(PLACE, 10, requests[0])
    with pytest.raises(TransferError, match="found block 0 of domain 0 from transfer group 0"):
        sender.answer(Place(0, 1), 10, requests[0])
    with pytest.raises(TransferError, match="used before"):
        receiver.request(PLACE, 10)
    with pytest.raises(TransferError, match="found -1 transfers"):
        receiver.request(Place(0, 9), -1)
    sender.answer(Place(0, 1), 10, requests[1])


def test_choices_of_another_size() -> None:
    receiver, _ = connect()
    for choices in (b"a", bytes(17)):
        with pytest.raises(TransferError, match=f"found {len(choices)} bytes of choices, wanted 2"):
            receiver.request(PLACE, 10, choices)


def test_seeds_that_fit_no_tree_end_the_session() -> None:
    """An opening with a wrong sum, correctly sealed, is found by its digest if the sender reads it."""
    receiver, sender = connect(8)
    request, _ = receiver.request(PLACE, 10)
    payload = bytearray(request[44:-16])
    payload[0] ^= 1  # both sums of a level: the sender reads one of them
    payload[16] ^= 1
    forged = receiver._line.seal(3, PLACE, 0, bytes(payload[:OPENING]), Digested.of(bytes(payload[OPENING:])))
    with pytest.raises(TransferError, match=r"transfers with bank: the seeds do not pass their check.*is over"):
        sender.answer(PLACE, 10, forged)
    with pytest.raises(TransferError, match="the seeds did not pass their check; start a new session"):
        sender.answer(PLACE, 10, request)


def test_a_fork_is_refused() -> None:
    receiver, _ = connect()
    receiver.request(PLACE, 10)

    def child(answer: "multiprocessing.connection.Connection") -> None:
        try:
            receiver.request(Place(0, 1), 10)
        except TransferError as error:
            answer.send(str(error))
        else:
            answer.send("no error")

    mine, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=child, args=(theirs,))
    process.start()
    assert "another process began" in mine.recv()
    process.join(10)


def test_resume() -> None:
    """After a resume transfers go on, numbers never come again, and the keys of the same place are others."""
    receiver, sender = connect(6, checked=True)
    own, _ = make(receiver, sender, 200)
    first, _ = own.keys()
    receiver.request(Place(0, 1), 100)  # made, and never answered
    assert (receiver.position, sender.position) == (5, 3)
    position = max(receiver.position, sender.position)
    again = Receiver.restore("shop", receiver.state(), position, 1), Sender.restore("bank", sender.state(), position, 1)
    assert again[0].session == again[1].session != SESSION
    own, batch = make(*again, 200)
    got, choices = own.keys()
    zero, one = batch.keys()
    np.testing.assert_array_equal(got, np.where(choices[:, np.newaxis], one, zero))
    assert not (got == first).all(axis=1).any()
    assert again[0].position == again[1].position == 8


def test_resume_at_other_positions() -> None:
    receiver, sender = connect()
    for party in (receiver, sender):
        with pytest.raises(TransferError, match="there were none yet"):
            party.state()
    make(receiver, sender, 300)
    with pytest.raises(TransferError, match="with shop: found position 2, wanted 3 or a later one"):
        Receiver.restore("shop", receiver.state(), 2)
    with pytest.raises(TransferError, match="with bank: found position 0, wanted 3 or a later one"):
        Sender.restore("bank", sender.state(), 0)
    # Parties that go on at different positions do not understand each other.
    ahead = Receiver.restore("shop", receiver.state(), 4, 1)
    behind = Sender.restore("bank", sender.state(), 3, 1)
    with pytest.raises(TransferError, match="found a block of session"):
        behind.answer(PLACE, 10, ahead.request(PLACE, 10)[0])


@pytest.mark.parametrize("data", [b"", b"\x80", b"nothing of the kind"])
def test_states_that_are_none(data: bytes) -> None:
    with pytest.raises(TransferError, match=r"restoring transfers with shop: found .* bytes that are no Rec"):
        Receiver.restore("shop", data, 0)
    receiver, sender = connect()
    make(receiver, sender, 1)
    with pytest.raises(TransferError, match="are no SenderState"):
        Sender.restore("bank", receiver.state(), 9)
    with pytest.raises(TransferError, match="are no ReceiverState"):
        Receiver.restore("shop", sender.state()[:-1], 9)


def test_positions_are_marked_before_they_are_used(tmp_path: Path) -> None:
    """The file is ahead of every position, and is not written for each batch."""
    _, pairs, _ = dealt()
    file = PositionFile(tmp_path / "position")
    receiver = Receiver("shop", SESSION, pairs, TransferSettings(4, threads=1), file.mark)
    written = []
    for block in range(3):
        receiver.request(Place(0, block), 128 * AHEAD_GROUPS // 2)
        written.append(PositionFile(tmp_path / "position").position)
        assert written[-1] >= receiver.position
    assert written[0] == written[1] == AHEAD_GROUPS // 2 + AHEAD_GROUPS
    assert written[2] > written[1] - 1
    (tmp_path / "position").write_text("some\n")
    with pytest.raises(TransferError, match="position: found no position of transfers"):
        PositionFile(tmp_path / "position")


def test_a_batch_whose_mark_fails_is_not_given_out(tmp_path: Path) -> None:
    _, pairs, _ = dealt()
    file = PositionFile(tmp_path / "missing" / "position")
    receiver = Receiver("shop", SESSION, pairs, TransferSettings(4, threads=1), file.mark)
    with pytest.raises(OSError, match="position"):
        receiver.request(PLACE, 10)
    assert receiver.position == 0
