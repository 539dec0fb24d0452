"""`vfxgb bench ops`: argmax on shares. Signs of 29 bits, and all argmaxes of a tree, pieces made ahead included.

Both parties work in this process, one after the other, and their processor time is added up. Base transfers are dealt.
What wins is compared with the rule in the open: a wrong winner ends the benchmark.
"""

import time
from dataclasses import dataclass, field

import numpy as np

from vfxgb.bench.ops.transfers import dealt_parties
from vfxgb.errors import BenchmarkError
from vfxgb.ot import TransferSettings
from vfxgb.two_party import (
    ActiveArgmax,
    ArgmaxPlan,
    Correlations,
    Demand,
    PassiveArgmax,
    argmax,
    plan_argmax,
    total_demand,
)

# Numbers of 25 bits, as tables of a million rows have them, have signs of 29: seven blocks of four and the sign.
VALUE_BITS = 25
LEVELS = (1, 2, 4, 8, 16, 32)
DOMAIN = 1
# (what it is called, nodes of each level, candidates of a node, transfer bits). A sign comes with the absolute value.
MEASURED = (
    ("29-bit sign", (4096,), 1, 6),
    ("tree of 155", LEVELS, 155, 6),
    ("tree of 155", LEVELS, 155, 8),
    ("tree of 3,150", LEVELS, 3150, 6),
)
# What a small benchmark leaves out.
MANY_CANDIDATES = 1000


@dataclass
class ArgmaxOperation:
    """Argmaxes of some levels. `per`: how many signs or trees that is. Processor seconds by threads, per repeat.

    transfer_bytes, flight_bytes: on the wire, both ways, of pieces made ahead and of flights.
    """

    what: str
    levels: tuple[int, ...]
    candidates: int
    transfer_bits: int
    flights: int = 0
    transfer_bytes: float = 0.0
    flight_bytes: float = 0.0
    ahead_seconds: dict[int, list[float]] = field(default_factory=dict)
    flight_seconds: dict[int, list[float]] = field(default_factory=dict)

    @property
    def signs(self) -> bool:
        """Whether nodes have one candidate, whose sign and absolute value are all there is to find."""
        return self.candidates == 1

    @property
    def per(self) -> int:
        """Items that bytes and seconds are divided by: signs, or one tree."""
        return sum(self.levels) if self.signs else 1

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"{self.what}, {self.transfer_bits} transfer bits"

    def measure(self, threads: int) -> None:
        """Make the pieces, play all levels and record times and bytes."""
        plans = [
            plan_argmax(VALUE_BITS, nodes, self.candidates, not self.signs, transfer_bits=self.transfer_bits)
            for nodes in self.levels
        ]
        active, passive = _stocks(TransferSettings(self.transfer_bits, threads=threads))
        start = time.process_time()
        requests = active.request(total_demand(plans)), passive.request(total_demand(plans))
        corrections = active.accept(requests[1]), passive.accept(requests[0])
        active.complete(corrections[1])
        passive.complete(corrections[0])
        self.ahead_seconds.setdefault(threads, []).append((time.process_time() - start) / self.per)
        seconds, sent, flights = 0.0, 0, 0
        for plan in plans:
            level = _Level(plan, active, passive, threads)
            seconds += level.seconds
            sent += level.sent
            flights += level.flights
        self.flight_seconds.setdefault(threads, []).append(seconds / self.per)
        self.transfer_bytes = sum(map(len, (*requests, *corrections))) / self.per
        self.flight_bytes = sent / self.per
        self.flights = flights

    def microseconds(self, threads: int) -> tuple[float, float]:
        """Median processor times ahead and in flights, of both parties, for one sign or tree."""
        ahead, flights = (1e6 * float(np.median(times[threads])) for times in (self.ahead_seconds, self.flight_seconds))
        return ahead, flights


class _Level:
    """One argmax of random numbers, played to its end: seconds, bytes and flights."""

    def __init__(self, plan: ArgmaxPlan, active: Correlations, passive: Correlations, threads: int) -> None:
        generator = np.random.default_rng(plan.nodes)
        top = 1 << VALUE_BITS
        values = generator.integers(1 - top, top, (plan.nodes, plan.candidates))
        own = generator.integers(0, top, plan.nodes) if plan.own else None
        mine = generator.integers(0, 1 << 64, values.shape, dtype=np.uint64)
        theirs = (values.astype(np.uint64) << np.uint64(62 - VALUE_BITS)) - mine
        self.sent = 0
        start = time.process_time()
        one = ActiveArgmax(plan, active, mine, own, threads=threads)
        two = PassiveArgmax(plan, passive, theirs, threads=threads)
        while not one.finished:
            sender, receiver = (one, two) if one.sends else (two, one)
            message = sender.send()
            receiver.receive(message)
            self.sent += len(message)
        self.seconds = time.process_time() - start
        self.flights = len(one.flights)
        wanted = argmax(values, np.ones(plan.nodes, dtype=np.int64), extras=None if own is None else own[:, np.newaxis])
        if not np.array_equal(np.where(one.won, plan.candidates, two.won), wanted):
            raise BenchmarkError(f"argmax of {plan}: found other winners than those of the rule")


def argmax_operations(count: int) -> list[ArgmaxOperation]:
    """What is measured; a small `count` of ciphertexts leaves out the largest."""
    return [
        ArgmaxOperation(what, levels, candidates, bits)
        for what, levels, candidates, bits in MEASURED
        if count >= 10_000 or candidates < MANY_CANDIDATES
    ]


def _stocks(settings: TransferSettings) -> tuple[Correlations, Correlations]:
    """Both parties' stocks, after the first requests, which carry seeds."""
    from_active, to_passive = dealt_parties(settings, ("active", "passive"))
    from_passive, to_active = dealt_parties(settings, ("passive", "active"))
    active = Correlations(True, to_passive, from_passive, DOMAIN)
    passive = Correlations(False, to_active, from_active, DOMAIN)
    first = Demand(1, 1, 1)
    requests = active.request(first), passive.request(first)
    active.accept(requests[1])
    passive.accept(requests[0])
    return active, passive
