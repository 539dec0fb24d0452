"""`vfxgb bench ops`: oblivious transfers. Random transfers with both parties' keys, for several transfer bits.

Base transfers are dealt, so that only what is done per transfer counts. k = 1 is the extension of Ishai, Kilian, Nissim
and Petrank, with 128 bits a transfer. The parties work one after the other.
"""

import hashlib
import time
from dataclasses import dataclass, field

import numpy as np

from vfxgb import _native
from vfxgb.ot import Place, Receiver, Sender, TransferSettings

MEASURED_BITS = (1, 2, 4, 6, 8)
BATCH = 1 << 18
QUICK_BATCH = 1 << 15


@dataclass
class TransferOperation:
    """Transfers with some k. `bytes_each`: on the wire. Seconds of a batch by number of threads, per repeat."""

    transfer_bits: int
    batch: int
    bytes_each: float = 0.0
    receiver_seconds: dict[int, list[float]] = field(default_factory=dict)
    sender_seconds: dict[int, list[float]] = field(default_factory=dict)

    def measure(self, threads: int) -> None:
        """Make one batch and record the times."""
        receiver, sender = _parties(TransferSettings(self.transfer_bits, threads=threads))
        # The first request carries the seeds and makes the sender's keys.
        request, _ = receiver.request(Place(0, 0), 1)
        sender.answer(Place(0, 0), 1, request)
        start = time.perf_counter()
        request, own = receiver.request(Place(0, 1), self.batch)
        received, _ = own.keys()
        middle = time.perf_counter()
        zero, _ = sender.answer(Place(0, 1), self.batch, request).keys()
        end = time.perf_counter()
        if len(zero) != len(received):
            raise AssertionError("both parties have keys of every transfer")
        self.bytes_each = len(request) / self.batch
        self.receiver_seconds.setdefault(threads, []).append(middle - start)
        self.sender_seconds.setdefault(threads, []).append(end - middle)

    def nanoseconds(self, threads: int) -> tuple[float, float]:
        """Median times of a transfer at the receiver and at the sender."""
        receiver, sender = (
            1e9 * float(np.median(seconds[threads])) / self.batch
            for seconds in (self.receiver_seconds, self.sender_seconds)
        )
        return receiver, sender


def transfer_operations(count: int) -> list[TransferOperation]:
    """What is measured; a small `count` of ciphertexts asks for small batches, too."""
    batch = BATCH if count >= 10_000 else QUICK_BATCH
    return [TransferOperation(bits, batch) for bits in MEASURED_BITS]


def _parties(settings: TransferSettings) -> tuple[Receiver, Sender]:
    pairs = np.frombuffer(_native.rand.random_bytes(128 * 2 * 16), dtype=np.uint8).reshape(128, 2, 16)
    delta = _native.rand.random_bytes(16)
    bits = np.unpackbits(np.frombuffer(delta, dtype=np.uint8), bitorder="little")
    seeds = np.ascontiguousarray(pairs[np.arange(128), bits])
    session = hashlib.sha256(delta).digest()
    return Receiver("sender", session, pairs, settings), Sender("receiver", session, delta, seeds, settings)
