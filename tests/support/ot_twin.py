"""The definitions behind `ot_shares` in Python's integers: masks, shares, their packing and translation.

Nothing here is fast, and nothing is shared with the package but ChaCha20, from which the keys of the hash come.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from vfxgb import _native

HALF = 2**64
Pair = tuple[int, int]


@cache
def _aes(session: bytes, domain: int, block: int) -> Any:
    nonce = domain.to_bytes(4, "little") + block.to_bytes(8, "little")
    key = _native.chacha20_block(session, 0, nonce)[:16]
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor()


@dataclass(frozen=True)
class Hash:
    """H of cpp/ot/hash.h."""

    session: bytes
    domain: int
    block: int

    def __call__(self, number: int, tweak: int) -> int:
        high, low = divmod(number, HALF)
        mixed = (high ^ low) * HALF + high
        data = _aes(self.session, self.domain, self.block).update((mixed ^ tweak).to_bytes(16, "little"))
        return int.from_bytes(data, "little") ^ mixed


def depth_of(leaves: int) -> int:
    return max(1, (leaves - 1).bit_length())


def levels_of(hash_: Hash, delta: int, leaves: int, root: int) -> list[list[int]]:
    """All nodes, level by level from the first; the last is cut to the leaves."""
    levels = [[root, root ^ delta]]
    while len(levels) < depth_of(leaves):
        left = [hash_(node, 0) for node in levels[-1]]
        levels.append([child for node, one in zip(levels[-1], left, strict=True) for child in (one, one ^ node)])
    return [*levels[:-1], levels[-1][:leaves]]


def copath_of(levels: Sequence[Sequence[int]], leaves: int, hole: int) -> list[int]:
    """The siblings of the path to a leaf, from the first level down; 0 for a sibling that was cut off."""
    depth = depth_of(leaves)
    siblings = [(hole >> (depth - level)) ^ 1 for level in range(1, depth + 1)]
    return [row[at] if at < len(row) else 0 for row, at in zip(levels, siblings, strict=True)]


def pair_of(number: int) -> Pair:
    high, low = divmod(number, HALF)
    return low, high


def plus(a: Pair, b: Pair) -> Pair:
    return (a[0] + b[0]) % HALF, (a[1] + b[1]) % HALF


def minus(a: Pair, b: Pair) -> Pair:
    return (a[0] - b[0]) % HALF, (a[1] - b[1]) % HALF


def total(pairs: Sequence[Pair]) -> Pair:
    return sum(pair[0] for pair in pairs) % HALF, sum(pair[1] for pair in pairs) % HALF


def tree_tweak(counter: int, run: int) -> int:
    """Of a tree of boosting."""
    return (run | 2**63) * HALF + counter


def masks_of(hash_: Hash, leaves: Sequence[int], tweak: int) -> list[Pair]:
    """x_b of every leaf."""
    return [pair_of(hash_(leaf, tweak)) for leaf in leaves]


def held_share(masks: Sequence[Pair], hole: int, d: Pair) -> list[Pair]:
    """y_b of every leaf: what the passive party computes without ever using the mask of its hole."""
    known = [mask for b, mask in enumerate(masks) if b != hole]
    return [minus(d, total(known)) if b == hole else mask for b, mask in enumerate(masks)]


def left_of(cells: Sequence[Pair], n_bins: int, missing: bool) -> list[Pair]:
    """Sums left of a slot's candidates: cuts ascending, then, with the missing ones, cuts descending."""
    left = [total(cells[: b + 1]) for b in range(n_bins - 1)]
    return left + ([plus(one, cells[n_bins]) for one in reversed(left)] if missing else [])


def pack(pairs: Sequence[Pair], g_bits: int, h_bits: int) -> bytes:
    """The low bits, one pair after the other, lowest first."""
    number, width = 0, g_bits + h_bits
    for i, (g, h) in enumerate(pairs):
        number |= (g % 2**g_bits + h % 2**h_bits * 2**g_bits) << (i * width)
    return number.to_bytes((len(pairs) * width + 7) // 8, "little")


def translation_masks(hash_: Hash, trees: Sequence[Sequence[int]], counter: int) -> tuple[list[Pair], list[Pair]]:
    """(a, b) of one group: trees[i][j] is leaf j of tree i."""
    values = [[pair_of(hash_(leaf, HALF + counter)) for leaf in tree] for tree in trees]
    return [total(column) for column in zip(*values, strict=True)], [total(row) for row in values]
