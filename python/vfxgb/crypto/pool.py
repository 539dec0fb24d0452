"""The background pool of randomness that both kinds of key offer.

The random factor of a ciphertext does not depend on its plaintext, so it can be made while the process waits for
something else; encryption with a filled pool is then one product.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from vfxgb.checks import is_int
from vfxgb.errors import PoolError
from vfxgb.threads import resolve_threads


class NativePool(Protocol):
    """The pool methods of a native key."""

    def start_pool(self, capacity: int, threads: int = 1) -> None:
        """Start filling."""

    def stop_pool(self) -> None:
        """Stop filling and forget what is left."""

    def pool_level(self) -> int:
        """Units ready now."""


class Pooled:
    """Pool methods for a key; the key sets `_pool` to its native object."""

    __slots__ = ("_pool",)

    _pool: NativePool

    def start_pool(self, capacity: int, threads: int | None = None) -> None:
        """Keep up to `capacity` units of fresh randomness ready, made by `threads` background threads.

        encrypt (and, under a public key, rerandomize) take one unit per ciphertext while there are any, and make
        the rest themselves. Each unit takes about as much memory as one ciphertext. Raises PoolError unless
        capacity is a positive integer.
        """
        if not is_int(capacity) or capacity < 1:
            raise PoolError(f"starting a pool: found capacity={capacity!r}, wanted an integer of at least 1")
        self._pool.start_pool(capacity, resolve_threads(threads))

    def stop_pool(self) -> None:
        """Stop the background threads and forget unused randomness. Does nothing when no pool runs."""
        self._pool.stop_pool()

    @property
    def pool_level(self) -> int:
        """Units of randomness ready now; 0 when no pool runs."""
        return self._pool.pool_level()

    @contextmanager
    def pool(self, capacity: int, threads: int | None = None) -> Iterator[None]:
        """Run a pool for the length of a `with` block."""
        self.start_pool(capacity, threads)
        try:
            yield
        finally:
            self.stop_pool()
