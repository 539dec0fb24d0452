"""A pinned peer that sends anything but what it should: a line in the log, no traceback, no memory, serving goes on."""

import json

import numpy as np
import pytest

from processes import wait_until
from vfxgb.errors import ConsentError, PeerError
from vfxgb.party.messages import TrainRequest, Welcome
from vfxgb.party.session import Session, hello
from vfxgb.runtime.ledger import Ledger
from vfxgb.transport.frame import write_header
from vfxgb.transport.link import LinkClosed
from vfxgb.transport.network import Identity, Limits, Peer, dial
from vfxgb.transport.network.certificates import describe

HOSTILE = "x\n\x1b[2J\x1b[31m10:00:00 trained run=FAKE\x1b]0;owned\x07"


def log_of(world, party):
    return [json.loads(line) for line in (world.folder / f"{party}-folder" / "log.jsonl").read_text().splitlines()]


@pytest.fixture
def mill(world, served):
    """The mill's log lines since now; whatever they are, the console shows no traceback and nothing to obey."""
    before = len(log_of(world, "mill"))
    yield lambda: log_of(world, "mill")[before:]
    shown = served["mill"].log.read_text()
    assert "Traceback" not in shown
    assert shown.replace("\n", "").isprintable()


def bank(world, address, limits=None):
    folder = world.folder
    identity = Identity("bank", folder / "bank.pem", folder / "bank.key")
    return dial(identity, Peer("mill", folder / "mill.pem", address), limits or Limits(close_seconds=1))


def hello_frame(link, payload):
    return write_header(link.session, 0, len(payload), "hello"), payload


FRAMES = {
    "a header that is none": (lambda link: (b"x" * 2000, b""), "header of 2000 bytes"),
    "another program's bytes": (lambda link: (b"x" * 200, b""), "no vfxgb frame"),
    "no MessagePack": (lambda link: hello_frame(link, b"\xc1\xc1\xc1"), "message 'hello' is malformed"),
    "a large hello": (
        lambda link: hello_frame(link, np.zeros(200 << 20, dtype=np.uint8).data),
        "209715200 bytes",
    ),
    "gradients first": (
        lambda link: (write_header(link.session, 0, 9, "he-gradients"), bytes(9)),
        "message of unknown type 'he-gradients'",
    ),
}


@pytest.mark.parametrize("case", FRAMES)
def test_frames_that_are_none(world, served, mill, case) -> None:
    made, said = FRAMES[case]
    with bank(world, served["mill"].address, Limits(window_bytes=1 << 30, close_seconds=1)) as link:
        link.put(made(link))
        wait_until(mill)
        wait_until(link.ready)
        # Refused by its first chunk: nothing was acknowledged, so at most a window of it is sent.
        assert link.wire_sent < 70 << 20
    (line,) = mill()
    assert (line["event"], line["level"], line["peer"], line["kind"]) == ("failed", "error", "bank", "FrameError")
    assert said in line["text"]


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
    wait_until(lambda: mill()[-1]["event"] == "failed")
    assert "unknown type 'he-gradients'" in mill()[-1]["text"]


def test_words_that_a_terminal_would_obey(world, served, mill) -> None:
    with bank(world, served["mill"].address) as link:
        session = Session.over("bank", link, Ledger())
        session.channel.send(hello("check", "", HOSTILE))
        with pytest.raises(ConsentError, match="does not agree to the purpose") as refused:
            session.channel.recv(Welcome)
    assert str(refused.value).isprintable()
    wait_until(lambda: len(mill()) == 2)
    asked, answered = mill()
    assert (asked["event"], answered["event"]) == ("asked", "refused")
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
