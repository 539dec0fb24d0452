"""A pinned peer that sends anything but what it should: a line in the log, no traceback, no memory, serving goes on."""

import numpy as np
import pytest

from processes import DEADLINE, at_rest, events, wait_until
from vfxgb.errors import ConsentError, PeerError
from vfxgb.party.messages import TrainRequest, Welcome
from vfxgb.party.session import Session, hello
from vfxgb.runtime.ledger import Ledger
from vfxgb.transport.frame import write_header
from vfxgb.transport.link import LinkClosed
from vfxgb.transport.network import Identity, Limits, Peer, dial
from vfxgb.transport.network.certificates import describe

HOSTILE = "x\n\x1b[2J\x1b[31m10:00:00 trained run=FAKE\x1b]0;owned\x07"


@pytest.fixture
def mill(served):
    """The mill's log lines about parties since now; the console shows no traceback and nothing to obey.

    Strangers may have come by before, and are told a little later.
    """
    folder = served["mill"].folder
    before = len(at_rest(folder))
    yield lambda: [event for event in events(folder)[before:] if event.get("peer")]
    shown = served["mill"].log.read_text()
    assert "Traceback" not in shown
    assert shown.replace("\n", "").isprintable()


def bank(world, address, limits=None):
    folder = world.folder
    identity = Identity("bank", folder / "bank.pem", folder / "bank.key")
    return dial(identity, Peer("mill", folder / "mill.pem", address), limits or Limits(close_seconds=DEADLINE))


def hello_frame(link, payload):
    return write_header(link.session, 0, len(payload), "hello"), payload


def large_hello(link):
    return hello_frame(link, np.zeros(200 << 20, dtype=np.uint8).data)


# What is sent, and what the log says of it: one sentence, or one of two where it depends on which comes first.
FRAMES = {
    "a header that is none": (
        lambda link: (b"x" * 2000, b""),
        {"found a frame with a header of 2000 bytes announced, wanted at most 1024"},
    ),
    "another program's bytes": (
        lambda link: (b"x" * 200, b""),
        {"the bytes are no vfxgb frame; is another program on this port?"},
    ),
    "no MessagePack": (
        lambda link: hello_frame(link, b"\xc1\xc1\xc1"),
        {"message 'hello' is malformed: MessagePack data is malformed: invalid opcode '\\xc1' (byte 0)"},
    ),
    # Refused by the link until the session is taken up, and by what the session expects after that.
    "a large hello": (
        large_hello,
        {
            (
                "found a frame of 209715200 bytes announced, wanted at most 65536 at this point; if such frames are "
                "meant to pass, raise max_frame_bytes and max_session_bytes in [network]"
            ),
            "message 'hello' has 209715200 bytes, wanted at most 65536",
        },
    ),
    "gradients first": (
        lambda link: (write_header(link.session, 0, 9, "he-gradients"), bytes(9)),
        {
            (
                "found a message of unknown type 'he-gradients', wanted one of abort, hello, rows-kept, welcome; do "
                "both sides run the same protocol and version?"
            )
        },
    ),
}


@pytest.mark.parametrize("case", FRAMES)
def test_frames_that_are_none(world, served, mill, case) -> None:
    made, sentences = FRAMES[case]
    with bank(world, served["mill"].address, Limits(window_bytes=1 << 30, close_seconds=DEADLINE)) as link:
        link.put(made(link))
        wait_until(mill)
        wait_until(link.ready)
        # Refused by its first chunk: nothing was acknowledged, so at most a window of it is sent.
        assert link.wire_sent < 70 << 20
    (line,) = mill()
    assert (line["event"], line["level"], line["peer"], line["kind"]) == ("failed", "error", "bank", "FrameError")
    assert line["text"].removeprefix("receiving from bank: ") in sentences


def test_a_frame_of_a_later_phase(world, served, mill) -> None:
    """After the welcome to a training rows are agreed on first; a gigabyte of gradients is not kept meanwhile."""
    with bank(world, served["mill"].address) as link:
        session = Session.over("bank", link, Ledger())
        request = TrainRequest("batch_he", {}, 1, 1, 1, ("bank", "mill"))
        session.channel.send(hello("train", "ab" * 16, "test", request))
        session.channel.recv(Welcome)
        link.put((write_header(link.session, 1, 300 << 20, "he-gradients"), np.zeros(300 << 20, dtype=np.uint8).data))
        with pytest.raises(LinkClosed, match=r"mill gave the session up: .*unknown type 'he-gradients'"):
            link.get(20)
    wait_until(lambda: mill()[-1]["event"] == "ended")
    assert mill()[-2]["event"] == "failed"
    assert "unknown type 'he-gradients'" in mill()[-2]["text"]


def test_words_that_a_terminal_would_obey(world, served, mill) -> None:
    with bank(world, served["mill"].address) as link:
        session = Session.over("bank", link, Ledger())
        session.channel.send(hello("check", "", HOSTILE))
        with pytest.raises(ConsentError, match="does not agree to the purpose") as refused:
            session.channel.recv(Welcome)
    assert str(refused.value).isprintable()
    wait_until(lambda: len(mill()) == 3)
    asked, answered, ended = mill()
    assert (asked["event"], answered["event"], ended["event"]) == ("asked", "refused", "ended")
    assert asked["key_exchange"] == "X25519MLKEM768"
    assert asked["purpose"] == r"x\n\x1b[2J\x1b[31m10:00:00 trained run=FAKE\x1b]0;owned\x07"


def test_a_call_that_is_not_let_in_is_logged_with_its_certificate(world, served, mill, monkeypatch) -> None:
    """Here it is the version that is another; whose certificate it was is in the log."""

    monkeypatch.setattr("vfxgb.transport.network.hello.WIRE_VERSION", 9)
    with pytest.raises(PeerError, match="found wire version 9"):
        bank(world, served["mill"].address)
    wait_until(mill)
    (line,) = mill()
    assert (line["event"], line["peer"]) == ("refused", "bank")
    assert line["fingerprint"] == describe(world.folder / "bank.pem").fingerprint
    assert "found wire version 9" in line["text"]
