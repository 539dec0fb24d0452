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
    """The AES in use: "vaes512", "vaes", "aesni", "neon" or "portable"."""

def aes_encrypt(key: bytes, blocks: Buffer) -> NDArray[np.uint8]:
    """AES-128 of each block, uint8[n, 16], for known-answer tests."""

def ot_hash(session: bytes, domain: int, block: int, level: int, blocks: Buffer) -> NDArray[np.uint8]:
    """The hash of each block with the tweak cut_tweak(level), uint8[n, 16], for known-answer tests."""

@final
class TransferReceiver:
    """Receiver of correlated transfers by small fields of 2^bits elements, bits 1 to 8 (cpp/ot/soft_spoken.h).

    pairs uint8[128, 2, 16]: both seeds of every base transfer. `opening`, 4096 bytes, goes to the sender; a digest of
    `check_blocks` shows it that the opening is consistent (cpp/ot/seed_trees.h).
    """

    def __init__(self, bits: int, pairs: NDArray[np.uint8]) -> None: ...
    @property
    def opening(self) -> bytes: ...
    @property
    def check_blocks(self) -> bytes: ...
    def extend(
        self, first_group: int, groups: int, choices: Buffer | None, threads: int = 1
    ) -> tuple[bytes, NDArray[np.uint8], bytes]:
        """(c to send, t uint8[128 groups, 16], choices) for 16 bytes of choices a group, lowest bit first.

        Without choices they are random, and c has a block less in each group of 128. Never use a group's number twice.
        """

@final
class TransferSender:
    """Sender of the same: q = t ^ choice Delta. seeds uint8[128, 16]: of each pair the one that delta's bit names."""

    def __init__(self, bits: int, delta: bytes, seeds: NDArray[np.uint8], opening: Buffer) -> None: ...
    @property
    def check_blocks(self) -> bytes: ...
    def extend(self, first_group: int, chosen: bool, c: Buffer, threads: int = 1) -> NDArray[np.uint8]:
        """q uint8[128 groups, 16] from what the receiver sent; `chosen`: it named its choices."""

def compress(key: bytes, column: Buffer) -> bytes:
    """16 bytes: a column of bits, 16 bytes a group, as cpp/ot/consistency.h compresses it under the weights of key."""

def compress_columns(key: bytes, rows: Buffer, threads: int = 1) -> bytes:
    """The same of all 128 columns of a matrix of rows, 16 bytes each: 2048 bytes."""

def transfer_keys(
    session: bytes, domain: int, block: int, shift: bytes, first: int, rows: Buffer, threads: int = 1
) -> NDArray[np.uint8]:
    """Keys uint8[n, 16] of transfers number first .. of a batch, from rows ^ shift (cpp/ot/transfer_keys.h)."""

def table_entries(
    session: bytes,
    domain: int,
    block: int,
    delta: bytes,
    bits: int,
    width: int,
    first: int,
    q: Buffer,
    threads: int = 1,
) -> NDArray[np.uint8]:
    """Tables uint8[n, 2^bits * width / 8] of 2^bits random entries of `width` bits, 1, 2, 4, ... 128; n * bits rows."""

def chosen_entries(
    session: bytes,
    domain: int,
    block: int,
    bits: int,
    width: int,
    first: int,
    choice: NDArray[np.uint8],
    t: Buffer,
    threads: int = 1,
) -> NDArray[np.uint8]:
    """Entry choice[i] of each table, uint8[n, width / 8], from the receiver's n * bits rows."""

@final
class SilentSender:
    """The sender's part of a round of silent transfers (cpp/ot/silent.h).

    session, domain and block name the hash of the trees; key: 16 public bytes, those of the matrix; rows: q of the
    transfers that it multiplies; roots: of trees of 2^depth leaves.
    """

    def __init__(
        self,
        session: bytes,
        domain: int,
        block: int,
        delta: bytes,
        key: bytes,
        rows: Buffer,
        depth: int,
        roots: Buffer,
    ) -> None: ...
    def expand(self, first: int, count: int, threads: int = 1) -> NDArray[np.uint8]:
        """The rows uint8[count << depth, 16] of trees first .. first + count."""

@final
class SilentReceiver:
    """The receiver's part: rows t and choices (a bit each, lowest first) of the same; holes uint16[trees], co-paths."""

    def __init__(
        self,
        session: bytes,
        domain: int,
        block: int,
        key: bytes,
        rows: Buffer,
        choices: Buffer,
        depth: int,
        holes: NDArray[np.uint16],
        copaths: Buffer,
    ) -> None: ...
    def expand(self, first: int, count: int, threads: int = 1) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """(rows uint8[count << depth, 16], choices uint8[count << depth]) of trees first .. first + count."""

def leaf_sum_path() -> str:
    """How key streams are added up: "vaes512", "vaes", "aesni", "neon" or "portable"."""

def leaf_blocks_per_second() -> float:
    """AES blocks a second of these sums on one thread, measured for a millisecond."""

def tree_choices(leaves: NDArray[np.int32], holes: NDArray[np.uint16]) -> bytes:
    """Choices of rows * T transfers for TransferReceiver.extend, then zeros. ValueError for a hole that is no leaf."""

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
