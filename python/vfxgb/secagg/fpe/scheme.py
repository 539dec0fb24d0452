"""Functional encryption of the sum of several users' vectors, from Paillier's assumption.

The multi-input scheme for inner products of Abdalla, Catalano, Fiore, Gay and Ursu (Crypto 2018, section 3), over the
single-input one of Agrawal, Libert and Stehle (Crypto 2016, section 4), for the inner product with (1, ..., 1).

Notation: N and g as in crypto/bresson.py. User u holds keys s_ue, one for each place e of a plaintext in a message, and
pads w_uj in Z_N, one for each plaintext j that is ever sent. For the plaintexts z_e of a message, numbered from j on:

    encrypt   C_0 = g**r,  C_e = (1 + (z_e + w_u,j+e) N) C_0**s_ue mod N**2,   r fresh
    key       the s_ue of all users, and the sums W_j = sum_u w_uj
    decrypt   prod_u C_ue / prod_u C_u0**s_ue = 1 + N (sum_u z_ue + W_j+e)   mod N**2

Keys and pads are pieces of key streams (ERRATA E20), so that a user holds two seeds, and the server one for each user.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from vfxgb import _native
from vfxgb.crypto.bresson import BressonGroup, Rows
from vfxgb.crypto.ints import to_fixed
from vfxgb.errors import AggregationError, InvalidCiphertextError

SEED_BYTES = 32
# Pads of so many plaintexts come from one key stream.
BLOCK = 256


@dataclass(frozen=True)
class Seeds:
    """What a user holds: seeds of its keys s and its pads w."""

    keys: bytes = field(repr=False)
    pads: bytes = field(repr=False)

    @staticmethod
    def draw() -> Seeds:
        """Draw fresh seeds."""
        return Seeds(_native.rand.random_bytes(SEED_BYTES), _native.rand.random_bytes(SEED_BYTES))

    def to_bytes(self) -> bytes:
        """Write the seeds as the user alone gets them."""
        return self.keys + self.pads

    @staticmethod
    def from_bytes(data: bytes) -> Seeds:
        """Read what to_bytes wrote."""
        return Seeds(data[:SEED_BYTES], data[SEED_BYTES:])


class Scheme:
    """The operations over one group. Elements and plaintexts are rows of bytes, as in crypto/bresson.py."""

    def __init__(self, group: BressonGroup) -> None:
        self.group = group
        self._modulus = to_fixed(group.n)

    def keys(self, seed: bytes, count: int) -> Rows:
        """s_e for e < count, uint8[count, number_bytes]."""
        return self._pieces(seed, count, 1)

    def pads(self, seeds: list[bytes], first: int, count: int, threads: int) -> list[int]:
        """The sums over the seeds of pads first, first + 1, ..."""
        numbers: list[int] = []
        for block in range(first // BLOCK, -(-(first + count) // BLOCK)):
            keys = b"".join([_block_key(seed, block) for seed in seeds])
            numbers += self.group.numbers(self._pieces(keys, BLOCK, threads))
        return numbers[first % BLOCK :][:count]

    def encrypt(self, plaintexts: list[int], keys: Rows, pads: list[int], threads: int) -> tuple[bytes, Rows]:
        """(C_0, all C_e)."""
        padded = self.group.plaintexts([z + w for z, w in zip(plaintexts, pads, strict=True)])
        blinder = self.group.power_of_g([self.group.random_exponent()], 1)
        return blinder.tobytes(), self.group.native.powers(blinder, keys, padded, threads)

    def _pieces(self, keys: bytes, count: int, threads: int) -> Rows:
        seeds = np.frombuffer(keys, np.uint8).reshape(-1, SEED_BYTES)
        signs = np.ones(len(seeds), dtype=np.int8)
        return _native.crypto.wide_masks(seeds, signs, count, self._modulus, threads)


class RunningSum:
    """The server's products over users: memory for the products of two vectors, however many users."""

    def __init__(self, scheme: Scheme, count: int) -> None:
        self._group = scheme.group
        self._vectors = _native.crypto.ElementProducts(scheme.group.native, count)
        self._powers = _native.crypto.PowerProducts(scheme.group.native, count, scheme.group.bits)

    def add(self, blinder: bytes, ciphertexts: Rows, keys: Rows, threads: int) -> None:
        """Multiply one user's vector in. Raises InvalidCiphertextError for what is outside the group."""
        base = self._group.rows([blinder])
        self._group.check_elements(base, "reading C_0", threads)
        self._group.check_elements(ciphertexts, "reading C_1, C_2, ...", threads)
        self._vectors.multiply(ciphertexts, threads)
        self._powers.multiply(base, keys[None], threads)

    def open(self, pads: list[int], threads: int) -> list[int]:
        """The sums as signed integers, from the sums of the pads. Raises AggregationError if a vector was damaged."""
        group = self._group
        try:
            padded = group.decrypt(1, self._powers.elements(threads), self._vectors.elements(threads), threads)
        except InvalidCiphertextError:
            raise AggregationError(
                "opening sums: the ciphertexts do not fit the keys; some user encrypted with other keys than the key "
                "centre gave it"
            ) from None
        return group.centred(group.plaintexts([z - w for z, w in zip(group.numbers(padded), pads, strict=True)]))


@lru_cache(maxsize=4)
def read_scheme(public: bytes, insecure: bool) -> Scheme:
    """The scheme over the group in `public`. Users in one process share it."""
    return Scheme(BressonGroup.from_bytes(public, insecure=insecure))


def _block_key(seed: bytes, block: int) -> bytes:
    return _native.rand.chacha20_block(seed, block, bytes(12))[:SEED_BYTES]
