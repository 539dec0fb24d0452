"""Threshold Paillier (Damgard and Jurik 2001, section 4.1, degree 1): any t of n users open a ciphertext, fewer cannot.

Notation: N = p q with safe primes p = 2 p' + 1, q = 2 q' + 1; m = p' q'; Delta = n!; a ciphertext of x is
c = (1 + N)**x r**N mod N**2. The dealer takes d = 0 mod m, d = 1 mod N and a random polynomial f modulo N m of degree
t - 1 with f(0) = d, and gives user i, at the point i = 1, ..., n, the share s_i = f(i). Then

    partial decryption   c_i = c**(2 Delta s_i)
    combination          c'  = prod_{i in S} c_i**(2 lambda_i),   lambda_i = Delta prod_{j in S, j != i} j / (j - i)

where |S| = t. The lambda_i are integers with sum_i lambda_i s_i = Delta d modulo N m: c' = (1 + N)**(4 Delta**2 x).

All the lambda_i of a set S share a factor G, and sum_i lambda_i = Delta shows that G divides Delta. With lambda_i / G
in their place c' = (1 + N)**(4 Delta (Delta / G) x): that opens x just as well, by exponents of a few hundred bits
instead of some n log n ("reduced"; what is printed in the papers is "printed").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TypeVar

import gmpy2
import msgspec

from vfxgb import _native
from vfxgb.crypto import CiphertextArray, PublicKey, primes, wire
from vfxgb.crypto.ints import width_for_bits
from vfxgb.crypto.sizes import check_requested_bits
from vfxgb.errors import (
    AggregationError,
    FormatError,
    InvalidCiphertextError,
    KeyMismatchError,
    MessageError,
    ParameterError,
)

F = TypeVar("F", bound=msgspec.Struct)

# What the native core takes, with a word to spare. Of 2 n! s_i: 1,400 users with a modulus of 3072 bits.
MOST_EXPONENT_BITS = 64 * 298


class _KeyForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: bytes
    users: int
    threshold: int


class _ShareForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    point: int
    share: bytes


@dataclass(frozen=True)
class ThresholdKey:
    """The public key: any `threshold` of the `users` shares open what is encrypted under `key`."""

    key: PublicKey
    users: int
    threshold: int

    @cached_property
    def delta(self) -> int:
        """n!."""
        return math.factorial(self.users)

    def read(self, data: wire.Bytes, step: str, threads: int) -> CiphertextArray:
        """Ciphertexts, or partial decryptions, from a peer. Raises MessageError that begins with `step`."""
        try:
            return CiphertextArray.from_bytes(self.key, data, threads)
        except (FormatError, KeyMismatchError, InvalidCiphertextError) as error:
            raise MessageError(f"{step}: {error}") from None

    def to_bytes(self) -> bytes:
        """The key for everybody."""
        return msgspec.msgpack.encode(_KeyForm(self.key.to_bytes(), self.users, self.threshold))


@lru_cache(maxsize=4)
def read_key(data: bytes, insecure: bool) -> ThresholdKey:
    """Read what ThresholdKey.to_bytes wrote. Users in one process share the key, hence its tables."""
    form = _read(data, _KeyForm)
    return ThresholdKey(PublicKey.from_bytes(form.key, insecure), form.users, form.threshold)


@dataclass(frozen=True)
class KeyShare:
    """What one user holds: f(point). Never printed."""

    point: int
    share: int = field(repr=False)

    def to_bytes(self) -> bytes:
        """The share, in clear: for its user alone."""
        return msgspec.msgpack.encode(
            _ShareForm(self.point, self.share.to_bytes(-(-self.share.bit_length() // 8), "little"))
        )

    @staticmethod
    def from_bytes(data: bytes) -> KeyShare:
        """Read what to_bytes wrote. Raises FormatError."""
        form = _read(data, _ShareForm)
        return KeyShare(form.point, int.from_bytes(form.share, "little"))

    def open_partly(self, key: ThresholdKey, ciphertexts: CiphertextArray, threads: int) -> CiphertextArray:
        """c**(2 Delta s) for each c: this user's partial decryptions."""
        exponent = 2 * key.delta * self.share
        width = width_for_bits(exponent.bit_length() + 1)
        native = ciphertexts.native_under(key.key, threads)
        return CiphertextArray(key.key, native.scale(exponent.to_bytes(width, "little"), width, threads))


