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


@examples(60)
@given(
    sizes=st.lists(st.integers(0, 5 * CHUNK), min_size=1, max_size=12),
    window=st.integers(CHUNK, 6 * CHUNK),
    cuts=st.lists(st.integers(0, 30), max_size=4),
    patience=st.integers(1, 4),
    zstd=st.booleans(),
)
def test_every_frame_arrives_once_and_in_order(sizes, window, cuts, patience, zstd) -> None:
    """A receiver that reads rarely and a connection that breaks, losing what was under way: against a plain list."""
    frames = [frame(i, size) for i, size in enumerate(sizes)]
    sender, receiver = Outbox(), Inbox(window, 10 * CHUNK)
    sender.reopen(0, window)
    for one in frames:
        sender.put(one)
    got, lost_after, passed = [], sorted(cuts), 0
    for step in range(10_000):
        message = sender.next_message(0, zstd and compress.AVAILABLE)
        if message is not None and lost_after and passed >= lost_after[0]:
            lost_after.pop(0)
            # The message is lost with its connection; a new one says what has arrived.
            sender.reopen(receiver.acknowledgement(), window)
            continue
        if message is not None:
            passed += 1
            receiver.feed(wire.read_chunk(message))
        if receiver.acknowledgement_due:
            sender.acknowledge(receiver.acknowledgement())
        if receiver.frames and (message is None or step % patience == 0):
            head, payload = receiver.take()
            got.append((head, bytes(payload)))
        if message is None and not receiver.frames:
            sender.acknowledge(receiver.acknowledgement())
            if sender.empty:
                break
    assert got == frames
    assert sender.empty
    assert sender.waiting == 0


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
        (lambda: chunk(lengths=(2000, 10)), "header 2000"),
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
    with pytest.raises(FrameError, match="after it had acknowledged 1"):
        box.reopen(0, 10 * CHUNK)


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
