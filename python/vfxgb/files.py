"""Writing files so that nobody ever reads half of one."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_atomically(path: Path, data: bytes, *more: bytes | memoryview) -> None:
    """Put `data`, followed by `more`, at `path`: a reader sees the old file or the new one, also after a crash.

    The temporary file lies in the same folder, is readable by its owner only, and is removed when writing fails.
    Raises OSError.
    """
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines((data, *more))
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
        _sync_folder(path.parent)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder as lasting as the files: a rename may otherwise be undone by a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
