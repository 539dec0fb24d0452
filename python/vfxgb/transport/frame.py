"""The header in front of every message, version 1. All integers are unsigned and little-endian.

offset  bytes  field
0       2      magic "VX"
2       2      version
4       16     run: drawn by the active party, the same in every frame of a run
20      8      sequence: 0, 1, 2, ... per direction; a lost, repeated or reordered frame shows
28      8      payload length
36      1      length t of the tag
37      t      tag: the type of the message, ASCII
37 + t         payload: the message as MessagePack
"""

import struct
from typing import NamedTuple

from vfxgb.errors import FrameError

MAGIC = b"VX"
VERSION = 1
RUN_BYTES = 16
MAX_TAG = 32
_HEADER = struct.Struct(f"<2sH{RUN_BYTES}sQQB")


class Header(NamedTuple):
    """A header's fields, checked."""

    run: bytes
    sequence: int
    length: int
    tag: str


def write_header(run: bytes, sequence: int, length: int, tag: str) -> bytes:
    """The bytes of a header."""
    name = tag.encode("ascii")
    return _HEADER.pack(MAGIC, VERSION, run, sequence, length, len(name)) + name


def read_header(data: bytes, peer: str) -> Header:
    """The header in `data`, which holds nothing else. Raises FrameError for anything that is none."""
    if len(data) < _HEADER.size:
        raise FrameError(f"receiving from {peer}: found a header of {len(data)} bytes, wanted at least {_HEADER.size}")
    magic, version, run, sequence, length, tag_length = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise FrameError(f"receiving from {peer}: the bytes are no vfxgb frame; is another program on this port?")
    if version != VERSION:
        raise FrameError(
            f"receiving from {peer}: found frame version {version}, wanted {VERSION}; install the same "
            "vfxgb on both sides"
        )
    name = data[_HEADER.size :]
    if tag_length > MAX_TAG or len(name) != tag_length or not name.isascii():
        raise FrameError(f"receiving from {peer}: the frame's message type is malformed")
    return Header(run, sequence, length, name.decode("ascii"))
