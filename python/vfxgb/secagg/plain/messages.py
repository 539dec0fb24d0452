"""The messages of `plain`."""

from typing import ClassVar

from vfxgb.transport.messages import BULK_BYTES, Bulk, Message, Reveals


class PlainTask(Message, frozen=True, forbid_unknown_fields=True):
    """Server to user: what to make a vector of."""

    TAG: ClassVar[str] = "sum-task"
    MAX_BYTES: ClassVar[int] = BULK_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("what the server wants summed")

    call: int
    n_entries: int
    task: Bulk


class PlainVector(Message, frozen=True, forbid_unknown_fields=True):
    """User to server: its vector, int64[n_entries]."""

    TAG: ClassVar[str] = "sum-vector"
    MAX_BYTES: ClassVar[int] = BULK_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("the user's own sums, in clear", "sums of one user")

    call: int
    values: Bulk

    def amount(self) -> int:
        """Count the entries of the vector."""
        return len(self.values) // 8