def deal(bits: int, users: int, threshold: int, insecure: bool) -> tuple[ThresholdKey, list[KeyShare]]:
    """A new key and its shares, of points 1 to `users`. What the dealer knew besides is forgotten.

    Raises KeySizeError for a modulus of less than 2048 bits unless `insecure`.
    """
    check_requested_bits(bits, insecure)
    p = primes.safe_prime(bits // 2)
    q = p
    while q == p:
        q = primes.safe_prime(bits // 2)
    return deal_from_primes(p, q, users, threshold, insecure)


def deal_from_primes(p: int, q: int, users: int, threshold: int, insecure: bool) -> tuple[ThresholdKey, list[KeyShare]]:
    """The same for given safe primes, both above 2 `users`."""
    n, m = p * q, (p // 2) * (q // 2)
    bits = (2 * math.factorial(users) * n * m).bit_length()
    if bits > MOST_EXPONENT_BITS:
        raise ParameterError(
            f"dealing the key of ibmhom: {users} users and a modulus of {n.bit_length()} bits need exponents of {bits} "
            f"bits, wanted at most {MOST_EXPONENT_BITS}; use fewer users, or masks"
        )
    d = m * int(gmpy2.invert(m, n))
    order = gmpy2.mpz(n * m)
    coefficients = [gmpy2.mpz(primes.random_below(n * m)) for _ in range(threshold - 1)]

    def f(point: int) -> int:
        value = gmpy2.mpz(0)
        for a in coefficients:
            value = (value * point + a) % order
        return int((value * point + d) % order)

    key = ThresholdKey(PublicKey.from_modulus(n, insecure), users, threshold)
    return key, [KeyShare(point, f(point)) for point in range(1, users + 1)]


def coefficients(points: Sequence[int], delta: int, reduced: bool) -> tuple[list[int], int]:
    """(lambda_i for each point, Delta), or both divided by what the lambda_i have in common."""
    product = math.prod(points)
    numerators = [
        delta * product // (point * math.prod(other - point for other in points if other != point)) for point in points
    ]
    common = math.gcd(*numerators) if reduced else 1
    return [value // common for value in numerators], delta // common


def combine(
    key: ThresholdKey, parts: Mapping[int, CiphertextArray], reduced: bool = True, threads: int = 1
) -> list[int]:
    """The signed plaintexts from partial decryptions by point, exactly `threshold` of them.

    Raises AggregationError where they do not fit together: some user sent something else.
    """
    points = sorted(parts)
    if len(points) != key.threshold:
        raise AggregationError(f"combining partial decryptions: found {len(points)}, wanted {key.threshold}")
    factors, rest = coefficients(points, key.delta, reduced)
    n = key.key.n
    width = width_for_bits(max(abs(factor) for factor in factors).bit_length() + 2)
    exponents = b"".join([(2 * factor).to_bytes(width, "little", signed=True) for factor in factors])
    arrays = [parts[point].native_under(key.key, threads) for point in points]
    opened = CiphertextArray(key.key, _native.crypto.Ciphertexts.combine(arrays, exponents, width, threads))
    inverse = int(gmpy2.invert(4 * key.delta * rest, n))
    values = []
    for index, value in enumerate(opened.tolist(threads)):
        high, low = divmod(value, n)
        if low != 1:
            raise AggregationError(
                f"combining partial decryptions: those of ciphertext {index} do not fit together; some user has "
                "another key or did not decrypt what it was sent"
            )
        x = high * inverse % n
        values.append(x - n if 2 * x > n else x)
    return values


def _read(data: bytes, kind: type[F]) -> F:
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise FormatError(f"reading what the dealer of ibmhom handed out: {error}; deal again") from None
