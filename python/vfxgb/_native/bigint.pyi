"""Big integers (cpp/bigint): the arithmetic kernels, and rings on integers for tests and benchmarks."""

from typing import final

from . import Buffer

def default_path() -> str:
    """The arithmetic kernels new keys use: "ifma", "avx2" or "portable". VFXGB_SIMD names one of them."""

def available_paths() -> list[str]:
    """All kernels this machine can run."""

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
    def digit_products(
        self, bases: Buffer, digits: Buffer, digit_width: int, windows: int, window: int, threads: int = 1
    ) -> bytes:
        """Products of powers of the bases, units, chosen by rows of `windows` digits (cpp/bigint/digit_products.h)."""
    def inverse(self, a: Buffer, threads: int = 1) -> bytes: ...
