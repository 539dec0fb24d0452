"""What `sealed` adds to the messages of lattice sums, of argmaxes and of hidden routing."""

from typing import ClassVar

import msgspec

from vfxgb.transport.messages import NOTHING, TABLE_BYTES, Bulk, Message, Reveals

# Base transfers take 330 KB at most.
BASE_BYTES = 1 << 20


class SealedGreeting(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, first: the beginning of the base transfers, and a fresh public key for the other passive
    parties.
    """

    TAG: ClassVar[str] = "sealed-greeting"
    MAX_BYTES: ClassVar[int] = BASE_BYTES
    REVEALS: ClassVar[Reveals] = NOTHING

    greeting: Bulk
    public: bytes


class SealedOffer(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: the answer, and what both must do alike.

    `publics`: the keys of all passive parties in party order, of which the receiver stands at `place`.
    `samples_columns`: trees or nodes may use some columns only (SealedColumns).
    """

    TAG: ClassVar[str] = "sealed-offer"
    MAX_BYTES: ClassVar[int] = BASE_BYTES
    REVEALS: ClassVar[Reveals] = NOTHING

    offer: Bulk
    transfer_bits: int
    flight_bytes: int
    samples_columns: bool
    publics: list[bytes]
    place: int


class SealedReply(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: the end of the base transfers, and keys for the passive parties in later places."""

    TAG: ClassVar[str] = "sealed-reply"
    MAX_BYTES: ClassVar[int] = BASE_BYTES
    REVEALS: ClassVar[Reveals] = NOTHING

    reply: Bulk
    ciphertexts: list[bytes]


class SealedReverse(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: 128 transfers that become the base of the other direction; keys of earlier parties."""

    TAG: ClassVar[str] = "sealed-reverse"
    MAX_BYTES: ClassVar[int] = BASE_BYTES
    REVEALS: ClassVar[Reveals] = NOTHING

    request: Bulk
    ciphertexts: list[bytes]


class SealedPieces(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: pieces of argmaxes to be made now, and its request for them; maybe none."""

    TAG: ClassVar[str] = "sealed-pieces"
    MAX_BYTES: ClassVar[int] = 1 << 30
    REVEALS: ClassVar[Reveals] = Reveals("nothing: the choices of the transfers are random and hidden")

    tables: int
    ands: int
    muxes: int
    triples: int
    back_tables: int
    large: int
    back_large: int
    request: Bulk


class TreePicks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The columns of one tree: `used`, a bit for each column; `withheld`, for each slot a bit for each used column."""

    tree: int
    used: Bulk
    withheld: Bulk


class SealedColumns(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, once a level where columns are sampled: which columns take part."""

    TAG: ClassVar[str] = "sealed-columns"
    MAX_BYTES: ClassVar[int] = TABLE_BYTES
    REVEALS: ClassVar[Reveals] = Reveals(
        "which of the sender's encrypted columns belong to the features that a tree or a node may use, and so which of "
        "them are of one feature; names of features, thresholds and the order of cuts stay hidden",
        "trees",
    )

    trees: list[TreePicks]

    def amount(self) -> int:
        """Count the trees."""
        return len(self.trees)


class SealedEarlier(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: the winners of the passive parties before, as a share that the last of them has sealed.

    `widths`: bits of these parties' codes, that of the last one first.
    """

    TAG: ClassVar[str] = "sealed-earlier"
    MAX_BYTES: ClassVar[int] = TABLE_BYTES
    REVEALS: ClassVar[Reveals] = Reveals(
        "to a power of two how many candidate splits the passive parties before the receiver have; the winners so far "
        "are a random share",
        "numbers",
    )

    widths: list[int]
    shares: Bulk

    def amount(self) -> int:
        """Count the parties."""
        return len(self.widths)


class SealedPart(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: `rho`, its part of the winners' shares, and the rest, sealed for the next passive party."""

    TAG: ClassVar[str] = "sealed-part"
    MAX_BYTES: ClassVar[int] = TABLE_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("one of two random parts of a share, and the other encrypted: nothing")

    rho: Bulk
    rest: Bulk


class SealedCodes(Message, frozen=True, forbid_unknown_fields=True):
    """The last passive party to the active one: shares of each earlier party's winners, sealed for that party."""

    TAG: ClassVar[str] = "sealed-codes"
    MAX_BYTES: ClassVar[int] = TABLE_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("shares that are encrypted for other parties: nothing")

    parties: list[Bulk]


class SealedWinners(Message, frozen=True, forbid_unknown_fields=True):
    """Active to a passive party that is not the last: both shares of its winners, the last party's still sealed."""

    TAG: ClassVar[str] = "sealed-winners"
    MAX_BYTES: ClassVar[int] = TABLE_BYTES
    REVEALS: ClassVar[Reveals] = Reveals(
        "for each node: which of the receiver's own candidates is the best of all, or that none of them is", "nodes"
    )

    nodes: int
    share: Bulk
    other: Bulk

    def amount(self) -> int:
        """Count the nodes."""
        return self.nodes


class SealedWins(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, where there are several passive parties: a bit for each slot, set if the sender has won it."""

    TAG: ClassVar[str] = "sealed-wins"
    REVEALS: ClassVar[Reveals] = Reveals("which nodes the sender's splits have won", "nodes")

    nodes: int
    bits: Bulk

    def amount(self) -> int:
        """Count the nodes."""
        return self.nodes


SEALED_MESSAGES: tuple[type[Message], ...] = (
    SealedGreeting,
    SealedOffer,
    SealedReply,
    SealedReverse,
    SealedPieces,
    SealedColumns,
    SealedEarlier,
    SealedPart,
    SealedCodes,
    SealedWinners,
    SealedWins,
)
