"""The bytes of a flight, version 2. All integers are unsigned and little-endian.

offset  bytes  field
0       4      magic "VX2P"
4       1      version
5       1      sender: 0 the active party, 1 the passive one
6       1      value bits of the ring
7       1      0
8       4      the flight, counted from 0
12      8      the argmax: its number within the session
20      8      the stock: pieces that were used before this argmax
28      8      the plan: the start of its digest
36      8      the session: the start of its name's digest
44      L      payload
44 + L  16     BLAKE2b digest of everything before, keyed with the session's name
"""

import hashlib
import struct
from dataclasses import dataclass

from vfxgb.errors import TransferError
from vfxgb.ot.wire import Bytes
from vfxgb.two_party.plan import ArgmaxPlan

MAGIC = b"VX2P"
VERSION = 2
DIGEST_BYTES = 16
_TAG_BYTES = 8
_HEADER = struct.Struct(f"<4sBBBxIQQ{_TAG_BYTES}s{_TAG_BYTES}s")
OVERHEAD_BYTES = _HEADER.size + DIGEST_BYTES
_ROLES = ("active", "passive")


@dataclass(frozen=True)
class FlightLine:
    """What all flights of an argmax have in common. peer: the other party's name, for messages."""

    peer: str
    session: bytes
    active: bool
    number: int
    used: int
    plan: ArgmaxPlan

    def seal(self, flight: int, payload: bytes) -> bytes:
        """A payload of this party with its header and digest."""
        header = self._header(flight, not self.active)
        digest = hashlib.blake2b(header, digest_size=DIGEST_BYTES, key=self.session)
        digest.update(payload)
        return b"".join([header, payload, digest.digest()])

    def unseal(self, data: Bytes, flight: int, size: int) -> memoryview:
        """The other party's payload of `size` bytes. TransferError, naming the first thing that is another one."""
        step = f"argmax {self.number} with {self.peer}: flight {flight}"
        view = memoryview(data).cast("B")
        if len(view) < OVERHEAD_BYTES or bytes(view[:4]) != MAGIC or view[4] != VERSION:
            raise TransferError(
                f"{step}: found {len(view)} bytes that are no flight of version {VERSION}; they come from another "
                "program or version, or are truncated"
            )
        _, _, sender, bits, found, number, used, plan, session = _HEADER.unpack(view[: _HEADER.size])
        wanted = self._header(flight, self.active)
        if bytes(session) != _tag(self.session):
            raise TransferError(
                f"{step}: found a flight of session {bytes(session).hex()}, wanted session {_tag(self.session).hex()}; "
                "both parties must have made the same transfers"
            )
        if sender != int(self.active):
            name = _ROLES[sender] if sender < len(_ROLES) else f"unknown ({sender})"
            raise TransferError(f"{step}: found a flight of the {name} party, wanted one of {self.peer}")
        if bits != self.plan.value_bits:
            raise TransferError(
                f"{step}: found numbers of {bits} bits, wanted {self.plan.value_bits}; both parties must use one ring"
            )
        if (number, found) != (self.number, flight):
            raise TransferError(
                f"{step}: found flight {found} of argmax {number}; flights must arrive once and in order"
            )
        if used != self.used:
            raise TransferError(
                f"{step}: found an argmax that begins at piece {used} of the stock, wanted {self.used}; both parties "
                "must take the same pieces: start a new session"
            )
        if bytes(plan) != _plan_tag(self.plan):
            raise TransferError(f"{step}: found a flight of another plan, wanted {self.plan}; both must plan alike")
        if len(view) != OVERHEAD_BYTES + size:
            raise TransferError(
                f"{step}: found {len(view)} bytes, wanted {OVERHEAD_BYTES + size}; the bytes are truncated"
            )
        body = view[:-DIGEST_BYTES]
        digest = hashlib.blake2b(body, digest_size=DIGEST_BYTES, key=self.session).digest()
        if digest != bytes(view[-DIGEST_BYTES:]) or bytes(body[: len(wanted)]) != wanted:
            raise TransferError(f"{step}: the digest does not match; the bytes were damaged on the way")
        return body[_HEADER.size :]

    def _header(self, flight: int, passive: bool) -> bytes:
        tags = _plan_tag(self.plan), _tag(self.session)
        return _HEADER.pack(MAGIC, VERSION, int(passive), self.plan.value_bits, flight, self.number, self.used, *tags)


def _tag(name: bytes) -> bytes:
    return hashlib.sha256(name).digest()[:_TAG_BYTES]


def _plan_tag(plan: ArgmaxPlan) -> bytes:
    return _tag(repr(plan).encode())
