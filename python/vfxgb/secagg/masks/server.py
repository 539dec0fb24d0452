"""How the server of `masks` adds vectors and takes the masks off."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from vfxgb.crypto.key_agreement import derive
from vfxgb.secagg.base import ServerContext
from vfxgb.secagg.double_mask.modes import VectorSum
from vfxgb.secagg.double_mask.shares import PairKeys
from vfxgb.secagg.masks.user import add_masks
from vfxgb.transport.messages import Bulk, unpack_array


class WordSum:
    """A VectorSum modulo 2**64."""

    def __init__(self, n_entries: int, threads: int) -> None:
        self._sums = np.zeros(n_entries, dtype=np.uint64)
        self._threads = threads

    def add(self, user: int, values: Bulk) -> None:
        """See VectorSum."""
        self._sums += unpack_array(values, np.uint64, self._sums.shape, f"reading the vector of user {user}")

    def open(self, openings: Mapping[int, bytes], pairs: PairKeys) -> NDArray[np.int64]:
        """See VectorSum."""
        own = PairKeys.of(list(openings.values()), [-1] * len(openings))
        add_masks(self._sums, own, pairs, self._threads)
        return self._sums.view(np.int64)


class WordServerMasking:
    """A ServerMasking over 64-bit words."""

    def __init__(self, context: ServerContext) -> None:
        self._threads = context.threads

    def server_key(self) -> bytes:
        """None is needed."""
        return b""

    def opening(self, seed: bytes, call: bytes) -> bytes:
        """See ServerMasking."""
        return derive(seed, call)

    def begin(self, n_entries: int, call: bytes) -> VectorSum:
        """Words need nothing of the call."""
        del call
        return WordSum(n_entries, self._threads)
