"""The agreed order of the common rows, and what guards it.

The active party draws a key. tag(id) = AES-128 under it of the id's digest; the common ids of each group stand in
ascending order of their tags, so that no file's order shows. The passive parties compute the tags of their own ids and
find their rows. The digest covers key, sizes and the ids in their order; each party computes it from its own ids.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native

_LABEL = b"vfxgb aligned rows 1\n"


@dataclass(frozen=True, eq=False)
class Alignment:
    """The common rows. `positions`: int64[k], own rows in the agreed order; the active party has one array per group,
    a passive party one for all groups together. `sizes`: common ids per group. `digest`: 32 bytes, the same everywhere.
    `hint`: what to look at where few ids are common (overlap.py), else "".
    """

    positions: tuple[NDArray[np.int64], ...]
    sizes: tuple[int, ...]
    digest: bytes
    hint: str = ""


def tags_of(key: bytes, digests: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The tags uint8[n, 16] of ids under a key of 16 bytes."""
    return _native.ot.aes_encrypt(key, digests)


def words_of(tags: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Tags as two numbers each, uint64[n, 2]; the second weighs more."""
    return np.ascontiguousarray(tags).view("<u8").reshape(-1, 2)


def tag_order(tags: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Positions of the tags in ascending order."""
    words = words_of(tags)
    return np.lexsort((words[:, 0], words[:, 1]))


def ascending(tags: NDArray[np.uint8]) -> bool:
    """Whether each tag is above the one before."""
    words = words_of(tags)
    low, high = words[:, 0], words[:, 1]
    above = (high[1:] > high[:-1]) | ((high[1:] == high[:-1]) & (low[1:] > low[:-1]))
    return bool(above.all())


class TagTable:
    """Tags of a party's ids, sorted once: which row has a tag."""

    def __init__(self, tags: NDArray[np.uint8]) -> None:
        self._order = tag_order(tags)
        self._words = words_of(tags)[self._order]

    def find(self, tags: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The row of each tag, -1 where there is none."""
        rows = np.full(len(tags), -1, dtype=np.int64)
        if not len(self._words):
            return rows
        wanted = words_of(tags)
        place = np.searchsorted(self._words[:, 1], wanted[:, 1])
        # Tags whose upper halves are equal stand side by side; that is rare.
        open_ = np.arange(len(tags))
        while len(open_):
            inside = place[open_] < len(self._words)
            open_ = open_[inside]
            at = self._words[place[open_]]
            same_half = at[:, 1] == wanted[open_, 1]
            same = same_half & (at[:, 0] == wanted[open_, 0])
            rows[open_[same]] = self._order[place[open_[same]]]
            open_ = open_[same_half & ~same]
            place[open_] += 1
        return rows


def rows_digest(key: bytes, sizes: Sequence[int], digests: NDArray[np.uint8]) -> bytes:
    """32 bytes over the key of the tags, the group sizes and the common ids in their order."""
    digest = hashlib.sha256(_LABEL + key)
    digest.update(np.array([len(sizes), *sizes], dtype="<u8").tobytes())
    digest.update(np.ascontiguousarray(digests).data)
    return digest.digest()
