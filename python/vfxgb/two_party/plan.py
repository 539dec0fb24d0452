"""The shape of an argmax, agreed on by both parties: groups, what it takes from the stock, its flights and bytes.

A *flight* is one message, half a round trip; the parties take turns (turns.py). Larger groups take fewer stages and so
fewer flights, and more bytes: all members of a group are compared with each other. `plan_argmax` weighs them against
each other; what wins does not depend on it.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from vfxgb import _native
from vfxgb.errors import CapacityError
from vfxgb.ot.transfer_bits import DEFAULT_TRANSFER_BITS, pieces
from vfxgb.two_party.turns import FlightSize, take_turns

MAX_VALUE_BITS = _native.two_party.max_value_bits
# Bits below Delta that numbers keep from stage to stage, and above V: room for sums of two, and the sign.
CARRIED_GUARD_BITS = _native.two_party.carried_guard_bits
_ROOM_BITS = 2
# How many blocks of a comparison, and factors of a product, are joined at a time: by ANDs, or by lookups.
AND_ARITIES = (2, 3)
LOOKUP_ARITY = _native.two_party.lookup_arity
# Larger groups than this never pay: comparisons grow with the square of the group.
LARGEST_GROUP = 32
# Bytes that saving a flight may cost where the line is not known: 1 ms at 130 Mbit a second.
DEFAULT_FLIGHT_BYTES = 1 << 14
WORD_BITS = 64
# Transfers that a table takes, small or large, and a triple in each direction; the other pieces take one in each
# direction.
TABLE_TRANSFERS = 4
LARGE_TRANSFERS = 7
TRIPLE_TRANSFERS = 2
# Bytes of the corrections of a triple that each party sends.
CORRECTION_BYTES = 3


class Demand(NamedTuple):
    """Pieces that are made ahead (cpp/two_party/stock.h). Of tables and large ones the active party is the sender, of
    back_tables and back_large the passive one.
    """

    tables: int = 0
    ands: int = 0
    muxes: int = 0
    triples: int = 0
    back_tables: int = 0
    large: int = 0
    back_large: int = 0

    @property
    def active_sends(self) -> int:
        """Transfers in which the active party is the sender."""
        return TABLE_TRANSFERS * self.tables + LARGE_TRANSFERS * self.large + self._both_send

    @property
    def passive_sends(self) -> int:
        """Transfers in which the passive party is the sender."""
        return TABLE_TRANSFERS * self.back_tables + LARGE_TRANSFERS * self.back_large + self._both_send

    @property
    def _both_send(self) -> int:
        return self.ands + self.muxes + TRIPLE_TRANSFERS * self.triples

    def plus(self, other: "Demand") -> "Demand":
        """Both together."""
        return Demand(*(a + b for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True)
class ArgmaxPlan:
    """Numbers of an argmax that both parties know.

    value_bits: |V| < 2^value_bits. own: the active party has a candidate of its own in every node. earlier_bits: bits
    of the codes of earlier winners that enter as shares, 0 if none do. groups: sizes by stage, after that of pairs.
    arities: for that of pairs and then each stage, how many blocks of a comparison and factors of a product are joined
    at a time, 2 or 3 by ANDs, or 7 by lookups, which numbers of more than seven blocks do not allow; 2 everywhere where
    it is empty.
    """

    value_bits: int
    nodes: int
    candidates: int
    own: bool
    earlier_bits: int
    groups: tuple[int, ...]
    arities: tuple[int, ...] = ()

    @property
    def index_bits(self) -> int:
        """Bits of a candidate's code, j + 1 for candidate j."""
        return self.candidates.bit_length()

    @property
    def extras(self) -> int:
        """Entrants of a node besides the candidates."""
        return int(self.own) + int(self.earlier_bits > 0)

    @property
    def extra_bits(self) -> int:
        """Bits of the codes of extras: one that says "the active party's own", then those of earlier winners."""
        return int(self.own) + self.earlier_bits

    @property
    def code_bits(self) -> int:
        """Bits of a winner's code."""
        return self.index_bits + self.extra_bits

    @cached_property
    def native(self) -> _native.two_party.Plan:
        """The plan of the C++ core. CapacityError for groups that do not leave one winner and for what does not fit."""
        sizes = self.value_bits, self.nodes, self.candidates, self.extras, self.index_bits, self.extra_bits
        try:
            return _native.two_party.Plan(*sizes, list(self.groups), list(self.arities))
        except (ValueError, TypeError, OverflowError) as error:
            raise CapacityError(f"{self}: {error}; use plan_argmax") from None

    @property
    def demand(self) -> Demand:
        """What it takes from the stock."""
        return Demand(*self.native.demand)

    @property
    def exchanges(self) -> tuple[FlightSize, ...]:
        """The exchanges of the tournament, without the opening of the winners."""
        return tuple(FlightSize(*sizes) for sizes in self.native.exchanges)

    @property
    def opening(self) -> FlightSize:
        """The last exchange, in which each party is told what it may know of the winners."""
        return FlightSize(self.nodes * field_bytes(self.index_bits), self.nodes * field_bytes(1) if self.own else 0)

    def flights(self, opens: bool = True) -> tuple[FlightSize, ...]:
        """The flights, with those of the opening if the winners are opened."""
        exchanges = (*self.exchanges, self.opening) if opens else self.exchanges
        return tuple(turn.size(exchanges) for turn in take_turns(exchanges))

    def transfer_bytes(self, transfer_bits: int = DEFAULT_TRANSFER_BITS) -> int:
        """Bytes of transfers and corrections, both ways; without what seals and rounds their batches."""
        return -(-_transfer_bits(self.demand, transfer_bits) // 8)


def carried_bits(value_bits: int) -> int:
    """Bits of a number from stage to stage, and of the winners' values."""
    return value_bits + _ROOM_BITS + CARRIED_GUARD_BITS


def field_bytes(bits: int) -> int:
    """Bytes of one code of so many bits in an opening."""
    return -(-bits // 8)


def noise_limit(value_bits: int) -> int:
    """The noise, as a number modulo 2^64, that every shared number must stay below: .17 to .23 of Delta.

    Then the winners are a function of the integers alone (cpp/two_party/ring.h).
    """
    return _native.two_party.noise_limit(value_bits) << (WORD_BITS - carried_bits(value_bits))


def flight_bytes_of(mbit: float, round_trip_ms: float) -> int:
    """Bytes that a line of so many megabits a second could carry during one flight: what a flight may cost."""
    return round(mbit * 1e6 / 8 * round_trip_ms / 2000)


def plan_argmax(
    value_bits: int,
    nodes: int,
    candidates: int,
    own: bool = True,
    earlier_bits: int = 0,
    transfer_bits: int = DEFAULT_TRANSFER_BITS,
    flight_bytes: int = DEFAULT_FLIGHT_BYTES,
) -> ArgmaxPlan:
    """The plan with the fewest bytes + flight_bytes * flights. CapacityError for what cannot be shared.

    Both parties must pass the same. See ArgmaxPlan and ot/transfer_bits.py for the arguments.
    """
    step = f"planning an argmax of {nodes} nodes with {candidates} candidates"
    if not 1 <= value_bits <= MAX_VALUE_BITS:
        raise CapacityError(f"{step}: found numbers of {value_bits} bits, wanted 1 to {MAX_VALUE_BITS}; scale them")
    if nodes < 1 or candidates < 1 or earlier_bits < 0 or flight_bytes < 0:
        raise CapacityError(
            f"{step}: found {earlier_bits} bits of earlier winners and {flight_bytes} bytes a flight, wanted a node, a "
            "candidate and nothing below 0"
        )
    plan = ArgmaxPlan(value_bits, nodes, candidates, own, earlier_bits, ())
    if carried_bits(value_bits) + plan.code_bits > WORD_BITS:
        raise CapacityError(
            f"{step}: found numbers of {carried_bits(value_bits)} bits and codes of {plan.code_bits}, wanted "
            f"{WORD_BITS} together; scale the numbers to fewer bits or take fewer candidates"
        )
    left = -(-candidates // 2) + plan.extras
    how = _Costs(value_bits, nodes, plan.code_bits, transfer_bits, flight_bytes)
    whole = []
    for arity in _arities(value_bits):
        cost, flips = _stage_cost(how, candidates, 2, arity, True)
        rest, groups, arities = _cheapest(how, left, not flips)
        whole.append((cost + rest, groups, (arity, *arities)))
    _, groups, arities = min(whole)
    return ArgmaxPlan(value_bits, nodes, candidates, own, earlier_bits, groups, arities)


def _arities(value_bits: int) -> tuple[int, ...]:
    lookups = _native.two_party.blocks(value_bits) <= LOOKUP_ARITY
    return (*AND_ARITIES, LOOKUP_ARITY) if lookups else AND_ARITIES


def _transfer_bits(demand: Demand, transfer_bits: int) -> int:
    transfers = (demand.active_sends + demand.passive_sends) * (pieces(transfer_bits) - 1)
    return transfers + 2 * 8 * CORRECTION_BYTES * demand.triples


class _Costs(NamedTuple):
    """What the cost of a stage depends on besides its entrants."""

    value_bits: int
    nodes: int
    code_bits: int
    transfer_bits: int
    flight_bytes: int


def _stage_cost(how: _Costs, entrants: int, group: int, arity: int, pairs: bool) -> tuple[int, bool]:
    """Bits of a stage and of its flights, and whether the next one begins with the other party."""
    demand, exchanges, flights = _native.two_party.stage_cost(
        how.value_bits, how.nodes, entrants, group, how.code_bits, arity, pairs
    )
    own = _transfer_bits(Demand(*demand), how.transfer_bits) + 8 * sum(map(sum, exchanges))
    return own + 8 * how.flight_bytes * flights, flights % 2 == 1


@lru_cache(maxsize=65536)
def _cheapest(how: _Costs, entrants: int, by_active: bool) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """(cost in bits, groups, arities) of the stages that leave one of `entrants`: by trying all for the first stage.

    `by_active`: the active party begins it.
    """
    if entrants == 1:
        # What follows is the passive party's: if it has the next turn anyway, its last part goes along.
        return 8 * how.flight_bytes * by_active, (), ()
    best: tuple[int, tuple[int, ...], tuple[int, ...]] | None = None
    for group in range(2, min(entrants, LARGEST_GROUP) + 1):
        for arity in _arities(how.value_bits):
            own, flips = _stage_cost(how, entrants, group, arity, False)
            rest, groups, arities = _cheapest(how, -(-entrants // group), by_active != flips)
            if best is None or own + rest < best[0]:
                best = own + rest, (group, *groups), (arity, *arities)
    assert best is not None  # noqa: S101 - two entrants or more make a group
    return best
