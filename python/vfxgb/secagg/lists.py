"""Lists of users: how they travel, what a receiver checks, and the statement that its users sign (ERRATA E19).

A server that told users different lists could ask one half of them for the mask key of a user and the other half for
its seed, and so open that user's vector. Users therefore sign what they were told of a call, and open nothing before
they have seen t signatures of the same. Two statements with t signatures each need 2t - n users that sign both; honest
ones sign one statement per call.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vfxgb.crypto.key_agreement import SIGNATURE_BYTES, Verify, context_of
from vfxgb.errors import MessageError
from vfxgb.transport.messages import Bulk, pack_array, unpack_array


def pack_users(users: Sequence[int]) -> Bulk:
    """Ids as they travel: 4 bytes each."""
    return pack_array(np.array(users, dtype=np.uint32))


def read_users(data: Bulk, step: str) -> tuple[int, ...]:
    """The ids in `data`. Raises MessageError, naming `step`, unless they ascend: no user counts twice."""
    if len(data) % 4:
        raise MessageError(f"{step}: found a list of users of {len(data)} bytes, wanted 4 for each")
    users = unpack_array(data, np.uint32, (len(data) // 4,), step)
    if np.any(users[1:] <= users[:-1]):
        raise MessageError(f"{step}: found a list of users with duplicates or out of order, wanted ascending ids")
    return tuple(users.tolist())


def require_within(users: Sequence[int], known: Collection[int], step: str, wanted: str) -> None:
    """Raise MessageError unless all `users` are among `known`."""
    strangers = sorted(set(users).difference(known))
    if strangers:
        raise MessageError(f"{step}: found user {strangers[0]} in the list, wanted only {wanted}")


@dataclass(frozen=True)
class Statement:
    """What a user was told of a call: all of it has to be the same for everybody.

    `joined`, `shared`, `survivors`: the lists after the stages JOIN, SHARE and MASK. `task`: digest of the task.
    """

    run: bytes
    call: int
    threshold: int
    n_entries: int
    joined: tuple[int, ...]
    shared: tuple[int, ...]
    survivors: tuple[int, ...]
    task: bytes

    def signed_bytes(self) -> bytes:
        """Return what is signed."""
        digest = hashlib.sha256(self.task)
        for users in (self.joined, self.shared, self.survivors):
            digest.update(len(users).to_bytes(8, "little"))
            digest.update(pack_users(users))
        return context_of("survivors", self.run, self.call, self.threshold, self.n_entries) + digest.digest()


def task_digest(task: Bulk | bytes) -> bytes:
    """What a statement says of the task."""
    return hashlib.sha256(task).digest()


def check_signatures(
    statement: Statement,
    signers: Sequence[int],
    signatures: Bulk,
    directory: Mapping[int, bytes],
    verify: Verify,
    step: str,
) -> None:
    """Raise MessageError unless at least t survivors signed the statement. `signers` ascend.

    The first t signatures are looked at.
    """
    require_within(signers, statement.survivors, step, "survivors among those who signed")
    wanted = statement.threshold
    if len(signers) < wanted:
        raise MessageError(f"{step}: found {len(signers)} signatures of the list of survivors, wanted {wanted}")
    rows = unpack_array(signatures, np.uint8, (len(signers), SIGNATURE_BYTES), step)
    signed = statement.signed_bytes()
    for signer, row in zip(signers[:wanted], rows[:wanted], strict=True):
        if not verify(directory[signer], signed, row.tobytes()):
            raise MessageError(
                f"{step}: the signature of user {signer} is not one of this list, wanted {wanted} signatures of the "
                "list that this user signed; the server told users different things, or altered a signature"
            )
