"""Two parties of transfers whose base transfers were dealt by someone both trust, and are known to the test."""

import numpy as np
from numpy.typing import NDArray

from vfxgb.ot import Place, Receiver, ReceiverBatch, Sender, SenderBatch, TransferSettings

SESSION = bytes(range(32))
# Bytes around and before what a request says: header and digest; the seeds of the first one.
OVERHEAD, OPENING = 44 + 16, 4096 + 32


def dealt(seed: int = 0) -> tuple[bytes, NDArray[np.uint8], NDArray[np.uint8]]:
    """(delta, pairs, seeds) of base transfers."""
    generator = np.random.default_rng(seed)
    pairs = generator.integers(0, 256, (128, 2, 16), dtype=np.uint8)
    delta = generator.bytes(16)
    bits = np.unpackbits(np.frombuffer(delta, dtype=np.uint8), bitorder="little")
    return delta, pairs, np.ascontiguousarray(pairs[np.arange(128), bits])


def connect(
    bits: int = 4, checked: bool = False, seed: int = 0, session: bytes = SESSION, threads: int = 1
) -> tuple[Receiver, Sender]:
    delta, pairs, seeds = dealt(seed)
    agreed = TransferSettings(bits, checked, threads)
    return Receiver("shop", session, pairs, agreed), Sender("bank", session, delta, seeds, agreed)


def make(receiver: Receiver, sender: Sender, count: int, block: int = 0) -> tuple[ReceiverBatch, SenderBatch]:
    request, own = receiver.request(Place(0, block), count)
    return own, sender.answer(Place(0, block), count, request)
