"""Outbox and inbox: cutting, joining, acknowledging and sending again, without a network."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property_tests import examples
from vfxgb.errors import FrameError
from vfxgb.transport.network import compress, inbox, outbox, wire
from vfxgb.transport.network.inbox import Inbox
from vfxgb.transport.network.outbox import CHUNK_COST, Outbox

CHUNK = 1000


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch) -> None:
    for module in (inbox, outbox, wire):
        monkeypatch.setattr(module, "CHUNK_BYTES", CHUNK)


def frame(number: int, size: int) -> tuple[bytes, bytes]:
    return f"header {number}".encode(), (number.to_bytes(4, "little") * (size // 4 + 1))[:size]


class Line:
    """A sender and a receiver joined by connections that may end at any time, losing what is under way on them.

    The naive model beside them: `sent`, a plain list of the frames that were put, and `arrived`, the numbers of the
    chunks that reached the receiver.
    """

    def __init__(self, window: int) -> None:
        self.window = window
        self.outbox, self.inbox = Outbox(), Inbox(window, 10 * CHUNK)
        self.outbox.reopen(0, window)
        self.sent: list[tuple[bytes, bytes]] = []
        self.read: list[tuple[bytes, bytes]] = []
        self.arrived: list[int] = []
        # Messages and acknowledgements on their way.
        self.there: list[bytes] = []
        self.back: list[int] = []

    def put(self, size: int) -> None:
        self.sent.append(frame(len(self.sent), size))
        self.outbox.put(self.sent[-1])

    def send(self, zstd: bool = False) -> bool:
        message = self.outbox.next_message(0, zstd and compress.AVAILABLE)
        if message is not None:
            self.there.append(message)
        return message is not None

    def deliver(self) -> bool:
        if not self.there:
            return False
        message = wire.read_chunk(self.there.pop(0))
        self.arrived.append(message.sequence)
        self.inbox.feed(message)
        return True

    def acknowledge(self, asked: bool = False) -> bool:
        if asked or self.inbox.acknowledgement_due:
            self.back.append(self.inbox.acknowledgement())
            return True
        return False

    def hear(self) -> bool:
        if self.back:
            self.outbox.acknowledge(self.back.pop(0))
            return True
        return False

    def take(self) -> bool:
        if self.inbox.frames:
            head, payload = self.inbox.take()
            self.read.append((head, bytes(payload)))
            return True
        return False

    def cut(self) -> None:
        self.there.clear()
        self.back.clear()
        self.outbox.reopen(self.inbox.received, self.window)

    def finish(self) -> None:
        """Everything that can still happen, until nothing does."""
        while any([self.send(), self.deliver(), self.take(), self.acknowledge(), self.hear()]):
            pass
        self.acknowledge(asked=True)
        if self.hear() and not self.outbox.empty:
            self.finish()


STEPS = ("put", "send", "deliver", "take", "acknowledge", "hear", "cut")


@examples(200)
@given(
    window=st.integers(CHUNK, 4 * CHUNK),
    sizes=st.lists(st.integers(0, 5 * CHUNK), max_size=8),
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 5 * CHUNK)), max_size=60),
    zstd=st.booleans(),
)
def test_every_frame_arrives_once_and_in_order(window, sizes, steps, zstd) -> None:
    """In any order of sending, delivering, reading, acknowledging and lost connections: against a plain list."""
    line = Line(window)
    for size in sizes:
        line.put(size)
    for name, number in steps:
        if name == "put":
            line.put(number)
        elif name == "cut":
            line.cut()
        else:
            # Once, or as often as there is something to do: a window fills only if much is sent and little is read.
            step = getattr(line, name)
            while step(*([zstd] if name == "send" else [])) and number % 2:
                pass
    line.finish()
    assert line.read == line.sent
    # The receiver said what it had, so no chunk came twice.
    assert line.arrived == list(range(line.outbox.next_sequence))
    assert line.outbox.empty
    assert line.outbox.waiting == 0


@pytest.mark.parametrize("reads", ["before the cut", "after the cut", "when nothing more comes"])
def test_a_full_window_and_a_lost_connection(reads) -> None:
    """The receiver holds chunks that it has not acknowledged, and reads them around a reconnect."""
    line = Line(4 * CHUNK)
    for _ in range(12):
        line.put(CHUNK)
    while any([line.send(), line.deliver(), line.acknowledge(), line.hear()]):
        pass
    assert line.inbox.received > line.inbox.acknowledgement()
    assert len(line.inbox.frames) > 4
    if reads == "before the cut":
        while line.take():
            pass
    line.cut()
    if reads == "when nothing more comes":
        # A reconnect makes no room.
        assert not line.send()
    while line.take():
        pass
    # The first word on the new connection is an acknowledgement of chunks that did not travel on it.
    line.acknowledge(asked=True)
    assert line.hear()
    line.finish()
    assert line.read == line.sent


def test_a_chunk_that_is_known_is_dropped() -> None:
    """Before and after it was acknowledged; one that skips ahead is refused."""
    box = Inbox(2 * CHUNK, 100 * CHUNK)
    for i in range(3):
        assert box.feed(chunk(sequence=i, lengths=(0, CHUNK - 100), size=CHUNK - 100))
    assert box.acknowledgement() == 0
    assert not box.feed(chunk(sequence=1, lengths=(0, CHUNK - 100), size=CHUNK - 100))
    for _ in range(3):
        box.take()
    assert box.acknowledgement() == 3
    assert not box.feed(chunk(sequence=1, lengths=(0, CHUNK - 100), size=CHUNK - 100))
    assert (box.received, len(box.frames)) == (3, 0)
    with pytest.raises(FrameError, match="found chunk 4, wanted 3"):
        box.feed(chunk(sequence=4))


def test_the_window_stops_the_sender() -> None:
    """Nobody reads: the sender may go on until the receiver's window is full, and no further."""
    sender, receiver = Outbox(), Inbox(3 * CHUNK, 100 * CHUNK)
    sender.reopen(0, 3 * CHUNK)
    for i in range(20):
        sender.put(frame(i, CHUNK))
    for _ in range(20):
        while (message := sender.next_message(0, False)) is not None:
            receiver.feed(wire.read_chunk(message))
        if receiver.acknowledgement_due:
            sender.acknowledge(receiver.acknowledgement())
    assert 3 * CHUNK <= sum(len(payload) for _, payload in receiver.frames) <= 2 * 3 * CHUNK + CHUNK
    assert sender.waiting > 10 * CHUNK


