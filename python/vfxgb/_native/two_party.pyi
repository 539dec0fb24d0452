"""Argmax on shares (cpp/two_party).

Two parties, the active and the passive one, each hold a share of every number. Counts of what they make ahead come as
(tables, ands, muxes, triples, back_tables, large, back_large). Bits of a code: `index_bits` name a candidate,
`extra_bits` belong to the extras.
"""

from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from . import Buffer

_Counts: TypeAlias = tuple[int, int, int, int, int, int, int]

carried_guard_bits: int
lookup_arity: int
max_value_bits: int

@final
class Stock:
    """What one party has made ahead of transfers (cpp/two_party/stock.h). Each piece is taken once, in order."""

    def __init__(self, active: bool) -> None: ...
    def add_tables(self, entries: NDArray[np.uint8], large: bool) -> None:
        """Tables that this party has, uint8[n, 16]: 16 entries of 8 bits each, or 128 of one bit."""

    def add_chosen(self, choices: NDArray[np.uint8], entries: NDArray[np.uint8], large: bool) -> None:
        """Add choices uint8[n] in the other party's tables, below 16 or 128, and the entries uint8[n] they name."""

    def add_ands(self, sent: NDArray[np.uint8], received: NDArray[np.uint8], choices: NDArray[np.uint8]) -> None:
        """uint8[n] each: both keys of 2 bits that it sends, the lower first; the one it received; which one that is."""

    def add_muxes(self, sent: NDArray[np.uint64], received: NDArray[np.uint64], choices: NDArray[np.uint8]) -> None:
        """Both words uint64[n, 2] that it sends, the one uint64[n] that it received, and which one, uint8[n]."""

    def add_triples(
        self,
        keys: NDArray[np.uint8],
        received: NDArray[np.uint8],
        choices: NDArray[np.uint8],
        others: NDArray[np.uint8],
        corrections: NDArray[np.uint8],
    ) -> None:
        """uint8[n, 4]: the keys that it sends; uint8[n] each: the one it received, which one that is, and its own
        random bits below 8; uint8[n, 3]: the other party's corrections.
        """

    @property
    def left(self) -> _Counts: ...
    @property
    def used(self) -> _Counts: ...

@final
class Plan:
    """The shape of a tournament (cpp/two_party/plan.h). ValueError for groups that do not leave one winner."""

    def __init__(
        self,
        value_bits: int,
        nodes: int,
        candidates: int,
        extras: int,
        index_bits: int,
        extra_bits: int,
        groups: list[int],
        arities: list[int] = ...,
    ) -> None: ...
    @property
    def demand(self) -> _Counts: ...
    @property
    def exchanges(self) -> list[tuple[int, int]]:
        """Bytes of each exchange (to the passive party, to the active one), 0 where nothing is sent."""

@final
class Tournament:
    """One party's side (cpp/two_party/tournament.h); its role is that of the stock, which it takes its pieces from.

    shares uint64[nodes, candidates]. For each exchange: `send`, then `receive`. ValueError for bytes of another size.
    """

    def __init__(
        self,
        plan: Plan,
        shares: NDArray[np.uint64],
        stock: Stock,
        threads: int = 1,
    ) -> None: ...
    def enter(self, values: NDArray[np.uint64], codes: NDArray[np.uint64]) -> None:
        """The extras, uint64[nodes, extras] each, values modulo 2^(value_bits + 2 + carried_guard_bits).

        To be called once before the first stage ends, if there are extras.
        """

    @property
    def finished(self) -> bool: ...
    def send(self) -> bytes: ...
    def receive(self, message: Buffer) -> None: ...
    def winners(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Shares of the winners' (values, codes), uint64[nodes] each, after the last exchange."""

def blocks(value_bits: int) -> int:
    """Blocks of 4 bits that numbers are compared by."""

def noise_limit(value_bits: int) -> int:
    """The noise, in 64ths of Delta, that a shared number must stay below."""

def stage_cost(
    value_bits: int, nodes: int, entrants: int, group: int, code_bits: int, arity: int = 2, pairs: bool = False
) -> tuple[_Counts, list[tuple[int, int]], int]:
    """(demand, bytes of each exchange, flights until the next stage begins) of one stage of groups, or of pairs."""

def correct_triples(keys: NDArray[np.uint8], choices: NDArray[np.uint8], others: NDArray[np.uint8]) -> bytes:
    """Corrections of triples for the other party, 3 bytes each; see Stock.add_triples."""
