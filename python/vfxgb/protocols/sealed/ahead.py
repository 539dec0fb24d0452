"""What travels while flights wait: transfers of hidden routing and pieces of later argmaxes, behind the flights.

Flights are short, and the line is idle while a party waits for one. So the active party sends, behind each of its
flights but the last of an argmax, some of what is needed later: transfers for the rows of this level (TransferStock),
and pieces for the argmaxes of the next round (SealedPieces), which the passive party answers at once (ArgmaxPieces).
Both are random and make up nearly all of the bytes. How much is made follows from the round before. What is missing
in the end is made when it is needed, and what is left over serves the next level or round.
"""

from dataclasses import dataclass, field

from vfxgb.contract import PassiveContext
from vfxgb.errors import MessageError
from vfxgb.protocols.sealed.messages import SealedPieces
from vfxgb.protocols.sealed.pieces import answer_pieces, close_pieces, offer_pieces
from vfxgb.routing import RoutingReceiver, RoutingSender
from vfxgb.routing.messages import TransferStock
from vfxgb.routing.receiver import MAX_BATCH
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_bytes
from vfxgb.two_party import ActiveArgmax, Correlations, Demand, PassiveArgmax
from vfxgb.two_party.messages import ArgmaxCorrections, ArgmaxFlight, ArgmaxPieces, ArgmaxWinners
from vfxgb.two_party.over_channel import send_flight

# Fewer transfers than these are not worth a message of their own: about 150 KB.
LEAST_TRANSFERS = 1 << 16
# Transfers in stock for a row of the table, at most.
MOST_OF_A_ROW = 32


@dataclass(repr=False, eq=False)
class Ahead:
    """The active party's part, with one passive party.

    `rows`: how many rows are routed.
    """

    channel: Channel
    correlations: Correlations
    routing: RoutingReceiver
    rows: int
    # Depth -> transfers of a row that were taken there last.
    _taken: dict[int, int] = field(default_factory=dict)
    # Pieces that are still to be made in this round, and in this level; transfers for this level.
    _pieces: Demand = Demand()  # noqa: RUF009 - a named tuple
    _levels: int = 1
    _pieces_now: Demand = Demand()  # noqa: RUF009 - a named tuple
    _transfers: int = 0
    _waiting: bool = False

    def begin_round(self, pieces: Demand, levels: int) -> None:
        """`pieces` are to be made during a round of so many levels."""
        self._pieces, self._levels = pieces, levels

    def begin_level(self, depth: int, slots: list[int]) -> None:
        """A level begins with so many slots in its trees."""
        # Where nothing is known, half of the slots are taken to be won.
        usual = sum(((count + 1) // 2).bit_length() for count in slots)
        wanted = min(self._taken.get(depth, usual), MOST_OF_A_ROW) * self.rows
        self._transfers = max(0, wanted - self.routing.in_stock)
        left = max(1, self._levels - depth)
        self._pieces_now = Demand(*(-(-count // left) for count in self._pieces))

    def routed(self, depth: int, transfers: int) -> None:
        """So many transfers of each row were taken at a depth."""
        self._taken[depth] = transfers

    def begin(self, argmax: ActiveArgmax) -> None:
        """Send the first flight, with what goes behind it."""
        send_flight(self.channel, argmax)
        self._send(argmax.own_left)

    def play(self, argmax: ActiveArgmax) -> None:
        """Play all other flights, with what goes behind them. Raises what Argmax.receive and Correlations.accept do."""
        while not argmax.finished:
            if argmax.sends:
                send_flight(self.channel, argmax)
                self._send(argmax.own_left)
                continue
            message = self.channel.recv(ArgmaxWinners if argmax.opening else ArgmaxFlight, ArgmaxPieces)
            if isinstance(message, ArgmaxPieces):
                if not self._waiting:
                    raise MessageError(f"comparing splits with {self.channel.peer}: found pieces that nobody asked for")
                close_pieces(self.channel, self.correlations, message)
                self._waiting = False
            else:
                assert isinstance(message, (ArgmaxFlight, ArgmaxWinners))  # noqa: S101 - as recv was asked
                argmax.receive(message.data)

    def _send(self, flights: int) -> None:
        """Send something behind a flight; `flights` of this party are still to come in this argmax."""
        if flights == 0:
            return
        count = min(_part(self._transfers, flights), MAX_BATCH)
        if count > 0:
            batch, request = self.routing.add_stock(count)
            self.channel.send(TransferStock(batch, count, pack_bytes(request)))
            self._transfers -= count
        # The answer comes behind the next flight of the other party; corrections go out before the last of this one.
        if flights == 1 or self._waiting:
            return
        times = max(1, flights // 2)
        whole = self._pieces_now.active_sends
        share = _part(whole, times) / whole if whole else 0.0
        some = Demand(*(min(count, round(count * share)) for count in self._pieces_now))
        if any(some):
            offer_pieces(self.channel, self.correlations, some)
            self._waiting = True
            self._pieces = _less(self._pieces, some)
            self._pieces_now = _less(self._pieces_now, some)


def play_passive(
    context: PassiveContext, argmax: PassiveArgmax, correlations: Correlations, routing: RoutingSender, most: Demand
) -> None:
    """The passive party's part: play all flights, and take and answer what comes behind them.

    `most`: pieces that it may have in stock. Raises MessageError for more pieces, or more transfers than rows could
    need, and what Argmax.receive and Correlations.accept do.
    """
    channel = context.channel
    while not argmax.finished:
        if argmax.sends:
            send_flight(channel, argmax)
            continue
        kind = ArgmaxWinners if argmax.opening else ArgmaxFlight
        message = channel.recv(kind, TransferStock, SealedPieces, ArgmaxCorrections)
        if isinstance(message, TransferStock):
            room = MOST_OF_A_ROW * context.rows.n_rows
            if not 0 < message.count <= room - sum(routing.stocked):
                raise MessageError(
                    f"{context.party} making transfers for routing: found {message.count} more than "
                    f"{sum(routing.stocked)}, wanted at most {room} in all"
                )
            routing.add_stock(message.batch, message.count, message.transfers)
        elif isinstance(message, SealedPieces):
            answer_pieces(channel, correlations, message, most)
        elif isinstance(message, ArgmaxCorrections):
            correlations.complete(message.corrections)
        else:
            assert isinstance(message, (ArgmaxFlight, ArgmaxWinners))  # noqa: S101 - as recv was asked
            argmax.receive(message.data)


def _part(count: int, times: int) -> int:
    """What to send now so that all of it is sent in so many times, or in fewer large enough ones."""
    return min(count, max(LEAST_TRANSFERS, -(-count // times)))


def _less(demand: Demand, some: Demand) -> Demand:
    return Demand(*(max(0, a - b) for a, b in zip(demand, some, strict=True)))
