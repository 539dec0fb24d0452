"""From 128 base transfers to the 512 that the OPRF needs, and both ends of it (cpp/psi/oprf.h).

The passive party, who will be able to evaluate the function anywhere, offers the base transfers; the active one, who
evaluates it at its own ids, replies. The extension (cpp/ot/iknp.h) then runs with the passive party as receiver: its
512 choices become the secret bits s of the OPRF, and the active party gets both seeds of each pair.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.align.params import CODE_BITS, CODE_BYTES
from vfxgb.ot.base_ot import SEED_BYTES, BaseReceiver, BaseSender
from vfxgb.ot.group import ModpGroup

# Bytes of the extension: four groups of 128 transfers.
CHOICE_BYTES = CODE_BITS * 16
_PERSON = b"vfxgb oprf seed1"


class PassiveEnd:
    """The passive party: send `offer`, give the reply to `finish`, send what it returns; then `sender` is there."""

    def __init__(self, group: ModpGroup, threads: int) -> None:
        self._base = BaseSender(group, threads)
        self._threads = threads
        self.offer = self._base.offer

    def finish(self, reply: bytes, step: str) -> tuple[_native.psi.OprfSender, bytes]:
        """(the OPRF's sender, bytes for the active party). Raises TransferError for a reply that is none."""
        session, pairs = self._base.finish(reply, step)
        choices = _native.rand.random_bytes(CODE_BYTES)
        u, t = _native.ot.OtReceiver(pairs).extend(0, choices, self._threads)
        return _native.psi.OprfSender(session, choices, _seeds(session, t)), u


class ActiveEnd:
    """The active party, made from the offer: send `reply`, give the bytes that come back to `finish`."""

    def __init__(self, offer: bytes, group: ModpGroup, threads: int, step: str) -> None:
        self._base = BaseReceiver(offer, group, threads, step)
        self._threads = threads
        self.reply = self._base.reply

    def finish(self, u: memoryview) -> _native.psi.OprfReceiver:
        """The OPRF's receiver; u has CHOICE_BYTES."""
        base = self._base
        q = _native.ot.OtSender(base.delta, base.seeds).extend(0, u, self._threads)
        other = q ^ np.frombuffer(base.delta, dtype=np.uint8)
        pairs = np.stack([_seeds(base.session, q), _seeds(base.session, other)], axis=1)
        return _native.psi.OprfReceiver(base.session, pairs)


def _seeds(session: bytes, rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A seed from each transfer, uint8[512, 16]: what hides the correlation between the two of a pair."""
    made = b"".join(
        hashlib.blake2b(
            number.to_bytes(8, "little") + row.tobytes(), digest_size=SEED_BYTES, key=session, person=_PERSON
        ).digest()
        for number, row in enumerate(rows)
    )
    return np.frombuffer(made, dtype=np.uint8).reshape(CODE_BITS, SEED_BYTES)
