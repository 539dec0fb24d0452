"""How a user of `bcp` hides its vector: pairwise masks modulo N, under encryption to the server (FEDXGB, eq. 7).

The encryption plays the part of a user's own mask: the server, which holds the key, still needs the *blinder* g**r of
the user (ERRATA E17). The randomness r follows from the call's seed, so that the blinder of a user that leaves before
it has sent it can be made from the shares of that seed (E18).
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.crypto import masked_sum
from vfxgb.crypto.bresson import BressonGroup
from vfxgb.errors import InvalidKeyError, MessageError
from vfxgb.secagg.base import UserContext
from vfxgb.secagg.double_mask.shares import PairKeys
from vfxgb.secagg.slots import join_entries, slots_of
from vfxgb.transport.messages import Bulk, pack_array


class BressonMasking:
    """A UserMasking in Bresson's group."""

    def __init__(self, context: UserContext) -> None:
        params = context.params
        self._user = context.user
        self._group = BressonGroup.from_bytes(context.public, insecure=params.insecure)
        self._slots = slots_of(params.slots, self._group.bits)
        self._threads = context.threads
        self._server_public = b""

    def read_server_key(self, server_key: Bulk) -> None:
        """A key of small order would leave the pairwise masks alone to hide a vector that came too late."""
        step = f"user {self._user}, set-up: the server's public key"
        if len(server_key) != self._group.element_bytes:
            raise MessageError(
                f"{step}: found {len(server_key)} bytes, wanted {self._group.element_bytes} for a group of "
                f"{self._group.bits} bits"
            )
        try:
            self._group.check_public_key(bytes(server_key), step)
        except InvalidKeyError as error:
            raise MessageError(str(error)) from None
        self._server_public = bytes(server_key)

    def opening(self, seed: bytes, call: bytes) -> bytes:
        """Return the blinder."""
        return blinder(self._group, seed, call)

    def mask(self, values: NDArray[np.int64], call: bytes, seed: bytes, pairs: PairKeys) -> Bulk:
        """element_bytes bytes for each plaintext."""
        group = self._group
        plain = join_entries(values, self._slots)
        masks = pairwise_masks(group, pairs, len(plain), self._threads)
        rows = group.plaintexts([entry + mask for entry, mask in zip(plain, masks, strict=True)])
        r = group.exponent_from_seed(seed, call)
        return pack_array(masked_sum.mask(group, self._server_public, r, call, rows, self._threads))


def blinder(group: BressonGroup, seed: bytes, call: bytes) -> bytes:
    """g**r of a seed."""
    return bytes(group.power_of_g([group.exponent_from_seed(seed, call)])[0])


def pairwise_masks(group: BressonGroup, pairs: PairKeys, count: int, threads: int) -> list[int]:
    """The sum of the pairs' masks for each of `count` plaintexts, modulo N (ERRATA E13, E14, E20)."""
    modulus = group.n.to_bytes(group.number_bytes, "little")
    return group.numbers(_native.crypto.wide_masks(pairs.keys, pairs.signs, count, modulus, threads))
