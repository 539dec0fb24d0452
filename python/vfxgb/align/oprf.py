"""From 128 base transfers to the seeds that the OPRF needs, and both ends of it (cpp/psi/oprf.h).

The passive party, who will be able to evaluate the function anywhere, is the sender of the base transfers; the active
one, who evaluates it at its own ids, is their receiver and speaks first. Then 768 random transfers (vfxgb/ot) run with
the passive party as receiver: its choices become the secret s of the OPRF, and the active party has both seeds of each
pair. It grows the trees of all seeds and sends what opens, for the passive party, all but one leaf of each.
"""

import numpy as np

from vfxgb import _native
from vfxgb.align.params import OPENING_BYTES, SECRET_BITS
from vfxgb.errors import MessageError
from vfxgb.ot import ModpGroup, Place, Receiver, Sender, TransferSettings
from vfxgb.ot.base_ot import BaseReceiver, BaseSender

# So few transfers that neither their bytes nor their AES count: what counts is to make the keys quickly.
TRANSFER_BITS = 4
_PLACE = Place(domain=0, block=0)


class PassiveEnd:
    """The passive party, made from the greeting: send `offer`, then what `request` makes of the reply.

    `open` gives the OPRF's sender.
    """

    def __init__(self, greeting: bytes, group: ModpGroup, threads: int, step: str) -> None:
        self._base = BaseSender(greeting, group, threads, step)
        self._threads = threads
        self.offer = self._base.offer

    def request(self, reply: bytes, peer: str, step: str) -> bytes:
        """Bytes for the active party. Raises TransferError for a reply that is none."""
        self._session, pairs = self._base.finish(reply, step)
        receiver = Receiver(peer, self._session, pairs, TransferSettings(TRANSFER_BITS, threads=self._threads))
        request, batch = receiver.request(_PLACE, SECRET_BITS)
        self._seeds, choices = batch.keys()
        self._choices = np.packbits(choices, bitorder="little").tobytes()
        return request

    def open(self, opening: memoryview, step: str) -> _native.psi.OprfSender:
        """The OPRF's sender from the active party's opening. Raises MessageError for one of another size."""
        if len(opening) != OPENING_BYTES:
            raise MessageError(f"{step}: found {len(opening)} bytes that open the seeds, wanted {OPENING_BYTES}")
        return _native.psi.OprfSender(self._session, self._choices, self._seeds, opening)


class ActiveEnd:
    """The active party: send `greeting`, give the offer to `reply` and send that; what comes back goes to `finish`."""

    def __init__(self, group: ModpGroup, threads: int) -> None:
        self._base = BaseReceiver(group, threads)
        self._threads = threads
        self.greeting = self._base.greeting

    def reply(self, offer: bytes, step: str) -> bytes:
        """The last step of the base transfers. Raises TransferError for an offer that is none."""
        return self._base.reply(offer, step)

    def finish(self, request: memoryview, peer: str) -> _native.psi.OprfReceiver:
        """The OPRF's receiver, whose opening goes to the peer. Raises TransferError for a request that is none."""
        base = self._base
        settings = TransferSettings(TRANSFER_BITS, threads=self._threads)
        sender = Sender(peer, base.session, base.delta, base.seeds, settings)
        pairs = np.stack(sender.answer(_PLACE, SECRET_BITS, request).keys(), axis=1)
        return _native.psi.OprfReceiver(base.session, pairs)
