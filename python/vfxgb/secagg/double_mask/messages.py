"""The messages of a run, in the order in which they travel. Requests are the server's, replies the user's.

Lists of users are ascending ids (lists.py). Rows that belong to users come in the order of the list they go with.
"""

from vfxgb.secagg.double_mask.shares import SHARE_BYTES
from vfxgb.transport.messages import BULK_BYTES, TABLE_BYTES, Bulk, Message, Reveals


class Hello(Message, frozen=True, forbid_unknown_fields=True):
    """Set-up: asks for an encryption key. `server_key`: what the masking needs of the server, if anything."""

    TAG = "secagg-hello"
    REVEALS = Reveals("a public key of the server")

    server_key: Bulk


class EncryptionKey(Message, frozen=True, forbid_unknown_fields=True):
    """Set-up: the user's public encryption key of this run, signed with its identity."""

    TAG = "secagg-key"
    REVEALS = Reveals("a public key of the user")

    key: bytes
    signature: bytes


class KeyDirectory(Message, frozen=True, forbid_unknown_fields=True):
    """Set-up: everybody's encryption keys, uint8[n, 1216], and signatures, uint8[n, 64]."""

    TAG = "secagg-directory"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals("who takes part, and their public keys", "users")

    users: Bulk
    keys: Bulk
    signatures: Bulk

    def amount(self) -> int:
        """Count the users in the directory."""
        return len(self.users) // 4


class OwnCiphertexts(Message, frozen=True, forbid_unknown_fields=True):
    """Set-up: the directory is in order; a ciphertext for each of its users with a higher number, uint8[k, 1088]."""

    TAG = "secagg-own-ciphertexts"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals("nothing: secrets of pairs of users, encapsulated for other users")

    ciphertexts: Bulk


class PeerCiphertexts(Message, frozen=True, forbid_unknown_fields=True):
    """Set-up: what users with lower numbers encapsulated for the receiver, uint8[k, 1088], and who they are."""

    TAG = "secagg-peer-ciphertexts"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals("secrets that the receiver shares with single users")

    users: Bulk
    ciphertexts: Bulk


class Ready(Message, frozen=True, forbid_unknown_fields=True):
    """Set-up: the ciphertexts are in order."""

    TAG = "secagg-ready"
    REVEALS = Reveals("that the user can take part")

    n_users: int


class CallOpened(Message, frozen=True, forbid_unknown_fields=True):
    """JOIN: a call begins."""

    TAG = "secagg-call"
    REVEALS = Reveals("that the server wants a sum")

    call: int


class MaskKey(Message, frozen=True, forbid_unknown_fields=True):
    """JOIN: the user's mask key of this call, and a commitment to what will take its own mask off."""

    TAG = "secagg-mask-key"
    REVEALS = Reveals("that the user is there, and a fresh public key")

    call: int
    key: bytes
    commitment: bytes


class ShareRequest(Message, frozen=True, forbid_unknown_fields=True):
    """SHARE: who joined, and how many of them are to be needed."""

    TAG = "secagg-joined"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals("who joined the call", "users")

    call: int
    threshold: int
    users: Bulk

    def amount(self) -> int:
        """Count the users in the list."""
        return len(self.users) // 4


class SealedShares(Message, frozen=True, forbid_unknown_fields=True):
    """SHARE: for each other user of the list one sealed record, and what the server opens if the sender is absent.

    `kept`: the mask secrets of the sender with each other user of the list, sealed (shares.py).
    """

    TAG = "secagg-shares"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals("nothing: shares of keys, encrypted for other users")

    call: int
    sealed: Bulk
    kept: Bulk


class MaskRequest(Message, frozen=True, forbid_unknown_fields=True):
    """MASK: who shared, the records they sealed for the receiver, and what to make a vector of."""

    TAG = "secagg-task"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals("what the server wants summed, and shares of other users' keys for this call", "shares")

    call: int
    n_entries: int
    users: Bulk
    sealed: Bulk
    task: Bulk

    def amount(self) -> int:
        """Count the users whose shares these are."""
        return len(self.users) // 4 - 1


class MaskedVector(Message, frozen=True, forbid_unknown_fields=True):
    """MASK: the user's vector, masked twice."""

    TAG = "secagg-vector"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals("nothing but the sum over all users whose vectors arrive, once it is opened")

    call: int
    values: Bulk


class SignRequest(Message, frozen=True, forbid_unknown_fields=True):
    """SIGN: whose vectors arrived, U'."""

    TAG = "secagg-survivors"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals("whose vectors are in the sum", "users")

    call: int
    users: Bulk

    def amount(self) -> int:
        """Count the users in the list."""
        return len(self.users) // 4


class Signed(Message, frozen=True, forbid_unknown_fields=True):
    """SIGN: the user's signature of what it was told of the call."""

    TAG = "secagg-signature"
    REVEALS = Reveals("that the user was told the same as other users")

    call: int
    signature: bytes


class UnmaskRequest(Message, frozen=True, forbid_unknown_fields=True):
    """UNMASK: who signed, and the signatures, uint8[k, 64]."""

    TAG = "secagg-signatures"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals("that other users were told the same", "signatures")

    call: int
    users: Bulk
    signatures: Bulk

    def amount(self) -> int:
        """Count the signatures."""
        return len(self.users) // 4


class Unmasking(Message, frozen=True, forbid_unknown_fields=True):
    """UNMASK: what takes the user's own mask off, and its shares of the mask keys of those who sent no vector."""

    TAG = "secagg-unmasking"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals(
        "what opens the sum: the user's own mask of this call, and shares of the mask keys of absent users", "shares"
    )

    call: int
    opening: bytes
    key_shares: Bulk

    def amount(self) -> int:
        """Count the shares."""
        return len(self.key_shares) // SHARE_BYTES


class RecoverRequest(Message, frozen=True, forbid_unknown_fields=True):
    """RECOVER: survivors that left before they sent their openings."""

    TAG = "secagg-missing"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals("who left while the sum was being opened", "users")

    call: int
    users: Bulk

    def amount(self) -> int:
        """Count the users in the list."""
        return len(self.users) // 4


class SeedShares(Message, frozen=True, forbid_unknown_fields=True):
    """RECOVER: shares of the seeds of those users."""

    TAG = "secagg-seed-shares"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals("shares of the seeds of users whose vectors are in the sum", "shares")

    call: int
    shares: Bulk

    def amount(self) -> int:
        """Count the shares."""
        return len(self.shares) // SHARE_BYTES


MESSAGES: tuple[type[Message], ...] = (
    Hello,
    EncryptionKey,
    KeyDirectory,
    OwnCiphertexts,
    PeerCiphertexts,
    Ready,
    CallOpened,
    MaskKey,
    ShareRequest,
    SealedShares,
    MaskRequest,
    MaskedVector,
    SignRequest,
    Signed,
    UnmaskRequest,
    Unmasking,
    RecoverRequest,
    SeedShares,
)
