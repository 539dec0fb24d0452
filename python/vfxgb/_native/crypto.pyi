"""Cryptosystems (cpp/crypto): keys, arrays of ciphertexts, Bresson's group, masks and shares of keys."""

from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from . import Buffer

def add_masks(keys: NDArray[np.uint8], signs: NDArray[np.int8], values: NDArray[np.uint64], threads: int = 1) -> None:
    """values[j] += sum over i of signs[i] * word j of the ChaCha20 key stream of keys[i] (uint8[k, 32]), modulo 2**64.

    In place; signs are 1 and -1.
    """

def wide_masks(
    keys: NDArray[np.uint8], signs: NDArray[np.int8], count: int, modulus: bytes, threads: int = 1
) -> NDArray[np.uint8]:
    """sum over i of signs[i] * piece j of the key stream of keys[i], modulo an odd modulus, for j < count.

    Pieces have the modulus' bits and 128 more, rounded up to whole 64-bit words, so that they are uniform for all that
    matters. uint8[count, w], w the bytes of the modulus.
    """

def shamir_share(
    prime: bytes,
    secrets: NDArray[np.uint8],
    threshold: int,
    points: NDArray[np.uint32],
    threads: int = 1,
    coefficients: NDArray[np.uint8] | None = None,
) -> NDArray[np.uint8]:
    """Shares uint8[k, n, w] of secrets uint8[k, w] at n points (cpp/crypto/shamir.h).

    Random polynomials, unless their coefficients uint8[k, threshold - 1, w] above the constant one are given, for
    known-answer tests.
    """

def shamir_reconstruct(
    prime: bytes, points: NDArray[np.uint32], shares: NDArray[np.uint8], threads: int = 1
) -> NDArray[np.uint8]:
    """Secrets uint8[k, w] from shares uint8[k, t, w] at t distinct points."""

def x25519(
    scalars: NDArray[np.uint8], points: NDArray[np.uint8], threads: int = 1, path: str = ""
) -> NDArray[np.uint8]:
    """scalars[i] * points[i], uint8[n, 32] each, as RFC 7748 has it (cpp/crypto/x25519.h); zero for useless points.

    Either may be a single row for all. `path`: one of x25519_paths(), the best one if empty.
    """

def x25519_paths() -> list[str]:
    """The paths of X25519 that this machine can run, best last."""

def hkdf_sha256(secrets: NDArray[np.uint8], contexts: NDArray[np.uint8], threads: int = 1) -> NDArray[np.uint8]:
    """HKDF-SHA256 without salt of secrets uint8[n or 1, s] and contexts uint8[n, c], as uint8[n, 32]."""

@final
class PublicKey:
    @staticmethod
    def paillier(n: bytes, h: bytes, exponent_bits: int, path: str = "") -> PublicKey:
        """Randomness is (h**n)**alpha mod n**2 with alpha of `exponent_bits` bits."""
    @staticmethod
    def okamoto_uchiyama(
        n: bytes, g: bytes, h: bytes, exponent_bits: int, plaintext_bits: int, path: str = ""
    ) -> PublicKey:
        """c = g**m h**alpha mod n; |m| < 2**plaintext_bits."""
    @property
    def path(self) -> str: ...
    @property
    def wire_bytes(self) -> int:
        """Bytes of one ciphertext on the wire."""
    @property
    def integer_bytes(self) -> int:
        """Bytes of one ciphertext as an integer."""
    @property
    def element_bytes(self) -> int:
        """Bytes of one ciphertext in memory."""
    def encrypt(self, values: Buffer, width: int, threads: int = 1) -> Ciphertexts: ...
    def check_wire(self, data: Buffer, threads: int = 1) -> int:
        """Index of the first ciphertext that is out of range or no unit, or -1."""
    def from_wire(self, data: Buffer, threads: int = 1) -> Ciphertexts: ...
    def check_integers(self, data: Buffer, threads: int = 1) -> int: ...
    def from_integers(self, data: Buffer, threads: int = 1) -> Ciphertexts: ...
    def plan(self, count: int, threads: int = 1) -> None:
        """Make tables as wide as `count` encryptions in all are worth."""
    def start_pool(self, capacity: int, threads: int = 1) -> None:
        """Keep up to `capacity` fresh encryptions of zero, made in the background, for encrypt."""
    def stop_pool(self) -> None: ...
    def pool_level(self) -> int: ...
    @property
    def rerandomizer(self) -> Rerandomizer: ...

