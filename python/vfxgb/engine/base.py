"""What an engine is: the place where the shards of a party's rows lie and are worked on.

A *shard* is a contiguous range of rows. Everything that is done to rows is a function of a shard's state that changes
nothing and returns a new state or a small result: bins from a source, a partition from a partition and left bits, sums
from all of them. A state stays where it was made and is named by a handle (`ShardHandle`); only small results travel.

Since functions change nothing, whatever is lost with a worker can be made again from what it was made of: in the end
from the party's files.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

T = TypeVar("T")

# What stands for a result that may be elsewhere or not yet made; only its engine looks into it.
ShardHandle: TypeAlias = Any


class Engine(Protocol):
    """Runs functions of shards.

    `name` is what users write. Native calls of one function use `threads` threads. `ahead` is how many results of one
    kind may be waiting to be taken; None stands for a place with room for any number. `holds_key` says that private
    keys may be sent there, `mapped` that large arrays are kept in files, because memory is what is short.
    """

    name: str
    threads: int
    ahead: int | None
    holds_key: bool
    mapped: bool

    def run(self, shard: int, function: Callable[..., T], *args: Any) -> ShardHandle:
        """A handle of function(*args), to run where `shard` lies. Handles among args, or in lists of them, are their
        values there. Functions are of a module's top level, args can be pickled.
        """

    def get(self, held: Sequence[ShardHandle]) -> list[Any]:
        """The values of handles, in their order; waits. Raises what the functions raised, or EngineError."""

    def keep(self, shard: int, value: Any) -> ShardHandle:
        """A handle of a value that is here, for use where `shard` lies."""

    @property
    def folder(self) -> Path:
        """A folder of the run that this process and all shards can read and write."""

    def shards_for(self, n_rows: int) -> int:
        """How many shards suit so many rows, at least 1."""

    def rows_at_most(self, row_bytes: int) -> int | None:
        """The most rows a shard should have if a row takes so many bytes, None for any number."""

    def check_room(self, n_rows: int, row_bytes: int) -> None:
        """Raise EngineError if that many rows, of which so many bytes each stay in memory, are too many."""

    def close(self) -> None:
        """Let go of everything: handles, files, keys."""


def run_each(
    engine: Engine, function: Callable[..., Any], own: Sequence[Sequence[Any]], *args: Any
) -> list[ShardHandle]:
    """Handles of function(own values of the shard, *args) for each shard; `own` has lists with a value per shard."""
    return [engine.run(shard, function, *values, *args) for shard, values in enumerate(zip(*own, strict=True))]


def join_all(engine: Engine, parts: Sequence[ShardHandle], join: Callable[[list[Any]], Any]) -> ShardHandle:
    """join(values of parts), two at a time, in a tree: no place holds more than two of them. At least one part."""
    level = list(enumerate(parts))
    while len(level) > 1:
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = [
            (pair[0][0], engine.run(pair[0][0], join, [part for _, part in pair])) if len(pair) == 2 else pair[0]
            for pair in pairs
        ]
    return level[0][1]
