"""The bytes of a block of transfers, version 2. All integers are unsigned and little-endian.

offset  bytes  field
0       4      magic "VXOT"
4       1      version
5       1      kind: 1 request (the holder's), 2 corrections (the owner's)
6       2      domain
8       8      block
16      8      the first group of 128 transfers it belongs to
24      8      the session: the start of its name's digest
32      8      payload length L
40      L      payload
40 + L  16     BLAKE2b digest of everything before, keyed with the session's name: finds damage and mix-ups of sessions
"""

import hashlib
import struct
from dataclasses import dataclass
from typing import TypeAlias

from vfxgb.errors import TransferError

Bytes: TypeAlias = bytes | bytearray | memoryview

MAGIC = b"VXOT"
VERSION = 2
REQUEST = 1
CORRECTIONS = 2
KIND_NAMES = {REQUEST: "a request", CORRECTIONS: "corrections"}
DIGEST_BYTES = 16
TAG_BYTES = 8
_HEADER = struct.Struct(f"<4sBBHQQ{TAG_BYTES}sQ")
OVERHEAD_BYTES = _HEADER.size + DIGEST_BYTES


@dataclass(frozen=True)
class Place:
    """What a block of transfers is for: `domain` tells uses apart, `block` counts within one.

    No two blocks of a session may share a place: the key of their hash depends on it.
    """

    domain: int
    block: int

    def __str__(self) -> str:
        return f"block {self.block} of domain {self.domain}"


def seal(kind: int, session: bytes, place: Place, group: int, payload: Bytes) -> bytes:
    """A payload with its header and digest."""
    header = _HEADER.pack(MAGIC, VERSION, kind, place.domain, place.block, group, _tag(session), len(payload))
    digest = hashlib.blake2b(header, digest_size=DIGEST_BYTES, key=session)
    digest.update(payload)
    return b"".join([header, payload, digest.digest()])


def unseal(data: Bytes, kind: int, session: bytes, place: Place, group: int, size: int, step: str) -> memoryview:
    """The payload of bytes that must be of this kind, session, place, group and size.

    Raises TransferError, with `step` in its message, naming the first of these that is not.
    """
    view = memoryview(data).cast("B")
    if len(view) < OVERHEAD_BYTES or bytes(view[:4]) != MAGIC or view[4] != VERSION:
        raise TransferError(
            f"{step}: found {len(view)} bytes that are no block of transfers of version {VERSION}; they come from "
            "another program or version, or are truncated"
        )
    _, _, found_kind, domain, block, found_group, tag, length = _HEADER.unpack(view[: _HEADER.size])
    if found_kind != kind:
        name = KIND_NAMES.get(found_kind, f"unknown kind {found_kind}")
        raise TransferError(f"{step}: found {name}, wanted {KIND_NAMES[kind]}; send blocks to the party they are for")
    if bytes(tag) != _tag(session):
        raise TransferError(
            f"{step}: found a block of session {bytes(tag).hex()}, wanted session {_tag(session).hex()}; both parties "
            "must have finished the same base transfers"
        )
    if (domain, block) != (place.domain, place.block) or found_group != group:
        raise TransferError(
            f"{step}: found {Place(domain, block)} from transfer group {found_group}, wanted {place} from group "
            f"{group}; blocks must arrive once and in order"
        )
    if length != size or len(view) != OVERHEAD_BYTES + size:
        raise TransferError(
            f"{step}: found {len(view)} bytes for {place}, wanted {OVERHEAD_BYTES + size}; the bytes are truncated, or "
            "the parties disagree on the number of rows or leaves"
        )
    body = view[:-DIGEST_BYTES]
    if hashlib.blake2b(body, digest_size=DIGEST_BYTES, key=session).digest() != bytes(view[-DIGEST_BYTES:]):
        raise TransferError(f"{step}: the digest of {place} does not match; the bytes were damaged on the way")
    return body[_HEADER.size :]


def _tag(session: bytes) -> bytes:
    return hashlib.sha256(session).digest()[:TAG_BYTES]
