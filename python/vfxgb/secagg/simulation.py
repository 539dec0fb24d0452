"""All sides of an aggregation in this process: users answer one after the other, over the bytes a network would carry.

    parties = simulate(aggregator_by_name("masks"), params, users, inputs)
    parties.server.set_up(); parties.server.aggregate(task, n_entries, users)

There is no thread per user, so a thousand of them cost memory for their state only. Who drops out, and when, is asked
of a callable; time and traffic are counted per stage for the server and for the users.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.crypto.key_agreement import verify
from vfxgb.errors import MessageError
from vfxgb.runtime.timings import Timings
from vfxgb.secagg.base import AggregatorSpec, Dealt, M, ServerContext, ServerRole, UserContext, UserRole
from vfxgb.secagg.guard import SetGuard
from vfxgb.transport.channel import Observer
from vfxgb.transport.frame import RUN_BYTES, write_header
from vfxgb.transport.messages import Catalogue, Message, encode

# (stage, user) -> whether the user fails to answer that stage
Absence: TypeAlias = Callable[[str, int], bool]
Handler: TypeAlias = Callable[[Message], Message]

SERVER = "server"


def nobody(stage: str, user: int) -> bool:  # noqa: ARG001 - the signature of Absence
    """Nobody drops out."""
    return False


@dataclass
class StageCost:
    """One stage, all calls together: seconds at all users, and bytes over all of them, to (`down`) and from (`up`).

    `server_seconds`: what the server spends on writing requests and reading replies; its work is in `Timings`.
    `asked`: users that answered; `times`: how often users were asked, many at once counting once.
    """

    user_seconds: float = 0.0
    server_seconds: float = 0.0
    down: int = 0
    up: int = 0
    asked: int = 0
    times: int = 0


@dataclass
class Loopback:
    """An Exchange within this process. `observer`: told of every message, as a channel tells the ledger.

    `came`: what `newcomers` is to say.
    """

    run: bytes
    catalogue: Catalogue
    handlers: Mapping[int, Handler]
    absent: Absence = nobody
    observer: Observer | None = None
    costs: dict[str, StageCost] = field(default_factory=dict)
    came: dict[int, bool] = field(default_factory=dict)

    def ask(self, stage: str, requests: Mapping[int, Message], reply: type[M]) -> Iterator[tuple[int, M]]:
        """See Exchange. A user's refusal is raised here, as it was raised there."""
        cost = self.costs.setdefault(stage, StageCost())
        cost.times += 1
        # One message to many is encoded once; messages to one each are not kept.
        encoded: Message | None = None
        payload = b""
        clock = time.perf_counter
        for user, request in requests.items():
            if self.absent(stage, user):
                continue
            start = clock()
            if request is not encoded:
                encoded, payload = request, encode(request)
            cost.server_seconds += clock() - start
            down = self._size(request, payload)
            start = clock()
            answer = self.handlers[user](self.catalogue.decode(request.TAG, payload, SERVER))
            sent = encode(answer)
            cost.user_seconds += clock() - start
            peer = f"user {user}"
            up = self._size(answer, sent)
            cost.asked += 1
            cost.down += down
            cost.up += up
            if self.observer is not None:
                self.observer(SERVER, "users", request, down)
                self.observer("users", SERVER, answer, up)
            start = clock()
            received = self.catalogue.decode(answer.TAG, sent, peer)
            cost.server_seconds += clock() - start
            if not isinstance(received, reply):
                raise MessageError(
                    f"server, stage {stage!r}: {peer} answered with {received.TAG!r}, wanted {reply.TAG!r}"
                )
            yield user, received

    def leave_out(self, absent: Absence) -> None:
        """From now on do not ask these users either."""
        before = self.absent
        self.absent = lambda stage, user: absent(stage, user) or before(stage, user)

    def refuse(self, stage: str, user: int, error: MessageError) -> None:
        """See Exchange: nobody else could have made it."""
        del stage, user
        raise error

    def present(self) -> frozenset[int]:
        """See Exchange."""
        return frozenset(self.handlers)

    def newcomers(self) -> dict[int, bool]:
        """See Exchange."""
        came, self.came = self.came, {}
        return came

    def _size(self, message: Message, payload: bytes) -> int:
        return len(payload) + len(write_header(self.run, 0, len(payload), message.TAG))


@dataclass(frozen=True)
class Parties:
    """The sides of a simulated run."""

    server: ServerRole
    users: Mapping[int, UserRole]
    exchange: Loopback
    timings: Timings
    dealt: Dealt


def make_identities(users: Sequence[int]) -> tuple[dict[int, bytes], dict[int, bytes]]:
    """(private, public) identity keys of users, 32 bytes each."""
    keys = {user: Ed25519PrivateKey.generate() for user in users}
    private = {user: key.private_bytes_raw() for user, key in keys.items()}
    return private, {user: key.public_key().public_bytes_raw() for user, key in keys.items()}


def simulate(
    spec: AggregatorSpec,
    params: Any,
    users: Sequence[int],
    inputs: Callable[[int, memoryview], NDArray[np.int64]],
    absent: Absence = nobody,
    threads: int = 1,
    shared_checks: bool = False,
    messages: Sequence[type[Message]] = (),
    handle: Callable[[int, Message, Handler], Message] | None = None,
    observer: Observer | None = None,
    guard: Callable[[int], SetGuard] | None = None,
) -> Parties:
    """A server and its users, each with keys of its own. `inputs`: (user, task) -> its vector.

    `shared_checks`: all users get the same signatures to check; check each once for all of them. Their time is then
    less than it would be at users of their own. An application that talks to its users besides names its `messages` and
    a `handle`: (user, message, the role's own way to answer) -> reply. `guard`: user -> its memory of the sums it has
    helped to open; None: each has one of its own, by the default rules.
    """
    check = lru_cache(maxsize=4 * len(users))(verify) if shared_checks else verify
    run = _native.rand.random_bytes(RUN_BYTES)
    private, directory = make_identities(users)
    dealt = Dealt() if spec.deal is None else spec.deal(params, tuple(users))

    def user_role(user: int) -> UserRole:
        return spec.user(
            UserContext(
                run=run,
                user=user,
                params=params,
                directory=directory,
                identity=private[user],
                inputs=lambda task: inputs(user, task),
                threads=threads,
                public=dealt.public,
                secret=dealt.users.get(user, b""),
                verify=check,
                guard=None if guard is None else guard(user),
            )
        )

    roles = {user: user_role(user) for user in users}

    def handler(user: int) -> Handler:
        own = roles[user].handle
        return own if handle is None else lambda message: handle(user, message, own)

    handlers = {user: handler(user) for user in users}
    exchange = Loopback(run, Catalogue((*messages, *spec.messages)), handlers, absent, observer)
    timings = Timings()
    server = spec.server(
        ServerContext(
            run=run,
            users=tuple(users),
            params=params,
            directory=directory,
            exchange=exchange,
            threads=threads,
            timings=timings,
            public=dealt.public,
            secret=dealt.server,
        )
    )
    return Parties(server, roles, exchange, timings, dealt)
