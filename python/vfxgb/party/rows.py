"""Which rows take part in a run, kept so that a resumed run need not align again: rows.bin of the run folder.

"VFXGBROW" | version, 4 bytes little-endian | MessagePack of AgreedRows | SHA-256 of all before it
"""

import hashlib
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb.data.parquet import parquet_files
from vfxgb.errors import CheckpointError
from vfxgb.files import write_atomically

MAGIC = b"VFXGBROW"
VERSION = 1
HEAD_BYTES = len(MAGIC) + 4
SUM_BYTES = hashlib.sha256().digest_size
READ_BYTES = 1 << 20


class AgreedRows(msgspec.Struct, frozen=True):
    """Holds the rows of a run: `positions` has, for each group, the rows of the table, int64, in the agreed order.

    `digest` is the digest of that order, the same at all parties. `tables` has table_digest of each table.
    """

    run: str
    positions: tuple[bytes, ...]
    digest: bytes
    tables: tuple[bytes, ...]

    @classmethod
    def of(
        cls, run: str, positions: tuple[NDArray[np.int64], ...], digest: bytes, files: tuple[Path, ...]
    ) -> "AgreedRows":
        """Make it for rows of the tables in `files`, which are read for their digest."""
        held = tuple(group.astype("<i8").tobytes() for group in positions)
        return cls(run, held, digest, tuple(table_digest(file) for file in files))

    def groups(self) -> tuple[NDArray[np.int64], ...]:
        """Return the positions as arrays."""
        return tuple(np.frombuffer(group, dtype="<i8").astype(np.int64) for group in self.positions)


def save_rows(path: Path, rows: AgreedRows) -> None:
    """Write the rows of a run atomically. Raises OSError."""
    data = MAGIC + VERSION.to_bytes(4, "little") + msgspec.msgpack.encode(rows)
    write_atomically(path, data, hashlib.sha256(data).digest())


def load_rows(path: Path, run: str, files: tuple[Path, ...]) -> AgreedRows:
    """Load the rows of a run, whose tables must be as they were. Raises CheckpointError, OSError."""
    where = f"resuming run {run[:8]} from {str(path)!r}"
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        gone = f"resuming run {run[:8]}: it has no rows of this run; start a new run"
        raise CheckpointError(f"{where}: the file is not there; start a new run").for_peer(gone) from None
    body, seal = data[:-SUM_BYTES], data[-SUM_BYTES:]
    if not body.startswith(MAGIC) or hashlib.sha256(body).digest() != seal:
        damaged = f"resuming run {run[:8]}: what it kept of the rows is damaged; start a new run"
        raise CheckpointError(f"{where}: the file is damaged; start a new run").for_peer(damaged)
    if int.from_bytes(body[len(MAGIC) : HEAD_BYTES], "little") != VERSION:
        raise CheckpointError(f"{where}: it was written by another version of vfxgb; resume with that one")
    try:
        rows = msgspec.msgpack.decode(body[HEAD_BYTES:], type=AgreedRows)
    except msgspec.DecodeError as error:
        raise CheckpointError(f"{where}: the file is damaged ({error}); start a new run") from None
    if rows.run != run:
        raise CheckpointError(f"{where}: found rows of run {rows.run[:8]}; start a new run")
    for file, wanted in zip(files, rows.tables, strict=False):
        if table_digest(file) != wanted:
            raise CheckpointError(
                f"{where}: the table {str(file)!r} has changed since the run began; restore it or start a new run"
            ).for_peer(
                f"resuming run {run[:8]}: its table has changed since the run began; it must restore it, or start a "
                "new run"
            )
    if len(files) != len(rows.tables):
        raise CheckpointError(f"{where}: the run had {len(rows.tables)} tables, now there are {len(files)}")
    return rows


def table_digest(path: Path) -> bytes:
    """Hash a file by SHA-256; of a folder of Parquet files, their names and digests. Raises OSError, TableError."""
    if not path.is_dir():
        return file_digest(path)
    digest = hashlib.sha256(b"vfxgb folder 1\n")
    for file in parquet_files(path, "reading a table"):
        name = file.relative_to(path.absolute()).as_posix().encode()
        digest.update(len(name).to_bytes(8, "little") + name + file_digest(file))
    return digest.digest()


def file_digest(path: Path) -> bytes:
    """Hash a file by SHA-256. Raises OSError."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(READ_BYTES):
            digest.update(block)
    return digest.digest()
