"""Oblivious transfers between the active party and one passive party, in both directions.

    passive                         active
    SealedGreeting   ------------>
                     <------------  SealedOffer
    SealedReply      ------------>
                     <------------  SealedReverse

Base transfers are made once, with the active party as the one that will choose: it takes bits by routing. 128 of its
transfers are the base of the other direction, which argmaxes need, too. All requests carry the proof that each transfer
has one choice: without it a party that deviates could compute the other's secret.
"""

from dataclasses import dataclass

from vfxgb.errors import MessageError
from vfxgb.ot import Place, Receiver, Sender
from vfxgb.ot.base_ot import BaseReceiver, BaseSender
from vfxgb.ot.group import ModpGroup
from vfxgb.ot.transfer_bits import MAX_TRANSFER_BITS
from vfxgb.ot.transfers import GROUP, TransferSettings
from vfxgb.ot.wire import Bytes

# Routing has the domains 1 and 2 of its session.
ARGMAX_DOMAIN = 3
REVERSE = Place(4, 0)


@dataclass(frozen=True, repr=False)
class BothWays:
    """One party's transfers with another: those that it sends, and those that it receives."""

    sender: Sender
    receiver: Receiver


class ActiveBase:
    """The active party's part. Made from the greeting; send `offer`, give the reply to `finish`, send the request."""

    def __init__(self, peer: str, greeting: Bytes, group: ModpGroup, transfer_bits: int, threads: int) -> None:
        self._peer = peer
        self._settings = TransferSettings(transfer_bits, checked=True, threads=threads)
        self._base = BaseSender(bytes(greeting), group, threads, _step(peer))
        self.offer = self._base.offer

    def finish(self, reply: Bytes) -> tuple[bytes, BothWays]:
        """(request for the passive party, the transfers). Raises TransferError for a reply that is none."""
        session, pairs = self._base.finish(bytes(reply), _step(self._peer))
        receiver = Receiver(self._peer, session, pairs, self._settings)
        request, batch = receiver.request(REVERSE, GROUP)
        return request, BothWays(Sender.reverse(batch, self._settings), receiver)


class PassiveBase:
    """A passive party's part. Send `greeting`, give the offer to `reply`, send that; give the request to `finish`."""

    def __init__(self, peer: str, group: ModpGroup, threads: int) -> None:
        self._peer = peer
        self._threads = threads
        self._base = BaseReceiver(group, threads)
        self.greeting = self._base.greeting
        self._settings = TransferSettings(checked=True, threads=threads)

    def reply(self, offer: Bytes, transfer_bits: int) -> bytes:
        """Bytes for the active party. Raises TransferError for an offer that is none, MessageError for other bits."""
        if not 1 <= transfer_bits <= MAX_TRANSFER_BITS:
            raise MessageError(
                f"{_step(self._peer)}: found transfers of {transfer_bits} bits, wanted 1 to {MAX_TRANSFER_BITS}"
            )
        self._settings = TransferSettings(transfer_bits, checked=True, threads=self._threads)
        return self._base.reply(bytes(offer), _step(self._peer))

    def finish(self, request: Bytes) -> BothWays:
        """The transfers. Raises TransferError for a request that is none."""
        sender = Sender(self._peer, self._base.session, self._base.delta, self._base.seeds, self._settings)
        batch = sender.answer(REVERSE, GROUP, request)
        return BothWays(sender, Receiver.reverse(batch, self._settings))


def _step(peer: str) -> str:
    return f"base transfers with {peer}"
