"""The background pool of randomness that both kinds of key offer, and a public key once more for rerandomising.

The random factor of a ciphertext does not depend on its plaintext, so it can be made while the process waits for
something else; encryption with a filled pool is then one product.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from vfxgb import _native
from vfxgb.checks import is_int
from vfxgb.errors import PoolError
from vfxgb.threads import resolve_threads


def check_count(count: int, step: str) -> None:
    """Raise PoolError unless `count`, of what shall be made ahead, is a positive integer."""
    if not is_int(count) or count < 1:
        raise PoolError(f"{step}: found count={count!r}, wanted an integer of at least 1")


class Pooled:
    """Pool methods for a key or a Rerandomizer, which sets `_pool` to its native object."""

    __slots__ = ("_pool",)

    _pool: _native.crypto.PublicKey | _native.crypto.PrivateKey | _native.crypto.Rerandomizer

    def start_pool(self, capacity: int, threads: int | None = None) -> None:
        """Keep up to `capacity` units of fresh randomness ready, made by `threads` background threads.

        encrypt (rerandomize, for the pool of a Rerandomizer) takes one unit per ciphertext while there are any, and
        makes the rest itself. Each unit takes about as much memory as one ciphertext. Raises PoolError unless
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


class Rerandomizer(Pooled):
    """What hides ciphertexts under a public key from everybody, the owner of the key included: see README.md."""

    __slots__ = ("_native",)

    def __init__(self, native: _native.crypto.Rerandomizer) -> None:
        self._native = native
        self._pool = native

    def prepare(self, count: int, threads: int | None = None) -> None:
        """Plan for `count` ciphertexts in all: the table that suits so many is made now, if they are worth one.

        Raises PoolError unless count is a positive integer.
        """
        check_count(count, "preparing to rerandomise")
        self._native.plan(count, resolve_threads(threads))

    def make_table(self, threads: int | None = None) -> None:
        """Make the table that pays for some thousand ciphertexts, whether so many are wanted or not; once."""
        self._native.announce(self._native.bases, resolve_threads(threads))
