"""The messages of `fpe`."""

from vfxgb.transport.messages import BULK_BYTES, NOTHING, Bulk, Message, Reveals


class FunctionalTask(Message, frozen=True, forbid_unknown_fields=True):
    """Server to user: what to make a vector of. `first`: the number of its first plaintext, which picks the pads."""

    TAG = "fpe-task"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals("what the server wants summed")

    call: int
    first: int
    n_entries: int
    task: Bulk


class FunctionalVector(Message, frozen=True, forbid_unknown_fields=True):
    """User to server: C_0 and the C_e. With its keys the server sees padded values; those of all users, the sum."""

    TAG = "fpe-vector"
    MAX_BYTES = BULK_BYTES
    REVEALS = NOTHING

    call: int
    blinder: bytes
    ciphertexts: Bulk
