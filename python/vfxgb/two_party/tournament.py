"""The largest of shared numbers in absolute value, for all nodes of a level at once: one party's side.

    argmax = ActiveArgmax(plan, correlations, shares, own)      the active party; PassiveArgmax(plan, ..., shares)
    while not argmax.finished:
        if argmax.sends: put(argmax.send())                     the parties take turns, the active one begins
        else: argmax.receive(get())
    argmax.won

What is sent is masked. The last exchange, the *opening*, tells the passive party which of its candidates won or that
none did, and the active party whether its own did. Without it (`opens=False`) the winners stay shared, for a tournament
with another party (winners.py).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import CapacityError, TransferError
from vfxgb.ot.wire import Bytes
from vfxgb.threads import resolve_threads
from vfxgb.two_party.correlations import Correlations
from vfxgb.two_party.plan import ArgmaxPlan, Demand, field_bytes
from vfxgb.two_party.turns import FlightSize, Progress, Turn, take_turns
from vfxgb.two_party.winners import WinnerShares, entrants
from vfxgb.two_party.wire import FlightLine

NOT_YOURS = -1


class Argmax:
    """What both sides share. Not safe to share among threads."""

    active: bool

    def __init__(
        self,
        plan: ArgmaxPlan,
        correlations: Correlations,
        shares: NDArray[np.uint64],
        own: NDArray[np.int64] | None,
        earlier: WinnerShares | None,
        opens: bool,
        threads: int | None,
        own_later: bool = False,
    ) -> None:
        step = f"argmax with {correlations.peer}"
        self.plan = plan
        self._opens = opens
        if correlations.active != self.active:
            raise TransferError(f"{step}: found the stock of the other party, wanted one's own")
        if shares.shape != (plan.nodes, plan.candidates) or shares.dtype != np.uint64:
            raise CapacityError(
                f"{step}: found shares {shares.dtype}{list(shares.shape)}, wanted uint64"
                f"{[plan.nodes, plan.candidates]} as planned"
            )
        extras = None if own_later else entrants(plan, own, earlier, step)
        self._earlier = earlier
        used = sum(correlations.used)
        number = correlations.begin(plan.demand)
        self._line = FlightLine(correlations.peer, correlations.session, self.active, number, used, plan)
        self._native = _native.two_party.Tournament(
            plan.native, np.ascontiguousarray(shares), correlations.native, resolve_threads(threads)
        )
        self._lacks_own = own_later
        if plan.extras and extras is not None:
            self._native.enter(*extras)
        self._exchanges = (*plan.exchanges, plan.opening) if opens else plan.exchanges
        self._turns = take_turns(self._exchanges)
        self._flight = 0
        self._progress = Progress(self.active, self._exchanges)
        # Parts of exchanges that go with the next flight of this party.
        self._outgoing: list[bytes] = []
        self._opened: NDArray[np.uint64] | None = None

    @property
    def flights(self) -> tuple[FlightSize, ...]:
        """All flights, with the opening if there is one."""
        return tuple(turn.size(self._exchanges) for turn in self._turns)

    @property
    def finished(self) -> bool:
        """Whether the last flight is over."""
        return self._flight == len(self._turns)

    @property
    def sends(self) -> bool:
        """Whether the next flight is this party's."""
        return not self.finished and self._turns[self._flight].by_active == self.active

    @property
    def own_left(self) -> int:
        """How many flights of this party are still to come."""
        return sum(turn.by_active == self.active for turn in self._turns[self._flight :])

    @property
    def opening(self) -> bool:
        """Whether the next flight tells its receiver who won."""
        return self._opens and not self.finished and self._turns[self._flight].parts[-1] == len(self._exchanges) - 1

    def send(self) -> bytes:
        """The next flight, which is this party's. TransferError out of turn."""
        self._check_turn(sends=True)
        if not self._outgoing:  # nothing has come yet
            self._advance([])
        payload, self._outgoing = b"".join(self._outgoing), []
        self._flight += 1
        return self._line.seal(self._flight - 1, payload)

    def receive(self, message: Bytes) -> None:
        """Take the next flight, which is the other party's.

        TransferError for bytes that are something else, before anything is made of them; then the right ones may still
        come.
        """
        self._check_turn(sends=False)
        if self._lacks_own:
            raise TransferError(
                f"argmax {self._line.number} with {self._line.peer}: found a flight before the active party's own "
                "candidates entered; call enter first"
            )
        turn = self._turns[self._flight]
        payload = self._line.unseal(message, self._flight, sum(turn.size(self._exchanges)))
        parts, first = [], 0
        for number in turn.parts:
            stop = first + sum(Turn(turn.by_active, (number,)).size(self._exchanges))
            parts.append(payload[first:stop])
            first = stop
        self._flight += 1
        self._advance(parts)

    def _advance(self, parts: list[memoryview]) -> None:
        """Go on with the parts that came, and make all of this party's that can be made."""
        progress = self._progress
        while not progress.over:
            opening = self._opens and progress.place == len(self._exchanges) - 1
            if not progress.made:
                made = self._opening_payload() if opening else self._native.send()
                if made:
                    self._outgoing.append(made)
                progress.make()
            if progress.other and not parts:
                return
            payload: Bytes = parts.pop(0) if progress.other else b""
            if opening:
                self._opened = self._read_opening(payload)
            else:
                self._native.receive(payload)
            progress.take()

    @property
    def winners(self) -> WinnerShares:
        """This party's shares of the winners. TransferError before the last flight, and where they were opened."""
        if not self.finished or self._opens:
            raise TransferError(
                f"argmax with {self._line.peer}: found an argmax that is {'opened' if self._opens else 'not over'}, "
                "wanted one with opens=False after its last flight"
            )
        values, codes = self._native.winners()
        return WinnerShares(self.plan.value_bits, self.plan.code_bits, values, codes)

    @property
    def forwarded(self) -> NDArray[np.uint64]:
        """This party's shares of the codes of earlier winners, uint64[nodes], for the parties whose codes they are.

        0 in sum where none of them won. TransferError before the last flight of the tournament.
        """
        self._check_won(self._native.finished)
        _, codes = self._native.winners()
        return np.asarray(codes >> np.uint64(self.plan.index_bits + int(self.plan.own)))

    def _opening_payload(self) -> bytes:
        """The shares of what the other party may know: the passive one its index, the active one its own bit."""
        _, codes = self._native.winners()
        if self.active:
            return _pack(codes & _ones(self.plan.index_bits), self.plan.index_bits)
        return _pack(codes >> np.uint64(self.plan.index_bits) & _ones(1), 1) if self.plan.own else b""

    def _read_opening(self, payload: Bytes) -> NDArray[np.uint64]:
        _, codes = self._native.winners()
        bits = 1 if self.active else self.plan.index_bits
        if not len(payload):
            return np.zeros(self.plan.nodes, dtype=np.uint64)
        mine = codes >> np.uint64(self.plan.index_bits) if self.active else codes
        return np.asarray((mine ^ _unpack(payload, self.plan.nodes, bits)) & _ones(bits))

    def _check_turn(self, sends: bool) -> None:
        if self.finished or sends != self.sends:
            wanted = "nothing more" if self.finished else ("send" if self.sends else "receive")
            raise TransferError(
                f"argmax {self._line.number} with {self._line.peer}: flight {self._flight} of {len(self._turns)}: "
                f"found a call of {'send' if sends else 'receive'}, wanted {wanted}"
            )

    def _check_won(self, over: bool) -> None:
        if not over:
            raise TransferError(
                f"argmax {self._line.number} with {self._line.peer}: found flight {self._flight} of "
                f"{len(self._turns)}, wanted the last: winners are known after it"
            )

    def _known(self) -> NDArray[np.uint64]:
        self._check_won(self._opened is not None)
        assert self._opened is not None  # noqa: S101 - checked right above
        return self._opened

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.plan}, flight {self._flight} of {len(self._turns)})"


