"""The C++ core as Python sees it.

Integers cross this boundary as little-endian bytes of a fixed width, one after the other, so that a batch is
one buffer. Signed values are two's complement; widths are multiples of 8 bytes. Every method that takes
`threads` releases the GIL and can be interrupted. Callers check ranges and keys first (`vfxgb.crypto` does):
what this layer raises is ValueError, and means a caller's mistake.
"""

from typing import final

import numpy as np
from numpy.typing import NDArray

Buffer = bytes | bytearray | memoryview | NDArray[np.generic]

def default_path() -> str:
    """The arithmetic kernels new keys use: "avx2" or "portable". VFXGB_SIMD=portable forces the latter."""

def available_paths() -> list[str]:
    """All kernels this machine can run."""

def random_bytes(count: int) -> bytes:
    """Bytes from the process's CSPRNG (ChaCha20, seeded by the operating system)."""

def chacha20_block(key: bytes, counter: int, nonce: bytes) -> bytes:
    """One ChaCha20 block (RFC 8439, section 2.3), for known-answer tests."""

@final
class Ring:
    """Batch arithmetic modulo M = modulus**degree (modulus odd, degree 1 or 2), for tests and benchmarks."""

    def __init__(self, modulus: bytes, degree: int = 1, path: str = "") -> None: ...
    @property
    def path(self) -> str: ...
    @property
    def width(self) -> int:
        """Bytes of one integer modulo M."""
    @property
    def element_bytes(self) -> int:
        """Bytes of one element in kernel layout."""
    def mul(self, a: Buffer, b: Buffer, threads: int = 1) -> bytes: ...
    def square(self, a: Buffer, threads: int = 1) -> bytes: ...
    def product(self, a: Buffer, threads: int = 1) -> bytes: ...
    def power(self, a: Buffer, exponent: bytes, threads: int = 1) -> bytes:
        """Every a to one exponent."""
    def power_each(self, a: Buffer, exponents: Buffer, exponent_width: int, threads: int = 1) -> bytes:
        """a[i] to exponents[i]."""
    def fixed_power(
        self, base: bytes, exponents: Buffer, exponent_width: int, window: int = 0, threads: int = 1
    ) -> bytes:
        """base to exponents[i], by a table of windows of `window` bits (0: chosen by the size of the table)."""
    def inverse(self, a: Buffer, threads: int = 1) -> bytes: ...
    def bench_mul(self, count: int, repeats: int, threads: int = 1) -> float:
        """Seconds for `repeats` passes of `count` products in kernel layout (random operands)."""

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
    def start_pool(self, capacity: int, threads: int = 1) -> None:
        """Keep up to `capacity` fresh encryptions of zero, made in the background, for encrypt and rerandomize."""
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
    def to_wire(self, threads: int = 1) -> bytes: ...
    def to_integers(self, threads: int = 1) -> bytes: ...
