"""Random integers and primes for key generation.

All randomness comes from the one generator of the package, `_native.rand.random_bytes`. Big-number arithmetic is
gmpy2's: key generation is a one-off, and nothing here runs per ciphertext.
"""

import math
from functools import cache
from math import gcd

import gmpy2
import numpy as np
from numpy.typing import NDArray

from vfxgb import _native

# GMP runs a Baillie-PSW test and 24 rounds fewer of Miller-Rabin than this.
PRIMALITY_ROUNDS = 40
SIEVE_LIMIT = 1 << 16
# No modulus of another party may have a factor below this.
SMALL_FACTOR_LIMIT = 1 << 20
# |u| of the known prime factors of p - 1 and q - 1: twice the security of the largest key, and then some.
ORDER_BITS = 320
# A prime below this size leaves too little room beside a factor of ORDER_BITS bits: insecure test keys only.
MIN_PRIME_BITS_FOR_FULL_ORDER = 448


def random_bits(bits: int) -> int:
    """A uniform integer in [0, 2**bits)."""
    value = int.from_bytes(_native.rand.random_bytes(-(-bits // 8)), "little")
    return value & ((1 << bits) - 1)


def random_below(limit: int) -> int:
    """A uniform integer in [0, limit), limit >= 1, by rejection."""
    bits = (limit - 1).bit_length()
    while True:
        value = random_bits(bits)
        if value < limit:
            return value


def random_unit(n: int) -> int:
    """A uniform element of Z*_n other than 0 and 1, n >= 3."""
    while True:
        x = random_below(n)
        if x > 1 and gcd(x, n) == 1:
            return x


def power(base: int, exponent: int, modulus: int) -> int:
    """base**exponent mod modulus."""
    return int(gmpy2.powmod(base, exponent, modulus))


def crt(a_p: int, p: int, a_q: int, q: int) -> int:
    """The x in [0, pq) with x = a_p mod p and x = a_q mod q, for coprime p and q."""
    return a_p + p * (((a_q - a_p) * int(gmpy2.invert(p, q))) % q)


def is_prime(x: int) -> bool:
    """Whether x is prime, wrong with negligible probability even for x chosen by an adversary."""
    return bool(gmpy2.is_prime(x, PRIMALITY_ROUNDS))


def random_prime(bits: int) -> int:
    """A uniform prime of exactly `bits` bits, bits >= 3."""
    while True:
        x = random_bits(bits - 1) | (1 << (bits - 1)) | 1
        if _passes_sieve(x) and is_prime(x):
            return x


def safe_prime(bits: int) -> int:
    """A random prime q = 2 q' + 1 of exactly `bits` bits, q' an odd prime too, with its top two bits set; bits >= 16.

    Candidates q' come from random stretches of odd numbers, in random order, after a sieve for q' and q at once.
    """
    low, count = 3 << (bits - 3), 1 << (bits - 4)  # q' is one of `count` odd numbers from `low` on
    length = min(count, max(1024, bits * bits // 4))  # about as many as hold one
    while True:
        start = low + 1 + 2 * random_below(count - length + 1)
        left = np.flatnonzero(_safe_prime_candidates(start, length))
        while left.size:
            index = random_below(left.size)
            half = start + 2 * int(left[index])
            if _is_safe_half(half):
                return 2 * half + 1
            left = np.delete(left, index)


def _safe_prime_candidates(start: int, length: int) -> NDArray[np.bool_]:
    """Which q' of the odd numbers start + 2 k, k < length, have no small factor, nor has 2 q' + 1."""
    out = np.ones(length, dtype=bool)
    for p in _odd_primes_below(min(SIEVE_LIMIT, start)):
        half = (p + 1) // 2
        rest = start % p
        out[-rest * half % p :: p] = False
        out[-(2 * rest + 1) * half * half % p :: p] = False
    return out


def _is_safe_half(half: int) -> bool:
    """Whether both q' and 2 q' + 1 are prime; most are ruled out by the first, cheap test."""
    q = 2 * half + 1
    return power(2, half - 1, half) == 1 and power(2, q - 1, q) == 1 and is_prime(half) and is_prime(q)


def order_bits(prime_bits: int) -> int:
    """Bits of the prime factor u of p - 1 for a prime p of `prime_bits` bits."""
    return ORDER_BITS if prime_bits >= MIN_PRIME_BITS_FOR_FULL_ORDER else prime_bits // 2


def structured_prime(bits: int) -> tuple[int, int]:
    """A prime p = 2 u k + 1 of exactly `bits` bits and its factor u, a prime of order_bits(bits) bits.

    k is odd, so p = 3 mod 4. The top two bits of p are set, so the product of two such primes has exactly twice
    their bits. Needs bits >= 16.
    """
    low, high = 3 << (bits - 2), 1 << bits
    while True:
        u = random_prime(order_bits(bits))
        k_low, k_high = -(-low // (2 * u)), high // (2 * u)
        # A small u and k may allow no prime at all: draw another u after a fair number of tries.
        for _ in range(64 * bits):
            k = (k_low + random_below(k_high - k_low + 1)) | 1
            p = 2 * u * k + 1
            if low <= p < high and _passes_sieve(p) and is_prime(p):
                return p, u


def element_of_order(u: int, p: int) -> int:
    """A random element of Z*_p whose order is the prime u, where u divides p - 1."""
    while True:
        x = power(random_unit(p), (p - 1) // u, p)
        if x != 1:
            return x


@cache
def _odd_primes_below(limit: int) -> list[int]:
    sieve = np.ones(max(limit, 3), dtype=bool)
    sieve[:2] = sieve[4::2] = False
    for p in range(3, math.isqrt(len(sieve)) + 1, 2):
        if sieve[p]:
            sieve[p * p :: 2 * p] = False
    primes: list[int] = np.flatnonzero(sieve)[1:].tolist()
    return primes


@cache
def _small_primorial() -> gmpy2.mpz:
    """The product of all primes below SMALL_FACTOR_LIMIT."""
    return gmpy2.primorial(SMALL_FACTOR_LIMIT)


def has_small_factor(n: int) -> bool:
    """Whether a prime below SMALL_FACTOR_LIMIT divides n."""
    return bool(gmpy2.gcd(_small_primorial() % n, n) != 1)


@cache
def _primorial() -> int:
    """The product of all odd primes below SIEVE_LIMIT."""
    return int(gmpy2.primorial(SIEVE_LIMIT)) // 2


def _passes_sieve(x: int) -> bool:
    """Whether x has no odd factor below SIEVE_LIMIT; always true for x that small itself."""
    return x < SIEVE_LIMIT or gmpy2.gcd(_primorial(), x) == 1
