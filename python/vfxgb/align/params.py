"""Parameters of alignment: what the parties may choose, and sizes that follow from the number of ids.

Why these numbers is in README.md.
"""

import math
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from vfxgb.described import documented
from vfxgb.errors import AlignmentError
from vfxgb.ot.group import DEFAULT_BITS, AllowSmallGroups, GroupBits, refuse_small_group

# Of so many ids one matches wrongly with probability 2^-36, which is noticed; and 32 bits still spread over the places
# of a store evenly.
MAX_IDS = 1 << 28
# Up to so many ids on the larger side curve points are faster than base transfers.
SMALL_IDS = 400
HASHES = 3
# Bins of the cuckoo table: so many per id, and so many more.
BINS_PER_ID = 1.27
EXTRA_BINS = 256
GROUP = 128
# The code of the OPRF, its secret of four bits for each of the code's, and the bytes that open its seeds.
CODE_BITS = 192
CODE_BYTES = CODE_BITS // 8
SECRET_BITS = 4 * CODE_BITS
OPENING_BYTES = 2 * 16 * SECRET_BITS
# Groups of 128 bins in a message: 1 MiB.
BLOCK_GROUPS = 341
# Numbers of a store in a message: 1 MiB.
STORE_BLOCK = 1 << 17
# Keys of a table and seeds of a store that are tried, each of which fails with negligible probability.
MAX_TRIES = 20
# Ids, points and tags in a message.
BLOCK_IDS = 1 << 16
KEY_BYTES = 16
TAG_BYTES = 16

Method = Literal["kkrt", "ecdh"]


@documented()
class AlignParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How ids are compared; the same at all parties."""

    method: Annotated[
        Literal["auto", "kkrt", "ecdh"],
        Meta(
            description="'kkrt' compares ids by oblivious transfer, 'ecdh' by curve points, for two parties only. "
            "'auto' takes ecdh for two parties with at most 400 ids each, and kkrt otherwise."
        ),
    ] = "auto"
    group_bits: GroupBits = DEFAULT_BITS
    insecure: AllowSmallGroups = False

    def __post_init__(self) -> None:
        refuse_small_group(self.group_bits, self.insecure)

    def choose(self, n_active: int, n_passive: int, n_passives: int) -> Method:
        """The method for so many ids and passive parties; the same at both sides."""
        if n_passives > 1:
            return "kkrt"
        if self.method == "auto":
            return "ecdh" if max(n_active, n_passive) <= SMALL_IDS else "kkrt"
        return self.method

    def check_parties(self, party: str, n_passives: int) -> None:
        """Raise AlignmentError where the method does not serve so many parties."""
        if self.method == "ecdh" and n_passives > 1:
            raise AlignmentError(
                f"{party} aligning ids: method 'ecdh' is for two parties and there are {n_passives + 1}; with it the "
                "active party would learn whom it has in common with each one; take 'auto' or 'kkrt'"
            )


def bin_count(n_ids: int) -> int:
    """Bins of the active party's cuckoo table, a multiple of a group."""
    return -(-(math.ceil(BINS_PER_ID * n_ids) + EXTRA_BINS) // GROUP) * GROUP
