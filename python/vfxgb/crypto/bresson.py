"""Bresson, Catalano and Pointcheval's cryptosystem (BCP, Asiacrypt 2003) as papers/003 uses it, with ERRATA E4 to E9.

Notation: N = q1 q2 with safe primes, g = -alpha**(2N) mod N**2 of order (q1 - 1)(q2 - 1)/2. A private key a is an
integer in [1, N/4], its public key h = g**a.

    encrypt   (c1, c2) = (g**r, (1 + m N) h**r) mod N**2, m in Z_N, r in [1, N/4]
    decrypt   m = (c2 / c1**a mod N**2 - 1) / N

An *element* of the group is 2 number_bytes bytes: its two digits in base N, little-endian, the lower one first. Batches
are arrays uint8[k, element_bytes]; plaintexts are arrays uint8[k, number_bytes] of little-endian integers below N.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import SupportsIndex

import gmpy2
import numpy as np
from numpy.typing import NDArray

from vfxgb.crypto import primes, wire
from vfxgb.crypto.sizes import DEFAULT_BITS
from vfxgb.errors import InvalidCiphertextError, InvalidKeyError

Rows = NDArray[np.uint8]


class BressonGroup:
    """N and g: what a key centre publishes after it has forgotten the factors (ERRATA E7)."""

    __slots__ = ("_g", "_n")

    def __init__(self, n: int, g: int) -> None:
        self._n, self._g = n, g

    @staticmethod
    def generate(bits: int = DEFAULT_BITS, insecure: bool = False) -> BressonGroup:
        """A new group with N of exactly `bits` bits. The factors are forgotten. Raises KeySizeError."""
        half = bits // 2
        while True:
            q1, q2 = primes.safe_prime(half), primes.safe_prime(bits - half)
            if q1 != q2 and (q1 * q2).bit_length() == bits:
                return BressonGroup.from_primes(q1, q2, insecure=insecure)

    @staticmethod
    def from_primes(q1: int, q2: int, alpha: int | None = None, insecure: bool = False) -> BressonGroup:
        """The group of two given safe primes, with alpha drawn unless given."""
        n = q1 * q2
        if alpha is None:
            alpha = primes.random_unit(n * n)
        return BressonGroup(n, -primes.power(alpha, 2 * n, n * n) % (n * n))

    @staticmethod
    def from_bytes(data: wire.Bytes, insecure: bool = False) -> BressonGroup:
        """Read what to_bytes wrote and check it. Raises FormatError, KeySizeError, InvalidKeyError."""
        width = len(data) // 3
        n = int.from_bytes(data[:width], "little")
        return BressonGroup(
            n, int.from_bytes(data[width : 2 * width], "little") + n * int.from_bytes(data[2 * width :], "little")
        )

    def to_bytes(self) -> bytes:
        """The group in a versioned format."""
        return self._n.to_bytes(self.number_bytes, "little") + self.element(self._g)

    @property
    def n(self) -> int:
        """The modulus N; plaintexts are integers modulo N."""
        return self._n

    @property
    def g(self) -> int:
        """The base, an integer below N**2."""
        return self._g

    @property
    def bits(self) -> int:
        """Size of N in bits."""
        return self._n.bit_length()

    @property
    def number_bytes(self) -> int:
        """Bytes of an integer modulo N."""
        return -(-self.bits // 8)

    @property
    def element_bytes(self) -> int:
        """Bytes of an element, hence of a ciphertext of the masked form."""
        return 2 * self.number_bytes

    def element(self, value: int) -> bytes:
        """An integer below N**2 as an element."""
        high, low = divmod(value, self._n)
        return low.to_bytes(self.number_bytes, "little") + high.to_bytes(self.number_bytes, "little")

    def integer(self, element: bytes) -> int:
        """Inverse of `element`."""
        width = self.number_bytes
        return int.from_bytes(element[:width], "little") + self._n * int.from_bytes(element[width:], "little")

    def random_exponent(self) -> int:
        """A private key or the randomness of an encryption: uniform in [1, N/4]."""
        return 1 + primes.random_below(self._n // 4)

    def exponent_from_seed(self, seed: bytes, context: bytes) -> int:
        """The exponent in [1, N/4] that a secret seed of 32 bytes stands for; statistically uniform."""
        wide = hashlib.shake_256(b"vfxgb bresson exponent" + seed + context).digest(self.number_bytes + 16)
        return 1 + int.from_bytes(wide, "little") % (self._n // 4)

    def power_of_g(self, exponents: Sequence[int], threads: int | None = None) -> Rows:
        """g**e for each exponent: public keys of private ones, blinders g**r. uint8[k, element_bytes]."""
        values = [int(gmpy2.powmod(self._g, e, self._n**2)) for e in exponents]
        return self.rows([self.element(value) for value in values])

    def check_elements(self, elements: Rows, step: str, threads: int | None = None) -> None:
        """Raise InvalidCiphertextError, with the index, unless all are units in canonical form. `step` names whose."""
        for i, one in enumerate(elements):
            if gmpy2.gcd(self.integer(one.tobytes()), self._n) != 1:
                raise InvalidCiphertextError(f"{step}: element {i} is outside the group", i)

    def check_public_key(self, public: bytes, step: str) -> None:
        """Raise InvalidKeyError unless `public` is a unit whose N-th power is neither 1 nor -1 (1 + N: ERRATA E9)."""
        value = self.integer(public)
        if gmpy2.powmod(value, self._n, self._n**2) in (1, self._n**2 - 1):
            raise InvalidKeyError(f"{step}: the public key has a tiny order (1 + N, say), wanted a power of g")

    def agree(self, private: int, public: bytes, context: bytes) -> bytes:
        """32 bytes that the holders of two key pairs, and nobody else, share; `context` separates uses.

        The N-th power of a public key has no part in 1 + N, so that nothing of `private` can leak through it
        (ERRATA E9). Raises InvalidKeyError for a public key outside the group or of tiny order.
        """
        self.check_public_key(public, "agreeing on a key")
        value = int(gmpy2.powmod(self.integer(public), private * self._n, self._n**2))
        return hashlib.sha256(b"vfxgb bresson agreement" + context + self.element(value)).digest()

    def encrypt(self, public: bytes, values: Rows, threads: int | None = None) -> tuple[Rows, Rows]:
        """Ciphertexts (c1, c2) of plaintexts uint8[k, number_bytes] below N, each with fresh randomness."""
        m = self.n**2
        h = self.integer(public)
        c1, c2 = [], []
        for value in self.numbers(values):
            r = self.random_exponent()
            c1.append(self.element(int(gmpy2.powmod(self._g, r, m))))
            c2.append(self.element(int((1 + value * self._n) * gmpy2.powmod(h, r, m) % m)))
        return self.rows(c1), self.rows(c2)

    def decrypt(self, private: int, c1: Rows, c2: Rows, threads: int | None = None) -> Rows:
        """Plaintexts uint8[k, number_bytes] in [0, N). Raises InvalidCiphertextError for what is none of this key's."""
        m, out = self._n**2, []
        for i, (one, two) in enumerate(zip(c1, c2, strict=True)):
            a, b = self.integer(one.tobytes()), self.integer(two.tobytes())
            high, low = divmod(int(b * gmpy2.invert(gmpy2.powmod(a, private, m), m) % m), self._n)
            if low != 1:
                raise InvalidCiphertextError(f"decrypting: ciphertext {i} is none of this key", i)
            out.append(high.to_bytes(self.number_bytes, "little"))
        return self.rows(out)

    def rows(self, items: Sequence[bytes]) -> Rows:
        """Byte strings of one length as uint8[k, length]."""
        return np.frombuffer(b"".join(items), np.uint8).reshape(len(items), -1)

    def plaintexts(self, values: Sequence[int]) -> Rows:
        """Integers, reduced modulo N, as uint8[k, number_bytes]."""
        return self.rows([(value % self._n).to_bytes(self.number_bytes, "little") for value in values])

    def numbers(self, rows: Rows) -> list[int]:
        """Inverse of `plaintexts`: integers in [0, N)."""
        return [int.from_bytes(row.tobytes(), "little") for row in rows]

    def centred(self, rows: Rows) -> list[int]:
        """The same as signed integers in (-N/2, N/2]."""
        return [value - self._n if 2 * value > self._n else value for value in self.numbers(rows)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BressonGroup):
            return NotImplemented
        return (self._n, self._g) == (other._n, other._g)

    def __hash__(self) -> int:
        return hash((self._n, self._g))

    def __repr__(self) -> str:
        return f"BressonGroup({self.bits} bits)"

    def __reduce_ex__(self, protocol: SupportsIndex) -> str:
        raise TypeError("pickling a group is refused; use to_bytes() and BressonGroup.from_bytes(data)")