class ActiveArgmax(Argmax):
    """The active party's side. own: int64[nodes], its best value of each node, if the plan says so.

    own_later: the values are not known yet; `enter` takes them, before the first flight of the other party.
    """

    active = True

    def __init__(
        self,
        plan: ArgmaxPlan,
        correlations: Correlations,
        shares: NDArray[np.uint64],
        own: NDArray[np.int64] | None = None,
        earlier: WinnerShares | None = None,
        opens: bool = True,
        threads: int | None = None,
        own_later: bool = False,
    ) -> None:
        if (own is not None or own_later) != plan.own:
            raise CapacityError(
                f"argmax with {correlations.peer}: found {'no ' if own is None else ''}candidates of the active "
                f"party's own, wanted own={plan.own} as planned"
            )
        super().__init__(plan, correlations, shares, own, earlier, opens, threads, own_later)

    def enter(self, own: NDArray[np.int64]) -> None:
        """The values that were to come later. CapacityError for others than planned, TransferError the second time."""
        step = f"argmax {self._line.number} with {self._line.peer}"
        if not self._lacks_own:
            raise TransferError(f"{step}: found candidates of the active party's own once more, wanted them once")
        self._native.enter(*entrants(self.plan, own, self._earlier, step))
        self._lacks_own = False

    @property
    def won(self) -> NDArray[np.bool_]:
        """Whether this party's own candidate won, bool[nodes]; all it learns. TransferError before the opening."""
        return np.asarray(self._known() == 1)