@final
class Rerandomizer:
    """Encryptions of zero for Ciphertexts.rerandomize (cpp/crypto/rerandomizer.h); belongs to a PublicKey."""

    @property
    def bases(self) -> int:
        """How many random n-th powers masks are products of once there is a table."""
    @property
    def entropy_bits(self) -> int:
        """Random bits that choose one such product."""
    @property
    def has_table(self) -> bool: ...
    @property
    def window(self) -> int:
        """Bits that choose one entry of the table; 0 while there is no table."""
    def plan(self, count: int, threads: int = 1) -> None:
        """Plan for `count` masks in all: makes the table that suits so many at once, if they are worth one."""
    def announce(self, count: int, threads: int = 1) -> None:
        """Announce `count` more masks: makes the table once it would have paid already."""
    def start_pool(self, capacity: int, threads: int = 1) -> None:
        """Keep up to `capacity` masks, made in the background, for rerandomize."""
    def stop_pool(self) -> None: ...
    def pool_level(self) -> int: ...

@final
class PrivateKey:
    """Holds the factors in memory that is wiped when freed."""

    @staticmethod
    def paillier(public: PublicKey, p: bytes, q: bytes, order_p: bytes, order_q: bytes) -> PrivateKey:
        """h has an order dividing order_p modulo p and order_q modulo q (p - 1 and q - 1 will do)."""
    @staticmethod
    def okamoto_uchiyama(public: PublicKey, p: bytes, q: bytes, order_p: bytes, order_q: bytes) -> PrivateKey: ...
    @property
    def plaintext_width(self) -> int:
        """Bytes of one decrypted value (two's complement)."""
    def encrypt(self, values: Buffer, width: int, threads: int = 1) -> Ciphertexts: ...
    def decrypt(self, ciphertexts: Ciphertexts, threads: int = 1) -> bytes: ...
    def secrets(self) -> tuple[bytes, bytes, bytes, bytes]:
        """p, q, order_p, order_q: for serialisation only."""
    def start_pool(self, capacity: int, threads: int = 1) -> None: ...
    def stop_pool(self) -> None: ...
    def pool_level(self) -> int: ...

