"""Oblivious transfer (cpp/ot).

A block is 16 bytes. `session` (32 bytes), `domain` and `block` name the public key of the hash (cpp/ot/hash.h): both
parties use the same. `leaves` int32[s]: trees of so many leaves, `rows` of each. Trees, transfers, corrections and
co-paths stand shape by shape, row by row, level by level (cpp/ot/ggm.h). T: the levels of a row's trees together, sum
of max(1, ceil(log2 leaves)). `holes` uint16[s, rows]: each tree's secret leaf.
"""

from typing import final

import numpy as np
from numpy.typing import NDArray

from . import Buffer

def aes_path() -> str:
    """The AES in use: "vaes", "aesni" or "portable". VFXGB_SIMD=portable forces the last."""

def aes_encrypt(key: bytes, blocks: Buffer) -> NDArray[np.uint8]:
    """AES-128 of each block, uint8[n, 16], for known-answer tests."""

def ot_hash(session: bytes, domain: int, block: int, level: int, blocks: Buffer) -> NDArray[np.uint8]:
    """The hash of each block with the tweak cut_tweak(level), uint8[n, 16], for known-answer tests."""

@final
class OtSender:
    """Sender of correlated transfers by extension: q = t ^ choice Delta (cpp/ot/iknp.h).

    seeds uint8[128, 16]: of each pair, the one that bit i of delta names.
    """

    def __init__(self, delta: bytes, seeds: NDArray[np.uint8]) -> None: ...
    def extend(self, first_group: int, u: Buffer, threads: int = 1) -> NDArray[np.uint8]:
        """q uint8[128 groups, 16] from the receiver's 2048 bytes a group. Never use a group's number twice."""

@final
class OtReceiver:
    """Receiver of correlated transfers by extension; seeds uint8[128, 2, 16]."""

    def __init__(self, seeds: NDArray[np.uint8]) -> None: ...
    def extend(self, first_group: int, choices: Buffer, threads: int = 1) -> tuple[bytes, NDArray[np.uint8]]:
        """(u to send, t uint8[128 groups, 16]) for 16 bytes of choices a group, lowest bit first."""

def weighted_sum(key: bytes, rows: Buffer, threads: int = 1) -> bytes:
    """The sum in GF(2^128) of AES(key, j) times row j (cpp/ot/consistency.h)."""

def weighted_choices(key: bytes, choices: Buffer) -> bytes:
    """The sum of AES(key, j) over the bits j that are set."""

def field_product(a: bytes, b: bytes) -> bytes:
    """A product in GF(2^128)."""

def tree_choices(leaves: NDArray[np.int32], holes: NDArray[np.uint16]) -> bytes:
    """Choices of rows * T transfers for OtReceiver.extend, then zeros. ValueError for a hole that is no leaf."""

def tree_corrections(
    session: bytes,
    domain: int,
    block: int,
    delta: bytes,
    leaves: NDArray[np.int32],
    rows: int,
    q: Buffer,
    threads: int = 1,
) -> tuple[NDArray[np.uint8], bytes]:
    """Owner: (roots uint8[s, rows, 16] to keep, rows * (T - s) corrections to send) from rows * T transfers q."""

def tree_copaths(
    session: bytes,
    domain: int,
    block: int,
    leaves: NDArray[np.int32],
    holes: NDArray[np.uint16],
    t: Buffer,
    corrections: Buffer,
    threads: int = 1,
) -> NDArray[np.uint8]:
    """Other party: co-paths uint8[rows * T, 16] to keep, from rows * T transfers t and the owner's corrections."""

def tree_leaves(
    session: bytes,
    domain: int,
    block: int,
    delta: bytes,
    leaves: NDArray[np.int32],
    roots: NDArray[np.uint8],
    threads: int = 1,
) -> NDArray[np.uint8]:
    """The leaves of every tree and, where they are no power of two, the sum of the nodes cut off, uint8[n, 16]."""

def tree_leaves_punctured(
    session: bytes,
    domain: int,
    block: int,
    leaves: NDArray[np.int32],
    holes: NDArray[np.uint16],
    copaths: Buffer,
    threads: int = 1,
) -> NDArray[np.uint8]:
    """The same from the co-paths; 0 in place of the secret leaves."""
