"""`vfxgb bench ops`: oblivious transfers. Random transfers with both parties' keys, of several kinds.

Base transfers are dealt, so that only what is done per transfer counts. k = 1 is the extension of Ishai, Kilian, Nissim
and Petrank, with 128 bits a transfer. The parties work one after the other.
"""

import hashlib
import time
from dataclasses import dataclass, field

import numpy as np

from vfxgb import _native
from vfxgb.ot import Kind, Place, Receiver, Sender, SilentReceiver, SilentSender, TransferSettings
from vfxgb.ot.silent import SilentShape

MEASURED: tuple[tuple[Kind, int], ...] = (
    ("soft", 1),
    ("soft", 2),
    ("soft", 4),
    ("soft", 6),
    ("soft", 8),
    ("silent", 8),
)
BATCH = 1 << 18
QUICK_BATCH = 1 << 15


@dataclass
class TransferOperation:
    """Transfers of a kind with some k. `bytes_each`: on the wire. Seconds of a batch by number of threads, per repeat.

    Silent transfers count their part of the round that they come from, with the transfers that it takes.
    """

    kind: Kind
    transfer_bits: int
    batch: int
    bytes_each: float = 0.0
    receiver_seconds: dict[int, list[float]] = field(default_factory=dict)
    sender_seconds: dict[int, list[float]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the table calls it."""
        if self.kind == "silent":
            return f"silent, {self.transfer_bits} transfer bits"
        return f"{self.transfer_bits} transfer bits" + (" (IKNP)" if self.transfer_bits == 1 else "")

    def measure(self, threads: int) -> None:
        """Make one batch and record the times."""
        clock = _Clock()
        receiver, sender = dealt_parties(TransferSettings(self.transfer_bits, threads=threads))
        # The first request carries the seeds and makes the sender's keys.
        request, _ = receiver.request(Place(0, 0), 1)
        sender.answer(Place(0, 0), 1, request)
        mine, theirs = (receiver, sender) if self.kind == "soft" else self._silent(receiver, sender, clock)
        clock.start()
        request, own = mine.request(Place(0, 1), self.batch)
        received, _ = own.keys()
        clock.add("receiver", 1)
        zero, _ = theirs.answer(Place(0, 1), self.batch, request).keys()
        clock.add("sender", 1)
        if len(zero) != len(received):
            raise AssertionError("both parties have keys of every transfer")
        self.bytes_each = len(request) / self.batch + clock.bytes_each
        self.receiver_seconds.setdefault(threads, []).append(clock.seconds["receiver"])
        self.sender_seconds.setdefault(threads, []).append(clock.seconds["sender"])

    def _silent(self, receiver: Receiver, sender: Sender, clock: "_Clock") -> tuple[SilentReceiver, SilentSender]:
        """A round, of whose cost a batch has its part."""
        mine, theirs = SilentReceiver(receiver, 1), SilentSender(sender, 1)
        part = self.batch / SilentShape().count
        clock.start()
        request = mine.refill()
        clock.add("receiver", part)
        answer = theirs.refill(request)
        clock.add("sender", part)
        mine.finish(answer)
        clock.add("receiver", part)
        clock.bytes_each = (len(request) + len(answer)) / SilentShape().count
        return mine, theirs

    def nanoseconds(self, threads: int) -> tuple[float, float]:
        """Median times of a transfer at the receiver and at the sender."""
        receiver, sender = (
            1e9 * float(np.median(seconds[threads])) / self.batch
            for seconds in (self.receiver_seconds, self.sender_seconds)
        )
        return receiver, sender


class _Clock:
    """Seconds of both parties, who work in turn."""

    def __init__(self) -> None:
        self.seconds = {"receiver": 0.0, "sender": 0.0}
        self.bytes_each = 0.0

    def start(self) -> None:
        self._last = time.perf_counter()

    def add(self, party: str, part: float) -> None:
        """Count `part` of the time since the last call for a party."""
        now = time.perf_counter()
        self.seconds[party] += part * (now - self._last)
        self._last = now


def transfer_operations(count: int) -> list[TransferOperation]:
    """What is measured; a small `count` of ciphertexts asks for small batches, too."""
    batch = BATCH if count >= 10_000 else QUICK_BATCH
    return [TransferOperation(kind, bits, batch) for kind, bits in MEASURED]


def dealt_parties(
    settings: TransferSettings, peers: tuple[str, str] = ("sender", "receiver")
) -> tuple[Receiver, Sender]:
    """Both parties of transfers whose base transfers were dealt; `peers`: whom the receiver and the sender talk to."""
    pairs = np.frombuffer(_native.rand.random_bytes(128 * 2 * 16), dtype=np.uint8).reshape(128, 2, 16)
    delta = _native.rand.random_bytes(16)
    bits = np.unpackbits(np.frombuffer(delta, dtype=np.uint8), bitorder="little")
    seeds = np.ascontiguousarray(pairs[np.arange(128), bits])
    session = hashlib.sha256(delta).digest()
    return Receiver(peers[0], session, pairs, settings), Sender(peers[1], session, delta, seeds, settings)
