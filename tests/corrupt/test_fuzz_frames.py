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
from protocol_variants import params_of, protocol_of, with_variants
from tampering import toy_run
from vfxgb.errors import FrameError, MessageError, VfxgbError
from vfxgb.protocols import protocol_names
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
    """A link that changes the payload of its k-th frame, or of none where k is -1; `sent` counts frames."""

    def __init__(self, link: Any, k: int, rng: random.Random) -> None:
        self._link = link
        self._k = k
        self._rng = rng
        self.sent = 0

    def put(self, frame: Frame) -> None:
        header, payload = frame
        if self.sent == self._k:
            changed = mutated(bytes(payload), self._rng)
            header = header[:28] + len(changed).to_bytes(8, "little") + header[36:]
            frame = (header, changed)
        self.sent += 1
        self._link.put(frame)

    def get(self, timeout: float | None) -> Frame:
        return self._link.get(timeout)

    def screen(self, screen: Screen) -> None:
        self._link.screen(screen)

    def close(self) -> None:
        self._link.close()


class Liars:
    """Makes the channels of a run, of which one end changes a frame; `links` are all ends, in pairs."""

    def __init__(self, liar: int, k: int, rng: random.Random) -> None:
        self._liar, self._k, self._rng = liar, k, rng
        self.links: list[Mutating] = []

    def __call__(self, *arguments: Any, **named: Any) -> tuple[Channel, Channel]:
        ends = memory_channels(*arguments, **named, timeout=20.0)
        for end in ends:
            k = self._k if len(self.links) == self._liar else -1
            self.links.append(Mutating(end._link, k, self._rng))
            end._link = self.links[-1]
        return ends


TWO, THREE = ("bank", "shop"), ("bank", "shop", "mart")
TRAININGS = [*((name, TWO) for name in with_variants(protocol_names())), ("sealed", THREE)]


@pytest.mark.parametrize(("protocol", "parties"), TRAININGS)
def test_trainings_with_a_mutated_frame(protocol: str, parties: tuple[str, ...], monkeypatch: Any) -> None:
    """Whoever gets it refuses it by an error of ours, or cannot know: a value may be another and still be one."""
    params = params_of(protocol)
    before, memory = threading.active_count(), psutil.Process().memory_info().rss
    calm = Liars(-1, -1, random.Random())
    monkeypatch.setattr(simulate, "memory_channels", calm)
    toy_run(protocol_of(protocol), params, parties)
    for seed in range(RUNS):
        rng = random.Random(f"{protocol}-{len(parties)}-{seed}")
        liar = rng.randrange(len(calm.links))
        # Half of them among the first frames, with which a run is set up.
        k = rng.randrange(calm.links[liar].sent if seed % 2 else min(12, calm.links[liar].sent))
        monkeypatch.setattr(simulate, "memory_channels", Liars(liar, k, rng))
        with warnings.catch_warnings():
            # A label or gradient that is another may overflow a loss; that is no crash.
            warnings.simplefilter("ignore", RuntimeWarning)
            with suppress(VfxgbError):
                toy_run(protocol_of(protocol), params, parties)
        assert threading.active_count() == before
    assert psutil.Process().memory_info().rss - memory < 3 * MEMORY


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
