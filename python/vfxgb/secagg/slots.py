"""Several entries of a vector in one plaintext: entry s of a plaintext stands at bit 64 s, signed.

A plaintext is the integer z = sum_s x_s 2**(64 s) modulo N. Plaintexts add as their entries do; as long as every sum
lies in (-2**62, 2**62), |z| stays below N/2 and the entries of the sum can be read off.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import ParameterError

SLOT_BITS = 64


def slots_of(given: int | None, key_bits: int) -> int:
    """Entries in one plaintext. Raises ParameterError for more than fit."""
    most = (key_bits - 1) // SLOT_BITS
    if given is not None and given > most:
        raise ParameterError(
            f"reading parameters: found slots={given}, wanted at most {most} with key_bits={key_bits}, or None for that"
        )
    return given or most


def join_entries(values: NDArray[np.int64], slots: int) -> list[int]:
    """The plaintexts of a vector, as signed integers; the last one is filled up with zeros."""
    rows = np.zeros((-(-len(values) // slots), slots), dtype=np.int64)
    rows.reshape(-1)[: len(values)] = values
    # A negative entry borrows one from the next: in two's complement its upper bits are all ones.
    words = rows.view(np.uint64).copy()
    borrow = np.zeros(len(rows), dtype=bool)
    for slot in range(slots):
        column = rows[:, slot]
        words[:, slot] -= borrow
        borrow = (column < 0) | ((column == 0) & borrow)
    return [
        int.from_bytes(row.tobytes(), "little") - (int(negative) << SLOT_BITS * slots)
        for row, negative in zip(words.astype("<u8", copy=False), borrow, strict=True)
    ]


def split_entries(plaintexts: list[int], slots: int, n_entries: int) -> NDArray[np.int64]:
    """The entries of signed plaintexts: inverse of join_entries, for entries in (-2**63, 2**63)."""
    size = slots * SLOT_BITS // 8
    modulus = 1 << SLOT_BITS * slots
    data = b"".join((plaintext % modulus).to_bytes(size, "little") for plaintext in plaintexts)
    words = np.frombuffer(data, dtype="<u8").astype(np.uint64).reshape(len(plaintexts), slots)
    borrowed = words.view(np.int64)[:, :-1] < 0
    words[:, 1:] += borrowed
    return words.view(np.int64).reshape(-1)[:n_entries].copy()
