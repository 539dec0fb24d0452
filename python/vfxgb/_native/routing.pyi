"""One bit of several for every row, without telling which (cpp/routing/hidden_bits.h).

`entries` int32[g]: bits that the sender has for each row, group by group. `planes`: 1 or 2, bits that one choice takes.
`session`, `domain`, `block`, `first`: of the batch of transfers, and the number of the first one used. Lines hold one
bit a row, lowest first, on whole bytes.
"""

import numpy as np
from numpy.typing import NDArray

from . import Buffer

def choose_bits(
    session: bytes,
    domain: int,
    block: int,
    entries: NDArray[np.int32],
    planes: int,
    first: int,
    t: Buffer,
    random: NDArray[np.uint8],
    wanted: NDArray[np.uint16],
    threads: int = 1,
) -> tuple[bytes, bytes]:
    """(corrections for the sender, the receiver's masks). wanted[g, rows]: entries from 1 on, 0 for none."""

def mask_bits(
    session: bytes,
    domain: int,
    block: int,
    delta: bytes,
    entries: NDArray[np.int32],
    planes: int,
    first: int,
    q: Buffer,
    corrections: Buffer,
    bits: Buffer,
    rows: int,
    threads: int = 1,
) -> bytes:
    """The sender's bits under masks."""

def read_bits(
    entries: NDArray[np.int32],
    planes: int,
    wanted: NDArray[np.uint16],
    masks: Buffer,
    sent: Buffer,
    threads: int = 1,
) -> NDArray[np.uint8]:
    """The bits that were wanted, uint8[g, planes, rows] of 0 and 1; 0 where none was."""
