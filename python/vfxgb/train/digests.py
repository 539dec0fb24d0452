"""Digests by which two sides of a run make sure that they stand at the same place, without showing what they have.

The active party's trees and a passive party's records each make a chain, a link per round, salted with a secret of
their owner: a link says whether two states are equal and nothing else. All are SHA-256; the first bytes keep the digest
of one kind of thing from ever being the digest of another, and every part is preceded by its length.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from vfxgb.data.source import Source
from vfxgb.data.table import Table
from vfxgb.model.shares import TreeShape
from vfxgb.train.checkpoint import DIGEST_BYTES, KeptRecords, array_bytes, keep_tree

Digest = TypeVar("Digest", "hashlib._Hash", hmac.HMAC)

START = bytes(DIGEST_BYTES)
# Rows of a source that are read at once.
BLOCK_ROWS = 1 << 20


def add_parts(digest: Digest, parts: Iterable[bytes]) -> Digest:
    """The digest after parts, each preceded by its length."""
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest


def _digest(kind: str, parts: Iterable[bytes]) -> bytes:
    return add_parts(hashlib.sha256(f"vfxgb {kind} 1\n".encode()), parts).digest()


def trees_link(before: bytes, run: str, salt: str, trees: Sequence[TreeShape]) -> bytes:
    """The active party's chain after a round of `trees`."""
    fields = (data for tree in trees for data in keep_tree(tree).values())
    return _digest("round of trees", (run.encode(), salt.encode(), before, *fields))


def state_link(before: bytes, run: str, party: str, salt: str, trees: bytes, records: KeptRecords) -> bytes:
    """A passive party's chain after a round with `records` that the active party's chain ended with `trees`."""
    parts = [records.feature, records.cut, records.default_left, *([records.sets] if records.sets else [])]
    return _digest("round kept", (run.encode(), party.encode(), salt.encode(), before, trees, *parts))


def settings_digest(settings: Mapping[str, Any]) -> bytes:
    """The digest of settings that JSON can hold."""
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return _digest("settings", (text.encode(),))


def table_digest(table: Table | Source, labels: Any = None, weights: Any = None, margins: Any = None) -> bytes:
    """The digest of a table's names and values, and of the labels, weights and margins that belong to it, if any.

    A table that lies elsewhere is read a block of rows at a time.
    """

    def parts() -> Iterable[bytes]:
        if margins is not None:
            yield array_bytes(np.asarray(margins))
        for feature, name in enumerate(table.names):
            yield name.encode()
            if isinstance(table, Table):
                yield array_bytes(table.column(feature))
            else:
                for first, stop in _blocks(table.n_rows):
                    yield array_bytes(table.column(feature, first, stop))
        if labels is not None and not isinstance(labels, np.ndarray):
            for first, stop in _blocks(table.n_rows):
                for array in labels.read(first, stop):
                    yield b"" if array is None else array_bytes(np.asarray(array))
            return
        for array in (labels, weights):
            yield b"" if array is None else array_bytes(np.asarray(array))

    return _digest("table", parts())


def _blocks(n_rows: int) -> Iterable[tuple[int, int]]:
    return ((first, min(first + BLOCK_ROWS, n_rows)) for first in range(0, n_rows, BLOCK_ROWS))
