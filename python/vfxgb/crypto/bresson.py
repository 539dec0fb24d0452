"""Bresson, Catalano and Pointcheval's cryptosystem (BCP, Asiacrypt 2003) as FEDXGB uses it, with ERRATA E4 to E9.

Notation: N = q1 q2 with safe primes q = 2 q' + 1, g = -alpha**(2N) mod N**2 of order (q1 - 1)(q2 - 1)/2. A private key
a is an integer in [1, N/4], its public key h = g**a.

    encrypt   (c1, c2) = (g**r, (1 + m N) h**r) mod N**2, m in Z_N, r in [1, N/4]
    decrypt   m = (c2 / c1**a mod N**2 - 1) / N

An *element* of the group is 2 number_bytes bytes: its two digits in base N, little-endian, the lower one first. Batches
are arrays uint8[k, element_bytes]; plaintexts are arrays uint8[k, number_bytes] of little-endian integers below N.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from math import gcd
from typing import SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.crypto import primes, wire
from vfxgb.crypto.ints import to_fixed
from vfxgb.crypto.schemes.base import check_factors, check_modulus
from vfxgb.crypto.sizes import DEFAULT_BITS, check_modulus_bits, check_requested_bits
from vfxgb.errors import InvalidCiphertextError, InvalidKeyError, LengthMismatchError, PlaintextRangeError
from vfxgb.threads import resolve_threads

Rows: TypeAlias = NDArray[np.uint8]

# The rest of a number of so many bits more than N, modulo N/4, is uniform for all that matters.
WIDE_BITS = 128


class BressonGroup:
    """N and g: what a key centre publishes after it has forgotten the factors (ERRATA E7).

    Made by generate, from_primes or from_bytes, not by calling the class. Plaintexts are integers modulo `n`; the base
    `g` is an integer below n**2; `native` is the native group, for vfxgb's own modules. Holds tables of powers of g and
    of the public key that was used last.
    """

    __slots__ = ("_g_base", "_public", "g", "n", "native")

    def __init__(self, n: int, g: int) -> None:
        self.n, self.g = n, g
        self.native = _native.crypto.BressonGroup(to_fixed(n))
        self._g_base = _native.crypto.BressonBase(self.native, self.rows([self.element(g)]))
        self._public = (b"", self._g_base)

    @staticmethod
    def generate(bits: int = DEFAULT_BITS, insecure: bool = False) -> BressonGroup:
        """A new group with N of exactly `bits` bits (even, 2048 to 4096; less only with `insecure`, for tests).

        This is the key centre's part: who knows the factors decrypts everything, so they are forgotten here (ERRATA
        E7). Takes a few seconds. Raises KeySizeError.
        """
        check_requested_bits(bits, insecure)
        q1 = primes.safe_prime(bits // 2)
        while True:
            q2 = primes.safe_prime(bits // 2)
            if q1 != q2:
                return BressonGroup(q1 * q2, _base(q1, q2, None))

    @staticmethod
    def from_primes(q1: int, q2: int, alpha: int | None = None, insecure: bool = False) -> BressonGroup:
        """The group of two given safe primes; alpha is drawn unless given.

        Raises KeySizeError, and InvalidKeyError for primes that are not safe ones, for q' that is the other prime, and
        for alpha from which g does not get its full order (ERRATA E4). `insecure` allows small and unequal primes.
        """
        step = "making Bresson's group from primes"
        check_factors(q1, q2, insecure, step)
        if not all(primes.is_prime(prime // 2) for prime in (q1, q2)):
            raise InvalidKeyError(f"{step}: a factor is no safe prime 2 q' + 1 with q' prime; draw the factors again")
        check_modulus_bits((q1 * q2).bit_length(), insecure, step)
        return BressonGroup(q1 * q2, _base(q1, q2, alpha))

    @staticmethod
    def from_bytes(data: wire.Bytes, insecure: bool = False) -> BressonGroup:
        """Read what to_bytes wrote and check it. Raises FormatError, KeySizeError, InvalidKeyError.

        Who reads the same bytes again gets the same group, with its tables.
        """
        return _read(bytes(data), insecure)

    def to_bytes(self) -> bytes:
        """The group in the versioned format of wire.py."""
        return wire.dump_group(self.n, self.g)

    @property
    def bits(self) -> int:
        """Size of N in bits."""
        return self.n.bit_length()

    @property
    def number_bytes(self) -> int:
        """Bytes of an integer modulo N."""
        return -(-self.bits // 8)

    @property
    def element_bytes(self) -> int:
        """Bytes of an element, hence of a ciphertext of the masked form."""
        return 2 * self.number_bytes

    def random_exponent(self) -> int:
        """A private key or the randomness of an encryption: uniform in [1, N/4] (ERRATA E5)."""
        return 1 + primes.random_below(self.n // 4)

    def exponent_from_seed(self, seed: bytes, context: bytes) -> int:
        """The exponent in [1, N/4] that a secret seed of 32 bytes stands for in a context; as good as uniform."""
        hashed = hashlib.shake_256(_joined(b"vfxgb Bresson exponent", seed, context))
        wide = hashed.digest(self.number_bytes + WIDE_BITS // 8)
        return 1 + int.from_bytes(wide, "little") % (self.n // 4)

    def power_of_g(self, exponents: Sequence[int], threads: int | None = None) -> Rows:
        """g**e for exponents in [0, N): public keys of private ones, blinders g**r. uint8[k, element_bytes]."""
        return self._g_base.powers(self._exponents(exponents), None, resolve_threads(threads))

    def power_of_public(self, public: bytes, exponents: Sequence[int], threads: int | None = None) -> Rows:
        """The same of a public key. Raises InvalidKeyError for one that is no unit of the group."""
        return self._public_base(public).powers(self._exponents(exponents), None, resolve_threads(threads))

    def check_elements(self, elements: Rows, step: str, threads: int | None = None) -> None:
        """Raise InvalidCiphertextError, with the index, unless all are units in canonical form. `step` names whose."""
        if elements.dtype != np.uint8 or elements.ndim != 2 or elements.shape[1] != self.element_bytes:
            raise LengthMismatchError(
                f"{step}: found an array of type {elements.dtype} and shape {elements.shape}, wanted uint8 of shape "
                f"[any, {self.element_bytes}]; they belong to another group"
            )
        index = self.native.check(elements, resolve_threads(threads))
        if index >= 0:
            raise not_in_group(index, step)

    def check_public_key(self, public: bytes, step: str) -> None:
        """Raise InvalidKeyError unless `public` is a unit whose N-th power is neither 1 nor -1.

        1 + N and its powers are such units: they would turn an exponent into a plaintext (ERRATA E9).
        """
        base = self._public_base(public, step)
        power = self.integer(base.powers(self._exponents([self.n]), None, 1)[0].tobytes())
        if power in (1, self.n**2 - 1):
            raise InvalidKeyError(
                f"{step}: the public key has the order of 1 + N, or 2, wanted a power of g; its owner may be after "
                "private keys, refuse it"
            )

    def agree(self, private: int, public: bytes, context: bytes) -> bytes:
        """32 bytes that the holders of two key pairs, and nobody else, share; `context` separates uses.

        The N-th power of h**a goes into the hash. Of whatever part of `public` lies in the powers of 1 + N, in which
        `private` could be read, nothing is left there (ERRATA E9). Raises InvalidKeyError for a public key outside the
        group or of tiny order.
        """
        self.check_public_key(public, "agreeing on a key")
        shared = self.power_of_public(public, [private], 1)
        shared = self.native.powers(shared, self._exponents([self.n]), None, 1)
        return hashlib.sha256(_joined(b"vfxgb Bresson agreement", context, shared.tobytes())).digest()

    def encrypt(self, public: bytes, values: Rows, threads: int | None = None) -> tuple[Rows, Rows]:
        """Ciphertexts (c1, c2) of plaintexts uint8[k, number_bytes] below N, each with fresh randomness."""
        self.check_plaintexts(values, "encrypting")
        exponents = self._exponents([self.random_exponent() for _ in range(len(values))])
        count = resolve_threads(threads)
        return (
            self._g_base.powers(exponents, None, count),
            self._public_base(public).powers(exponents, values, count),
        )

    def decrypt(self, private: int, c1: Rows, c2: Rows, threads: int | None = None) -> Rows:
        """Plaintexts uint8[k, number_bytes] in [0, N). Raises InvalidCiphertextError for what is none of this key's."""
        if len(c1) != len(c2):
            raise LengthMismatchError(f"decrypting: found {len(c1)} c1 and {len(c2)} c2, wanted one of each")
        for elements in (c1, c2):
            self.check_elements(elements, "decrypting", threads)
        plain, bad = self.native.open(to_fixed(private), c1, c2, resolve_threads(threads))
        if bad >= 0:
            raise InvalidCiphertextError(
                f"decrypting: ciphertext {bad} is none of this key, wanted c2 / c1**a = 1 modulo N; it was encrypted "
                "for another key, or damaged",
                bad,
            )
        return plain

    def check_plaintexts(self, values: Rows, step: str) -> None:
        """Raise PlaintextRangeError or LengthMismatchError unless all are integers below N, uint8[k, number_bytes]."""
        if values.dtype != np.uint8 or values.ndim != 2 or values.shape[1] != self.number_bytes:
            raise LengthMismatchError(
                f"{step}: found plaintexts of type {values.dtype} and shape {values.shape}, wanted uint8 of shape "
                f"[any, {self.number_bytes}]"
            )
        top = np.frombuffer(self.n.to_bytes(self.number_bytes, "little"), np.uint8)[-1]
        for index in np.flatnonzero(values[:, -1] >= top).tolist():
            if int.from_bytes(values[index].tobytes(), "little") >= self.n:
                raise PlaintextRangeError(f"{step}: the value at index {index} is not below N; reduce it first")

    def element(self, value: int) -> bytes:
        """An integer in [0, N**2) as an element."""
        high, low = divmod(value, self.n)
        return low.to_bytes(self.number_bytes, "little") + high.to_bytes(self.number_bytes, "little")

    def integer(self, element: bytes) -> int:
        """Inverse of `element`."""
        width = self.number_bytes
        return int.from_bytes(element[:width], "little") + self.n * int.from_bytes(element[width:], "little")

    def rows(self, items: Sequence[bytes]) -> Rows:
        """Elements as an array uint8[k, element_bytes]."""
        return np.frombuffer(b"".join(items), np.uint8).reshape(len(items), self.element_bytes)

    def plaintexts(self, values: Sequence[int]) -> Rows:
        """Integers, reduced modulo N, as uint8[k, number_bytes]."""
        return self._exponents([value % self.n for value in values])

    def numbers(self, rows: Rows) -> list[int]:
        """Inverse of `plaintexts`: integers in [0, N)."""
        data, width = memoryview(rows.tobytes()), rows.shape[1]
        return [int.from_bytes(data[i : i + width], "little") for i in range(0, len(data), width)]

    def centred(self, rows: Rows) -> list[int]:
        """The same as signed integers in (-N/2, N/2]."""
        return [value - self.n if 2 * value > self.n else value for value in self.numbers(rows)]

    def _exponents(self, values: Sequence[int]) -> Rows:
        data = b"".join([value.to_bytes(self.number_bytes, "little") for value in values])
        return np.frombuffer(data, np.uint8).reshape(len(values), self.number_bytes)

    def _public_base(self, public: bytes, step: str = "using a public key") -> _native.crypto.BressonBase:
        """The base of a public key; that of the last one is kept, with its table."""
        known, base = self._public
        if known != public:
            if len(public) != self.element_bytes or self.native.check(self.rows([public]), 1) >= 0:
                raise InvalidKeyError(
                    f"{step}: found {len(public)} bytes, wanted {self.element_bytes} of a unit of the group; it is "
                    "damaged or of another group"
                )
            base = _native.crypto.BressonBase(self.native, self.rows([public]))
            self._public = (public, base)
        return base

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BressonGroup):
            return NotImplemented
        return (self.n, self.g) == (other.n, other.g)

    def __hash__(self) -> int:
        return hash((self.n, self.g))

    def __repr__(self) -> str:
        return f"BressonGroup({self.bits} bits)"

    def __reduce_ex__(self, protocol: SupportsIndex) -> str:
        raise TypeError(
            "pickling or copying a group is refused, since reading a pickle runs code; use to_bytes() and "
            "BressonGroup.from_bytes(data)"
        )


