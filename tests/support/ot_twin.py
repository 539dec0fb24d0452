"""The definitions behind `ot_shares` in Python's integers: trees of masks, shares and their packing.

Nothing here is fast, and nothing is shared with the package but ChaCha20, from which the keys of the hash come.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, reduce
from operator import xor
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from vfxgb import _native

HALF = 2**64
LANE = 2**32
Pair = tuple[int, int]


@cache
def _aes(session: bytes, domain: int, block: int) -> Any:
    nonce = domain.to_bytes(4, "little") + block.to_bytes(8, "little")
    key = _native.rand.chacha20_block(session, 0, nonce)[:16]
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
    """All nodes, level by level from the first, the ones that are cut off and what would grow of them included."""
    levels = [[root, root ^ delta]]
    while len(levels) < depth_of(leaves):
        left = [hash_(node, 0) for node in levels[-1]]
        levels.append([child for node, one in zip(levels[-1], left, strict=True) for child in (one, one ^ node)])
    return levels


def kept_of(leaves: int, level: int) -> int:
    """Nodes that a level, from 1 on, keeps; if they are odd, the node after them is cut off."""
    return -(-leaves // 2 ** (depth_of(leaves) - level))


def cut_of(levels: Sequence[Sequence[int]], leaves: int, before: int | None = None) -> int | None:
    """C: the sum of the nodes cut off at all levels, or at those before `before`; None for none."""
    last = len(levels) if before is None else before - 1
    cut = [levels[level - 1][kept_of(leaves, level)] for level in range(1, last + 1) if kept_of(leaves, level) % 2]
    return reduce(xor, cut) if cut else None


def copath_of(levels: Sequence[Sequence[int]], hole: int) -> list[int]:
    """The siblings of the path to a leaf, from the first level down."""
    return [row[(hole >> (len(levels) - level)) ^ 1] for level, row in enumerate(levels, 1)]


def level_tweak(level: int) -> int:
    """Of the mask of a correction."""
    return HALF + level


def corrections_of(hash_: Hash, levels: Sequence[Sequence[int]], leaves: int, q: Sequence[int]) -> list[int]:
    """What the owner sends, from the second level down; q: of the transfers of all levels."""
    out = []
    for level in range(2, len(levels) + 1):
        cut = cut_of(levels, leaves, before=level)
        left = levels[level - 1][: 2 * kept_of(leaves, level - 1) : 2]
        out.append(reduce(xor, left) ^ q[level - 1] ^ (0 if cut is None else hash_(cut, level_tweak(level))))
    return out


def pair_of(number: int) -> Pair:
    high, low = divmod(number, HALF)
    return low, high


def narrow_pair_of(number: int, counter: int) -> Pair:
    """What tree `counter` takes of a hash where sums fit 32 bits: the lower half if it is even, else the upper one."""
    high, low = divmod(number, HALF)
    h, g = divmod(high if counter % 2 else low, LANE)
    return g, h


def narrow_total(pairs: Sequence[Pair]) -> Pair:
    return sum(pair[0] for pair in pairs) % LANE, sum(pair[1] for pair in pairs) % LANE


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


def cut_mask(hash_: Hash, cut: int | None, tweak: int) -> Pair:
    """H(C, tweak), nothing for a tree without C."""
    return (0, 0) if cut is None else pair_of(hash_(cut, tweak))


def held_share(masks: Sequence[Pair], extra: Pair, hole: int, d: Pair) -> list[Pair]:
    """y_b of every leaf: what the passive party computes without ever using the mask of its hole. `extra`: cut_mask."""
    known = [extra, *(mask for b, mask in enumerate(masks) if b != hole)]
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
