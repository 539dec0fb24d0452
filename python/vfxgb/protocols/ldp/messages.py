"""What `ldp` adds to the messages of protocols whose passive parties score."""

from vfxgb.transport.messages import BULK_BYTES, Bulk, Message, Reveals


class LdpGradients(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, one per output and round: of the sampled rows, ascending, in fixed point.

    int64[rows, 2], noisy gradients and hessians; int64[rows, 1] without hessians when scores are of first order.
    """

    TAG = "ldp-gradients"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals("noisy gradients of single rows; the noise hides labels up to the epsilon stated", "gradients")

    round: int
    tree: int
    n_rows: int
    values: Bulk

    def amount(self) -> int:
        """Count the rows."""
        return self.n_rows


class LdpPrinted(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, one per tree and level, as_printed only: int64[rows], fresh noise for the level's nodes.

    Rows of the level's first node, ascending, then of its second, and so on.
    """

    TAG = "ldp-printed"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals(
        "noisy gradients of single rows, with new noise on each level: averaging them gives the label", "gradients"
    )

    round: int
    depth: int
    tree: int
    values: Bulk

    def amount(self) -> int:
        """Count the rows."""
        return len(self.values) // 8
