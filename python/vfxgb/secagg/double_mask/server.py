"""The server of `masks` and `bcp`: who takes part in a call, and how its sum is opened.

set_up collects and hands out the users' signed encryption keys, and the secrets that they encapsulate for each other.
aggregate runs the stages of a call; a user that drops
out before its vector is asked for is replaced by a spare. What the replies of a call have to be is in server_call.py.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from vfxgb.crypto.key_agreement import HYBRID_CIPHERTEXT_BYTES, check_hybrid_key, verify
from vfxgb.errors import AggregationError, InvalidKeyError, MessageError
from vfxgb.secagg.base import (
    JOIN,
    SETUP,
    SHARE,
    Accept,
    Aggregate,
    ServerContext,
    accept_any,
    collect,
    require_users,
    threshold_of,
)
from vfxgb.secagg.double_mask.messages import (
    EncryptionKey,
    Hello,
    KeyDirectory,
    OwnCiphertexts,
    PeerCiphertexts,
    Ready,
)
from vfxgb.secagg.double_mask.modes import ServerMasking
from vfxgb.secagg.double_mask.peers import key_statement
from vfxgb.secagg.double_mask.relay import Relay, Requests
from vfxgb.secagg.double_mask.server_call import ServerCall
from vfxgb.secagg.double_mask.user import require_two_users
from vfxgb.secagg.lists import pack_users
from vfxgb.transport.messages import Message, pack_bytes, unpack_array


class DoubleMaskServer:
    """A ServerRole."""

    def __init__(self, context: ServerContext, masking: Callable[[ServerContext], ServerMasking]) -> None:
        require_two_users(context.params)
        self._context = context
        self._masking = masking(context)
        self._calls = context.first_call
        self._ready: frozenset[int] = frozenset()
        self._were_ready: frozenset[int] = frozenset()

    def set_up(self) -> tuple[int, ...]:
        """See ServerRole: three questions, for the keys, for ciphertexts to all keys, and whether these opened."""
        context = self._context
        hello = Hello(server_key=pack_bytes(self._masking.server_key()))
        keys: dict[int, EncryptionKey] = {}

        def take_key(user: int, reply: EncryptionKey) -> None:
            self._check_key(user, reply)
            keys[user] = reply

        phase = partial(context.timings.phase, SETUP)
        collect(context.exchange, SETUP, dict.fromkeys(context.users, hello), EncryptionKey, take_key, phase)
        users = sorted(keys)
        require_users(SETUP, len(users), len(context.users), context.params.min_users)
        directory = KeyDirectory(
            users=pack_users(users),
            keys=pack_bytes(b"".join(keys[user].key for user in users)),
            signatures=pack_bytes(b"".join(keys[user].signature for user in users)),
        )
        sent = Relay(HYBRID_CIPHERTEXT_BYTES)
        requests = self._pass_on(users, directory, sent)
        ready: list[int] = []

        def take_ready(user: int, answer: Ready) -> None:
            if answer.n_users != len(users):
                raise MessageError(
                    f"server, {SETUP}: user {user} knows {answer.n_users} keys, wanted those of {len(users)} users"
                )
            ready.append(user)

        collect(context.exchange, SETUP, requests, Ready, take_ready)
        sent.close()
        require_users(SETUP, len(ready), len(context.users), context.params.min_users)
        self._ready = frozenset(ready)
        self._were_ready |= self._ready
        return tuple(sorted(ready))

    def _pass_on(self, users: Sequence[int], directory: KeyDirectory, sent: Relay) -> Requests[Message]:
        """What each user that encapsulated for the others is sent of theirs."""
        context, position = self._context, {user: i for i, user in enumerate(users)}

        def take(user: int, reply: OwnCiphertexts) -> None:
            above = len(users) - 1 - position[user]
            unpack_array(
                reply.ciphertexts,
                np.uint8,
                (above, HYBRID_CIPHERTEXT_BYTES),
                f"server, {SETUP}: the ciphertexts of user {user}",
            )
            sent.add(user, reply.ciphertexts)

        phase = partial(context.timings.phase, SETUP)
        collect(context.exchange, SETUP, dict.fromkeys(users, directory), OwnCiphertexts, take, phase)
        senders = sent.senders
        require_users(SETUP, len(senders), len(context.users), context.params.min_users)

        def request(user: int) -> Message:
            below = [other for other in senders if other < user]
            rows = b"".join(sent.piece(other, position[user] - position[other] - 1) for other in below)
            return PeerCiphertexts(users=pack_users(below), ciphertexts=pack_bytes(rows))

        return Requests(senders, request)

    def aggregate(
        self,
        task: bytes,
        n_entries: int,
        users: Sequence[int],
        spares: Sequence[int] = (),
        accept: Accept = accept_any,
    ) -> Aggregate:
        """See ServerRole."""
        self._check_users(users, spares)
        params = self._context.params
        threshold = threshold_of(params.threshold, len(users))
        wanted = max(threshold, params.min_users)
        # Who was not there when keys were agreed on again is away.
        members, waiting = (sorted(self._ready.intersection(users)), [user for user in spares if user in self._ready])
        while True:
            self._calls += 1
            call = ServerCall(self._context, self._masking, self._calls, threshold, wanted)
            joined = call.join(members, waiting)
            require_users(JOIN, len(joined), len(users), wanted)
            shared = call.share()
            lost = len(joined) - len(shared)
            if not lost or not waiting:
                break
            # With a spare at hand the call is not worth going on with: its sum would lack a user.
            members = sorted([*shared, *waiting[:lost]])
            del waiting[:lost]
        require_users(SHARE, len(shared), len(users), wanted)
        # What is not wanted then needs no vectors.
        accept(shared)
        return call.finish(task, n_entries, accept)

    def _check_key(self, user: int, reply: EncryptionKey) -> None:
        context = self._context
        statement = key_statement(context.run, user, reply.key)
        if not verify(context.directory[user], statement, reply.signature):
            raise MessageError(
                f"server, {SETUP}: the encryption key of user {user} is not signed with its identity; give the server "
                "the right directory"
            )
        try:
            check_hybrid_key(reply.key)
        except InvalidKeyError as error:
            raise MessageError(f"server, {SETUP}: the encryption key of user {user}: {error}") from None

    def _check_users(self, users: Sequence[int], spares: Sequence[int]) -> None:
        everybody = [*users, *spares]
        unknown = set(everybody) - self._were_ready
        if unknown or len(set(everybody)) < len(everybody):
            what = f"user {min(unknown)}, who was not set up" if unknown else "a user twice"
            raise AggregationError(
                f"summing over users: found {what}, wanted distinct users among those that set_up() returned"
            )
