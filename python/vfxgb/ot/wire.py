"""The bytes of a block of transfers, version 3. All integers are unsigned and little-endian.

offset  bytes  field
0       4      magic "VXOT"
4       1      version
5       1      kind: 1 request with choices, 2 corrections, 3 request with random choices, 4 request of silent transfers
6       1      transfer bits: Delta is cut into pieces of so many bits (cpp/ot/soft_spoken.h)
7       1      0
8       4      domain
12      8      block
20      8      the first group of 128 transfers it belongs to, or the first silent transfer
28      8      the session: the start of its name's digest
36      8      payload length L
44      L      payload
44 + L  16     BLAKE2b digest of everything before, keyed with the session's name: finds damage and mix-ups of sessions
"""

import hashlib
import struct
from dataclasses import dataclass
from typing import TypeAlias

from vfxgb.errors import TransferError

Bytes: TypeAlias = bytes | bytearray | memoryview

MAGIC = b"VXOT"
VERSION = 3
REQUEST = 1
CORRECTIONS = 2
RANDOM_REQUEST = 3
SILENT_REQUEST = 4
KIND_NAMES = {
    REQUEST: "a request",
    CORRECTIONS: "corrections",
    RANDOM_REQUEST: "a request of random transfers",
    SILENT_REQUEST: "a request of silent transfers",
}
DIGEST_BYTES = 16
TAG_BYTES = 8
_HEADER = struct.Struct(f"<4sBBBxIQQ{TAG_BYTES}sQ")
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


@dataclass(frozen=True)
class Line:
    """What all blocks between two parties have in common: the session's name and the transfer bits."""

    session: bytes
    transfer_bits: int

    def seal(self, kind: int, place: Place, group: int, *payload: Bytes) -> bytes:
        """A payload with its header and digest."""
        length = sum(len(part) for part in payload)
        header = _HEADER.pack(
            MAGIC, VERSION, kind, self.transfer_bits, place.domain, place.block, group, _tag(self.session), length
        )
        digest = hashlib.blake2b(header, digest_size=DIGEST_BYTES, key=self.session)
        for part in payload:
            digest.update(part)
        return b"".join([header, *payload, digest.digest()])

    def unseal(self, data: Bytes, kind: int, place: Place, group: int, size: int, step: str) -> memoryview:
        """The payload of bytes that must be of this kind, session, place, group and size.

        Raises TransferError, with `step` in its message, naming the first of these that is not.
        """
        view = memoryview(data).cast("B")
        if len(view) < OVERHEAD_BYTES or bytes(view[:4]) != MAGIC or view[4] != VERSION:
            raise TransferError(
                f"{step}: found {len(view)} bytes that are no block of transfers of version {VERSION}; they come from "
                "another program or version, or are truncated"
            )
        _, _, found_kind, bits, domain, block, found_group, tag, length = _HEADER.unpack(view[: _HEADER.size])
        if found_kind != kind:
            name = KIND_NAMES.get(found_kind, f"unknown kind {found_kind}")
            raise TransferError(
                f"{step}: found {name}, wanted {KIND_NAMES[kind]}; send blocks to the party they are for"
            )
        if bits != self.transfer_bits:
            raise TransferError(
                f"{step}: found transfers with transfer_bits={bits}, wanted {self.transfer_bits}; both parties must "
                "set the same"
            )
        if bytes(tag) != _tag(self.session):
            raise TransferError(
                f"{step}: found a block of session {bytes(tag).hex()}, wanted session {_tag(self.session).hex()}; both "
                "parties must have finished the same base transfers"
            )
        if (domain, block) != (place.domain, place.block) or found_group != group:
            raise TransferError(
                f"{step}: found {Place(domain, block)} from transfer group {found_group}, wanted {place} from group "
                f"{group}; blocks must arrive once and in order"
            )
        if length != size or len(view) != OVERHEAD_BYTES + size:
            raise TransferError(
                f"{step}: found {len(view)} bytes for {place}, wanted {OVERHEAD_BYTES + size}; the bytes are "
                "truncated, or the parties disagree on the number of rows, leaves or transfers"
            )
        body = view[:-DIGEST_BYTES]
        if hashlib.blake2b(body, digest_size=DIGEST_BYTES, key=self.session).digest() != bytes(view[-DIGEST_BYTES:]):
            raise TransferError(f"{step}: the digest of {place} does not match; the bytes were damaged on the way")
        return body[_HEADER.size :]


def _tag(session: bytes) -> bytes:
    return hashlib.sha256(session).digest()[:TAG_BYTES]
