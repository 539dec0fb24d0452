"""Who sends what when: exchanges packed into flights that go to and fro.

An argmax is a sequence of *exchanges*: in each of them one party, or both, sends a part. A party can make its part of
an exchange once it has both parts of all exchanges before. If both waited for each other after every exchange, each
would take a flight. But a party that sends its part of the next exchange along with an answer lets the other finish two
exchanges at once:

    exchange     chooser         other
    choices      1 ---->
    tables               <---- 2
    layer 1      3 ---->       2         the tables come with the other party's part of layer 1
    layer 2      3 ---->       4         so the chooser finishes layer 1 and sends its part of layer 2, too
    layer 3      5 ---->       4

Lookups that follow each other take even less, if the parties take turns to choose, as who sends tables knows its own
share before:

    choices      1 ---->
    tables               <---- 2
    choices              <---- 2
    tables       3 ---->

The two parties take turns, and each sends all that it can.
"""

from collections.abc import Sequence
from typing import NamedTuple


class FlightSize(NamedTuple):
    """Bytes in each direction, without what seals a message; 0 where nothing is sent."""

    to_passive: int
    to_active: int


class Turn(NamedTuple):
    """One flight: who sends it, and the numbers of the exchanges of which it carries the sender's parts, ascending."""

    by_active: bool
    parts: tuple[int, ...]

    def size(self, exchanges: Sequence[FlightSize]) -> FlightSize:
        """Bytes of the flight."""
        if self.by_active:
            return FlightSize(sum(exchanges[part].to_passive for part in self.parts), 0)
        return FlightSize(0, sum(exchanges[part].to_active for part in self.parts))


class Progress:
    """How far one party has come: `place` is its next exchange, `made` says whether it has made its part of it."""

    def __init__(self, by_active: bool, exchanges: Sequence[FlightSize]) -> None:
        self._exchanges = exchanges
        self._by_active = by_active
        self.place = 0
        self.made = False

    @property
    def over(self) -> bool:
        """Whether all exchanges are finished."""
        return self.place == len(self._exchanges)

    @property
    def own(self) -> int:
        """Bytes of this party's part of the next exchange."""
        size = self._exchanges[self.place]
        return size.to_passive if self._by_active else size.to_active

    @property
    def other(self) -> int:
        """Bytes of the other party's part of it."""
        size = self._exchanges[self.place]
        return size.to_active if self._by_active else size.to_passive

    def make(self) -> None:
        """This party has made its part of the next exchange."""
        self.made = True

    def take(self) -> None:
        """This party has the other's part, too."""
        self.place, self.made = self.place + 1, False


def take_turns(exchanges: Sequence[FlightSize]) -> tuple[Turn, ...]:
    """The flights of these exchanges. Whose part the first one has begins: the active party if it has both."""
    parties = {by_active: Progress(by_active, exchanges) for by_active in (False, True)}
    turns: list[Turn] = []
    by_active = bool(exchanges and exchanges[0].to_passive)
    arrived: list[int] = []
    while not all(party.over for party in parties.values()):
        party, parts = parties[by_active], []
        while not party.over:
            if not party.made:
                if party.own:
                    parts.append(party.place)
                party.make()
            if party.other and party.place not in arrived:
                break
            party.take()
        if parts:
            turns.append(Turn(by_active, tuple(parts)))
        by_active, arrived = not by_active, parts
    return tuple(turns)
