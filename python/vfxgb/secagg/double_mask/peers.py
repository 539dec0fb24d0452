"""A user's encryption key of a run, and the keys it seals with for every other user.

The key pair is made for the run and signed with the user's identity, so that nobody in between can put in another. From
it and a peer's follows the key of the pair, which seals at most one record per call and direction.
"""

import numpy as np

from vfxgb.crypto.key_agreement import KEY_BYTES, SIGNATURE_BYTES, AgreementKey, context_of, seal, sign, unseal
from vfxgb.errors import MessageError
from vfxgb.secagg.base import UserContext
from vfxgb.secagg.double_mask.messages import EncryptionKey, KeyDirectory
from vfxgb.secagg.lists import read_users, require_within
from vfxgb.transport.messages import unpack_array


def key_statement(run: bytes, user: int, key: bytes) -> bytes:
    """What a user signs about its encryption key."""
    return context_of("encryption key", run, user) + key


class Peers:
    """The other users, as one of them knows them.

    `users` are those of the directory, this one among them, with their encryption keys; empty until it is accepted.
    """

    def __init__(self, context: UserContext) -> None:
        self._context = context
        self._own = AgreementKey()
        self.users: dict[int, bytes] = {}
        self._sealing: dict[int, bytes] = {}

    def own_key(self) -> EncryptionKey:
        """This user's key, to be published."""
        context = self._context
        statement = key_statement(context.run, context.user, self._own.public)
        return EncryptionKey(key=self._own.public, signature=sign(context.identity, statement))

    def accept(self, directory: KeyDirectory, step: str) -> int:
        """Check every key of the directory and keep them. Returns how many. Raises MessageError."""
        context = self._context
        users = read_users(directory.users, step)
        require_within(users, context.directory, step, "users with an identity key")
        keys = unpack_array(directory.keys, np.uint8, (len(users), KEY_BYTES), step)
        signatures = unpack_array(directory.signatures, np.uint8, (len(users), SIGNATURE_BYTES), step)
        public = {user: key.tobytes() for user, key in zip(users, keys, strict=True)}
        if public.get(context.user) != self._own.public:
            raise MessageError(f"{step}: the directory does not hold this user's own encryption key")
        for user, signature in zip(users, signatures, strict=True):
            statement = key_statement(context.run, user, public[user])
            if not context.verify(context.directory[user], statement, signature.tobytes()):
                raise MessageError(
                    f"{step}: the encryption key of user {user} is not signed with its identity; it was exchanged on "
                    "the way, or belongs to another run"
                )
        self.users = public
        return len(users)

    def seal_for(self, peer: int, call: int, record: bytes) -> bytes:
        """A record that only `peer` can open, and only as one of this call from this user."""
        user = self._context.user
        return seal(self._key(peer), _nonce(call, user, peer), record, self._associated(call, user, peer))

    def unseal_from(self, peer: int, call: int, sealed: bytes) -> bytes:
        """The record that `peer` sealed for this user in this call. Raises InvalidCiphertextError, InvalidKeyError."""
        user = self._context.user
        return unseal(self._key(peer), _nonce(call, peer, user), sealed, self._associated(call, peer, user))

    def _associated(self, call: int, sender: int, receiver: int) -> bytes:
        return context_of("record", self._context.run, call, sender, receiver)

    def _key(self, peer: int) -> bytes:
        """The key of this user and `peer`, agreed on when it is first needed."""
        key = self._sealing.get(peer)
        if key is None:
            user = self._context.user
            context = context_of("sealing", self._context.run, min(user, peer), max(user, peer))
            key = self._sealing[peer] = self._own.agree(self.users[peer], context)
        return key


def _nonce(call: int, sender: int, receiver: int) -> int:
    """A pair's key seals one record per call and direction."""
    return 2 * call + (sender > receiver)