def test_a_frame_larger_than_the_window_passes() -> None:
    sender, receiver = Outbox(), Inbox(2 * CHUNK, 100 * CHUNK)
    sender.reopen(0, 2 * CHUNK)
    sender.put(frame(0, 50 * CHUNK))
    done = False
    for _ in range(200):
        message = sender.next_message(0, False)
        if message is None:
            sender.acknowledge(receiver.acknowledgement())
        elif receiver.feed(wire.read_chunk(message)):
            done = True
            break
    assert done
    assert bytes(receiver.take()[1]) == frame(0, 50 * CHUNK)[1]


def chunk(sequence=0, lengths=(0, 10), size=10, data=None, compressed=False) -> wire.Chunk:
    data = bytes(size) if data is None else data
    return wire.read_chunk(wire.write_chunk(0, sequence, lengths, compressed, size, [data]))


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        (lambda: chunk(sequence=1), "found chunk 1, wanted 0"),
        (lambda: chunk(lengths=None), "wanted the first"),
        (lambda: chunk(lengths=(0, 1 << 40)), "frame of 1099511627776 bytes announced"),
        (lambda: chunk(lengths=(2000, 10)), "header of 2000 bytes"),
        (lambda: chunk(lengths=(0, 20)), "chunk of 10 bytes, wanted 20"),
        (lambda: chunk(lengths=(0, 5)), "chunk of 10 bytes, wanted 5"),
        (lambda: chunk(size=CHUNK + 1), "wanted at most 1000"),
        (lambda: chunk(size=10, data=bytes(9)), "9 bytes of data, wanted 10"),
        (lambda: chunk(compressed=True), "compressed chunk"),
    ],
)
def test_chunks_that_are_refused(bad, match) -> None:
    with pytest.raises(FrameError, match=match):
        Inbox(10 * CHUNK, 100 * CHUNK).feed(bad())


