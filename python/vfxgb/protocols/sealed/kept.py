"""What a passive party keeps beside its encrypted columns: the secret order of its candidates, and what was won."""

from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import msgspec

from vfxgb import _native
from vfxgb.contract import PassiveContext
from vfxgb.errors import FormatError, LatticeError
from vfxgb.files import write_atomically

SECRET_BYTES = 32


class WinRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was won in all runs.

    `runs`: a digest for each run. `wins`: splits whose rows were told. `columns`: for each set of columns, by its
    digest, a bit for each of them that was won; other rows or bins are other columns.
    """

    runs: tuple[str, ...] = ()
    wins: Annotated[int, msgspec.Meta(ge=0)] = 0
    columns: dict[str, bytes] = {}


def kept_file(folder: str, context: PassiveContext, what: str) -> Path:
    """A file of this party's set-up with the active party. Raises LatticeError for a folder that is not there."""
    if not Path(folder).is_dir():
        raise LatticeError(
            f"{context.party} keeping the set-up with {context.channel.peer}: found no folder {folder!r}, wanted an "
            "existing one as setup_dir"
        )
    names = (quote(name, safe="") for name in (context.party, context.channel.peer))
    return Path(folder) / f"{'.'.join(names)}.vfxgb-sealed-{what}"


def kept_order(folder: str, context: PassiveContext) -> bytes:
    """The secret that the order of candidates follows from; drawn with the first run. Raises FormatError."""
    path = kept_file(folder, context, "order")
    if not path.exists():
        write_atomically(path, _native.rand.random_bytes(SECRET_BYTES))
    secret = path.read_bytes()
    if len(secret) != SECRET_BYTES:
        raise FormatError(f"{context.party} reading {str(path)!r}: found {len(secret)} bytes, wanted {SECRET_BYTES}")
    return secret


def read_wins(path: Path, party: str) -> WinRecord:
    """What was won before; nothing where there is no file. Raises FormatError for one that is damaged."""
    if not path.exists():
        return WinRecord()
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=WinRecord)
    except msgspec.MsgspecError as error:
        raise FormatError(
            f"{party} reading {str(path)!r}: it is no record of what was won: {error}; put back a copy, or remove the "
            "set-up and all that is kept with it"
        ) from None


def write_wins(path: Path, record: WinRecord) -> None:
    """Keep a record; it is on disk when this returns."""
    write_atomically(path, msgspec.msgpack.encode(record))
