"""The messages of `plain`."""

from vfxgb.transport.messages import BULK_BYTES, Bulk, Message, Reveals


class PlainTask(Message, frozen=True, forbid_unknown_fields=True):
    """Server to user: what to make a vector of."""

    TAG = "sum-task"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals("what the server wants summed")

    call: int
    n_entries: int
    task: Bulk


class PlainVector(Message, frozen=True, forbid_unknown_fields=True):
    """User to server: its vector, int64[n_entries]."""

    TAG = "sum-vector"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals("the user's own sums, in clear", "sums of one user")

    call: int
    values: Bulk

    def amount(self) -> int:
        """Count the entries of the vector."""
        return len(self.values) // 8
