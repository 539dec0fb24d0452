"""Transfers by small fields in Python's integers, as cpp/ot and vfxgb/ot define them: every byte that travels, what
both parties have in the end, and the check. Nothing here is fast, and nothing is shared with the package but ChaCha20.
"""

import hashlib
from dataclasses import dataclass
from functools import cache, reduce
from operator import xor

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import ot_twin

ALL = 2**128 - 1
GROUP = 128


def number(block: bytes) -> int:
    return int.from_bytes(block, "little")


def block(value: int) -> bytes:
    return value.to_bytes(16, "little")


@cache
def aes(key: int, value: int) -> int:
    encryptor = Cipher(algorithms.AES(block(key)), modes.ECB()).encryptor()
    return number(encryptor.update(block(value)))


def piece_bits(k: int, length: int = 128) -> list[int]:
    """The bits of each piece of Delta."""
    return [min(k, length - first) for first in range(0, length, k)]


def product(a: int, b: int) -> int:
    """In GF(2^128), x^128 = x^7 + x^2 + x + 1."""
    total = 0
    for i in range(128):
        if b >> i & 1:
            total ^= a << i
    for i in range(254, 127, -1):
        if total >> i & 1:
            total ^= (1 << i) ^ (0x87 << i - 128)
    return total


@dataclass(frozen=True)
class Tree:
    """The seeds of one piece: its leaves, and the two sums of each level from the second on."""

    leaves: list[int]
    sums: list[tuple[int, int]]

    @property
    def checks(self) -> list[int]:
        return [aes(leaf, i) for leaf in self.leaves for i in (1, 2)]

    def stream(self, x: int, group: int) -> int:
        return aes(aes(self.leaves[x], 0), group)


def grow(pairs: list[tuple[int, int]], k: int) -> list[Tree]:
    """The receiver's trees; pairs: of each base transfer seed zero and seed one."""
    trees, first = [], 0
    for bits in piece_bits(k, len(pairs)):
        zero, one = pairs[first + bits - 1]
        level, sums = [one, zero], []
        for depth in range(2, bits + 1):
            level = [aes(node, side) for node in level for side in (0, 1)]
            zero, one = pairs[first + bits - depth]
            sums.append((reduce(xor, level[0::2]) ^ one, reduce(xor, level[1::2]) ^ zero))
        trees.append(Tree(level, sums))
        first += bits
    return trees


def opening(trees: list[Tree]) -> bytes:
    sent = [value for tree in trees for pair in tree.sums for value in pair]
    sent += [reduce(xor, tree.checks[i::2]) for tree in trees for i in (0, 1)]
    return b"".join(map(block, sent))


def seed_digest(session: bytes, trees: list[Tree]) -> bytes:
    data = opening(trees) + b"".join(block(value) for tree in trees for value in tree.checks)
    return hashlib.blake2b(data, digest_size=32, key=session, person=b"vfxgb ot opening").digest()


@dataclass(frozen=True)
class Extended:
    """What the receiver has of some groups: choices and c by group, columns of t by group and bit of Delta."""

    choices: list[int]
    c: list[list[int]]
    columns: list[list[int]]

    @property
    def rows(self) -> list[int]:
        return [
            sum((column >> j & 1) << i for i, column in enumerate(columns))
            for columns in self.columns
            for j in range(128)
        ]

    @property
    def sent(self) -> bytes:
        return b"".join(block(value) for group in self.c for value in group)


def extend(trees: list[Tree], first_group: int, groups: int, choices: list[int] | None) -> Extended:
    chosen, sent, columns = [], [], []
    for group in range(first_group, first_group + groups):
        sums, own = [], []
        for tree in trees:
            streams = [tree.stream(x, group) for x in range(len(tree.leaves))]
            sums.append(reduce(xor, streams))
            own += [
                reduce(xor, (stream for x, stream in enumerate(streams) if x >> bit & 1))
                for bit in range((len(streams) - 1).bit_length())
            ]
        r = sums[0] if choices is None else choices[group - first_group]
        chosen.append(r)
        sent.append([value ^ r for value in (sums[1:] if choices is None else sums)])
        columns.append(own)
    return Extended(chosen, sent, columns)


def sender_rows(receiver: Extended, delta: int) -> list[int]:
    """q by its definition."""
    bits = [r >> j & 1 for r in receiver.choices for j in range(128)]
    return [row ^ (delta if bit else 0) for row, bit in zip(receiver.rows, bits, strict=True)]


def compress(key: int, column: list[int]) -> int:
    weights = [aes(key, g) for g in range(len(column) - 1)] + [1]
    return reduce(xor, (product(x, w) for x, w in zip(column, weights, strict=True)))


def prove(session: bytes, before: bytes, receiver: Extended) -> bytes:
    shown = before + part_digest(receiver.sent)
    key = hashlib.blake2b(shown, digest_size=16, key=session, person=b"vfxgb ot check 3").digest()
    columns = [[group[i] for group in receiver.columns] for i in range(128)]
    sums = b"".join(block(compress(number(key), column)) for column in columns)
    digest = hashlib.blake2b(sums, digest_size=32, key=session, person=b"vfxgb ot columns").digest()
    return block(compress(number(key), receiver.choices)) + digest


def part_digest(part: bytes) -> bytes:
    """What stands for the long part of a request wherever it would be hashed."""
    return hashlib.blake2b(part, digest_size=64, person=b"vfxgb ot part").digest()


def before(digest: bytes, group: int, kind: int) -> bytes:
    return digest + group.to_bytes(8, "little") + bytes([kind])


def seal(
    kind: int, k: int, session: bytes, domain: int, number_: int, group: int, payload: bytes, part: slice | None = None
) -> bytes:
    """`part` is the slice of the payload that is hashed apart, and for which its digest stands."""
    data = b"VXOT" + bytes([4, kind, k, 0]) + domain.to_bytes(4, "little")
    data += number_.to_bytes(8, "little") + group.to_bytes(8, "little") + hashlib.sha256(session).digest()[:8]
    data += len(payload).to_bytes(8, "little")
    hashed = payload
    if part is not None:
        hashed = payload[: part.start] + part_digest(payload[part]) + payload[part.stop :]
    return data + payload + hashlib.blake2b(data + hashed, digest_size=16, key=session).digest()


@dataclass(frozen=True)
class Keys:
    """What is made of rows of a batch: keys, and entries of tables."""

    session: bytes
    domain: int
    block: int

    def key(self, row: int, index: int, part: int = 0) -> int:
        return ot_twin.Hash(self.session, self.domain, self.block)(row, (2 + part << 64) + index)

    def entry(self, rows: list[int], index: int, entry: int, width: int) -> int:
        """Entry of the table of these rows, which are the ones that the bits of `entry` name."""
        at = entry * width
        total = reduce(xor, (self.key(row, index + i, at // 128) for i, row in enumerate(rows)))
        return total >> at % 128 & (1 << width) - 1


def matrix_row(key: int, i: int, secret: int) -> list[int]:
    """The places of the ones in row i of the matrix of silent transfers."""
    data = b"".join(block(aes(key, i // 2 * 5 + j)) for j in range(5))
    words = [int.from_bytes(data[at : at + 4], "little") for at in range(0, 80, 4)]
    return [word * secret >> 32 for word in words[10 * (i % 2) :][:10]]
