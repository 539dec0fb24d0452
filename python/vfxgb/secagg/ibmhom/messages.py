"""The messages of `ibmhom`. Ciphertexts travel in the format of crypto/wire.py, checked against the key on arrival."""

from vfxgb.transport.messages import BULK_BYTES, NOTHING, Bulk, Message, Reveals


class EncryptTask(Message, frozen=True, forbid_unknown_fields=True):
    """Server to user: what to make a vector of."""

    TAG = "ibmhom-task"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals("what the server wants summed")

    call: int
    n_entries: int
    task: Bulk


class EncryptedVector(Message, frozen=True, forbid_unknown_fields=True):
    """User to server: its vector, encrypted; fewer than the threshold of users cannot open it."""

    TAG = "ibmhom-vector"
    MAX_BYTES = BULK_BYTES
    REVEALS = NOTHING

    call: int
    ciphertexts: Bulk


class SumToOpen(Message, frozen=True, forbid_unknown_fields=True):
    """Server to user: ciphertexts to decrypt partly. The user cannot tell whether they are sums over many users."""

    TAG = "ibmhom-sum"
    MAX_BYTES = BULK_BYTES
    REVEALS = NOTHING

    call: int
    ciphertexts: Bulk


class PartialDecryptions(Message, frozen=True, forbid_unknown_fields=True):
    """User to server: its part in opening the sums."""

    TAG = "ibmhom-parts"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals("what was sent to be opened, once as many users as the threshold have answered")

    call: int
    parts: Bulk
