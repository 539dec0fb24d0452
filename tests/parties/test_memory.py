"""A party that serves with little memory: what a pinned peer sends, claims and asks for makes it refuse, not grow."""

import os
import queue
import re
import resource
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deviating_bank import DeviatingBank
from processes import DEADLINE, QUICK_ALIGN, Served, at_rest, last_run
from tampering import replaced
from vfxgb.align.messages import AlignReady, OpenAlign
from vfxgb.align.normalise import steps_digest
from vfxgb.cli import main
from vfxgb.errors import ConsentError, PeerError
from vfxgb.party.config import load_config
from vfxgb.party.logs import Log
from vfxgb.party.messages import TrainRequest, Welcome
from vfxgb.party.serve import Server
from vfxgb.party.session import hello
from vfxgb.predict.messages import Route, Routed
from vfxgb.protocols.sealed.messages import SealedPieces
from vfxgb.transport.channel import Channel
from vfxgb.transport.frame import write_header
from vfxgb.transport.link import LinkClosed
from vfxgb.transport.messages import Message, encode, pack_array, pack_bytes
from vfxgb.transport.network import Limits

pytestmark = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of other processes are Linux's")

# What the process may take beyond what it has when nobody asks for anything. Linux counts memory that can be written
# to, RLIMIT_DATA; the address space, RLIMIT_AS, has 64 MiB more for every thread, which the allocator never uses.
ROOM = 300 << 20
LARGEST = Limits().largest_frame


