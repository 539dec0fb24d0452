"""Both parties of an argmax in one process: dealt transfers, shares with noise, flights back and forth, naive twins."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dealt_transfers import dealt
from vfxgb.ot import Receiver, Sender, TransferSettings
from vfxgb.two_party import ActiveArgmax, Argmax, ArgmaxPlan, Correlations, Demand, PassiveArgmax, noise_limit
from vfxgb.two_party.winners import WinnerShares

DOMAIN = 5


@dataclass
class Sides:
    """The stocks of both parties."""

    active: Correlations
    passive: Correlations

    def make(self, demand: Demand) -> int:
        """Make pieces; the bytes of both requests."""
        mine, theirs = self.active.request(demand), self.passive.request(demand)
        self.active.accept(theirs)
        self.passive.accept(mine)
        return len(mine) + len(theirs)


def session_name(seed: int) -> bytes:
    return hashlib.sha256(f"two-party test {seed}".encode()).digest()


def ends(seed: int = 0, bits: int = 6, checked: bool = False, threads: int = 1) -> tuple[Sender, Receiver]:
    """A sender and the receiver of its transfers."""
    delta, pairs, seeds = dealt(seed)
    settings, session = TransferSettings(bits, checked, threads), session_name(seed)
    return Sender("the other", session, delta, seeds, settings), Receiver("the other", session, pairs, settings)


def sides(seed: int = 0, bits: int = 6, checked: bool = False, threads: int = 1) -> Sides:
    to_passive, from_active = ends(2 * seed, bits, checked, threads)
    to_active, from_passive = ends(2 * seed + 1, bits, checked, threads)
    return Sides(
        Correlations(True, to_passive, from_passive, DOMAIN), Correlations(False, to_active, from_active, DOMAIN)
    )


def share(
    values: NDArray[np.int64], value_bits: int, generator: np.random.Generator, noise: str = "edge"
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Shares modulo 2^64 of Delta V + noise. noise: "edge" at the limit, "any" below it, "none"."""
    most = noise_limit(value_bits) - 1
    shape = values.shape
    drawn = generator.integers(-most, most + 1, shape)
    if noise == "edge":
        drawn = np.where(generator.integers(0, 2, shape) == 1, most, -most)
    if noise == "none":
        drawn = np.zeros(shape, dtype=np.int64)
    mine = generator.integers(0, 1 << 64, shape, dtype=np.uint64)
    whole = (values.astype(np.uint64) << np.uint64(62 - value_bits)) + drawn.astype(np.uint64)
    return mine, whole - mine


def play(active: Argmax, passive: Argmax) -> list[tuple[bytes, bytes]]:
    """Play to the end; what was sent (by the active party, by the passive one) in every flight: b"" by one of them."""
    sent = []
    while not active.finished:
        assert active.sends != passive.sends
        sender, receiver = (active, passive) if active.sends else (passive, active)
        message = sender.send()
        receiver.receive(message)
        sent.append((message, b"") if sender is active else (b"", message))
    assert passive.finished
    return sent


def decide(
    plan: ArgmaxPlan,
    values: NDArray[np.int64],
    own: NDArray[np.int64] | None,
    generator: np.random.Generator,
    both: Sides,
    noise: str = "edge",
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """(whether the active party's own won, the passive party's winner) of each node."""
    x, y = share(values, plan.value_bits, generator, noise)
    both.make(plan.demand)
    active, passive = ActiveArgmax(plan, both.active, x, own), PassiveArgmax(plan, both.passive, y)
    play(active, passive)
    return active.won, passive.won


def argmax_by_text(values: Sequence[int], tau: int, order: Sequence[int], extras: Sequence[int]) -> int:
    """The rule of two_party/rule.py for one node, word by word."""
    placed = [(tau * values[column], column) for column in order]
    left = [(abs(value), len(values) + k) for k, value in enumerate(extras)]
    for place in range(0, len(placed), 2):
        pair = placed[place : place + 2]
        winner = pair[0]
        if len(pair) == 2:
            a, b = abs(pair[0][0]), abs(pair[1][0])
            if b > a or (a == b and pair[0][0] < 0):
                winner = pair[1]
        left.append((abs(winner[0]), winner[1]))
    largest = max(value for value, _ in left)
    return next(name for value, name in left if value == largest)


def open_winners(mine: WinnerShares, theirs: WinnerShares) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """(values in 64ths, codes) of shared winners."""
    both = mine.joined(theirs)
    return both.values, both.codes
