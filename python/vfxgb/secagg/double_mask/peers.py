"""A user's encryption key of a run, and what it shares with every other user.

The key pair, of X25519 and ML-KEM-768, is made for the run and signed with the user's identity, so that nobody in
between can put in another. Of two users the one with the lower number encapsulates; the server passes the ciphertext
on. From both keys and the ciphertext follows the secret of the pair. The key that is derived from it seals at most one
record per call and direction, and every call has a mask secret of its own.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from vfxgb.crypto.key_agreement import (
    HYBRID_CIPHERTEXT_BYTES,
    HYBRID_PUBLIC_BYTES,
    SIGNATURE_BYTES,
    HybridKey,
    context_of,
    seal,
    sign,
    unseal,
)
from vfxgb.crypto.key_batches import Rows, contexts_of, derive_all, rows_of
from vfxgb.errors import InvalidKeyError, MessageError
from vfxgb.secagg.base import UserContext
from vfxgb.secagg.double_mask.messages import EncryptionKey, KeyDirectory, OwnCiphertexts, PeerCiphertexts
from vfxgb.secagg.lists import read_users, require_within
from vfxgb.transport.messages import pack_bytes, unpack_array


def key_statement(run: bytes, user: int, key: bytes) -> bytes:
    """What a user signs about its encryption key."""
    return context_of("encryption key", run, user) + key


class Peers:
    """The other users, as one of them knows them.

    `users` are those of the directory, this one among them, with their encryption keys; empty until it is accepted.
    """

    def __init__(self, context: UserContext) -> None:
        self._context = context
        self._own = HybridKey()
        # The directory as it came, until all secrets are known: users, and a row of keys for each.
        self._users: tuple[int, ...] = ()
        self._keys: Rows = np.empty((0, HYBRID_PUBLIC_BYTES), np.uint8)
        self._secrets: dict[int, bytes] = {}
        self._sealing: dict[int, bytes] = {}

    def own_key(self) -> EncryptionKey:
        """This user's key, to be published."""
        context = self._context
        statement = key_statement(context.run, context.user, self._own.public)
        return EncryptionKey(key=self._own.public, signature=sign(context.identity, statement))

    def accept(self, directory: KeyDirectory, step: str) -> OwnCiphertexts:
        """Check every key of the directory, keep them and encapsulate for users of higher numbers.

        Raises MessageError.
        """
        context = self._context
        users = read_users(directory.users, step)
        require_within(users, context.directory, step, "users with an identity key")
        keys = unpack_array(directory.keys, np.uint8, (len(users), HYBRID_PUBLIC_BYTES), step)
        signatures = unpack_array(directory.signatures, np.uint8, (len(users), SIGNATURE_BYTES), step)
        if context.user not in users or keys[users.index(context.user)].tobytes() != self._own.public:
            raise MessageError(f"{step}: the directory does not hold this user's own encryption key")
        for user, key, signature in zip(users, keys, signatures, strict=True):
            statement = key_statement(context.run, user, key.tobytes())
            if not context.verify(context.directory[user], statement, signature.tobytes()):
                raise MessageError(
                    f"{step}: the encryption key of user {user} is not signed with its identity; it was exchanged on "
                    "the way, or belongs to another run"
                )
        self._users, self._keys = users, keys
        ciphertexts = []
        for user, key in zip(users, keys, strict=True):
            if user > context.user:
                with self._key_of(user, step):
                    self._secrets[user], ciphertext = self._own.encapsulate(key.tobytes(), self._pair("pair", user))
                ciphertexts.append(ciphertext)
        return OwnCiphertexts(ciphertexts=pack_bytes(b"".join(ciphertexts)))

    def open(self, message: PeerCiphertexts, step: str) -> int:
        """Take what users of lower numbers encapsulated. Returns the size of the directory. Raises MessageError."""
        users = read_users(message.users, step)
        lower = [user for user in self._users if user < self._context.user]
        require_within(users, lower, step, "users of the directory with lower numbers")
        rows = unpack_array(message.ciphertexts, np.uint8, (len(users), HYBRID_CIPHERTEXT_BYTES), step)
        keys = self._keys[np.searchsorted(self._users, users)] if users else self._keys[:0]
        for user, key, row in zip(users, keys, rows, strict=True):
            with self._key_of(user, step):
                secret = self._own.decapsulate(key.tobytes(), row.tobytes(), self._pair("pair", user))
                self._secrets[user] = secret
        # Keys of a thousand users are more than a megabyte.
        self._keys = self._keys[:0].copy()
        return len(self._users)

    @contextmanager
    def _key_of(self, user: int, step: str) -> Iterator[None]:
        """Name the user whose key is none, which an honest server would have found."""
        try:
            yield
        except InvalidKeyError as error:
            raise MessageError(f"{step}: the encryption key of user {user}: {error}") from None

    @property
    def users(self) -> frozenset[int]:
        """Users of the directory with whom this one has a secret, and itself."""
        return frozenset(self._secrets) | {self._context.user}

    def mask_secrets(self, peers: Sequence[int], call: int) -> Rows:
        """What this user and each of `peers` add to the key of their mask in one call."""
        secrets = rows_of([self._secrets[peer] for peer in peers])
        user, others = self._context.user, np.array(peers, dtype=np.int64)
        lower, higher = np.minimum(others, user), np.maximum(others, user)
        contexts = contexts_of("mask secret", self._context.run, call, lower, higher)
        return derive_all(secrets, contexts, self._context.threads)

    def seal_for(self, peer: int, call: int, record: bytes) -> bytes:
        """A record that only `peer` can open, and only as one of this call from this user."""
        user = self._context.user
        return seal(self._sealing_key(peer), _nonce(call, user, peer), record, self._associated(call, user, peer))

    def unseal_from(self, peer: int, call: int, sealed: bytes) -> bytes:
        """The record that `peer` sealed for this user in this call. Raises InvalidCiphertextError."""
        user = self._context.user
        return unseal(self._sealing_key(peer), _nonce(call, peer, user), sealed, self._associated(call, peer, user))

    def _associated(self, call: int, sender: int, receiver: int) -> bytes:
        return context_of("record", self._context.run, call, sender, receiver)

    def _sealing_key(self, peer: int) -> bytes:
        """The key of what this user and `peer` seal for each other in the run; all of them are made at once."""
        if not self._sealing:
            user, others = self._context.user, np.array(list(self._secrets), dtype=np.int64)
            lower, higher = np.minimum(others, user), np.maximum(others, user)
            contexts = contexts_of("sealing", self._context.run, lower, higher)
            keys = derive_all(rows_of(list(self._secrets.values())), contexts, self._context.threads)
            self._sealing = {peer: key.tobytes() for peer, key in zip(self._secrets, keys, strict=True)}
        return self._sealing[peer]

    def _pair(self, purpose: str, peer: int, *numbers: int) -> bytes:
        """The context of something that this user and `peer` share."""
        user = self._context.user
        return context_of(purpose, self._context.run, *numbers, min(user, peer), max(user, peer))


def _nonce(call: int, sender: int, receiver: int) -> int:
    """A pair's key seals one record per call and direction."""
    return 2 * call + (sender > receiver)
