"""The bytes of the base transfers, version 2. All integers are unsigned and little-endian.

offset  bytes  field
0       4      magic "VXBT"
4       1      version
5       1      suite: 1 the group alone, which is refused; 2 the group and ML-KEM-768
6       1      step: 1 greeting, 2 offer, 3 reply
7       2      bits of the group's prime
9       2      number of transfers
11             the parts of the step, one after the other; their lengths follow from the above
"""

import struct
from dataclasses import dataclass

from vfxgb.errors import TransferError
from vfxgb.ot.group import ModpGroup
from vfxgb.ot.kem_transfers import CIPHERTEXTS_BYTES, KEYS_BYTES

MAGIC = b"VXBT"
VERSION = 2
GROUP_ALONE, GROUP_AND_KEM = 1, 2
GREETING, OFFER, REPLY = 1, 2, 3
STEP_NAMES = {GREETING: "a greeting", OFFER: "an offer", REPLY: "a reply"}
NONCE_BYTES = 32
SEED_BYTES = 16
# Transfers in the other direction, from which the extension among the base transfers starts.
WIDTH = 128
MAX_COUNT = 1 << 15
_HEADER = struct.Struct("<4sBBBHH")
HEADER_BYTES = _HEADER.size


@dataclass(frozen=True)
class BaseLayout:
    """What the messages of `count` transfers in a group consist of."""

    group: ModpGroup
    count: int

    def __post_init__(self) -> None:
        if self.count % 8 or not 0 < self.count <= MAX_COUNT:
            raise TransferError(
                f"base transfers: found {self.count} of them, wanted a multiple of 8 from 8 to {MAX_COUNT}"
            )

    def join(self, step: int, *parts: bytes) -> bytes:
        """The message of a step."""
        header = _HEADER.pack(MAGIC, VERSION, GROUP_AND_KEM, step, self.group.bits, self.count)
        return b"".join([header, *parts])

    def split(self, step: int, message: bytes, where: str) -> tuple[bytes, ...]:
        """The parts of a message, not checked but for their sizes. Raises TransferError, with `where` in its text."""
        self._check_header(step, message, where)
        sizes = self._sizes(step)
        wanted = HEADER_BYTES + sum(sizes)
        if len(message) != wanted:
            raise TransferError(
                f"{where}: found {len(message)} bytes, wanted {wanted} of {STEP_NAMES[step]} of {self.count} transfers "
                "in this group; the bytes are truncated, or another program wrote them"
            )
        parts, at = [], HEADER_BYTES
        for size in sizes:
            parts.append(message[at : at + size])
            at += size
        return tuple(parts)

    def _sizes(self, step: int) -> tuple[int, ...]:
        width, count = self.group.width, self.count
        if step == GREETING:
            return NONCE_BYTES, width, count * KEYS_BYTES
        if step == OFFER:
            return NONCE_BYTES, width, WIDTH * width, count * CIPHERTEXTS_BYTES, count * SEED_BYTES
        return count * width, WIDTH * count // 8

    def _check_header(self, step: int, message: bytes, where: str) -> None:
        if len(message) < HEADER_BYTES or message[:4] != MAGIC or message[4] != VERSION:
            raise TransferError(
                f"{where}: found {len(message)} bytes that are no base transfers of version {VERSION}; they come from "
                "another program or version, or are truncated"
            )
        _, _, suite, found, bits, count = _HEADER.unpack_from(message)
        if suite == GROUP_ALONE:
            raise TransferError(
                f"{where}: the other party offers transfers in the group alone, which a quantum computer could open "
                "later, wanted the group and ML-KEM-768; install the same version of vfxgb there"
            )
        if suite != GROUP_AND_KEM:
            raise TransferError(
                f"{where}: found transfers of the unknown suite {suite}, wanted {GROUP_AND_KEM}, the group and "
                "ML-KEM-768; install the same version of vfxgb at both parties"
            )
        if found != step:
            name = STEP_NAMES.get(found, f"unknown step {found}")
            raise TransferError(f"{where}: found {name}, wanted {STEP_NAMES[step]}; messages were mixed up")
        if (bits, count) != (self.group.bits, self.count):
            raise TransferError(
                f"{where}: found {count} transfers in a group of {bits} bits, wanted {self.count} in one of "
                f"{self.group.bits}; both parties must use the same group"
            )
