"""How a user of `masks` hides its vector: x + ChaCha20(own key) +- ChaCha20(keys of pairs), modulo 2**64."""

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.crypto.key_agreement import derive
from vfxgb.errors import MessageError
from vfxgb.secagg.base import UserContext
from vfxgb.secagg.double_mask.shares import PairKeys
from vfxgb.transport.messages import Bulk, pack_array


class WordMasking:
    """A UserMasking over 64-bit words."""

    def __init__(self, context: UserContext) -> None:
        self._user = context.user
        self._threads = context.threads

    def read_server_key(self, server_key: Bulk) -> None:
        """There is none."""
        if len(server_key):
            raise MessageError(
                f"user {self._user}, set-up: found a server key of {len(server_key)} bytes, wanted none with 'masks'"
            )

    def opening(self, seed: bytes, call: bytes) -> bytes:
        """The key of this user's own mask."""
        return derive(seed, call)

    def mask(self, values: NDArray[np.int64], call: bytes, seed: bytes, pairs: PairKeys) -> Bulk:
        """8 bytes for each entry."""
        words = values.astype(np.uint64)
        own = PairKeys.of([self.opening(seed, call)], [1])
        add_masks(words, own, pairs, self._threads)
        return pack_array(words)


def add_masks(words: NDArray[np.uint64], own: PairKeys, pairs: PairKeys, threads: int) -> None:
    """Add users' own masks and those of pairs to a vector, in place."""
    keys = np.concatenate([own.keys, pairs.keys])
    _native.crypto.add_masks(keys, np.concatenate([own.signs, pairs.signs]), words, threads)
