"""Secure aggregation as papers/003 prints it (equation 7, protocol 1), small and in plain integers, to be broken.

Everything that ERRATA E11 to E19 find wrong is wrong here too, unless a test asks for a corrected step. Notation: N, g
the group; sk_u, sk_S private mask keys; Upsilon_u the sum of a user's masks; r_u and g^r_u its randomness and blinder.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

# Two safe primes of 64 bits: enough that nothing below happens by chance.
Q1, Q2 = 2**64 - 1469, 2**64 - 2597
N = Q1 * Q2
M = N * N


@dataclass
class Printed:
    """All parties of one run. `fresh_masks`: masks depend on call and entry, as E14 wants and the paper does not."""

    n_users: int
    threshold: int
    fresh_masks: bool = False
    rng: Random = field(default_factory=lambda: Random(3))

    def __post_init__(self) -> None:
        self.g = -pow(self.rng.randrange(2, N), 2 * N, M) % M
        self.users = range(self.n_users)
        self.secret = {u: self.rng.randrange(1, N // 4) for u in self.users}
        self.public = {u: pow(self.g, self.secret[u], M) for u in self.users}
        self.server_secret = self.rng.randrange(1, N // 4)
        self.server_public = pow(self.g, self.server_secret, M)

    def phi(self, shared_key: int, call: int, entry: int) -> int:
        """The pseudo-random function of masks: as printed, a function of the shared key alone."""
        position = (call, entry) if self.fresh_masks else ()
        return _hash("mask", shared_key, *position)

    def upsilon(self, u: int, secret: int, call: int = 0, entry: int = 0) -> int:
        """Upsilon_u for somebody who has the private mask key: the user, or the server after it dropped out."""
        masks = ((self.phi(pow(key, secret, M), call, entry), v) for v, key in self.public.items() if v != u)
        return sum(mask if u < v else -mask for mask, v in masks)

    def mask(self, u: int, values: Sequence[int], call: int = 0, modulus: int = N) -> tuple[list[int], int]:
        """SecMask of a vector: the ciphertexts, and the blinder g^r_u. One r for all of them, as VII-C counts."""
        r = self.rng.randrange(1, N // 4)
        blinder = pow(self.g, r, M)
        key = pow(self.server_public, r * _hash("blind", blinder), M)
        masked = [x + self.upsilon(u, self.secret[u], call, entry) % modulus for entry, x in enumerate(values)]
        return [(1 + m * N) * key % M for m in masked], blinder

    def open_one(self, ciphertext: int, blinder: int) -> int:
        """x_u + Upsilon_u of one user, which the server can read after line 6."""
        return self.open_product([ciphertext], [blinder])

    def open_product(self, ciphertexts: Iterable[int], blinders: Iterable[int]) -> int:
        """sum of x_u + Upsilon_u modulo N: line 8 without Upsilon."""
        product, whole = 1, 1
        for c in ciphertexts:
            product = product * c % M
        for blinder in blinders:
            whole = whole * pow(blinder, _hash("blind", blinder), M) % M
        return (product * pow(whole, -self.server_secret, M) % M - 1) // N

    def remaining(self, dropped: Sequence[int], printed: bool, call: int = 0, entry: int = 0) -> int:
        """Upsilon of line 7 from the reconstructed keys of dropped users: as printed, or as E12 corrects it."""
        left = [v for v in self.users if v not in dropped]
        total = 0
        for u in dropped:
            masks = {v: self.phi(pow(self.public[v], self.secret[u], M), call, entry) for v in self.users if v != u}
            total += sum(masks[v] for v in left if u < v)
            total -= sum(masks[v] for v in self.users if u < v) if printed else sum(masks[v] for v in left if u > v)
        return total


def centred(value: int) -> int:
    """The signed integer of a residue modulo N."""
    value %= N
    return value - N if 2 * value > N else value


def _hash(*parts: object) -> int:
    digest = hashlib.sha512(repr(parts).encode()).digest()
    return int.from_bytes(digest, "little") % N