def test_a_frame_within_a_frame() -> None:
    box = Inbox(10 * CHUNK, 100 * CHUNK)
    box.feed(chunk(lengths=(0, 3 * CHUNK), size=CHUNK))
    with pytest.raises(FrameError, match="within another"):
        box.feed(chunk(sequence=1, lengths=(0, 3 * CHUNK), size=CHUNK))


def test_a_sender_without_a_window() -> None:
    box = Inbox(4 * CHUNK, 100 * CHUNK)
    for i in range(4):
        box.feed(chunk(sequence=i, lengths=(0, CHUNK), size=CHUNK))
    with pytest.raises(FrameError, match="bytes of the window"):
        box.feed(chunk(sequence=4, lengths=(0, CHUNK), size=CHUNK))


def test_acknowledgements_that_cannot_be() -> None:
    box = Outbox()
    box.reopen(0, 10 * CHUNK)
    box.put(frame(0, 10))
    with pytest.raises(FrameError, match="acknowledgement of 1 chunks, wanted at most 0"):
        box.acknowledge(1)
    assert box.next_message(0, False) is not None
    box.acknowledge(1)
    for received in (0, 2):
        with pytest.raises(FrameError, match=f"the peer has {received} chunks, wanted at least 1.*at most 1"):
            box.reopen(received, 10 * CHUNK)


def test_clear_forgets() -> None:
    box = Outbox()
    box.reopen(0, 10 * CHUNK)
    box.put(frame(0, 3 * CHUNK))
    box.next_message(0, False)
    box.clear()
    assert box.empty
    assert box.waiting == 0
    assert box.next_message(0, False) is None


@pytest.mark.skipif(not compress.AVAILABLE, reason="needs zstandard")
class TestCompression:
    def test_only_what_shrinks(self) -> None:
        assert compress.shrink(os.urandom(100_000)) is None
        assert compress.shrink(bytes(100)) is None
        small = compress.shrink(bytes(100_000))
        assert small is not None
        assert len(small) < 1000
        assert compress.expand(memoryview(small), 100_000) == bytes(100_000)

    def test_a_bomb_is_refused_before_it_expands(self) -> None:
        small = compress.shrink(bytes(1 << 24))
        assert small is not None
        with pytest.raises(FrameError, match="compressed chunk of 16777216 bytes, wanted 1000"):
            compress.expand(memoryview(small), 1000)

    @given(data=st.binary(max_size=200))
    def test_noise(self, data) -> None:
        with pytest.raises(FrameError):
            compress.expand(memoryview(data), 1000)


def test_costs_agree() -> None:
    """What the sender counts as under way is what the receiver counts as beyond its acknowledgement."""
    sender, receiver = Outbox(), Inbox(1 << 20, 1 << 20)
    sender.reopen(0, 1 << 20)
    sender.put(frame(0, 3 * CHUNK + 1))
    while (message := sender.next_message(0, False)) is not None:
        receiver.feed(wire.read_chunk(message))
    head, payload = frame(0, 3 * CHUNK + 1)
    assert sender.waiting == len(head) + len(payload) + 4 * CHUNK_COST


@examples(300)
@given(data=st.binary(max_size=80))
def test_noise_on_the_wire(data) -> None:
    try:
        kind, _ = wire.read_head(data)
        if kind == wire.CHUNK:
            Inbox(10 * CHUNK, 100 * CHUNK).feed(wire.read_chunk(data))
        elif kind == wire.END:
            wire.read_end(data)
        elif kind == wire.FAIL:
            assert wire.read_fail(data).isprintable()
    except FrameError:
        pass
