"""Which engine a party uses: what users write, checked; and the engine made of it."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from vfxgb.checks import bytes_in, is_int
from vfxgb.described import documented
from vfxgb.engine.base import Engine
from vfxgb.engine.dask import DaskEngine
from vfxgb.engine.local import LocalEngine
from vfxgb.errors import EngineError
from vfxgb.threads import resolve_threads

ENGINES = ("local", "dask")
# Python, its libraries and what is on its way take so much before there is a row.
LEAST_MEMORY = 1 << 28


@documented()
class EngineSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a party's rows lie and are worked on."""

    engine: Annotated[
        Literal["local", "dask"],
        Meta(
            description="Threads of this process ('local'), or the workers of a cluster, where parties' rows lie in "
            "shards ('dask'; docs/scale.md)."
        ),
    ] = "local"
    engine_address: Annotated[
        Any,
        Meta(
            description="Dask's scheduler: its address, such as 'tcp://host:8786', or a client of it.",
            extra={"wanted": "text or a distributed.Client, or None"},
        ),
    ] = None
    engine_folder: Annotated[
        Path | None,
        Meta(
            description="Where the files of a run go; with Dask a folder that all workers share. Without it, the "
            "system's own for temporary files."
        ),
    ] = None
    workers_hold_key: Annotated[
        bool,
        Meta(
            description="The workers of a cluster, and its scheduler, may have the active party's secrets. With its "
            "private key encryption is faster and decryption is spread too; ot_shares needs it, for the trees of masks."
        ),
    ] = False
    memory_limit: Annotated[
        int | str | None,
        Meta(
            description="This process may use so much memory, in bytes or as in '6GB': rows go to memory-mapped files "
            "as far as that asks for it. For engine 'local' only."
        ),
    ] = None
    shards: Annotated[
        int | None,
        Meta(description="Each party's rows are divided into at least so many parts. Without it, the engine decides."),
    ] = None

    def check(self) -> None:
        """Raise EngineError for settings that contradict each other or cannot be."""
        for mistake in self._mistakes():
            raise EngineError(f"choosing an engine: {mistake}")

    def _mistakes(self) -> Iterator[str]:
        if self.engine not in ENGINES:
            yield f"found engine={self.engine!r}, wanted one of 'local' and 'dask'"
        if self.shards is not None and (isinstance(self.shards, bool) or self.shards < 1):
            yield f"found shards={self.shards!r}, wanted at least 1"
        if self.engine == "dask":
            if self.engine_address is None:
                yield (
                    "engine='dask' needs engine_address, the address of a scheduler, such as 'tcp://host:8786', or a "
                    "distributed.Client"
                )
            if self.memory_limit is not None:
                yield (
                    "memory_limit is for engine='local'; the workers of a cluster have limits of their own (dask "
                    "worker --memory-limit)"
                )
        else:
            for name in ("engine_address", "workers_hold_key"):
                if getattr(self, name):
                    yield f"{name} is for engine='dask'; leave it out"
            if self.shards is not None and self.memory_limit is None:
                yield "shards needs engine='dask' or a memory_limit"
        if self.memory_limit is not None and read_bytes(self.memory_limit) < LEAST_MEMORY:
            yield f"found memory_limit={self.memory_limit!r}, wanted at least {LEAST_MEMORY >> 20} MiB"

    @property
    def in_shards(self) -> bool:
        """Whether rows are divided; else they are in the memory of this process."""
        return self.engine == "dask" or self.memory_limit is not None


def make_engine(settings: EngineSettings, threads: int | None, parties: int = 1) -> Engine | None:
    """The engine, None for rows in the memory of this process. Raises EngineError, MissingPackageError.

    `parties`: how many of them share this process and its memory. The caller closes it.
    """
    settings.check()
    folder = settings.engine_folder
    if folder is not None:
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EngineError(f"choosing an engine: the folder {str(folder)!r} cannot be made ({error})") from None
    if settings.engine == "dask":
        return DaskEngine(settings.engine_address, folder, holds_key=settings.workers_hold_key, shards=settings.shards)
    if settings.memory_limit is None:
        return None
    memory = read_bytes(settings.memory_limit) // parties
    return LocalEngine(memory, resolve_threads(threads), folder, settings.shards)


@contextmanager
def engines_for(
    parties: Iterable[str], settings: EngineSettings, threads: int | None
) -> Iterator[dict[str, Engine | None]]:
    """An engine for each of the parties of this process, closed in the end."""
    names = list(parties)
    with ExitStack() as stack:
        engines: dict[str, Engine | None] = {}
        for name in names:
            engine = engines[name] = make_engine(settings, threads, len(names))
            if engine is not None:
                stack.callback(engine.close)
        yield engines


def read_bytes(text: int | str) -> int:
    """A number of bytes from a number or text such as "6GB" or "512 MiB". Raises EngineError."""
    size = text if is_int(text) else bytes_in(text) if isinstance(text, str) else None
    if size is None or size <= 0:
        raise EngineError(
            f"choosing an engine: found memory_limit={text!r}, wanted a number of bytes, or text such as '6GB'"
        )
    return size
