"""The hash and punctured trees against forms of their definitions in Python, over AES of `cryptography`."""

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from instruction_sets import INSTRUCTION_SETS
from vfxgb import _native

SESSION = bytes(range(32))
HALF = 2**64
ALL = HALF**2 - 1


@pytest.fixture(params=INSTRUCTION_SETS, autouse=True)
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VFXGB_SIMD", request.param)


def aes(key: bytes, number: int) -> int:
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return int.from_bytes(encryptor.update(number.to_bytes(16, "little")), "little")


def numbers(blocks: NDArray[np.uint8] | bytes) -> list[int]:
    data = bytes(blocks)
    return [int.from_bytes(data[i : i + 16], "little") for i in range(0, len(data), 16)]


def random_blocks(count: int, seed: int = 1) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (count, 16), dtype=np.uint8)


def naive_hash(domain: int, block: int, number: int, tweak: int) -> int:
    nonce = domain.to_bytes(4, "little") + block.to_bytes(8, "little")
    key = _native.rand.chacha20_block(SESSION, 0, nonce)[:16]
    high, low = divmod(number, HALF)
    mixed = (high ^ low) * HALF + high
    return aes(key, mixed ^ tweak) ^ mixed


def naive_values(domain: int, block: int, delta: int, leaves: int, root: int) -> list[int]:
    """All nodes of every level, then the first `leaves` of the last, and what is missing to Delta if some were cut off.

    All nodes of a level add up to Delta, and those that were cut off above stand for their descendants.
    """
    level = [root, root ^ delta]
    while len(level) < leaves:
        left = [naive_hash(domain, block, node, 0) for node in level]
        level = [child for node, child in zip(level, left, strict=True) for child in (child, child ^ node)]
    cut = delta
    for leaf in level[:leaves]:
        cut ^= leaf
    return level[:leaves] if len(level) == leaves else [*level[:leaves], cut]


DELTA = bytes(random_blocks(1, 2))


def correlated(choices: bytes, count: int, seed: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """(q, t) of correlated transfers, dealt by someone both parties trust."""
    t = random_blocks(count, seed)
    bits = np.unpackbits(np.frombuffer(choices, dtype=np.uint8), bitorder="little", count=count)
    return t ^ np.frombuffer(DELTA, dtype=np.uint8) * bits[:, np.newaxis], t


def test_hash() -> None:
    blocks = random_blocks(19)
    counter = 2**64 - 2
    found = _native.ot.ot_hash(SESSION, 3, 2**40 + 5, counter, blocks)
    wanted = [naive_hash(3, 2**40 + 5, number, HALF + counter) for number in numbers(blocks)]
    assert numbers(found) == wanted


@pytest.mark.parametrize("leaves", [[1, 2, 3], [33, 32, 5], [100]])
def test_trees(leaves: list[int]) -> None:
    rows = 11
    sizes = np.array(leaves, dtype=np.int32)
    holes = np.random.default_rng(5).integers(0, sizes[:, np.newaxis], (len(leaves), rows)).astype(np.uint16)
    holes[:, 0], holes[:, 1] = 0, sizes - 1
    levels = sum(max(1, (some - 1).bit_length()) for some in leaves)
    q, t = correlated(_native.ot.tree_choices(sizes, holes), rows * levels, 3)
    roots, corrections = _native.ot.tree_corrections(SESSION, 1, 2, DELTA, sizes, rows, q)
    assert roots.shape == (len(leaves), rows, 16)
    assert len(corrections) == 16 * rows * (levels - len(leaves))
    copaths = _native.ot.tree_copaths(SESSION, 1, 2, sizes, holes, t, corrections)
    full = numbers(_native.ot.tree_leaves(SESSION, 1, 2, DELTA, sizes, roots))
    punctured = numbers(_native.ot.tree_leaves_punctured(SESSION, 1, 2, sizes, holes, copaths))
    delta = int.from_bytes(DELTA, "little")
    at = 0
    for tree, some in enumerate(leaves):
        for row in range(rows):
            wanted = naive_values(1, 2, delta, some, numbers(roots[tree, row])[0])
            assert full[at : at + len(wanted)] == wanted
            wanted[holes[tree, row]] = 0
            assert punctured[at : at + len(wanted)] == wanted
            at += len(wanted)
    assert at == len(full) == len(punctured)


def test_many_leaves() -> None:
    """A thousand trees of a thousand leaves, each punctured at another leaf."""
    count = 1000
    sizes = np.array([count], dtype=np.int32)
    holes = np.random.default_rng(6).permutation(count).astype(np.uint16)[np.newaxis]
    q, t = correlated(_native.ot.tree_choices(sizes, holes), 10 * count, 4)
    roots, corrections = _native.ot.tree_corrections(SESSION, 1, 2, DELTA, sizes, count, q, 2)
    copaths = _native.ot.tree_copaths(SESSION, 1, 2, sizes, holes, t, corrections, 2)
    # After its leaves each tree has the sum of what was cut off, as a thousand is no power of two.
    full = _native.ot.tree_leaves(SESSION, 1, 2, DELTA, sizes, roots, 2).reshape(count, count + 1, 16)
    punctured = _native.ot.tree_leaves_punctured(SESSION, 1, 2, sizes, holes, copaths, 2).reshape(count, count + 1, 16)
    known = np.ones((count, count + 1), dtype=bool)
    known[np.arange(count), holes[0]] = False
    np.testing.assert_array_equal(punctured[known], full[known])
    assert not punctured[~known].any()
