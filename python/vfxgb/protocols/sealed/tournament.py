"""The active party's side of the comparisons of a level: which party's split is the best of each slot.

With one passive party its candidates meet the active party's own best, and both are told. With several the winners stay
shared: passive party k passes its share on to the next, in two parts of which one goes through here sealed, and the
last one's winners are opened to their owners alone. Each party then says which slots it has won.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import ActiveContext
from vfxgb.errors import MessageError
from vfxgb.protocols.receive import receive
from vfxgb.protocols.sealed.active_line import ActiveLine
from vfxgb.protocols.sealed.level_shares import Pick, candidates_of, pick_shares
from vfxgb.protocols.sealed.messages import SealedCodes, SealedEarlier, SealedPart, SealedWinners, SealedWins
from vfxgb.protocols.sealed.pieces import ArgmaxSettings, supply_active
from vfxgb.transport.messages import pack_array, unpack_array
from vfxgb.two_party import ActiveArgmax, WinnerShares, code_fields


def find_winners(
    context: ActiveContext,
    settings: ArgmaxSettings,
    lines: Sequence[ActiveLine],
    picks: Mapping[str, Sequence[Pick]],
    own: NDArray[np.int64],
) -> dict[str, NDArray[np.bool_]]:
    """Per passive party which slots it has won, bool[slots]. `own`: the active party's own best scores, int64[slots].

    Raises TransferError, MessageError, CapacityError, PeerError.
    """
    if len(lines) == 1:
        (line,) = lines
        return {line.party: ~_played(context, settings, line, picks[line.party], own, None, last=True).won}
    earlier: WinnerShares | None = None
    widths: list[int] = []
    for place, line in enumerate(lines):
        last = place == len(lines) - 1
        argmax = _played(context, settings, line, picks[line.party], own if place == 0 else None, earlier, last)
        if last:
            _hand_out(context, lines, argmax.forwarded, widths)
            break
        # The party that played last has the lowest bits of a code.
        widths.insert(0, argmax.plan.index_bits)
        part = receive(context, line.channel, SealedPart, f"shares of winners from {line.party}")
        winners = argmax.winners
        sizes = winners.value_bits, winners.code_bits, len(own)
        earlier = winners.joined(WinnerShares.from_bytes(part.rho, *sizes, line.party))
        lines[place + 1].channel.send(SealedEarlier(list(widths), part.rest))
    return _told(context, lines, len(own))


def begin_early(
    context: ActiveContext, settings: ArgmaxSettings, lines: Sequence[ActiveLine], picks: Sequence[Pick]
) -> None:
    """Begin with the first passive party before the active party's own best is known, so that the first flight goes
    with what was sent before.

    Raises TransferError, MessageError, CapacityError, PeerError.
    """
    _begin(context, settings, lines[0], picks, None, None, last=len(lines) == 1, own_later=True)


def _begin(
    context: ActiveContext,
    settings: ArgmaxSettings,
    line: ActiveLine,
    picks: Sequence[Pick],
    own: NDArray[np.int64] | None,
    earlier: WinnerShares | None,
    last: bool,
    own_later: bool = False,
) -> ActiveArgmax:
    shares = pick_shares(line.shares, picks)
    earlier_bits = 0 if earlier is None else earlier.code_bits
    plan = settings.plan(len(shares), candidates_of(picks), own_later or own is not None, earlier_bits)
    supply_active(line.channel, line.correlations, plan)
    with context.timings.phase("compare"):
        line.argmax = ActiveArgmax(
            plan, line.correlations, shares, own, earlier, opens=last, threads=context.threads, own_later=own_later
        )
        line.ahead.begin(line.argmax)
    return line.argmax


def _played(
    context: ActiveContext,
    settings: ArgmaxSettings,
    line: ActiveLine,
    picks: Sequence[Pick],
    own: NDArray[np.int64] | None,
    earlier: WinnerShares | None,
    last: bool,
) -> ActiveArgmax:
    argmax, line.argmax = line.argmax, None
    if argmax is None:
        argmax = _begin(context, settings, line, picks, own, earlier, last)
        line.argmax = None
    else:
        assert own is not None  # noqa: S101 - what has begun early lacks them
        argmax.enter(own)
    with context.timings.phase("compare"):
        line.ahead.play(argmax)
    return argmax


def _hand_out(
    context: ActiveContext, lines: Sequence[ActiveLine], codes: NDArray[np.uint64], widths: Sequence[int]
) -> None:
    """Send every passive party but the last both shares of its winners."""
    *others, last = lines
    sealed = receive(context, last.channel, SealedCodes, f"shares of winners from {last.party}").parties
    if len(sealed) != len(others):
        raise MessageError(
            f"shares of winners from {last.party}: found those of {len(sealed)} parties, wanted {len(others)}"
        )
    fields = code_fields(codes, widths)[::-1]
    for line, share, other in zip(others, fields, sealed, strict=True):
        line.channel.send(SealedWinners(len(share), pack_array(share), other))


def _told(context: ActiveContext, lines: Sequence[ActiveLine], slots: int) -> dict[str, NDArray[np.bool_]]:
    """Which slots the parties say that they have won. Raises MessageError where two claim the same one."""
    won: dict[str, NDArray[np.bool_]] = {}
    claimed = np.zeros(slots, dtype=np.int64)
    for line in lines:
        what = f"slots that {line.party} has won"
        message = receive(context, line.channel, SealedWins, what, nodes=slots)
        bits = unpack_array(message.bits, np.uint8, (-(-slots // 8),), what)
        won[line.party] = np.unpackbits(bits, count=slots, bitorder="little").astype(np.bool_)
        claimed += won[line.party]
    if claimed.max(initial=0) > 1:
        raise MessageError("comparing splits: two passive parties say that they have won the same slot, wanted one")
    return won
