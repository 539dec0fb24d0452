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
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.crypto.bresson import BressonGroup
from vfxgb.crypto.ints import to_fixed, unpack_unsigned
from vfxgb.crypto.sizes import check_requested_bits
from vfxgb.errors import AggregationError

SEED_BYTES = 32
# Pads of so many plaintexts come from one key stream.
BLOCK = 256
MOST_WINDOW = 10
_MISFIT = (
    "opening sums: the ciphertexts do not fit the keys; some user encrypted with other keys than the key centre gave it"
)


@dataclass(frozen=True)
class Seeds:
    """What a user holds: seeds of its keys s and its pads w."""

    keys: bytes = field(repr=False)
    pads: bytes = field(repr=False)

    @staticmethod
    def draw() -> Seeds:
        """Fresh ones."""
        return Seeds(_native.random_bytes(SEED_BYTES), _native.random_bytes(SEED_BYTES))

    def to_bytes(self) -> bytes:
        """For the user alone."""
        return self.keys + self.pads

    @staticmethod
    def from_bytes(data: bytes) -> Seeds:
        """Read what to_bytes wrote."""
        return Seeds(data[:SEED_BYTES], data[SEED_BYTES:])


class Scheme:
    """The operations over one group."""

    def __init__(self, group: BressonGroup) -> None:
        self.group = group
        self.ring = _native.Ring(to_fixed(group.n), 2)
        self._modulus = to_fixed(group.n)

    def keys(self, seed: bytes, count: int) -> NDArray[np.uint8]:
        """s_e for e < count, uint8[count, w]."""
        return self._pieces(seed, count, 1)

    def pads(self, seeds: list[bytes], first: int, count: int, threads: int) -> list[int]:
        """The sums over the seeds of pads first, first + 1, ..."""
        found: list[int] = []
        for block in range(first // BLOCK, -(-(first + count) // BLOCK)):
            keys = b"".join([_block_key(seed, block) for seed in seeds])
            pieces = self._pieces(keys, BLOCK, threads)
            found += unpack_unsigned(pieces.tobytes(), pieces.shape[1])
        return found[first % BLOCK :][:count]

    def encrypt(
        self, plaintexts: list[int], keys: NDArray[np.uint8], pads: list[int], threads: int
    ) -> tuple[bytes, bytes]:
        """(C_0, all C_e one after the other), integers below N**2 of ring.width bytes."""
        n, width = self.group.n, self.ring.width
        r = self.group.random_exponent()
        blinder = self.ring.power((self.group.g).to_bytes(width, "little"), to_fixed(r))
        bare = [(1 + (z + w) % n * n).to_bytes(width, "little") for z, w in zip(plaintexts, pads, strict=True)]
        return blinder, self.ring.mul(b"".join(bare), self.powers(blinder, keys, threads), threads)

    def powers(self, blinder: bytes, keys: NDArray[np.uint8], threads: int) -> bytes:
        """C_0**s_e for each key, by a table of the blinder's powers."""
        count, width = keys.shape
        words = np.pad(keys, ((0, 0), (0, -width % 8)))
        return self.ring.fixed_power(blinder, words, words.shape[1], _window(8 * width, count), threads)

    def _pieces(self, keys: bytes, count: int, threads: int) -> NDArray[np.uint8]:
        seeds = np.frombuffer(keys, np.uint8).reshape(-1, SEED_BYTES)
        signs = np.ones(len(seeds), dtype=np.int8)
        return _native.wide_masks(seeds, signs, count, self._modulus, threads)


class RunningSum:
    """The server's products over users: memory for two ciphertexts per plaintext, however many users."""

    def __init__(self, scheme: Scheme, count: int) -> None:
        self._scheme = scheme
        self._vectors = self._powers = (1).to_bytes(scheme.ring.width, "little") * count

    def add(self, blinder: bytes, ciphertexts: bytes, keys: NDArray[np.uint8], threads: int) -> None:
        """Multiply one user's vector in. Raises ValueError for integers not below N**2."""
        ring = self._scheme.ring
        vectors = ring.mul(self._vectors, ciphertexts, threads)
        self._powers = ring.mul(self._powers, self._scheme.powers(blinder, keys, threads), threads)
        self._vectors = vectors

    def open(self, pads: list[int], threads: int) -> list[int]:
        """The sums as signed integers, from the sums of the pads. Raises AggregationError if a vector was damaged."""
        ring, n = self._scheme.ring, self._scheme.group.n
        try:
            opened = ring.mul(self._vectors, ring.inverse(self._powers, threads), threads)
        except ValueError:
            raise AggregationError(_MISFIT) from None
        sums = []
        for value, pad in zip(unpack_unsigned(opened, ring.width), pads, strict=True):
            high, low = divmod(value, n)
            if low != 1:
                raise AggregationError(_MISFIT)
            z = (high - pad) % n
            sums.append(z - n if 2 * z > n else z)
        return sums


def make_group(bits: int, insecure: bool) -> BressonGroup:
    """A new group. Raises KeySizeError for less than 2048 bits unless `insecure`."""
    check_requested_bits(bits, insecure)
    return BressonGroup.generate(bits, insecure=insecure)


@lru_cache(maxsize=4)
def read_scheme(public: bytes, insecure: bool) -> Scheme:
    """The scheme over the group in `public`. Users in one process share it."""
    return Scheme(BressonGroup.from_bytes(public, insecure=insecure))


def _block_key(seed: bytes, block: int) -> bytes:
    return _native.chacha20_block(seed, block, bytes(12))[:SEED_BYTES]


def _window(bits: int, count: int) -> int:
    """The width of a table's windows with the fewest products, its making included."""
    return min(range(1, MOST_WINDOW + 1), key=lambda width: -(-bits // width) * ((1 << width) + count))
