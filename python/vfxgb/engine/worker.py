"""What runs in a worker besides the functions of shards: keys that are read once, sizes that Dask should know."""

import threading
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from vfxgb import _native
from vfxgb.crypto import PrivateKey, PublicKey

T = TypeVar("T")


# A worker runs functions on several threads: one of them reads a key, the others wait.
_reading = threading.Lock()


def public_key(data: bytes) -> PublicKey:
    """The key in `data`, as PublicKey.to_bytes writes it; its tables are made once per process.

    Whether it is large enough was checked by who received it.
    """
    with _reading:
        return _public_key(data)


def private_key(data: bytes) -> PrivateKey:
    """The key in `data`, as PrivateKey.to_bytes writes it."""
    with _reading:
        return _private_key(data)


@lru_cache(maxsize=8)
def _public_key(data: bytes) -> PublicKey:
    return PublicKey.from_bytes(data, insecure=True)


@lru_cache(maxsize=8)
def _private_key(data: bytes) -> PrivateKey:
    return PrivateKey.from_bytes(data, insecure=True)


_pooled: list[PrivateKey | PublicKey] = []


def start_pool(key: bytes, secret: bool, count: int, threads: int) -> None:
    """Keep randomness for `count` ciphertexts in stock in this process. `secret`: `key` is a private one."""
    owner = private_key(key) if secret else public_key(key)
    if not any(pooled is owner for pooled in _pooled):
        _pooled.append(owner)
        owner.start_pool(count, threads)


def forget_keys() -> None:
    """Forget all keys of this process and end their background work."""
    while _pooled:
        _pooled.pop().stop_pool()
    _public_key.cache_clear()
    _private_key.cache_clear()


def call(function: Callable[..., T], *args: Any) -> T:
    """function(*args) in a worker of Dask."""
    _tell_sizes()
    return function(*args)


@lru_cache(maxsize=1)
def _tell_sizes() -> None:
    """Dask moves small things to large ones; for that it must know what lies behind a native object."""
    register = import_module("dask.sizeof").sizeof.register
    register(_native.gbdt.Bins, lambda bins: int(bins.nbytes))
    register(_native.gbdt.RowPartition, lambda partition: 8 * int(partition.n_rows))


def read_probe(path: str) -> bytes:
    """What a file of the run's folder holds, b"" if it is not to be seen from here."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
