"""The messages of hidden routing between the active party, which takes bits, and a passive party, which has them."""

from vfxgb.transport.messages import BULK_BYTES, NOTHING, TABLE_BYTES, Bulk, Message, Reveals

# Base transfers take 330 KB at most.
BASE_BYTES = 1 << 20


class RoutingGreeting(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, first: the beginning of the base transfers."""

    TAG = "routing-greeting"
    MAX_BYTES = BASE_BYTES
    REVEALS = NOTHING

    greeting: Bulk


class RoutingOffer(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: the answer, and which transfers follow: `kind` "soft" or "silent", and their bits."""

    TAG = "routing-offer"
    MAX_BYTES = BASE_BYTES
    REVEALS = NOTHING

    kind: str
    transfer_bits: int
    offer: Bulk


class RoutingReply(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: the end of the base transfers."""

    TAG = "routing-reply"
    MAX_BYTES = BASE_BYTES
    REVEALS = NOTHING

    reply: Bulk


class TransferStock(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: `count` transfers made ahead as batch number `batch`."""

    TAG = "transfer-stock"
    MAX_BYTES = TABLE_BYTES
    REVEALS = NOTHING

    batch: int
    count: int
    transfers: Bulk


class SilentRound(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: a round of silent transfers begins."""

    TAG = "silent-round"
    MAX_BYTES = TABLE_BYTES
    REVEALS = NOTHING

    request: Bulk


class SilentRoundEnd(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: the round's answer."""

    TAG = "silent-round-end"
    MAX_BYTES = TABLE_BYTES
    REVEALS = NOTHING

    answer: Bulk


class HiddenRoute(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, one per level and part of the rows: which bits it takes, under random choices.

    The part has `count` rows from `first` on. `batch`, `n_transfers`, `transfers` and `corrections`: see Question.
    """

    TAG = "hidden-route"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals(
        "nothing about where rows stand: every row takes part at every level, with choices that are masked"
    )

    depth: int
    first: int
    count: int
    batch: int
    n_transfers: int
    transfers: Bulk
    corrections: Bulk


class HiddenRouted(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: all bits of the rows at the sender's splits of a level, masked.

    The receiver can open one for each row and each of `n_groups` groups (a tree at this level), or none.
    """

    TAG = "hidden-routed"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals(
        "whether a row goes left at one of the sender's splits: at most one comparison per row, tree and level; its "
        "feature and threshold stay hidden, and so do the row's bits at all other splits",
        "comparisons",
    )

    depth: int
    first: int
    count: int
    n_groups: int
    sent: Bulk

    def amount(self) -> int:
        """Count the comparisons that the receiver can open at most."""
        return self.count * self.n_groups


ROUTING_MESSAGES: tuple[type[Message], ...] = (
    RoutingGreeting,
    RoutingOffer,
    RoutingReply,
    TransferStock,
    SilentRound,
    SilentRoundEnd,
    HiddenRoute,
    HiddenRouted,
)
