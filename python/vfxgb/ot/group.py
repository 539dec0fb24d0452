"""The groups of the base transfers: squares modulo the primes of RFC 2409 and RFC 3526 (MODP groups).

    p = 2^b - 2^(b - 64) - 1 + 2^64 (floor(2^(b - 130) pi) + c),

c the least number from 0 that makes p and (p - 1) / 2 prime; the RFCs give it. p is 7 modulo 8, so 2 is a square and
generates all of them, a group of prime order (p - 1) / 2: an element is in it if it is a square and not 1.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

import gmpy2
from msgspec import Meta

from vfxgb import _native
from vfxgb.crypto.sizes import check_modulus_bits
from vfxgb.errors import KeySizeError, TransferError

# Parameters of whoever uses base transfers.
GroupBits = Annotated[
    Literal[768, 1024, 1536, 2048, 3072, 4096],
    Meta(
        description="The number of bits of the prime of the base transfers. Less than 2048 is for tests and needs "
        "`insecure`."
    ),
]
AllowSmallGroups = Annotated[bool, Meta(description="Less than 2048 group_bits are allowed, for tests.")]
DEFAULT_BITS: GroupBits = 3072
# RFC 3526 section 8 asks for exponents of 260 to 420 bits with 3072 of the prime: twice the strength in bits.
SECRET_BYTES = 48
# A random exponent so much longer than a secret one hides, once they are added, whether they were: but for 2^-128.
BLIND_BYTES = 64
_OFFSETS = {768: 149_686, 1024: 129_093, 1536: 741_804, 2048: 124_476, 3072: 1_690_314, 4096: 240_904}


def refuse_small_group(group_bits: int, insecure: bool) -> None:
    """Raise ValueError for a group that protects nothing, unless `insecure` agrees to that."""
    if group_bits < 2048 and not insecure:
        raise ValueError(f"group_bits={group_bits} is no protection: take at least 2048, or pass insecure=True")


@dataclass(frozen=True)
class ModpGroup:
    """Squares modulo a safe prime; elements are little-endian bytes of `width`, a batch of them one buffer."""

    bits: int
    prime: int

    @property
    def width(self) -> int:
        """Bytes of an element."""
        return self.bits // 8

    @property
    def ring(self) -> _native.bigint.Ring:
        """Arithmetic modulo the prime."""
        return _native.bigint.Ring(self.prime.to_bytes(self.width, "little"))

    @property
    def generator(self) -> bytes:
        """The element 2."""
        return (2).to_bytes(self.width, "little")

    def powers_of(self, base: bytes, exponents: bytes, exponent_bytes: int, threads: int) -> bytes:
        """One element to each exponent."""
        return self.ring.fixed_power(base, exponents, exponent_bytes, window=5, threads=threads)

    def split(self, elements: bytes) -> list[bytes]:
        """The elements of a buffer, one by one."""
        return [elements[i : i + self.width] for i in range(0, len(elements), self.width)]

    def check_elements(self, elements: bytes, step: str) -> None:
        """Raise TransferError unless every element is a square in (1, p)."""
        for place, element in enumerate(self.split(elements)):
            value = gmpy2.mpz(int.from_bytes(element, "little"))
            if not 1 < value < self.prime or gmpy2.jacobi(value, self.prime) != 1:
                raise TransferError(
                    f"{step}: element {place} does not lie in the group, wanted a square modulo the prime of "
                    f"{self.bits} bits; the bytes were damaged on the way or the other party deviates"
                )


@lru_cache
def modp_group(bits: int = DEFAULT_BITS, insecure: bool = False) -> ModpGroup:
    """The MODP group with a prime of `bits` bits; below 2048 only with insecure=True, for tests. KeySizeError else."""
    step = "choosing the group of the base transfers"
    if bits not in _OFFSETS:
        raise KeySizeError(f"{step}: found {bits!r} bits, wanted one of {', '.join(map(str, _OFFSETS))}")
    check_modulus_bits(bits, insecure, step)
    over, under = gmpy2.const_pi(bits + 64).as_integer_ratio()
    scaled = int((over << bits - 130) // under)
    return ModpGroup(bits, 2**bits - 2 ** (bits - 64) - 1 + 2**64 * (scaled + _OFFSETS[bits]))
