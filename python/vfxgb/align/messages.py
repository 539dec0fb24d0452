"""The messages of alignment (ids -> rows) and of lookups. Points are 32 bytes, tags 16, values 8."""

from typing import ClassVar

from vfxgb.align.params import TAG_BYTES
from vfxgb.transport.messages import NOTHING, TABLE_BYTES, Bulk, Message, Reveals

POINT_BYTES = 32
VALUE_BYTES = 8


class OpenAlign(Message, frozen=True, forbid_unknown_fields=True):
    """The active party sends it first.

    `n_ids` counts the ids of all groups, `n_passives` the passive parties; `steps` is a digest of the normalisation.
    """

    TAG: ClassVar[str] = "open-align"
    REVEALS: ClassVar[Reveals] = Reveals("how many ids the sender has, and how many parties there are", "numbers")

    method: str
    group_bits: int
    n_ids: int
    n_passives: int
    steps: bytes

    def amount(self) -> int:
        """Count two numbers: those of ids and of parties."""
        return 2


class AlignReady(Message, frozen=True, forbid_unknown_fields=True):
    """A passive party answers that its steps are the same.

    `public` is a fresh key of X25519 and ML-KEM-768 where there are other passive parties, else empty.
    """

    TAG: ClassVar[str] = "align-ready"
    REVEALS: ClassVar[Reveals] = Reveals("how many ids the sender has", "numbers")

    method: str
    n_ids: int
    public: bytes

    def amount(self) -> int:
        """Count one number: how many ids there are."""
        return 1


class BlindedIds(Message, frozen=True, forbid_unknown_fields=True):
    """Both ways (ecdh), in blocks from `first` on: the sender's ids as points under its secret, uint8[k, 32]."""

    TAG: ClassVar[str] = "blinded-ids"
    MAX_BYTES: ClassVar[int] = TABLE_BYTES
    REVEALS: ClassVar[Reveals] = NOTHING

    first: int
    points: Bulk


class TwiceBlindedIds(Message, frozen=True, forbid_unknown_fields=True):
    """Both ways (ecdh), in blocks from `first` on: the receiver's BlindedIds, under the secrets of both.

    The active party sends the other's in another order, the passive party sends them in theirs.
    """

    TAG: ClassVar[str] = "twice-blinded-ids"
    MAX_BYTES: ClassVar[int] = TABLE_BYTES
    REVEALS: ClassVar[Reveals] = Reveals(
        "how many ids are common (passive party) or which ids are common (active party), once all points have arrived",
        "ids compared",
    )

    first: int
    points: Bulk

    def amount(self) -> int:
        """Count the ids of the receiver that are compared."""
        return len(self.points) // POINT_BYTES


