"""What passes a stream between two sides of a session, version 3. All integers are unsigned and little-endian.

Every message of the stream starts with its kind (1 byte) and an acknowledgement (8 bytes): how many chunks of the other
direction have arrived, need not be kept any longer, and no longer count as under way. Chunks that have arrived are not
acknowledged while the receiver lacks room.

kind     rest
BEAT     nothing: a sign of life, or an acknowledgement alone
CHUNK    sequence (8): 0, 1, 2, ... per direction and session, not per connection
         flags (1): 1 first chunk of a frame, 2 compressed
         size (4): bytes of data, before compression
         first chunks only: bytes of the frame's header (2) and of its payload (8)
         data: the frame, header then payload, in pieces of at most CHUNK_BYTES
END      sequence (8): the sender closes after this many chunks
DONE     nothing: everything up to the other side's END has arrived
FAIL     text, UTF-8: the sender gives the session up, and why

When a stream opens, each side says in its metadata how many chunks it has, acknowledged or not; the other sends from
there on again.
"""

import struct
from dataclasses import dataclass

from vfxgb.errors import FrameError
from vfxgb.printable import printable
from vfxgb.transport.network.limits import CHUNK_BYTES

WIRE_VERSION = 3
SERVICE = "vfxgb.Link"
METHOD = "Session"

BEAT, CHUNK, END, DONE, FAIL = range(5)
FIRST, COMPRESSED = 1, 2

# A frame's header, with room for what later versions may add.
MAX_HEADER = 1024
MAX_FAIL = 500
HEAD = struct.Struct("<BQ")
_CHUNK = struct.Struct("<QBI")
_FIRST = struct.Struct("<HQ")
_END = struct.Struct("<Q")
# The largest message of a stream: a full chunk and what stands before it.
MAX_MESSAGE = CHUNK_BYTES + HEAD.size + _CHUNK.size + _FIRST.size


@dataclass(frozen=True)
class Chunk:
    """A chunk as it was read. `lengths`: bytes of the frame's header and payload if it is the first of a frame."""

    sequence: int
    lengths: tuple[int, int] | None
    compressed: bool
    size: int
    data: memoryview


def write_chunk(
    ack: int,
    sequence: int,
    lengths: tuple[int, int] | None,
    compressed: bool,
    size: int,
    data: "list[bytes | memoryview]",
) -> bytes:
    """The message of a chunk whose data is the given pieces."""
    flags = (FIRST if lengths is not None else 0) | (COMPRESSED if compressed else 0)
    first = b"" if lengths is None else _FIRST.pack(*lengths)
    return b"".join((HEAD.pack(CHUNK, ack), _CHUNK.pack(sequence, flags, size), first, *data))


def write_short(kind: int, ack: int) -> bytes:
    """BEAT or DONE."""
    return HEAD.pack(kind, ack)


def write_end(ack: int, sequence: int) -> bytes:
    """END after `sequence` chunks."""
    return HEAD.pack(END, ack) + _END.pack(sequence)


def write_fail(ack: int, reason: str) -> bytes:
    """FAIL with a reason, cut to its cap."""
    return HEAD.pack(FAIL, ack) + reason.encode()[:MAX_FAIL]


def read_head(message: bytes) -> tuple[int, int]:
    """(kind, acknowledgement). Raises FrameError."""
    if len(message) < HEAD.size or len(message) > MAX_MESSAGE:
        raise FrameError(f"found a message of {len(message)} bytes, wanted {HEAD.size} to {MAX_MESSAGE}")
    kind, ack = HEAD.unpack_from(message)
    if kind > FAIL or (kind in (BEAT, DONE) and len(message) != HEAD.size):
        raise FrameError(f"found a message of kind {kind} and {len(message)} bytes, which is none")
    return kind, ack


def read_chunk(message: bytes) -> Chunk:
    """The chunk in a message whose head says so. Raises FrameError."""
    at = HEAD.size
    if len(message) < at + _CHUNK.size:
        raise FrameError(f"found a chunk of {len(message)} bytes, wanted at least {at + _CHUNK.size}")
    sequence, flags, size = _CHUNK.unpack_from(message, at)
    at += _CHUNK.size
    lengths = None
    if flags & ~(FIRST | COMPRESSED) or size > CHUNK_BYTES:
        raise FrameError(f"found a chunk with flags {flags} and {size} bytes, wanted at most {CHUNK_BYTES}")
    if flags & FIRST:
        if len(message) < at + _FIRST.size:
            raise FrameError("found the first chunk of a frame without the frame's lengths")
        lengths = _FIRST.unpack_from(message, at)
        at += _FIRST.size
    data = memoryview(message)[at:]
    compressed = bool(flags & COMPRESSED)
    if not compressed and len(data) != size:
        raise FrameError(f"found a chunk with {len(data)} bytes of data, wanted {size} as announced")
    return Chunk(sequence, lengths, compressed, size, data)


def read_end(message: bytes) -> int:
    """How many chunks come before the end. Raises FrameError."""
    if len(message) != HEAD.size + _END.size:
        raise FrameError(f"found an end of {len(message)} bytes, wanted {HEAD.size + _END.size}")
    (sequence,) = _END.unpack_from(message, HEAD.size)
    return int(sequence)


def read_fail(message: bytes) -> str:
    """The reason, fit to be printed whatever the bytes were."""
    return printable(message[HEAD.size : HEAD.size + MAX_FAIL].decode("utf-8", errors="replace"))
