"""Shards in this process, one after the other, their large arrays in memory-mapped files: out of core.

Only the shard that is worked on is in memory; the others are in files that lose their names at once, so that nothing is
left behind whatever happens.
"""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from vfxgb.engine.base import ShardHandle
from vfxgb.engine.worker import forget_keys
from vfxgb.errors import EngineError

T = TypeVar("T")

# Of the memory a party may use, the part that the shard at work may take. The rest is what is kept per row in memory,
# the messages on their way, and Python.
SHARD_SHARE = 1 / 4


@dataclass(frozen=True)
class _Value:
    value: Any


class LocalEngine:
    """See Engine. `memory`: bytes that this party may use. `folder`: where files go, None for the system's own.

    `shards`: how many there shall be at least.
    """

    name = "local"
    ahead: int | None = 1
    # The key is this process's own.
    holds_key = True
    mapped = True

    def __init__(self, memory: int, threads: int, folder: Path | None = None, shards: int | None = None) -> None:
        self.threads = threads
        self._memory = memory
        self._shards = shards
        self.folder = Path(tempfile.mkdtemp(prefix="vfxgb-", dir=folder))

    def run(self, shard: int, function: Callable[..., T], *args: Any) -> ShardHandle:  # noqa: ARG002 - all are here
        """See Engine; runs at once."""
        return _Value(function(*(_resolved(argument) for argument in args)))

    def get(self, held: Sequence[ShardHandle]) -> list[Any]:
        """See Engine."""
        return [value.value for value in held]

    def keep(self, shard: int, value: Any) -> ShardHandle:  # noqa: ARG002 - all are here
        """See Engine."""
        return _Value(value)

    def shards_for(self, n_rows: int) -> int:
        """See Engine."""
        return min(n_rows, self._shards or 1)

    def rows_at_most(self, row_bytes: int) -> int | None:
        """See Engine."""
        return max(1, int(self._memory * SHARD_SHARE) // max(1, row_bytes))

    def check_room(self, n_rows: int, row_bytes: int) -> None:
        """See Engine."""
        needed, room = n_rows * row_bytes, int(self._memory * (1 - SHARD_SHARE))
        if needed > room:
            raise EngineError(
                f"dividing rows into shards: {n_rows:,} rows keep {needed >> 20:,} MiB in memory, of which a party may "
                f"use {room >> 20:,} MiB by memory_limit; raise it, or use engine='dask'"
            )

    def close(self) -> None:
        """See Engine."""
        forget_keys()
        shutil.rmtree(self.folder, ignore_errors=True)


def _resolved(given: Any) -> Any:
    if isinstance(given, _Value):
        return given.value
    if isinstance(given, list):
        return [_resolved(item) for item in given]
    return given