def not_in_group(index: int, step: str) -> InvalidCiphertextError:
    """The error for an element that is out of range or no unit."""
    return InvalidCiphertextError(
        f"{step}: element {index} is outside the group: a digit not below N, or a factor in common with N; it is "
        "damaged or of another group",
        index,
    )


def _base(q1: int, q2: int, alpha: int | None) -> int:
    """g = -alpha**(2N) mod N**2 of order 2 q1' q2' (ERRATA E4): alpha as given, or drawn until it is right."""
    step = "making Bresson's group"
    n, half1, half2 = q1 * q2, q1 // 2, q2 // 2
    square = n * n
    while True:
        unit = primes.random_unit(square) if alpha is None else alpha
        g = -primes.power(unit, 2 * n, square) % square
        orders = (half1 * half2, 2 * half1, 2 * half2)
        if gcd(g, n) == 1 and all(primes.power(g, order, square) != 1 for order in orders):
            return g
        if alpha is not None:
            raise InvalidKeyError(f"{step}: g does not have the order (q1 - 1)(q2 - 1)/2, wanted another alpha")


@lru_cache(maxsize=2)
def _read(data: bytes, insecure: bool) -> BressonGroup:
    step = "reading a group"
    n, g = wire.load_group(data)
    check_modulus(n, insecure, step)
    if gcd(g, n) != 1 or primes.power(g, n, n * n) in (1, n * n - 1):
        raise InvalidKeyError(f"{step}: g is no unit, or its N-th power is 1 or -1, wanted a base of large order")
    return BressonGroup(n, g)


def _joined(*parts: bytes) -> bytes:
    """Parts with their lengths, so that no two lists of parts look the same."""
    return b"".join(len(part).to_bytes(4, "little") + part for part in parts)
