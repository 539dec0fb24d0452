"""A passive party's line to the active party: encrypted columns, pieces of argmaxes, and hidden routing."""

from dataclasses import dataclass

from vfxgb.contract import PassiveContext
from vfxgb.crypto.key_agreement import HybridKey
from vfxgb.errors import MessageError
from vfxgb.lattice import ColumnOwner, LatticeOpen, LatticeSeed
from vfxgb.protocols.receive import receive
from vfxgb.protocols.sealed.columns import CandidateColumns
from vfxgb.protocols.sealed.messages import SealedGreeting, SealedOffer, SealedReply, SealedReverse
from vfxgb.protocols.sealed.params import SealedParams
from vfxgb.protocols.sealed.peers import PassivePeers
from vfxgb.protocols.sealed.pieces import ArgmaxSettings
from vfxgb.protocols.sealed.transfers import ARGMAX_DOMAIN, BothWays, PassiveBase
from vfxgb.routing import RoutingSender
from vfxgb.transport.messages import pack_bytes
from vfxgb.two_party import Correlations

MOST_FLIGHT_BYTES = 1 << 32


@dataclass(frozen=True)
class PassiveLine:
    """What a passive party has with the active party, from the set-up on. `peers`: the other passive parties."""

    settings: ArgmaxSettings
    samples_columns: bool
    peers: PassivePeers
    owner: ColumnOwner
    correlations: Correlations
    routing: RoutingSender


def set_up_line(context: PassiveContext, columns: CandidateColumns) -> PassiveLine:
    """Set up with the active party. Raises TransferError, LatticeError, CapacityError, MessageError, PeerError."""
    settings, samples_columns, peers, both = _base_transfers(context)
    params: SealedParams = context.params
    what, channel = f"{context.party} setting up", context.channel
    owner = ColumnOwner(channel.peer, columns, params.setup_dir, context.party, context.threads)
    offer = owner.offer(receive(context, channel, LatticeOpen, what))
    channel.send(offer)
    if owner.params.value_bits != settings.value_bits:
        raise MessageError(
            f"{what}: found sums of {owner.params.value_bits} bits, wanted {settings.value_bits} as score_bits says"
        )
    if not offer.stored:
        owner.accept(receive(context, channel, LatticeSeed, what))
    with context.timings.phase("set-up"):
        channel.send(owner.zeros())
        for block in owner.blocks():
            channel.send(block)
    correlations = Correlations(False, both.sender, both.receiver, ARGMAX_DOMAIN)
    return PassiveLine(
        settings, samples_columns, peers, owner, correlations, RoutingSender(both.sender, context.threads)
    )


def _base_transfers(context: PassiveContext) -> tuple[ArgmaxSettings, bool, PassivePeers, BothWays]:
    params: SealedParams = context.params
    what, channel = f"{context.party} setting up", context.channel
    base = PassiveBase(channel.peer, params.group, context.threads)
    key = HybridKey()
    channel.send(SealedGreeting(pack_bytes(base.greeting), key.public))
    offer = receive(context, channel, SealedOffer, what)
    if not 0 <= offer.flight_bytes <= MOST_FLIGHT_BYTES:
        raise MessageError(f"{what}: found {offer.flight_bytes} bytes a flight, wanted 0 to {MOST_FLIGHT_BYTES}")
    peers = PassivePeers(key, offer.publics, offer.place, what)
    channel.send(SealedReply(pack_bytes(base.reply(offer.offer, offer.transfer_bits)), peers.ciphertexts))
    reverse = receive(context, channel, SealedReverse, what)
    peers.accept(reverse.ciphertexts)
    bits = context.score_bits
    assert bits is not None  # noqa: S101 - the role has checked it
    settings = ArgmaxSettings(bits, offer.transfer_bits, offer.flight_bytes)
    return settings, offer.samples_columns, peers, base.finish(reverse.request)
