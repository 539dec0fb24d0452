"""What a passive party keeps beside its encrypted columns: the secret order of its candidates, and what was won."""

import hashlib
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import msgspec

from vfxgb import _native
from vfxgb.contract import PassiveContext
from vfxgb.errors import FormatError
from vfxgb.files import write_atomically
from vfxgb.lattice.store import SetupFolder
from vfxgb.transport.channel import Channel

SECRET_BYTES = 32
DIGEST_BYTES = 16


class WinRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was won in all runs.

    `runs`: a digest for each run. `wins`: splits whose rows were told. `columns`: for each set of columns, by its
    digest, a bit for each of them that was won; other rows or bins are other columns.
    """

    runs: tuple[str, ...] = ()
    wins: Annotated[int, msgspec.Meta(ge=0)] = 0
    columns: dict[str, bytes] = {}


def hold_setups(folder: str | None, channels: Iterable[Channel]) -> ExitStack:
    """Keep other runs from one's set-ups in `folder` with the parties at the other ends, until this is closed.

    Raises LatticeError where another run has one of them or there is no such folder.
    """
    with ExitStack() as held:
        if folder is not None:
            for channel in channels:
                held.enter_context(SetupFolder(folder, channel.own, channel.peer).alone())
        return held.pop_all()


def kept_file(folder: str, context: PassiveContext, what: str) -> Path:
    """A file of this party beside its set-up with the active party."""
    names = (quote(name, safe="") for name in (context.party, context.channel.peer))
    return Path(folder) / f"{'.'.join(names)}.vfxgb-sealed-{what}"


def kept_order(folder: str, context: PassiveContext) -> bytes:
    """The secret that the order of candidates follows from; drawn with the first run. Raises FormatError."""
    path = kept_file(folder, context, "order")
    if not path.exists():
        _write(path, _native.rand.random_bytes(SECRET_BYTES))
    secret = _read(path, context.party, "secret order of candidates")
    if len(secret) != SECRET_BYTES:
        raise FormatError(f"{context.party} reading {str(path)!r}: found {len(secret)} bytes, wanted {SECRET_BYTES}")
    return secret


def read_wins(path: Path, party: str) -> WinRecord:
    """What was won before; nothing where there is no file. Raises FormatError for one that is damaged."""
    if not path.exists():
        return WinRecord()
    what = "record of what was won"
    try:
        return msgspec.msgpack.decode(_read(path, party, what), type=WinRecord)
    except msgspec.MsgspecError as error:
        raise _damaged(path, party, what, str(error)) from None


def write_wins(path: Path, record: WinRecord) -> None:
    """Keep a record; it is on disk when this returns."""
    _write(path, msgspec.msgpack.encode(record))


def _write(path: Path, data: bytes) -> None:
    write_atomically(path, data, _digest(data))


def _read(path: Path, party: str, what: str) -> bytes:
    data = path.read_bytes()
    content, digest = data[:-DIGEST_BYTES], data[-DIGEST_BYTES:]
    if _digest(content) != digest:
        raise _damaged(path, party, what, "it is truncated or damaged, or of another version of vfxgb")
    return content


def _damaged(path: Path, party: str, what: str, why: str) -> FormatError:
    return FormatError(
        f"{party} reading {str(path)!r}: it is no {what}: {why}; put back a copy, or remove the set-up and all that is "
        "kept with it"
    )


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()