def memory(process: int, what: str) -> int:
    """A size of a process, in bytes."""
    found = re.search(rf"{what}:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found[1]) << 10


@pytest.fixture
def shop(world) -> Iterator[Served]:
    served = Served(world.passive("shop", name="narrow", folder="narrow-folder"))
    yield served
    served.kill()


def frames_before_hello(bank: DeviatingBank) -> None:
    """Up to a gigabyte on each of as many sessions as there are, all at once: none of it is kept."""
    sizes = [1 << 30, 350 << 20] * 4
    links = [bank.link(window_bytes=1 << 30) for _ in sizes]
    with pytest.raises(PeerError, match="shop has 8 sessions, wanted at most 8"):
        bank.link()
    for link, size in zip(links, sizes, strict=True):
        link.put((write_header(link.session, 0, size, "hello"), np.zeros(size, dtype=np.uint8).data))
    for link, size in zip(links, sizes, strict=True):
        # No frame may be larger than a third of a gigabyte, and this one not larger than first words are.
        most = "65536" if size < LARGEST else f"({LARGEST}|65536)"
        with pytest.raises(LinkClosed, match=rf"shop gave the session up: .*{size} bytes.*, wanted at most {most}"):
            link.get(None)
        link.close()


def claimed_ids(bank: DeviatingBank) -> None:
    session = bank.training()
    session.channel.send(OpenAlign("auto", QUICK_ALIGN["group_bits"], 1 << 28, 1, steps_digest(())))
    with pytest.raises(ConsentError, match="an alignment of 268,435,456 ids, wanted at most"):
        session.channel.recv(AlignReady)
    session.link.close()


def repeated_questions(bank: DeviatingBank) -> None:
    """Four million about one split: 32 MB."""
    session, _ = bank.looked_up(3)
    records, sizes = np.zeros(4_000_000, dtype=np.int32), np.full(4_000_000, 3, dtype=np.int32)
    session.channel.send(Route(0, 0, 3, pack_array(records), pack_array(sizes), pack_bytes(b"")))
    with pytest.raises(PeerError, match="received something that does not fit the state of the run"):
        session.channel.recv(Routed)
    session.link.close()


def pieces_that_nobody_needs(bank: DeviatingBank) -> None:
    """Ask for 67 million pieces of comparisons under `sealed`, which would take gigabytes to answer."""
    changed = replaced(SealedPieces, tables=0, ands=1 << 26, muxes=0)
    send = Channel.send_encoded

    def sending(channel: Channel, message: Message, payload: bytes) -> None:
        other = changed(message)
        send(channel, other or message, encode(other) if other else payload)

    config = bank.world.active(
        {"shop": bank.served.address},
        name="greedy",
        folder="greedy-folder",
        protocol={"name": "sealed", "params": {"group_bits": 768, "insecure": True}},
        resume={"resume_seconds": 0.0},
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Channel, "send_encoded", sending)
        assert main(["train", str(config), "--quiet"]) == 3


def runs_that_never_begin(bank: DeviatingBank) -> None:
    request = TrainRequest("plain", {}, 1, 1, 1, ("bank", "shop"))
    for _ in range(40):
        session = bank.session()
        session.channel.send(hello("train", os.urandom(16).hex(), "test", request))
        session.channel.recv(Welcome)
        session.link.close()


ATTACKS = (frames_before_hello, claimed_ids, repeated_questions, pieces_that_nobody_needs, runs_that_never_begin)


def refusals_of_the_bank(folder: Path) -> list[dict[str, Any]]:
    """Of its calls, that is: a connection that it gives up before it calls is told without a name."""
    return [event for event in at_rest(folder) if event["event"] in ("failed", "refused") and event["peer"] == "bank"]


def test_what_a_peer_can_make_it_take_fits_into_300_megabytes(world, shop, vfxgb, tmp_path) -> None:
    config = world.active({"shop": shop.address}, name="wide", folder="wide-folder")
    pid, table = shop.process.pid, world.folder / "bank.csv"
    assert vfxgb("train", config, "--quiet") == 0
    assert vfxgb("predict", config, table, tmp_path / "before.csv", "--quiet") == 0
    before = len(refusals_of_the_bank(shop.folder))
    used = memory(pid, "VmRSS")
    most = memory(pid, "VmData") + ROOM
    resource.prlimit(pid, resource.RLIMIT_DATA, (most, most))
    bank = DeviatingBank(world, shop, last_run(config).run)
    for _ in range(2):
        for attack in ATTACKS:
            attack(bank)
            assert shop.process.poll() is None, attack
    # Eight frames, one session too many, a claim, a question and pieces, twice.
    assert len(refusals_of_the_bank(shop.folder)) - before == 2 * (8 + 1 + 1 + 1 + 1)
    assert memory(pid, "VmHWM") - used < ROOM
    # An honest peer gets what it got before, and can train.
    assert vfxgb("predict", config, table, tmp_path / "after.csv", "--quiet") == 0
    assert (tmp_path / "after.csv").read_bytes() == (tmp_path / "before.csv").read_bytes()
    assert vfxgb("train", config, "--quiet") == 0
    assert not [event for event in at_rest(shop.folder) if event["event"] == "bug"]
    assert shop.stop() == 0
    assert "Traceback" not in shop.log.read_text()


def test_a_session_for_which_there_is_no_thread_is_one_session_less(world, vfxgb, monkeypatch, capsys) -> None:
    config = load_config(world.passive("shop", name="busy", folder="busy-folder"), {})
    addresses: queue.SimpleQueue[str] = queue.SimpleQueue()
    stop = threading.Event()
    serving = threading.Thread(target=Server(config, Log.of(config), addresses.put).run, args=(stop,))
    begin, refused = threading.Thread.start, []

    def start(thread: threading.Thread) -> None:
        if thread.name == "vfxgb-shop-bank" and not refused:
            refused.append(thread)
            raise RuntimeError("can't start new thread")
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    serving.start()
    try:
        path = world.active(
            {"shop": addresses.get(timeout=DEADLINE)},
            name="late",
            folder="late-folder",
            resume={"resume_seconds": 0.0},
        )
        assert vfxgb("train", path, "--quiet") == 3
        assert "shop gave the session up: shop has no means to serve another session now" in capsys.readouterr().err
        assert vfxgb("train", path, "--quiet") == 0
        (failed,) = (event for event in at_rest(config.folder) if event["event"] == "failed")
        assert failed["text"] == "no thread for a session: can't start new thread"
    finally:
        stop.set()
        serving.join(DEADLINE)
    assert not serving.is_alive()
