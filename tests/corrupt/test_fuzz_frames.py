"""Mutated frames of every message class: refused as frames or messages, never a crash, a hang or much memory.

VFXGB_FUZZ_FRAMES: frames per message class (100,000 for a long run), and a thousandth of it whole trainings per
protocol in which a frame is mutated on its way.
"""

import os
import random
import threading
import warnings
from contextlib import suppress
from typing import Any

import psutil
import pytest

from mutation import make_message, message_classes, mutated
from tampering import toy_run
from vfxgb.errors import FrameError, MessageError, VfxgbError
from vfxgb.protocols import protocol_by_name, protocol_names
from vfxgb.runtime.ledger import Ledger
from vfxgb.train import simulate
from vfxgb.transport.channel import Channel, memory_channels
from vfxgb.transport.frame import write_header
from vfxgb.transport.link import Frame, Screen
from vfxgb.transport.messages import Catalogue, Message, encode
from vfxgb.transport.network import Limits, NetworkLink
from vfxgb.transport.network.hello import Call, read_call, write_call
from vfxgb.transport.network.link import Terms
from vfxgb.transport.network.wire import BEAT, DONE, write_chunk, write_end, write_fail, write_short

FRAMES = int(os.environ.get("VFXGB_FUZZ_FRAMES", "200"))
RUNS = max(2, FRAMES // 1000)
RUN = bytes(16)
# What a decoder may hold beyond its input, whatever the input announces.
MEMORY = 100 << 20


class OneFrame:
    """A link that has one frame to give."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def put(self, frame: Frame) -> None:
        raise AssertionError("nothing is sent")

    def get(self, timeout: float | None) -> Frame:
        return self._frame

    def screen(self, screen: Screen) -> None:
        pass

    def close(self) -> None:
        pass


def receive(kind: type[Message], catalogue: Catalogue, header: bytes, payload: bytes) -> Message | None:
    """The message if it is one, None if it was refused as it should be."""
    # The ledger is told of every message before the role sees it: it must bear any contents too.
    channel = Channel("bank", "shop", OneFrame((header, payload)), catalogue, RUN, Ledger().record)
    try:
        return channel.recv(kind)
    except (FrameError, MessageError):
        return None


@pytest.mark.parametrize("kind", message_classes(), ids=lambda kind: f"{kind.__module__.split('.')[1]}-{kind.TAG}")
def test_mutated_frames(kind) -> None:
    rng = random.Random(f"{kind.TAG}-{FRAMES}")
    catalogue = Catalogue((kind,))
    before = psutil.Process().memory_info().rss
    passed = 0
    for i in range(FRAMES):
        if i % 20 == 0:
            payload = encode(make_message(kind, rng))
            assert receive(kind, catalogue, write_header(RUN, 0, len(payload), kind.TAG), payload) is not None
        changed = mutated(payload, rng)
        header = write_header(RUN, 0, len(changed), kind.TAG)
        if i % 10 == 0:
            header = mutated(header, rng)
        passed += receive(kind, catalogue, header, changed) is not None
    assert passed < FRAMES
    assert psutil.Process().memory_info().rss - before < MEMORY


class Mutating:
    """A link that changes the payload of its k-th frame."""

    def __init__(self, link: Any, k: int, rng: random.Random) -> None:
        self._link = link
        self._left = k
        self._rng = rng

    def put(self, frame: Frame) -> None:
        header, payload = frame
        if self._left == 0:
            changed = mutated(bytes(payload), self._rng)
            header = header[:28] + len(changed).to_bytes(8, "little") + header[36:]
            frame = (header, changed)
        self._left -= 1
        self._link.put(frame)

    def get(self, timeout: float | None) -> Frame:
        return self._link.get(timeout)

    def screen(self, screen: Screen) -> None:
        self._link.screen(screen)

    def close(self) -> None:
        self._link.close()


@pytest.mark.parametrize("protocol", protocol_names())
def test_trainings_with_a_mutated_frame(protocol, monkeypatch) -> None:
    """Whoever gets it refuses it by an error of ours, or cannot know: a value may be another and still be one."""
    params = dict(protocol_by_name(protocol).quick_params)
    before = threading.active_count()
    for seed in range(RUNS):
        rng = random.Random(f"{protocol}-{seed}")

        def channels(*arguments: Any, rng: random.Random = rng, **named: Any) -> tuple[Channel, Channel]:
            ends = memory_channels(*arguments, **named, timeout=20.0)
            liar = rng.choice(ends)
            liar._link = Mutating(liar._link, rng.randrange(12), rng)
            return ends

        monkeypatch.setattr(simulate, "memory_channels", channels)
        with warnings.catch_warnings():
            # A label or gradient that is another may overflow a loss; that is no crash.
            warnings.simplefilter("ignore", RuntimeWarning)
            with suppress(VfxgbError):
                toy_run(protocol, params)
        assert threading.active_count() == before


def test_mutated_messages_of_a_stream() -> None:
    """What a network link is handed before any frame exists: chunks, acknowledgements, ends, in any disorder."""
    rng = random.Random(f"stream-{FRAMES}")
    limits = Limits(window_bytes=4 << 20, max_frame_bytes=1 << 20)
    before = psutil.Process().memory_info().rss
    chunks = [write_chunk(0, i, (4, 96), False, 100, [bytes(100)]) for i in range(4)]
    others = [write_short(BEAT, 0), write_short(DONE, 0), write_end(0, 2), write_fail(0, "why")]
    for _ in range(FRAMES):
        link = NetworkLink("shop", RUN, limits, lambda: None)
        link.reopen(Terms(0, 4 << 20, False, 1.0), zstd=True)
        with suppress(FrameError):
            for message in chunks[: rng.randrange(4)]:
                link.feed(message)
            for _ in range(3):
                link.feed(mutated(rng.choice(chunks + others), rng))
    assert psutil.Process().memory_info().rss - before < MEMORY


def test_mutated_metadata() -> None:
    rng = random.Random(f"metadata-{FRAMES}")
    good = write_call(Call("bank", RUN, True, Terms(5, 4 << 20, False, 1.0)))
    for _ in range(FRAMES):
        fields = [
            (key, mutated(value.encode(), rng).decode("utf-8", "replace")) if rng.random() < 0.3 else (key, value)
            for key, value in good
            if rng.random() < 0.95
        ]
        with suppress(FrameError):
            assert len(read_call(fields).session) == len(RUN)