class BaseGreeting(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive (kkrt): the first step of the base transfers, 300 KB."""

    TAG: ClassVar[str] = "base-greeting"
    MAX_BYTES: ClassVar[int] = 1 << 20
    REVEALS: ClassVar[Reveals] = NOTHING

    greeting: bytes


class BaseOffer(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active (kkrt): the second step of the base transfers, 330 KB."""

    TAG: ClassVar[str] = "base-offer"
    MAX_BYTES: ClassVar[int] = 1 << 20
    REVEALS: ClassVar[Reveals] = NOTHING

    offer: bytes


class AlignKeys(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive (kkrt): what precedes the rows.

    `reply` is the last step of the base transfers. `publics` are the public keys of all passive parties; `place` says
    which of them is the receiver's own. `table_key` is the key of the hashes that place ids in bins.
    """

    TAG: ClassVar[str] = "align-keys"
    MAX_BYTES: ClassVar[int] = 1 << 21
    REVEALS: ClassVar[Reveals] = NOTHING

    reply: bytes
    publics: list[bytes]
    place: int
    table_key: bytes


class CodeChoices(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active (kkrt): extension of the base transfers to the secret of the OPRF, 7 KiB.

    `ciphertexts`: one for each passive party in a later place, uint8[k, 1088], to be passed on.
    """

    TAG: ClassVar[str] = "code-choices"
    MAX_BYTES: ClassVar[int] = 1 << 21
    REVEALS: ClassVar[Reveals] = NOTHING

    u: Bulk
    ciphertexts: Bulk


class PassedCiphertexts(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive (kkrt), if there are several: what those in earlier places encapsulated for it."""

    TAG: ClassVar[str] = "passed-ciphertexts"
    MAX_BYTES: ClassVar[int] = 1 << 21
    REVEALS: ClassVar[Reveals] = NOTHING

    ciphertexts: Bulk


class CodeSeeds(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive (kkrt): what opens all but one of the seeds of each piece of the OPRF's secret, 24 KiB."""

    TAG: ClassVar[str] = "code-seeds"
    REVEALS: ClassVar[Reveals] = NOTHING

    opening: Bulk


class CodeRows(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive (kkrt), in blocks: the masked code words of bins from group `first` on, 3 KiB a group."""

    TAG: ClassVar[str] = "code-rows"
    MAX_BYTES: ClassVar[int] = TABLE_BYTES
    REVEALS: ClassVar[Reveals] = NOTHING

    first: int
    u: Bulk


class Hint(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active (kkrt), in blocks: entries from `first` on of the store that programs its ids, uint64.

    `seed`: 16 bytes, the key of the store's hashes.
    """

    TAG: ClassVar[str] = "hint"
    MAX_BYTES: ClassVar[int] = TABLE_BYTES
    REVEALS: ClassVar[Reveals] = Reveals(
        "which of the receiver's ids all passive parties have, once the hints of all of them have arrived",
        "numbers masked by an OPRF",
    )

    seed: bytes
    first: int
    values: Bulk

    def amount(self) -> int:
        """Count the entries."""
        return len(self.values) // VALUE_BYTES


class CommonRows(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: how many ids are common in each group.

    `key` is the key of the tags, and `digest` the hash of the agreed rows. As many CommonTags follow as the sum of
    `sizes` needs.
    """

    TAG: ClassVar[str] = "common-rows"
    REVEALS: ClassVar[Reveals] = Reveals("how many ids are common in each group of rows", "numbers")

    key: bytes
    sizes: list[int]
    digest: bytes

    def amount(self) -> int:
        """Count the groups."""
        return len(self.sizes)


class CommonTags(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, in blocks from `first` on: tags of the common ids in the agreed order, uint8[k, 16]."""

    TAG: ClassVar[str] = "common-tags"
    MAX_BYTES: ClassVar[int] = TABLE_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("which of the receiver's ids all parties have", "ids")

    first: int
    tags: Bulk

    def amount(self) -> int:
        """Count the ids."""
        return len(self.tags) // TAG_BYTES


class RowsAgreed(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, last: the digest of the rows that the sender found."""

    TAG: ClassVar[str] = "rows-agreed"
    REVEALS: ClassVar[Reveals] = NOTHING

    digest: bytes


class OpenLookup(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, once a session: `key` of the tags of this session, `steps` as in OpenAlign."""

    TAG: ClassVar[str] = "open-lookup"
    REVEALS: ClassVar[Reveals] = NOTHING

    key: bytes
    steps: bytes


class LookupReady(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: its table is tagged."""

    TAG: ClassVar[str] = "lookup-ready"
    REVEALS: ClassVar[Reveals] = Reveals("how many ids the sender has", "numbers")

    n_ids: int

    def amount(self) -> int:
        """Count one number: how many ids there are."""
        return 1


class AskRows(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: tags of the ids that are asked for, uint8[k, 16], in the order of the answer."""

    TAG: ClassVar[str] = "ask-rows"
    MAX_BYTES: ClassVar[int] = TABLE_BYTES
    REVEALS: ClassVar[Reveals] = Reveals(
        "which ids are asked for; of an id that the receiver lacks it sees a digest, and it can guess ids until one "
        "fits",
        "ids",
    )

    tags: Bulk

    def amount(self) -> int:
        """Count the ids."""
        return len(self.tags) // TAG_BYTES


class FoundRows(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: one bit per id asked for, lowest first: the sender has it."""

    TAG: ClassVar[str] = "found-rows"
    MAX_BYTES: ClassVar[int] = TABLE_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("which of the requested ids the sender has", "ids")

    n_ids: int
    found: Bulk

    def amount(self) -> int:
        """Count the ids asked for."""
        return self.n_ids


class UseRows(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: one bit per id asked for: all parties have it, and its row is used next."""

    TAG: ClassVar[str] = "use-rows"
    MAX_BYTES: ClassVar[int] = TABLE_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("which of the requested ids all parties have", "ids")

    n_ids: int
    used: Bulk

    def amount(self) -> int:
        """Count the ids asked for."""
        return self.n_ids


class CloseLookup(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, last: no more questions."""

    TAG: ClassVar[str] = "close-lookup"
    REVEALS: ClassVar[Reveals] = NOTHING


ALIGN_MESSAGES: tuple[type[Message], ...] = (
    OpenAlign,
    AlignReady,
    BlindedIds,
    TwiceBlindedIds,
    BaseGreeting,
    BaseOffer,
    AlignKeys,
    CodeChoices,
    PassedCiphertexts,
    CodeSeeds,
    CodeRows,
    Hint,
    CommonRows,
    CommonTags,
    RowsAgreed,
    OpenLookup,
    LookupReady,
    AskRows,
    FoundRows,
    UseRows,
    CloseLookup,
)
