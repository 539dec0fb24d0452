"""Pieces of argmaxes: made for a whole round, and again within a level where these do not suffice.

The active party says how many are made for a round: at first those of a full tree, later as many as the round before
has used, most of them while the flights of that round wait (ahead.py). What a level still lacks follows from its plan,
which both parties know.
"""

from dataclasses import dataclass

from vfxgb.errors import MessageError
from vfxgb.protocols.sealed.messages import SealedPieces
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_bytes
from vfxgb.two_party import ArgmaxPlan, Correlations, Demand, plan_argmax, total_demand
from vfxgb.two_party.messages import ArgmaxCorrections, ArgmaxPieces

# Full trees are planned for to this depth only: most nodes of deeper levels never open.
PLANNED_DEPTH = 6
# Transfers that one request may ask for: messages of a few hundred megabytes.
MOST_TRANSFERS = 1 << 27
_NONE = Demand()


@dataclass(frozen=True)
class ArgmaxSettings:
    """What both parties plan with: bits of a score, transfer bits, and bytes that a flight may cost."""

    value_bits: int
    transfer_bits: int
    flight_bytes: int

    def plan(self, nodes: int, candidates: int, own: bool, earlier_bits: int) -> ArgmaxPlan:
        """The plan of a level. Raises CapacityError."""
        return plan_argmax(self.value_bits, nodes, candidates, own, earlier_bits, self.transfer_bits, self.flight_bytes)


def tree_demand(settings: ArgmaxSettings, candidates: int, own: bool, depth: int, outputs: int) -> Demand:
    """The pieces of full trees, one for each output; none where they would be too many at once."""
    levels = range(min(depth, PLANNED_DEPTH))
    demand = total_demand([settings.plan(outputs << level, candidates, own, 0) for level in levels])
    return demand if _transfers(demand) <= MOST_TRANSFERS else _NONE


def missing(wanted: Demand, correlations: Correlations) -> Demand:
    """What is lacking in stock."""
    return Demand(*(max(0, need - have) for need, have in zip(wanted, correlations.left, strict=True)))


def offer_pieces(channel: Channel, correlations: Correlations, demand: Demand) -> None:
    """Active party, at the beginning of a round: ask for so many pieces. `finish_pieces` takes the answer."""
    request = correlations.request(demand) if any(demand) else b""
    channel.send(SealedPieces(**demand._asdict(), request=pack_bytes(request)))


def finish_pieces(channel: Channel, correlations: Correlations, demand: Demand) -> None:
    """Active party: take the answer."""
    if any(demand):
        close_pieces(channel, correlations, channel.recv(ArgmaxPieces))


def close_pieces(channel: Channel, correlations: Correlations, answer: ArgmaxPieces) -> None:
    """Active party: use the answer, and send corrections if there are any."""
    corrections = correlations.accept(answer.request)
    correlations.complete(answer.corrections)
    if corrections:
        channel.send(ArgmaxCorrections(pack_bytes(corrections)))


def answer_pieces(channel: Channel, correlations: Correlations, message: SealedPieces, most: Demand) -> bool:
    """Passive party: whether corrections follow. `most`: what it may then have in stock.

    Raises MessageError for a demand that nobody needs: a stock that grows in each round would take all memory.
    """
    demand = Demand(*(getattr(message, kind) for kind in Demand._fields))
    if min(demand) < 0 or any(more > room for more, room in zip(demand, missing(most, correlations), strict=True)):
        raise MessageError(
            f"making pieces of argmaxes with {channel.peer}: found {demand} beside {correlations.left} in stock, "
            f"wanted at most {most} in all for two rounds"
        )
    if any(demand):
        _answer(channel, correlations, demand, message.request)
    return demand.triples > 0


def take_corrections(channel: Channel, correlations: Correlations) -> None:
    """Passive party: wait for the corrections that follow."""
    correlations.complete(channel.recv(ArgmaxCorrections).corrections)


def next_round(wanted: Demand, correlations: Correlations) -> Demand:
    """What to make during a round that takes `wanted` pieces, so that there are as many for the next one."""
    return Demand(*(max(0, 2 * need - have) for need, have in zip(wanted, correlations.left, strict=True)))


def supply_active(channel: Channel, correlations: Correlations, plan: ArgmaxPlan) -> None:
    """Active party: make what an argmax lacks. The passive party does the same at the same time."""
    demand = missing(plan.demand, correlations)
    if any(demand):
        channel.send(ArgmaxPieces(pack_bytes(correlations.request(demand)), pack_bytes(b"")))
        finish_pieces(channel, correlations, demand)


def supply_passive(channel: Channel, correlations: Correlations, plan: ArgmaxPlan) -> None:
    """Passive party: the same."""
    demand = missing(plan.demand, correlations)
    if any(demand):
        _answer(channel, correlations, demand, channel.recv(ArgmaxPieces).request)
        if demand.triples:
            take_corrections(channel, correlations)


def _answer(channel: Channel, correlations: Correlations, demand: Demand, request: memoryview) -> None:
    # Read before anything is sent: two parties that both send much could wait for each other.
    own = correlations.request(demand)
    corrections = correlations.accept(request)
    channel.send(ArgmaxPieces(pack_bytes(own), pack_bytes(corrections)))


def _transfers(demand: Demand) -> int:
    return demand.active_sends + demand.passive_sends
