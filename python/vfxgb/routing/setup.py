"""How two parties come to hidden routing: base transfers once, then transfers by extension.

    passive                         active
    RoutingGreeting  ------------>
                     <------------  RoutingOffer
    RoutingReply     ------------>
                     <------------  TransferStock

This takes 0.7 MB and 0.2 s of processor time, before the first row is asked about. Requests carry a proof that each
transfer has one choice (`checked` of vfxgb.ot): without it an active party that deviates could compute the passive
party's secret, and open every bit.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from vfxgb.errors import MessageError
from vfxgb.ot.base_ot import BaseReceiver, BaseSender
from vfxgb.ot.group import modp_group
from vfxgb.ot.silent import Kind, receiver_of_kind, sender_of_kind
from vfxgb.ot.transfer_bits import MAX_TRANSFER_BITS, choose_k, measured_aes_speed
from vfxgb.ot.transfers import Receiver, Sender, TransferSettings
from vfxgb.routing.messages import (
    RoutingGreeting,
    RoutingOffer,
    RoutingReply,
    SilentRound,
    SilentRoundEnd,
    TransferStock,
)
from vfxgb.routing.receiver import ROUND_DOMAIN, RoutingReceiver
from vfxgb.routing.sender import RoutingSender
from vfxgb.threads import resolve_threads
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_bytes

# Transfers that every session begins with: one group.
LEAST_STOCK = 128
# Nearly all of a question is transfers. With 7 bits they take a seventh fewer bytes than with the 6 of other protocols,
# and no more time that could be measured.
ROUTING_TRANSFER_BITS = 7


@dataclass(frozen=True)
class RoutingSettings:
    """What the active party chooses. `kind`: "soft", which rests on AES, or "silent", which takes fewer bytes and rests
    on learning parity with noise, too (vfxgb.ot); the passive party's bits are as safe either way. `transfer_bits`: of
    soft transfers, and of those that silent ones begin with.
    """

    kind: Kind = "soft"
    transfer_bits: int = ROUTING_TRANSFER_BITS
    threads: int | None = None

    @classmethod
    def for_line(cls, kind: Kind, mbit: float | None, threads: int | None) -> "RoutingSettings":
        """Settings for a line of `mbit` megabits a second, None if nobody has told."""
        bits = ROUTING_TRANSFER_BITS if mbit is None else choose_k(measured_aes_speed(), mbit)
        return cls(kind, bits, threads)


def connect_receivers(
    channels: Mapping[str, Channel], settings: RoutingSettings | None = None, stock: Mapping[str, int] | None = None
) -> dict[str, RoutingReceiver]:
    """The active party's part, with all passive parties at a time. `stock`: transfers that are made now for each.

    There are some in any case: a session that cannot make them shows here. Raises TransferError, PeerError.
    """
    chosen = settings or RoutingSettings()
    threads = resolve_threads(chosen.threads)
    transfers = TransferSettings(chosen.transfer_bits, checked=True, threads=threads)
    offers: dict[str, BaseSender] = {}
    for party, channel in channels.items():
        greeting = bytes(channel.recv(RoutingGreeting).greeting)
        base = offers[party] = BaseSender(greeting, modp_group(), threads, _step(party))
        channel.send(RoutingOffer(chosen.kind, chosen.transfer_bits, pack_bytes(base.offer)))
    receivers: dict[str, RoutingReceiver] = {}
    for party, channel in channels.items():
        session, pairs = offers[party].finish(bytes(channel.recv(RoutingReply).reply), _step(party))
        receiver = Receiver(party, session, pairs, transfers)
        routing = receivers[party] = RoutingReceiver(receiver_of_kind(chosen.kind, receiver, ROUND_DOMAIN), threads)
        count = (stock or {}).get(party, LEAST_STOCK)
        fill_silent(routing, channel, count)
        batch, request = routing.make_stock(count)
        channel.send(TransferStock(batch, count, pack_bytes(request)))
    return receivers


def connect_sender(channel: Channel, threads: int | None = None) -> RoutingSender:
    """A passive party's part. Raises TransferError, MessageError for an offer that is none, PeerError."""
    team, step = resolve_threads(threads), _step(channel.peer)
    base = BaseReceiver(modp_group(), team)
    channel.send(RoutingGreeting(pack_bytes(base.greeting)))
    offer = channel.recv(RoutingOffer)
    if offer.kind not in ("soft", "silent") or not 1 <= offer.transfer_bits <= MAX_TRANSFER_BITS:
        raise MessageError(
            f"{step}: found transfers of kind {offer.kind!r} with {offer.transfer_bits} bits, wanted soft or silent "
            f"ones with 1 to {MAX_TRANSFER_BITS}; install the same vfxgb on both sides"
        )
    channel.send(RoutingReply(pack_bytes(base.reply(bytes(offer.offer), step))))
    settings = TransferSettings(offer.transfer_bits, checked=True, threads=team)
    sender = Sender(channel.peer, base.session, base.delta, base.seeds, settings)
    kind: Kind = "silent" if offer.kind == "silent" else "soft"
    routing = RoutingSender(sender_of_kind(kind, sender, ROUND_DOMAIN), team)
    if routing.silent is not None:
        answer_silent(routing, channel, channel.recv(SilentRound))
    made = channel.recv(TransferStock)
    routing.take_stock(made.batch, made.count, made.transfers)
    return routing


def fill_silent(receiver: RoutingReceiver, channel: Channel, count: int) -> None:
    """Make sure that so many silent transfers are there, by one round trip for each round; nothing with soft ones.

    Nothing else may be on its way. Raises TransferError, PeerError.
    """
    while receiver.silent is not None and receiver.silent.left < count:
        channel.send(SilentRound(pack_bytes(receiver.silent.refill())))
        receiver.silent.finish(channel.recv(SilentRoundEnd).answer)


def answer_silent(sender: RoutingSender, channel: Channel, message: SilentRound) -> None:
    """Answer one round. Raises MessageError where no silent transfers were agreed on, TransferError."""
    if sender.silent is None:
        raise MessageError(
            f"{_step(channel.peer)}: found a round of silent transfers, wanted none: soft ones were agreed on"
        )
    channel.send(SilentRoundEnd(pack_bytes(sender.silent.refill(message.request))))


def _step(peer: str) -> str:
    return f"base transfers of hidden routing with {peer}"
