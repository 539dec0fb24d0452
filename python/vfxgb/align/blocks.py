"""Rows of bytes in several messages, one after the other: cut here, put together there."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from vfxgb.errors import MessageError

# (step in words, done, total)
Progress: TypeAlias = Callable[[str, int, int], None]


def blocks(count: int, size: int) -> Iterator[slice]:
    """Slices of at most `size` that cover [0, count)."""
    for first in range(0, count, size):
        yield slice(first, min(first + size, count))


def check_first(first: int, wanted: int, step: str) -> None:
    """Raise MessageError unless a block begins where the one before ended."""
    if first != wanted:
        raise MessageError(f"{step}: found a block from {first} on, wanted {wanted}; blocks come once and in order")


def check_bytes(data: bytes, wanted: int, what: str) -> None:
    """Raise MessageError unless `data` has so many bytes."""
    if len(data) != wanted:
        raise MessageError(f"{what}: found {len(data)} bytes, wanted {wanted}")
