"""How the server of `bcp` multiplies ciphertexts and opens their product."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from vfxgb.crypto.bresson import BressonGroup
from vfxgb.crypto.masked_sum import MaskedSum
from vfxgb.errors import InvalidCiphertextError, MessageError, SpoiledSumError
from vfxgb.secagg.base import ServerContext
from vfxgb.secagg.bcp.user import blinder, pairwise_masks
from vfxgb.secagg.double_mask.modes import VectorSum
from vfxgb.secagg.double_mask.shares import PairKeys
from vfxgb.secagg.slots import slots_of, split_entries
from vfxgb.transport.messages import Bulk, unpack_array


class CipherSum:
    """A VectorSum in Bresson's group: one ciphertext for each plaintext, however many users."""

    def __init__(self, keys: "BressonServerMasking", n_entries: int, call: bytes) -> None:
        self._keys = keys
        self._n_entries = n_entries
        self._count = -(-n_entries // keys.slots)
        self._call = call
        self._product = MaskedSum(keys.group, self._count)

    def add(self, user: int, values: Bulk) -> None:
        """See VectorSum."""
        step = f"reading the vector of user {user}"
        rows = unpack_array(values, np.uint8, (self._count, self._keys.group.element_bytes), step)
        try:
            self._product.add(rows, self._keys.threads)
        except InvalidCiphertextError as error:
            raise MessageError(f"{step}: {error}") from None

    def open(self, openings: Mapping[int, bytes], pairs: PairKeys) -> NDArray[np.int64]:
        """See VectorSum."""
        keys = self._keys
        group = keys.group
        blinders = group.rows(list(openings.values()))
        try:
            group.check_elements(blinders, "opening a sum", keys.threads)
            masked = self._product.open(keys.private, blinders, self._call, keys.threads)
        except InvalidCiphertextError as error:
            raise SpoiledSumError(f"opening a sum: the blinders do not fit the vectors: {error}") from None
        masks = pairwise_masks(group, pairs, self._count, keys.threads)
        sums = [total + mask for total, mask in zip(group.numbers(masked), masks, strict=True)]
        return split_entries(group.centred(group.plaintexts(sums)), keys.slots, self._n_entries)


class BressonServerMasking:
    """A ServerMasking: the group of the key centre, and a key pair of the server's own."""

    def __init__(self, context: ServerContext) -> None:
        params = context.params
        self.group = BressonGroup.from_bytes(context.public, insecure=params.insecure)
        self.slots = slots_of(params.slots, self.group.bits)
        self.threads = context.threads
        self.private = self.group.random_exponent()

    def server_key(self) -> bytes:
        """Return the public key."""
        return bytes(self.group.power_of_g([self.private])[0])

    def opening(self, seed: bytes, call: bytes) -> bytes:
        """See ServerMasking."""
        return blinder(self.group, seed, call)

    def begin(self, n_entries: int, call: bytes) -> VectorSum:
        """See ServerMasking."""
        return CipherSum(self, n_entries, call)
