"""Channels, frames and messages: what passes, what is refused, what is counted."""

import threading
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.errors import ChannelClosedError, FrameError, MessageError, PeerError
from vfxgb.transport.channel import Channel, broadcast, memory_channels
from vfxgb.transport.frame import RUN_BYTES, read_header, write_header
from vfxgb.transport.link import memory_links
from vfxgb.transport.messages import (
    Abort,
    Bulk,
    Catalogue,
    Message,
    Reveals,
    encode,
    pack_array,
    pack_bytes,
    unpack_array,
)

RUN = bytes(range(RUN_BYTES))


class Note(Message, frozen=True, forbid_unknown_fields=True):
    TAG: ClassVar[str] = "note"
    REVEALS: ClassVar[Reveals] = Reveals("a number", "numbers")

    number: int
    data: Bulk = memoryview(b"")

    def amount(self) -> int:
        return 1


class Other(Message, frozen=True, forbid_unknown_fields=True):
    TAG: ClassVar[str] = "other"
    MAX_BYTES: ClassVar[int] = 64

    text: str


CATALOGUE = Catalogue((Note, Other))


@pytest.fixture
def ends() -> tuple[Channel, Channel]:
    return memory_channels("bank", "shop", CATALOGUE, RUN)


def test_a_message_arrives_as_it_was_sent(ends) -> None:
    bank, shop = ends
    bank.send(Note(number=7, data=pack_bytes(b"abc")))
    shop.send(Other(text="hello"))
    got = shop.recv(Note)
    assert (got.number, bytes(got.data)) == (7, b"abc")
    assert bank.recv(Note, Other) == Other(text="hello")


def test_arrays_arrive_without_a_copy(ends) -> None:
    bank, shop = ends
    array = np.arange(12, dtype=np.int64).reshape(3, 4)
    bank.send(Note(number=0, data=pack_array(array)))
    message = shop.recv(Note)
    found = unpack_array(message.data, np.int64, (3, 4), "test")
    assert np.array_equal(found, array)
    assert not found.flags.owndata
    assert not found.flags.writeable


def test_a_broken_array_is_refused() -> None:
    data = pack_array(np.arange(5, dtype=np.int32))
    with pytest.raises(MessageError, match=r"reading rows: found 20 bytes, wanted 24"):
        unpack_array(data, np.int32, (6,), "reading rows")


def test_flights_are_messages_that_follow_one_upon_the_other(ends) -> None:
    bank, shop = ends

    def say(sender: Channel, receiver: Channel, count: int = 1) -> None:
        for number in range(count):
            sender.send(Note(number=number))
        for _ in range(count):
            receiver.recv(Note)

    say(bank, shop, 3)  # three messages, one flight
    assert (bank.traffic.flights, shop.traffic.flights) == (0, 1)
    say(shop, bank)
    assert (bank.traffic.flights, shop.traffic.flights) == (2, 1)
    bank.send(Note(number=1))  # one each way at the same time
    shop.send(Note(number=1))
    shop.recv(Note)
    bank.recv(Note)
    assert (bank.traffic.flights, shop.traffic.flights) == (2, 3)
    say(bank, shop)  # nothing has come to the bank since it sent the last one: the same flight
    say(shop, bank)
    assert (bank.traffic.flights, shop.traffic.flights) == (4, 3)


def test_counters_and_observer() -> None:
    seen = []
    bank, shop = memory_channels("bank", "shop", CATALOGUE, RUN, lambda *entry: seen.append(entry))
    broadcast([bank], Note(number=1))
    bank.send(Note(number=2))
    shop.recv(Note)
    shop.recv(Note)
    shop.send(Other(text="x"))
    bank.recv(Other)
    assert (bank.traffic.sent_messages, bank.traffic.received_messages, bank.traffic.round_trips) == (2, 1, 1)
    assert bank.traffic.sent_bytes == shop.traffic.received_bytes
    assert bank.traffic.total_bytes == shop.traffic.total_bytes == sum(entry[3] for entry in seen)
    assert [(entry[0], entry[1], entry[2].TAG) for entry in seen] == [
        ("bank", "shop", "note"),
        ("bank", "shop", "note"),
        ("shop", "bank", "other"),
    ]


def test_wrong_type_names_both(ends) -> None:
    bank, shop = ends
    bank.send(Other(text="x"))
    with pytest.raises(MessageError, match="shop receiving from bank: found message 'other', wanted 'note'"):
        shop.recv(Note)


def test_unknown_type() -> None:
    one, other = memory_links()
    one.put((write_header(RUN, 0, 1, "foreign"), b"\x80"))
    with pytest.raises(FrameError, match="unknown type 'foreign'"):
        Channel("shop", "bank", other, CATALOGUE, RUN).recv(Note)