@final
class Ciphertexts:
    """An immutable array of ciphertexts under one public key, in one buffer."""

    def __len__(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def add(self, other: Ciphertexts, threads: int = 1) -> Ciphertexts:
        """Element by element; either side may have length 1."""
    def add_plain(self, values: Buffer, width: int, threads: int = 1) -> Ciphertexts:
        """Add public values without randomness; one value or one per ciphertext."""
    def take(self, rows: NDArray[np.int64]) -> Ciphertexts: ...
    def sum(self, rows: NDArray[np.int64] | None = None, threads: int = 1) -> Ciphertexts:
        """One ciphertext: the sum of all, or of the given rows. An empty sum is the (unrandomised) encryption of 0."""
    def scale(self, values: Buffer, width: int, threads: int = 1) -> Ciphertexts:
        """Times one signed value, or one per ciphertext."""
    def rerandomize(self, threads: int = 1) -> Ciphertexts: ...
    def concat(self, other: Ciphertexts) -> Ciphertexts: ...
    @staticmethod
    def combine(arrays: Sequence[Ciphertexts], values: Buffer, width: int, threads: int = 1) -> Ciphertexts:
        """The sums over k of arrays[k] times the signed values[k], entry by entry (cpp/bigint/multi_power.h)."""
    def to_wire(self, threads: int = 1) -> bytes: ...
    def to_integers(self, threads: int = 1) -> bytes: ...

@final
class BressonGroup:
    """Units modulo n**2 (cpp/crypto/bresson). An element is uint8[element_bytes]: its base-n digits, lower first."""

    def __init__(self, n: bytes, path: str = "") -> None: ...
    @property
    def path(self) -> str: ...
    @property
    def element_bytes(self) -> int: ...
    def check(self, elements: NDArray[np.uint8], threads: int = 1) -> int:
        """Index of the first of elements[k, element_bytes] that is out of range or no unit, or -1."""
    def powers(
        self,
        base: NDArray[np.uint8],
        exponents: NDArray[np.uint8],
        messages: NDArray[np.uint8] | None = None,
        threads: int = 1,
    ) -> NDArray[np.uint8]:
        """base[1, element_bytes] to exponents[k, any], each times 1 + messages[k, bytes of n] n if given."""
    def open(
        self, exponent: bytes, c1: NDArray[np.uint8], c2: NDArray[np.uint8], threads: int = 1
    ) -> tuple[NDArray[np.uint8], int]:
        """(m, -1) with 1 + m n = c2 / c1**exponent, m uint8[k, bytes of n].

        Or the index of the first ciphertext of which the quotient is nothing like that in the place of -1.
        """

@final
class BressonBase:
    """An element, given as base[1, element_bytes], of which many powers are wanted: makes a table when it pays."""

    def __init__(self, group: BressonGroup, base: NDArray[np.uint8]) -> None: ...
    def powers(
        self, exponents: NDArray[np.uint8], messages: NDArray[np.uint8] | None = None, threads: int = 1
    ) -> NDArray[np.uint8]:
        """As BressonGroup.powers; exponents of no more bits than n."""

@final
class ElementProducts:
    """`count` running products of elements of a group, 1 in the beginning."""

    def __init__(self, group: BressonGroup, count: int) -> None: ...
    def multiply(self, factors: NDArray[np.uint8], threads: int = 1) -> int:
        """-1; or the index of the first factor that is out of range or no unit, and then nothing is multiplied."""
    def elements(self, threads: int = 1) -> NDArray[np.uint8]: ...

@final
class PowerProducts:
    """prod over u of base[u]**exponent[u, e] for e < count, bases coming as they like (cpp/bigint/power_products.h)."""

    def __init__(self, group: BressonGroup, count: int, exponent_bits: int, window: int = 0) -> None: ...
    def multiply(self, bases: NDArray[np.uint8], exponents: NDArray[np.uint8], threads: int = 1) -> None:
        """bases[k, element_bytes], exponents[k, count, any]."""
    def elements(self, threads: int = 1) -> NDArray[np.uint8]: ...

@final
class CipherRows:
    """`count` ciphertexts under one key in one buffer, filled piece by piece as they arrive.

    With `path` they are kept in a file there instead of in memory: see Bins.
    """

    def __init__(self, key: PublicKey, count: int, path: str | None = None) -> None: ...
    def __len__(self) -> int: ...
    @property
    def nbytes(self) -> int:
        """Bytes the ciphertexts take, in memory or in the file."""
    @property
    def filled(self) -> int:
        """How many of them have been filled."""
    def fill(self, first: int, wire: Buffer, threads: int = 1) -> int:
        """Check wire forms as check_wire does and keep them as ciphertexts first, first + 1, ...

        Returns -1, or the index in `wire` of the first that is out of range or no unit: the whole piece then counts as
        not filled.
        """
    def to_wire(self, first: int, count: int, threads: int = 1) -> bytes:
        """Wire forms of `count` ciphertexts from `first` on. ValueError if some have not been filled."""
    def drop(self) -> None:
        """See Bins.drop."""