class PassiveArgmax(Argmax):
    """The passive party's side. Its candidates are numbered as its shares stand."""

    active = False

    def __init__(
        self,
        plan: ArgmaxPlan,
        correlations: Correlations,
        shares: NDArray[np.uint64],
        earlier: WinnerShares | None = None,
        opens: bool = True,
        threads: int | None = None,
    ) -> None:
        super().__init__(plan, correlations, shares, None, earlier, opens, threads)

    @property
    def won(self) -> NDArray[np.int64]:
        """The candidate that won, or NOT_YOURS, int64[nodes]; all it learns.

        TransferError before the opening, and for a code that is no candidate: the other party deviates.
        """
        index = self._known().astype(np.int64) - 1
        if index.size and int(index.max()) >= self.plan.candidates:
            raise TransferError(
                f"argmax {self._line.number} with {self._line.peer}: found candidate {int(index.max())} as a winner, "
                f"wanted one of {self.plan.candidates}; the other party deviates from the protocol"
            )
        return index


def run(argmax: Argmax, put: Callable[[bytes], None], get: Callable[[], Bytes]) -> None:
    """Play all flights over a link: `put` sends a message, `get` waits for the next one."""
    while not argmax.finished:
        if argmax.sends:
            put(argmax.send())
        else:
            argmax.receive(get())


def total_demand(plans: "list[ArgmaxPlan]") -> Demand:
    """What several argmaxes take together, to be made ahead with one request."""
    out = Demand()
    for plan in plans:
        out = out.plus(plan.demand)
    return out


def _ones(bits: int) -> np.uint64:
    return np.uint64((1 << bits) - 1)


def _pack(codes: NDArray[np.uint64], bits: int) -> bytes:
    """Whole bytes a code, the lowest first."""
    return np.ascontiguousarray(codes.astype("<u8").view(np.uint8).reshape(-1, 8)[:, : field_bytes(bits)]).tobytes()


def _unpack(payload: Bytes, nodes: int, bits: int) -> NDArray[np.uint64]:
    out = np.zeros((nodes, 8), dtype=np.uint8)
    out[:, : field_bytes(bits)] = np.frombuffer(payload, dtype=np.uint8).reshape(nodes, field_bytes(bits))
    return out.view("<u8").reshape(nodes).astype(np.uint64)
