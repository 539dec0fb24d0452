"""A passive party's side of the comparisons of a level (tournament.py has the active party's)."""

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import PassiveContext
from vfxgb.errors import MessageError
from vfxgb.protocols.receive import receive
from vfxgb.protocols.sealed.ahead import play_passive
from vfxgb.protocols.sealed.messages import SealedCodes, SealedEarlier, SealedPart, SealedWinners, SealedWins
from vfxgb.protocols.sealed.passive_line import PassiveLine
from vfxgb.protocols.sealed.pieces import supply_passive
from vfxgb.transport.messages import pack_array, pack_bytes, unpack_array
from vfxgb.two_party import NOT_YOURS, Demand, PassiveArgmax, WinnerShares, code_fields
from vfxgb.two_party.plan import WORD_BITS

# The active party's own best is one bit of a code.
OWN_BITS = 1


def find_own_winners(
    context: PassiveContext, line: PassiveLine, shares: NDArray[np.uint64], candidates: int, most: Demand
) -> NDArray[np.int64]:
    """The place in the tournament of this party's candidate that won each slot, or NOT_YOURS, int64[slots].

    `most`: pieces that it may have in stock. Raises TransferError, MessageError, CapacityError, PeerError.
    """
    peers, channel, slots = line.peers, context.channel, len(shares)
    first, last = peers.place == 0, peers.place == peers.count - 1
    earlier, widths = (None, []) if first else _earlier(context, line, slots)
    plan = line.settings.plan(slots, candidates, first, 0 if earlier is None else earlier.code_bits)
    supply_passive(channel, line.correlations, plan)
    argmax = PassiveArgmax(plan, line.correlations, shares, earlier, opens=last, threads=context.threads)
    with context.timings.phase("compare"):
        play_passive(context, argmax, line.correlations, line.routing, most)
    if peers.count == 1:
        return argmax.won
    if last:
        winners = argmax.won
        # Of each party before, the bits of its own code, which the active party's share makes its winners.
        fields = code_fields(argmax.forwarded, widths)[::-1]
        channel.send(
            SealedCodes([pack_bytes(peers.seal(j, pack_array(own).tobytes())) for j, own in enumerate(fields)])
        )
    else:
        rho, rest = argmax.winners.split()
        sealed = peers.seal(peers.place + 1, rest.to_bytes())
        channel.send(SealedPart(pack_bytes(rho.to_bytes()), pack_bytes(sealed)))
        winners = _read_winners(context, line, slots, candidates)
    channel.send(SealedWins(slots, pack_array(np.packbits(winners != NOT_YOURS, bitorder="little"))))
    return winners


def _earlier(context: PassiveContext, line: PassiveLine, slots: int) -> tuple[WinnerShares, list[int]]:
    """This party's share of the winners before it, and the widths of their codes."""
    what, peers = f"{context.party} reading earlier winners", line.peers
    message = receive(context, context.channel, SealedEarlier, what)
    widths = message.widths
    if len(widths) != peers.place or not all(1 <= width <= WORD_BITS for width in widths):
        raise MessageError(f"{what}: found codes of {widths} bits, wanted those of {peers.place} parties before")
    before = peers.place - 1
    shares = peers.unseal(before, message.shares)
    sizes = line.settings.value_bits, sum(widths) + OWN_BITS, slots
    return WinnerShares.from_bytes(shares, *sizes, f"passive party {before}"), widths


def _read_winners(context: PassiveContext, line: PassiveLine, slots: int, candidates: int) -> NDArray[np.int64]:
    """This party's winners after all others have played."""
    what, peers = f"{context.party} reading its winners", line.peers
    message = receive(context, context.channel, SealedWinners, what, nodes=slots)
    share = unpack_array(message.share, np.uint64, (slots,), what)
    other = unpack_array(memoryview(peers.unseal(peers.count - 1, message.other)), np.uint64, (slots,), what)
    winners: NDArray[np.int64] = (share ^ other).astype(np.int64) - 1
    if winners.min(initial=NOT_YOURS) < NOT_YOURS or winners.max(initial=NOT_YOURS) >= candidates:
        raise MessageError(f"{what}: found a winner that is none of {candidates} candidates; another party deviates")
    return winners
