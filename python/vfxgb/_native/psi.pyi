"""Private set intersection (cpp/psi): ids in bins, the OPRF, the store that programs it."""

from typing import final

import numpy as np
from numpy.typing import NDArray

from . import Buffer

def cuckoo_table(ids: NDArray[np.uint8], key: bytes, bins: int, threads: int = 1) -> NDArray[np.uint32] | None:
    """The entry 3 id + hash in each bin, 2^32 - 1 in an empty one; None if ids uint8[n, 16] found no place."""

def bin_order(
    ids: NDArray[np.uint8], key: bytes, bins: int, threads: int = 1
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """(all 3 n entries bin by bin, uint32[bins + 1] where each bin begins)."""

@final
class OprfReceiver:
    """Receiver of an OPRF in every bin (cpp/psi/oprf.h); session 32 bytes, pairs uint8[768, 2, 16].

    `opening`, 24,576 bytes, goes to the sender.
    """

    def __init__(self, session: bytes, pairs: NDArray[np.uint8]) -> None: ...
    @property
    def opening(self) -> bytes: ...
    def mask(
        self, first_group: int, ids: NDArray[np.uint8], entries: NDArray[np.uint32], threads: int = 1
    ) -> tuple[bytes, NDArray[np.uint64]]:
        """(3072 bytes a group for the sender, the values) of whole groups of 128 bins, which hold `entries`.

        Values of empty bins mean nothing. Never use a group's number twice.
        """

@final
class OprfSender:
    """Sender of an OPRF in every bin; choices 96 bytes, seeds uint8[768, 16]: of each pair, the one a bit names."""

    def __init__(self, session: bytes, choices: Buffer, seeds: NDArray[np.uint8], opening: Buffer) -> None: ...
    def evaluate(
        self,
        first_group: int,
        u: Buffer,
        ids: NDArray[np.uint8],
        order: NDArray[np.uint32],
        offsets: NDArray[np.uint32],
        values: NDArray[np.uint64],
        threads: int = 1,
    ) -> None:
        """Write the values of the entries in the bins of some groups to values uint64[3 n], in place, by entry.

        u: the receiver's bytes for them; order and offsets: as bin_order made them for all bins.
        """

def store_size(keys: int) -> int:
    """Numbers in an oblivious key-value store (cpp/psi/store.h) of so many keys."""

def store_encode(
    seed: bytes, ids: NDArray[np.uint8], values: NDArray[np.uint64], threads: int = 1
) -> NDArray[np.uint64] | None:
    """The store of values uint64[3 n] by entry, under a seed of 16 bytes; None if the seed does not serve."""

def store_decode(
    seed: bytes,
    ids: NDArray[np.uint8],
    entries: NDArray[np.uint32],
    keys: int,
    store: NDArray[np.uint64],
    threads: int = 1,
) -> NDArray[np.uint64]:
    """The values of entries uint32[k], 3 id + hash, in a store of so many keys."""
