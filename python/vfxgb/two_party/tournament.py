"""The largest of shared numbers in absolute value, for all nodes of a level at once: one party's side.

    argmax = ActiveArgmax(plan, correlations, shares, own)      the active party; PassiveArgmax(plan, ..., shares)
    message = argmax.step()                                     what it sends first, b"" where it sends nothing
    message = argmax.step(received)                             for each flight: b"" where nothing was sent
    argmax.won                                                  after the last

or `run(argmax, put, get)` over any link. What is sent is masked. The last flight, the *opening*, tells the passive
party which of its candidates won or that none did, and the active party whether its own did. Without it (`opens=False`)
the winners stay shared, for a tournament with another party (winners.py).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import CapacityError, TransferError
from vfxgb.ot.wire import Bytes
from vfxgb.threads import resolve_threads
from vfxgb.two_party.correlations import Correlations
from vfxgb.two_party.plan import ArgmaxPlan, Demand, FlightSize, field_bytes
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
        values, codes = entrants(plan, own, earlier, step)
        used = sum(correlations.used)
        number = correlations.begin(plan.demand)
        self._line = FlightLine(correlations.peer, correlations.session, self.active, number, used, plan)
        self._native = _native.two_party.Tournament(
            plan.native, np.ascontiguousarray(shares), values, codes, correlations.native, resolve_threads(threads)
        )
        self._flights = (*plan.flights, plan.opening) if opens else plan.flights
        self._flight = 0
        self._sent = False
        self._opened: NDArray[np.uint64] | None = None

    @property
    def flights(self) -> tuple[FlightSize, ...]:
        """All flights, with the opening if there is one."""
        return self._flights

    @property
    def finished(self) -> bool:
        """Whether the last flight is over."""
        return self._flight == len(self._flights)

    @property
    def expects(self) -> bool:
        """Whether the other party sends something in the flight that is next or under way."""
        return not self.finished and self._incoming > 0

    @property
    def opening(self) -> bool:
        """Whether the flight that is next or under way tells the parties who won."""
        return self._opens and self._flight == len(self._flights) - 1

    @property
    def _incoming(self) -> int:
        size = self._flights[self._flight]
        return size.to_active if self.active else size.to_passive

    @property
    def _outgoing(self) -> int:
        size = self._flights[self._flight]
        return size.to_passive if self.active else size.to_active

    def send(self) -> bytes:
        """What this party sends in the flight that is next; empty where it sends nothing. TransferError out of turn."""
        self._check_turn(False)
        payload = self._opening_payload() if self.opening else self._native.send()
        self._sent = True
        return self._line.seal(self._flight, payload) if self._outgoing else b""

    def receive(self, message: Bytes) -> None:
        """What the other party sent in that flight, empty where it sends nothing.

        TransferError for bytes that are something else, before anything is made of them; then the right ones may still
        come.
        """
        self._check_turn(True)
        payload: Bytes = b""
        if self._incoming:
            payload = self._line.unseal(message, self._flight, self._incoming)
        elif len(message):
            raise TransferError(
                f"argmax {self._line.number} with {self._line.peer}: found {len(message)} bytes in flight "
                f"{self._flight}, wanted none: the other party sends nothing there"
            )
        if self.opening:
            self._opened = self._read_opening(payload)
        else:
            self._native.receive(payload)
        self._sent = False
        self._flight += 1

    def step(self, received: Bytes | None = None) -> bytes:
        """Take what arrived in a flight, None before the first, and return what is sent in the next; b"" at the end."""
        if received is not None:
            self.receive(received)
        return b"" if self.finished else self.send()

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

    def _check_turn(self, sent: bool) -> None:
        if self.finished or sent != self._sent:
            wanted = "nothing more" if self.finished else ("send" if not self._sent else "receive")
            raise TransferError(
                f"argmax {self._line.number} with {self._line.peer}: flight {self._flight} of {len(self._flights)}: "
                f"found a call of {'receive' if sent else 'send'}, wanted {wanted}"
            )

    def _check_won(self, over: bool) -> None:
        if not over:
            raise TransferError(
                f"argmax {self._line.number} with {self._line.peer}: found flight {self._flight} of "
                f"{len(self._flights)}, wanted the last: winners are known after it"
            )

    def _known(self) -> NDArray[np.uint64]:
        self._check_won(self._opened is not None)
        assert self._opened is not None  # noqa: S101 - checked right above
        return self._opened

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.plan}, flight {self._flight} of {len(self._flights)})"


class ActiveArgmax(Argmax):
    """The active party's side. own: int64[nodes], its best value of each node, if the plan says so."""

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
    ) -> None:
        if (own is not None) != plan.own:
            raise CapacityError(
                f"argmax with {correlations.peer}: found {'no ' if own is None else ''}candidates of the active "
                f"party's own, wanted own={plan.own} as planned"
            )
        super().__init__(plan, correlations, shares, own, earlier, opens, threads)

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
        message = argmax.send()
        if message:
            put(message)
        argmax.receive(get() if argmax.expects else b"")


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
