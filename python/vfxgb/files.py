"""Writing files so that nobody ever reads half of one, locks between processes, folders only their owner can enter."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from vfxgb.errors import VfxgbError


def write_atomically(path: Path, data: bytes, *more: bytes | memoryview) -> None:
    """Put `data`, followed by `more`, at `path`: a reader sees the old file or the new one, also after a crash.

    Raises OSError, which names `path`.
    """
    with naming(path), writing_atomically(path) as file:
        file.writelines((data, *more))


@contextmanager
def writing_atomically(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of the one at `path` when the block ends well.

    The temporary file lies in the same folder, is readable by its owner only, and is removed when the block or writing
    fails. Raises OSError, which names `path`; who writes in the block names it too (`naming`).
    """
    with naming(path):
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            with naming(path):
                file.flush()
                os.fsync(file.fileno())
        with naming(path):
            Path(temporary).replace(path)
            _sync_folder(path.parent)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """OSErrors of the block name `path`: when a disk is full the system tells a number and no file."""
    try:
        yield
    except OSError as error:
        if error.errno is None or isinstance(error, VfxgbError):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def locked(file: Path, wait: bool = True, make: bool = True) -> Iterator[None]:
    """Hold a lock on `file` while the block runs; it goes with the process, however that ends.

    `wait`: until another process lets go of it; if not, BlockingIOError is raised. `make`: the file, if it is not
    there. Raises OSError.
    """
    descriptor = os.open(file, os.O_RDWR | (os.O_CREAT if make else 0), 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def make_private(path: Path) -> None:
    """A folder that only its owner can enter, made if it is not there. Raises OSError."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.stat().st_mode & 0o077:
        path.chmod(0o700)


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder as lasting as the files: a rename may otherwise be undone by a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