@pytest.mark.parametrize(
    ("header", "payload", "match"),
    [
        (b"", b"", "header of 0 bytes"),
        (b"XX" + write_header(RUN, 0, 0, "note")[2:], b"", "no vfxgb frame"),
        (b"VX\x09\x00" + write_header(RUN, 0, 0, "note")[4:], b"", "frame version 9, wanted 1"),
        (write_header(bytes(RUN_BYTES), 0, 0, "note"), b"", "another run"),
        (write_header(RUN, 3, 0, "note"), b"", "found frame 3, wanted 0"),
        (write_header(RUN, 0, 9, "note"), b"\x80", "wanted 9 as announced"),
        (write_header(RUN, 0, 0, "note")[:-1], b"", "type is malformed"),
        (write_header(RUN, 0, 1, "note"), b"\x80", "'note' is malformed: .*number"),
        (write_header(RUN, 0, 3, "note"), b"\xff\xff\xff", "'note' is malformed"),
        (write_header(RUN, 0, 4, "other"), encode(Note(number=3)), "has 14 bytes|wanted 4 as announced"),
    ],
)
def test_bad_frames(header, payload, match) -> None:
    one, other = memory_links()
    one.put((header, payload))
    with pytest.raises(FrameError, match=match):
        Channel("shop", "bank", other, CATALOGUE, RUN).recv(Note)


def test_unknown_fields_are_refused() -> None:
    one, other = memory_links()
    payload = b"\x83\xa6number\x01\xa4data\xc4\x00\xa5extra\x01"
    one.put((write_header(RUN, 0, len(payload), "note"), payload))
    with pytest.raises(FrameError, match="extra"):
        Channel("shop", "bank", other, CATALOGUE, RUN).recv(Note)


def test_too_large_is_refused_on_both_sides() -> None:
    bank, _ = memory_channels("bank", "shop", CATALOGUE, RUN)
    with pytest.raises(MessageError, match="at most 64"):
        bank.send(Other(text="x" * 100))
    one, other = memory_links()
    payload = b"\x81\xa4text\xd9\x64" + b"x" * 100
    one.put((write_header(RUN, 0, len(payload), "other"), payload))
    with pytest.raises(FrameError, match="'other' has 108 bytes, wanted at most 64"):
        Channel("shop", "bank", other, CATALOGUE, RUN).recv(Other)
    one, other = memory_links()
    payload = encode(Note(number=1, data=pack_bytes(bytes(1000))))
    one.put((write_header(RUN, 0, len(payload), "note"), payload))
    with pytest.raises(FrameError, match="at most 500"):
        Channel("shop", "bank", other, CATALOGUE, RUN, max_frame_bytes=500).recv(Note)


@given(st.binary(max_size=80), st.binary(max_size=40))
def test_random_bytes_are_a_frame_error(header, payload) -> None:
    one, other = memory_links()
    one.put((header, payload))
    with pytest.raises(FrameError):
        Channel("shop", "bank", other, CATALOGUE, RUN).recv(Note, Other, Abort)


@given(st.data())
def test_mutated_frames_never_crash(data) -> None:
    payload = bytearray(encode(Note(number=5, data=pack_bytes(b"hello"))))
    header = bytearray(write_header(RUN, 0, len(payload), "note"))
    target = data.draw(st.sampled_from([payload, header]))
    target[data.draw(st.integers(0, len(target) - 1))] = data.draw(st.integers(0, 255))
    one, other = memory_links()
    one.put((bytes(header), bytes(payload)))
    try:
        message = Channel("shop", "bank", other, CATALOGUE, RUN).recv(Note)
    except FrameError:
        return
    assert isinstance(message, Note)


def test_abort_reaches_the_peer_and_hides_the_text(ends) -> None:
    bank, shop = ends
    shop.abort(ValueError("column salary holds 12345"))
    with pytest.raises(
        PeerError, match="bank waiting for 'note': shop stopped the run: shop failed unexpect"
    ) as caught:
        bank.recv(Note)
    assert "12345" not in str(caught.value)
    assert caught.value.kind == "ValueError"
    with pytest.raises(ChannelClosedError):
        shop.send(Note(number=1))


def test_close_wakes_a_waiting_peer(ends) -> None:
    bank, shop = ends
    caught: list[BaseException] = []

    def wait() -> None:
        try:
            bank.recv(Note)
        except PeerError as error:
            caught.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    shop.close()
    thread.join(10)
    assert not thread.is_alive()
    assert "shop has closed the channel" in str(caught[0])
    # What was sent before the end can still be read, and the end stays.
    with pytest.raises(PeerError):
        bank.recv(Note)


def test_messages_before_the_end_are_read_first(ends) -> None:
    bank, shop = ends
    shop.send(Note(number=1))
    shop.close()
    assert bank.recv(Note).number == 1
    with pytest.raises(PeerError):
        bank.recv(Note)


def test_silence_ends_at_the_timeout() -> None:
    bank, _ = memory_channels("bank", "shop", CATALOGUE, RUN, timeout=0.05)
    with pytest.raises(PeerError, match=r"shop sent nothing for 0\.05 seconds"):
        bank.recv(Note)


def test_a_tag_belongs_to_one_class() -> None:
    class Twin(Message, frozen=True, forbid_unknown_fields=True):
        TAG: ClassVar[str] = "note"

    with pytest.raises(ValueError, match="already taken"):
        Catalogue((Note, Twin))


def test_header_round_trip() -> None:
    header = read_header(write_header(RUN, 2**40, 12, "note"), "bank")
    assert (header.run, header.sequence, header.length, header.tag) == (RUN, 2**40, 12, "note")
