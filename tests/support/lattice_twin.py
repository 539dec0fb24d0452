"""Lattice sums by their definition, number by number: what every kernel and every byte is compared with.

Polynomials are lists of Python integers modulo q = 2^log_q; nothing is shifted into the upper bits of words until the
end.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native

SECRETS, NOISE = 1, 2


def stream(key: bytes, domain: int, block: int, column: int, words: int) -> list[int]:
    """The words of one place: ChaCha20 under a key that ChaCha20 made of the place."""
    nonce = block.to_bytes(8, "little") + column.to_bytes(4, "little")
    own = _native.rand.chacha20_block(key, domain, nonce)[:32]
    data = b"".join(_native.rand.chacha20_block(own, i, bytes(12)) for i in range(-(-words // 8)))
    return [int.from_bytes(data[8 * i : 8 * i + 8], "little") for i in range(words)]


def secret(key: bytes, column: int, degree: int) -> list[int]:
    """Eight digits to base 3 of every word, as a fraction of 2^64, minus one."""
    return [
        (word * 3 ** (digit + 1) >> 64) % 3 - 1
        for word in stream(key, SECRETS, 0, column, degree // 8)
        for digit in range(8)
    ]


def noise(key: bytes, block: int, column: int, degree: int) -> list[int]:
    return [word.bit_count() - 32 for word in stream(key, NOISE, block, column, degree)]


def matrix_row(a: list[int], i: int) -> list[int]:
    """Row i of the matrix of the product with a: a_(i-k), with a_(-t) = -a_(N-t)."""
    return [a[i - k] if i >= k else -a[len(a) + i - k] for k in range(len(a))]


def product(a: list[int], s: list[int], modulus: int) -> list[int]:
    """A times s modulo X^N + 1 and `modulus`."""
    return [sum(x * y for x, y in zip(matrix_row(a, i), s, strict=True)) % modulus for i in range(len(a))]


def correlation(a: list[int], u: dict[int, int], modulus: int) -> list[int]:
    """u^T A for weights of some rows."""
    rows = {i: matrix_row(a, i) for i in u}
    return [sum(u[i] * rows[i][k] for i in u) % modulus for k in range(len(a))]


def rounded(value: int, log_q: int, bits: int) -> int:
    """The nearest multiple of 2^(log_q - bits), upwards in the middle, modulo 2^log_q."""
    cut = log_q - bits
    if cut == 0:
        return value % (1 << log_q)
    return ((value + (1 << cut >> 1)) >> cut << cut) % (1 << log_q)


def pack(values: list[int], log_q: int, bits: int) -> bytes:
    """Upper bits, lowest first, without gaps."""
    number = sum((rounded(value, log_q, bits) >> (log_q - bits)) << (i * bits) for i, value in enumerate(values))
    return number.to_bytes(-(-len(values) * bits // 8), "little")


def words(values: list[int], log_q: int) -> NDArray[np.uint64]:
    """Integers modulo q in the upper bits of words."""
    return np.array([value % (1 << log_q) << (64 - log_q) for value in values], dtype=np.uint64)
