"""What a party keeps of its transfers to go on later, and marks of how far it has come.

A state is secret: guard it like the data. It must not be restored at a position that either party has passed, or
numbers of transfers would come again, and with them masks. So each party marks a position in a file before it uses what
lies below it, the parties tell each other what they have marked, and both go on at the larger one. The resumed session
has a name of its own, which depends on that position: places start again.
"""

import hashlib
import threading
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from vfxgb.errors import TransferError
from vfxgb.files import write_atomically
from vfxgb.ot.transfer_bits import MAX_TRANSFER_BITS

_LABEL = b"vfxgb ot resumed session 1"
# Groups of 128 transfers that a file is ahead, so that it is not written for every batch: half a million transfers.
AHEAD_GROUPS = 4096

Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
Bits = Annotated[int, msgspec.Meta(ge=1, le=MAX_TRANSFER_BITS)]
Block = Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]
Name = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
TwoKib = Annotated[bytes, msgspec.Meta(min_length=2048, max_length=2048)]
FourKib = Annotated[bytes, msgspec.Meta(min_length=4096, max_length=4096)]


class ReceiverState(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="receiver"):
    """The receiver's: both seeds of each base transfer. `seeds`: the digest of the opening that was sent."""

    session: Name
    pairs: FourKib
    seeds: Name
    transfer_bits: Bits
    checked: bool
    position: Count

    def __repr__(self) -> str:
        return f"ReceiverState(position={self.position})"


class SenderState(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="sender"):
    """The sender's: Delta, the seeds that it names, and the opening it was sent, with its digest `seeds`."""

    session: Name
    delta: Block
    base: TwoKib
    opening: FourKib
    seeds: Name
    transfer_bits: Bits
    checked: bool
    position: Count

    def __repr__(self) -> str:
        return f"SenderState(position={self.position})"


S = TypeVar("S", ReceiverState, SenderState)


def read_state(data: bytes, kind: type[S], position: int, step: str) -> S:
    """The state in bytes, with the session's name as it is from `position` on.

    Raises TransferError for bytes that are no such state, and for a position that lies before the stored one.
    """
    try:
        state = msgspec.msgpack.decode(data, type=kind)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise TransferError(
            f"{step}: found {len(data)} bytes that are no {kind.__name__} ({error}); set the transfers up anew"
        ) from None
    if position < state.position:
        raise TransferError(
            f"{step}: found position {position}, wanted {state.position} or a later one; transfers are never used "
            "twice: take the larger position of both parties"
        )
    name = hashlib.sha256(_LABEL + state.session + position.to_bytes(8, "little")).digest()
    return msgspec.structs.replace(state, session=name, position=position)


class PositionFile:
    """A mark on disk. `position` is where a resumed party may go on: everything that was used lies before it.

    Give `mark` to a Sender or Receiver. Raises OSError, which names the file, and TransferError for a damaged one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self.position = 0
        if path.exists():
            text = path.read_text(encoding="ascii", errors="replace").strip()
            if not text.isascii() or not text.isdigit():
                raise TransferError(f"{path}: found no position of transfers; set the transfers up anew")
            self.position = int(text)

    def mark(self, position: int) -> None:
        """Make sure that the file names a position that is not before `position`."""
        with self._lock:
            if position > self.position:
                ahead = position + AHEAD_GROUPS
                write_atomically(self._path, f"{ahead}\n".encode())
                self.position = ahead
