"""The bytes of a block of transfers, version 4. All integers are unsigned and little-endian.

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

The long part of a request, which its proof is about too, is read once: in both it stands for itself by its own digest.
"""

import hashlib
import struct
from dataclasses import dataclass
from typing import TypeAlias

from vfxgb.errors import TransferError

Bytes: TypeAlias = bytes | bytearray | memoryview

MAGIC = b"VXOT"
VERSION = 4
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
PART_DIGEST_BYTES = 64
_PART = b"vfxgb ot part"
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
class Digested:
    """A part of a payload for which its digest stands wherever it would be hashed."""

    data: Bytes
    digest: bytes

    @classmethod
    def of(cls, data: Bytes) -> "Digested":
        """With its digest."""
        return cls(data, hashlib.blake2b(data, digest_size=PART_DIGEST_BYTES, person=_PART).digest())

    def __len__(self) -> int:
        return len(self.data)


@dataclass(frozen=True)
class Line:
    """What all blocks between two parties have in common: the session's name and the transfer bits."""

    session: bytes
    transfer_bits: int

    def seal(self, kind: int, place: Place, group: int, *payload: Bytes | Digested) -> bytes:
        """A payload with its header and digest."""
        length = sum(len(part) for part in payload)
        header = _HEADER.pack(
            MAGIC, VERSION, kind, self.transfer_bits, place.domain, place.block, group, _tag(self.session), length
        )
        digest = hashlib.blake2b(header, digest_size=DIGEST_BYTES, key=self.session)
        parts: list[Bytes] = [header]
        for part in payload:
            digest.update(part.digest if isinstance(part, Digested) else part)
            parts.append(part.data if isinstance(part, Digested) else part)
        return b"".join([*parts, digest.digest()])

    def unseal(self, data: Bytes, kind: int, place: Place, group: int, size: int, step: str) -> memoryview:
        """The payload of bytes that must be of this kind, session, place, group and size.

        Raises TransferError, with `step` in its message, naming the first of these that is not.
        """
        body = self._payload(data, kind, place, group, size, step)
        self._check(data, place, [body], step)
        return body

    def unseal_parts(
        self, data: Bytes, kind: int, place: Place, group: int, sizes: tuple[int, int, int], step: str
    ) -> tuple[memoryview, Digested, memoryview]:
        """The same of a payload of three parts of so many bytes, of which the second was sealed by its digest."""
        body = self._payload(data, kind, place, group, sum(sizes), step)
        stop = sizes[0] + sizes[1]
        first, second, third = body[: sizes[0]], Digested.of(body[sizes[0] : stop]), body[stop:]
        self._check(data, place, [first, second.digest, third], step)
        return first, second, third

    def _check(self, data: Bytes, place: Place, parts: list[Bytes], step: str) -> None:
        """Raise TransferError unless the digest of header and parts is the one that was sent."""
        view = memoryview(data).cast("B")
        digest = hashlib.blake2b(view[: _HEADER.size], digest_size=DIGEST_BYTES, key=self.session)
        for part in parts:
            digest.update(part)
        if digest.digest() != bytes(view[-DIGEST_BYTES:]):
            raise TransferError(f"{step}: the digest of {place} does not match; the bytes were damaged on the way")

    def _payload(self, data: Bytes, kind: int, place: Place, group: int, size: int, step: str) -> memoryview:
        """The payload, if its header is that of this kind, session, place, group and size.

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
        return view[_HEADER.size : -DIGEST_BYTES]


def _tag(session: bytes) -> bytes:
    return hashlib.sha256(session).digest()[:TAG_BYTES]
