"""Base transfers in a group (Chou and Orlandi, "The simplest protocol for oblivious transfer", 2015).

In a group of prime order with generator g:

    sender      a secret                       -> A = g^a
    receiver    b_i secret, choice s_i         -> B_i = A^(s_i) g^(b_i)
    shared      sender: B_i^a for choice 0, (B_i / A)^a for choice 1      receiver: A^(b_i), the one of its choice

a has 384 bits and b_i 512. What B_i tells of the choice is whether b_i or a + b_i is its logarithm: even to somebody
who can compute logarithms these look alike, but for a probability of 2^-128. What the receiver lacks is a
Diffie-Hellman secret of A and of an element whose logarithm it does not know.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.ot.group import BLIND_BYTES, SECRET_BYTES, ModpGroup


class GroupSender:
    """The party that gets both elements of every pair. `public` goes to the other."""

    def __init__(self, group: ModpGroup, threads: int) -> None:
        self._group = group
        self._threads = threads
        self._secret = _native.rand.random_bytes(SECRET_BYTES)
        self.public = group.powers_of(group.generator, self._secret, SECRET_BYTES, threads)

    def shared(self, elements: bytes) -> tuple[list[bytes], list[bytes]]:
        """What a receiver of choice 0 and one of choice 1 has for each of its elements, which were checked."""
        group, ring = self._group, self._group.ring
        first = ring.power(elements, self._secret, threads=self._threads)
        # (B / A)^a = B^a (A^-1)^a
        shift = ring.power(ring.inverse(self.public), self._secret)
        second = ring.mul(first, shift * (len(elements) // group.width), threads=self._threads)
        return group.split(first), group.split(second)


class GroupReceiver:
    """The party that chooses: choices uint8[count] of 0 and 1. `elements` go to the other, `shared` stays."""

    def __init__(self, group: ModpGroup, public: bytes, choices: NDArray[np.uint8], threads: int) -> None:
        secrets = _native.rand.random_bytes(len(choices) * BLIND_BYTES)
        # Both cases multiply, so that the time does not depend on the choices.
        factors = (1).to_bytes(group.width, "little"), public
        shifts = b"".join([factors[choice] for choice in choices.tolist()])
        blinds = group.powers_of(group.generator, secrets, BLIND_BYTES, threads)
        self.elements = group.ring.mul(blinds, shifts, threads=threads)
        self.shared = group.split(group.powers_of(public, secrets, BLIND_BYTES, threads))
