"""What travels for an argmax, as messages of a channel. Their bytes are sealed (wire.py) or of sealed parts."""

from typing import ClassVar

from vfxgb.transport.messages import BULK_BYTES, TABLE_BYTES, Bulk, Message, Reveals


class ArgmaxPieces(Message, frozen=True, forbid_unknown_fields=True):
    """Both ways, ahead: a request of transfers (Correlations.request), and corrections if these are known yet."""

    TAG: ClassVar[str] = "argmax-pieces"
    MAX_BYTES: ClassVar[int] = BULK_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("nothing: the choices of the transfers are random and hidden")

    request: Bulk
    corrections: Bulk


class ArgmaxCorrections(Message, frozen=True, forbid_unknown_fields=True):
    """Either way, after the requests: corrections of triples (Correlations.accept)."""

    TAG: ClassVar[str] = "argmax-corrections"
    MAX_BYTES: ClassVar[int] = BULK_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("products of random bits, under keys of which the receiver lacks one: nothing")

    corrections: Bulk


class ArgmaxFlight(Message, frozen=True, forbid_unknown_fields=True):
    """Either way: one flight of a tournament (Argmax.send)."""

    TAG: ClassVar[str] = "argmax-flight"
    MAX_BYTES: ClassVar[int] = BULK_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("shares of comparisons, under fresh masks that the receiver lacks: nothing")

    data: Bulk


class ArgmaxWinners(Message, frozen=True, forbid_unknown_fields=True):
    """Either way: the opening, the last flight. `nodes`: those of the level."""

    TAG: ClassVar[str] = "argmax-winners"
    MAX_BYTES: ClassVar[int] = TABLE_BYTES
    REVEALS: ClassVar[Reveals] = Reveals(
        "for each node: to a passive party which of its own candidates is the best of all, or that none of them is; to "
        "the active party whether its own is",
        "nodes",
    )

    nodes: int
    data: Bulk

    def amount(self) -> int:
        """Count the nodes."""
        return self.nodes


class ArgmaxWinnerShares(Message, frozen=True, forbid_unknown_fields=True):
    """One passive party to the next, or to the active one: a part of its shares of winners (WinnerShares.split)."""

    TAG: ClassVar[str] = "argmax-winner-shares"
    MAX_BYTES: ClassVar[int] = TABLE_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("one of two random parts of a share: nothing")

    shares: Bulk


ALL_MESSAGES: tuple[type[Message], ...] = (
    ArgmaxPieces,
    ArgmaxCorrections,
    ArgmaxFlight,
    ArgmaxWinners,
    ArgmaxWinnerShares,
)
