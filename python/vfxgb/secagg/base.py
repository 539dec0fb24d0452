"""What an aggregator is: how a server learns the sum of its users' vectors and nothing else of them.

Users hold vectors of int64; the server asks for their sum, entry by entry, once per *call*. An aggregator is a folder
with two roles. The server's asks its users in *stages* over an `Exchange`, one message and one reply per user and
stage; the user's answers. A user that does not answer a stage has dropped out of the call and is not asked again in it:

    JOIN     who takes part; a user that is gone is replaced by a spare where there is one
    SHARE    secrets are shared out among those who joined
    MASK     protected vectors arrive: whose do is U', and the result is the sum over U'
    SIGN     users confirm that they were told the same U'
    UNMASK   what is needed to open the sum; users of U' may drop out here too
    RECOVER  only after that: what those users would have sent is made up from what the others hold

An aggregator uses those stages it needs. Neither role knows what the vectors mean: with the MASK stage goes a *task*,
bytes from which the application at the user (UserContext.inputs) makes its vector.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypeAlias, TypeVar

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from vfxgb.crypto.key_agreement import Verify, verify
from vfxgb.described import documented
from vfxgb.errors import AggregationError, MessageError, ParameterError
from vfxgb.runtime.timings import Timings
from vfxgb.transport.messages import Message

if TYPE_CHECKING:
    from vfxgb.secagg.guard import SetGuard

M = TypeVar("M", bound=Message)

# Parameters that several aggregators have.
Threshold = Annotated[
    int | float | None,
    Meta(
        description="At least this many users must be left in a call: a number, or a share of those who began it. None "
        "takes more than two thirds."
    ),
]
AllowSmallKeys = Annotated[
    bool, Meta(description="Less than 2048 key_bits are allowed, for tests and for the paper's 512.")
]
Slots = Annotated[
    Annotated[int, Meta(ge=1)] | None,
    Meta(description="The number of entries in a plaintext. None takes as many as fit; 1 is the paper's way."),
]

JOIN, SHARE, MASK, SIGN, UNMASK, RECOVER = STAGES = ("join", "share", "mask", "sign", "unmask", "recover")
SETUP = "set-up"

# The users whose sum is about to be opened -> nothing; raises AggregationError if that must not be.
Accept: TypeAlias = Callable[[Sequence[int]], None]


def accept_any(users: Sequence[int]) -> None:
    """Every set of users will do."""
    del users


# User id -> 32-byte public identity key (Ed25519): the public-key infrastructure that every side starts from.
Directory: TypeAlias = Mapping[int, bytes]


class Exchange(Protocol):
    """How the server reaches its users. Users are numbered from 0."""

    def ask(self, stage: str, requests: Mapping[int, Message], reply: type[M]) -> Iterator[tuple[int, M]]:
        """Send every user its request; yields (user, reply) as replies arrive, without those who do not answer.

        The iterator must be used up. Between real parties a reply of another type counts as none.
        """

    def refuse(self, stage: str, user: int, error: MessageError) -> None:
        """Note that a reply cannot be right: from now on as if the user had not answered.

        Within one process, where a wrong reply is a mistake of the program, raises `error` instead.
        """

    def present(self) -> frozenset[int]:
        """Users that are there now."""

    def newcomers(self) -> dict[int, bool]:
        """Users that have come since this was asked last, and whether their memory of the run is empty.

        It is empty at first, and where the user's process was started again.
        """


@dataclass(frozen=True)
class Aggregate:
    """What a call gives: `sums` int64[m] over the vectors of `users` (U'), ascending."""

    sums: NDArray[np.int64]
    users: tuple[int, ...]


class ServerRole(Protocol):
    """The server's side of one run."""

    def set_up(self) -> tuple[int, ...]:
        """Before the first call, and again where users were started anew: all keys are new then.

        Returns the users that took part and can be asked from now on, ascending.
        """

    def aggregate(
        self,
        task: bytes,
        n_entries: int,
        users: Sequence[int],
        spares: Sequence[int] = (),
        accept: Accept = accept_any,
    ) -> Aggregate:
        """The sum of the vectors int64[n_entries] that `users` make of `task`; every true sum lies in (-2**62, 2**62).

        `users`, `spares`: distinct ids of users that were set up; a spare takes the place of a user that drops out
        before its vector is asked for. Users that were set up before, but not the last time, have dropped out.
        `accept`: called with the users whose vectors are there, before anything is opened. Raises AggregationError when
        too few are left, and what `accept` raises; nothing is opened then, and a later call may be tried.
        """


class UserRole(Protocol):
    """One user's side of one run."""

    def handle(self, message: Message) -> Message:
        """The reply to a message of the server. Raises MessageError for one that an honest server would not send."""


@dataclass(frozen=True)
class Dealt:
    """What a trusted key centre hands out before a run and then forgets.

    Everybody gets `public`. The server alone gets `server`, and user u alone `users[u]`.
    """

    public: bytes = b""
    server: bytes = b""
    users: Mapping[int, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class ServerContext:
    """What the server's role gets. `users`: all of them. `run`: 16 bytes, the same at every side and never reused.

    `first_call`: calls have numbers above it, so that a server that was started again uses none a second time.
    """

    run: bytes
    users: tuple[int, ...]
    params: Any
    directory: Directory
    exchange: Exchange
    threads: int
    timings: Timings
    public: bytes = b""
    secret: bytes = b""
    first_call: int = 0


@dataclass(frozen=True)
class UserContext:
    """What user `user`'s role gets. `inputs`: task -> its vector int64[m]. `identity`: its private key, 32 bytes.

    `verify`: how signatures are checked; a simulation may check each once for all of its users. `guard`: what the user
    remembers of sums it has helped to open; None: a memory of its own, by the default rules.
    """

    run: bytes
    user: int
    params: Any
    directory: Directory
    identity: bytes
    inputs: Callable[[memoryview], NDArray[np.int64]]
    threads: int = 1
    public: bytes = b""
    secret: bytes = b""
    verify: Verify = verify
    guard: "SetGuard | None" = None


@documented()
class AggregatorParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many users a sum needs."""

    threshold: Threshold = None
    min_users: Annotated[int, Meta(description="Sums over fewer users are never opened.")] = 2


@dataclass(frozen=True)
class AggregatorSpec:
    """What an aggregator says about itself.

    `params`: a subclass of AggregatorParams. `deal`: the key centre, (params, users) -> Dealt, or None where there is
    none. `survives_drops`: whether users may leave at or after MASK. `security`: whether a user's vector is safe from
    the server: not at all, from one that follows the protocol, or even from one that lies. `attacks`: what is known
    against it, in plain words. `quick_params`: settings for fast tests.
    """

    name: str
    summary: str
    params: type[AggregatorParams]
    server: Callable[[ServerContext], ServerRole]
    user: Callable[[UserContext], UserRole]
    messages: tuple[type[Message], ...]
    security: Literal["none", "semi-honest", "active"]
    survives_drops: bool = True
    deal: Callable[[Any, tuple[int, ...]], Dealt] | None = None
    attacks: tuple[str, ...] = ()
    quick_params: Mapping[str, Any] = field(default_factory=dict)


def collect(
    exchange: Exchange,
    stage: str,
    requests: Mapping[int, Message],
    reply: type[M],
    take: Callable[[int, M], None],
    phase: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> None:
    """Ask users and give each reply to `take`, on the stopwatch `phase`.

    `take` raises MessageError for a reply that cannot be right, before it has used any of it: such a user is named and
    counts as one that did not answer, so that no single user can end a call.
    """
    for user, answer in exchange.ask(stage, requests, reply):
        try:
            with phase():
                take(user, answer)
        except MessageError as error:  # noqa: PERF203 - of one user at a time
            exchange.refuse(stage, user, error)


def threshold_of(given: float | None, n_users: int) -> int:
    """t for a call of n users: floor(2n/3) + 1 unless given, so that no two lists can each have t honest signers.

    A float is a share of n, rounded up. Raises ParameterError unless n/2 < t <= n.
    """
    if given is None:
        return min(n_users, 2 * n_users // 3 + 1)
    t = given if isinstance(given, int) else math.ceil(given * n_users)
    if not n_users / 2 < t <= n_users:
        raise ParameterError(
            f"reading parameters: threshold={given!r} asks for {t} of {n_users} users, wanted more than half of them "
            "and at most all; give a whole number, a share such as 0.67, or None"
        )
    return t


def require_users(stage: str, left: int, asked: int, wanted: int) -> None:
    """Raise AggregationError unless at least `wanted` of the `asked` users are left after `stage`."""
    if left < wanted:
        raise AggregationError(
            f"summing over users: {left} of {asked} users are left after stage {stage!r}, wanted at least {wanted}; "
            "nothing of this call was opened; try again when more users are there, or lower threshold or min_users"
        )
