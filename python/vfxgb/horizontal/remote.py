"""A real user: it dials the server, answers what an honest server may ask, and comes back when the connection is lost.

What the user knows of a run (its keys, its margins) lives in this process. One that was killed is started again with
nothing of it: it is told all trees once more, and all users agree on new keys. What it has signed, what it was asked
and what it was told are kept in files, so that a server gains nothing from a user that begins again: it refuses what
it would have refused before, and other trees than it was told before.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vfxgb import __version__
from vfxgb.errors import (
    CapacityError,
    ChannelClosedError,
    ColumnNameError,
    ConsentError,
    DpError,
    FrameError,
    MessageError,
    ParameterError,
    PeerError,
    VfxgbError,
)
from vfxgb.horizontal.directory import UserDirectory
from vfxgb.horizontal.guard import TaskLimits, most_calls, topic_of
from vfxgb.horizontal.handshake import Accepts, Arrives, Declines, Finishes, Invites, Kept, TurnsAway, catalogue_of
from vfxgb.horizontal.messages import Plan, Trees
from vfxgb.horizontal.privacy import DEFAULT_DELTA, PrivacyPlan
from vfxgb.horizontal.quantiles import DEFAULT_BITS
from vfxgb.horizontal.rows import Float32Array
from vfxgb.horizontal.simulation import UserRows
from vfxgb.horizontal.user import User, UserSettings
from vfxgb.objective import make_objective
from vfxgb.params import TrainParams
from vfxgb.secagg import aggregator_by_name, make_aggregator_params
from vfxgb.secagg.base import UserContext, threshold_of
from vfxgb.secagg.guard import NOT_COMPARED, Compare, GuardRules, SetGuard, default_hidden
from vfxgb.transport.channel import Channel, Observer
from vfxgb.transport.messages import MAX_REASON, Abort, Message
from vfxgb.transport.network import NetworkLink

# Between attempts to reach the server: doubled each time, up to the last.
FIRST_PAUSE, LAST_PAUSE = 0.2, 10.0


@dataclass(frozen=True)
class UserAllows:
    """What a user agrees to beside the training itself; an invitation beyond it is declined.

    `hide_among` None stands for ten users or a tenth of them, whichever is more. `compare` "run" wants one set of users
    for the whole run. Cells may tell `quantile_bits` of a value's 32 bits. A run may take `max_calls` sums; None stands
    for twice what the training can need. `epsilon`, `delta`: what a run may cost a row of this user at most; None takes
    part without noise, too.
    """

    hide_among: int | None = None
    compare: Compare = "tree"
    quantile_bits: int = DEFAULT_BITS
    max_calls: int | None = None
    epsilon: float | None = None
    delta: float = DEFAULT_DELTA


@dataclass(frozen=True)
class UserSide:
    """What a user brings to a run.

    `columns`: the names of the columns of `rows.X`. `aggregator`, `aggregator_params`: how sums have to be protected;
    an invitation that says otherwise is declined. `accept`: raises ConsentError for an invitation beyond consent.
    `dial`: a new link to the server; raises PeerError. `reach_seconds`: how long to try, at first and after a loss.
    `observer`: told of every message. `said`: told what happens, in plain words. `allows`: how far the server may go.
    `memory`: run -> the files that keep what was signed and asked in it; None: this process remembers it. `rejoin`: the
    run in which an earlier process of this user took part and that may still go on.
    """

    party: str
    directory: UserDirectory
    identity: bytes
    columns: tuple[str, ...]
    rows: UserRows
    aggregator: str
    aggregator_params: Mapping[str, Any]
    accept: Callable[[Invites], None]
    dial: Callable[[], NetworkLink]
    reach_seconds: float = 600.0
    threads: int = 1
    observer: Observer | None = None
    said: Callable[[str], None] = lambda text: None  # noqa: ARG005 - nobody listens
    allows: UserAllows = field(default_factory=UserAllows)
    memory: Callable[[bytes], "UserMemory"] | None = None
    rejoin: bytes = b""


@dataclass(frozen=True)
class UserMemory:
    """Where a user keeps what it has `signed` in a run (secagg/guard.py), was `asked` (guard.py), and its `noise`."""

    signed: Path
    asked: Path
    noise: Path


@dataclass(frozen=True)
class UserOutcome:
    """What a run leaves at a user. `model`: the bytes of a share file, to be read with load_share."""

    run: bytes
    invitation: Invites
    rounds: int
    model: bytes


class _Lost(Exception):  # noqa: N818 - a signal within this module
    """The connection has ended without a word of the server."""


def take_part(side: UserSide) -> UserOutcome:
    """Join the server's next run and stay to its end.

    Raises ConsentError for an invitation that this user declines; PeerError when the server cannot be reached, turns
    the user away, stops the run or is gone.
    """
    taking: _Part | None = None
    rejoin = side.rejoin
    while True:
        channel = _reach(side, taking)
        try:
            try:
                invitation = _meet(side, channel, rejoin if taking is None else taking.invitation.run, taking is None)
            except _Elsewhere as error:
                if not rejoin if taking is None else taking.heard:
                    raise PeerError(str(error)) from None
                side.said(f"the run it knows of is over: {error}")
                taking, rejoin = None, b""
                channel.close()
                continue
            if taking is None:
                taking = _begin(side, channel, invitation)
            channel.send(Accepts())
            side.said(f"takes part in run {invitation.run.hex()} as user {invitation.number}")
            model = taking.answer_all(channel, side.said)
            channel.close()
            return UserOutcome(invitation.run, taking.invitation, taking.rounds, model)
        except (_Lost, ChannelClosedError) as error:
            channel.close()
            if taking is None:
                raise PeerError(f"{side.party} joining a run: the server ended the connection ({error})") from None
            side.said(f"the connection to the server has ended ({error}); dialling again")
        except BaseException as error:
            channel.abort(error)
            raise


class _Elsewhere(Exception):  # noqa: N818 - a signal within this module
    """The server does not let this user into the run it asked for."""


class _Part:
    """A user in a run, with what it knows."""

    def __init__(self, side: UserSide, invitation: Invites) -> None:
        self.invitation = invitation
        self.rounds = 0
        # Whether the run has begun for this user: then it cannot be in another one.
        self.heard = False
        spec = aggregator_by_name(side.aggregator)
        params = _train_params(side.party, invitation)
        objective = make_objective(params)
        labels = objective.check_labels(side.rows.labels, side.party)
        plan = _privacy_plan(side, invitation, params)
        limits = TaskLimits.of(params, invitation.quantile_bits, invitation.ranges, plan is not None)
        if not 0.0 <= invitation.holdout < 1.0:
            raise MessageError(
                f"{side.party} reading the invitation: found holdout={invitation.holdout}, wanted 0 to 1"
            )
        settings = UserSettings(
            objective, params.subsample, params.random_state, side.threads, limits, plan, invitation.holdout
        )
        memory = None if side.memory is None else side.memory(invitation.run)
        self._guard = SetGuard(
            _guard_rules(side, invitation, limits, objective.n_outputs),
            topic_of,
            None if memory is None else memory.signed,
        )
        rows: Float32Array = side.rows.X[:, [side.columns.index(name) for name in invitation.columns]]
        files = (None, None) if memory is None else (memory.asked, memory.noise)
        self._user = User(invitation.number, rows, labels, side.rows.weights, settings, *files)
        self._role = spec.user(
            UserContext(
                run=invitation.run,
                user=invitation.number,
                params=make_aggregator_params(spec, side.aggregator_params),
                directory=side.directory.keys(),
                identity=side.identity,
                inputs=self._user.vector,
                threads=side.threads,
                public=side.directory.public,
                guard=self._guard,
            )
        )

    def answer_all(self, channel: Channel, said: Callable[[str], None]) -> bytes:
        """Answer requests until the model comes. Raises _Lost, PeerError (the server stopped)."""
        while True:
            message = _receive(channel)
            if isinstance(message, Finishes):
                _send(channel, Kept())
                return bytes(message.model)
            _send(channel, self._answer(message, said))

    def _answer(self, message: Message, said: Callable[[str], None]) -> Message:
        self.heard = True
        try:
            if isinstance(message, Plan | Trees):
                received = self._user.read_with(self._guard, message)
                self.rounds = received.rounds
                return received
            return self._role.handle(message)
        except (MessageError, FrameError) as error:
            said(f"declined what the server asked: {error}")
            return Declines(reason=type(error).__name__)


def _reach(side: UserSide, taking: "_Part | None") -> Channel:
    """A channel to the server, tried again and again."""
    deadline = time.monotonic() + side.reach_seconds
    pause = FIRST_PAUSE
    while True:
        try:
            link = side.dial()
        except PeerError as error:  # noqa: PERF203 - a few times a minute
            if time.monotonic() + pause > deadline:
                gone = "" if taking is None else "the server is gone and this run has ended for this user: "
                raise PeerError(f"{side.party}: {gone}{error}") from None
            time.sleep(pause)
            pause = min(2 * pause, LAST_PAUSE)
        else:
            spec = aggregator_by_name(side.aggregator)
            return Channel(side.party, link.peer, link, catalogue_of(spec), link.session, side.observer)


def _meet(side: UserSide, channel: Channel, run: bytes, anew: bool) -> Invites:
    _send(channel, Arrives(version=__version__, run=run, anew=anew))
    answer = _receive(channel)
    if isinstance(answer, TurnsAway):
        raise _Elsewhere(f"{side.party} joining a run: the server turned it away: {answer.reason[:MAX_REASON]}")
    if not isinstance(answer, Invites):
        raise MessageError(f"{side.party} joining a run: found message {answer.TAG!r}, wanted {Invites.TAG!r}")
    if run and answer.run != run:
        raise _Elsewhere(f"{side.party}: the server has begun another run; start again to take part in it")
    return answer


def _begin(side: UserSide, channel: Channel, invitation: Invites) -> _Part:
    """Check an invitation and get ready. What this user objects to, the server is told."""
    try:
        _check(side, invitation)
        side.accept(invitation)
        return _Part(side, invitation)
    except ConsentError as error:
        _send(channel, Declines(reason=str(error)[:MAX_REASON]))
        raise
    except VfxgbError as error:
        _send(channel, Declines(reason=type(error).__name__))
        raise


def _check(side: UserSide, invitation: Invites) -> None:
    """Raise ConsentError or ColumnNameError unless the invitation is for what this user has and expects."""
    what = f"{side.party} declines run {invitation.run.hex()}"
    if invitation.directory != side.directory.digest() or invitation.number != side.directory.number(side.party):
        raise ConsentError(f"{what}: the server has another directory of users; give all sides the same users.json")
    if invitation.aggregator != side.aggregator:
        raise ConsentError(
            f"{what}: sums are to be protected by {invitation.aggregator!r}, this user wants {side.aggregator!r}"
        )
    if invitation.aggregator_params != dict(side.aggregator_params):
        raise ConsentError(
            f"{what}: found aggregator parameters {invitation.aggregator_params}, this user has "
            f"{dict(side.aggregator_params)}; write the same at all sides"
        )
    _check_allowed(side, invitation, what)
    missing = [name for name in invitation.columns if name not in side.columns]
    if missing:
        raise ColumnNameError(f"{what}: its table has no column {missing[0]!r}, which the run needs")
    if side.rows.weights is not None and not invitation.weighted:
        raise ConsentError(f"{what}: this user weighs its rows and the run has no weights; set weight at the server")


def _check_allowed(side: UserSide, invitation: Invites, what: str) -> None:
    """Raise ConsentError for a run in which less is hidden than this user wants."""
    allows, n_users = side.allows, len(side.directory.parties)
    wanted = default_hidden(n_users) if allows.hide_among is None else allows.hide_among
    own = make_aggregator_params(aggregator_by_name(side.aggregator), side.aggregator_params)
    least = min(wanted, max(threshold_of(own.threshold, n_users), own.min_users))
    if invitation.hide_among < wanted:
        raise ConsentError(
            f"{what}: sets of users that are summed may differ by {invitation.hide_among} users, this user wants at "
            f"least {wanted}; raise hide_among at the server, or allow less in [consent] of this user"
        )
    if invitation.least < least:
        raise ConsentError(
            f"{what}: a sum may be over {invitation.least} users, this user wants at least {least}; ask more users in "
            "a round, or allow a smaller hide_among in [consent] of this user"
        )
    if invitation.compare not in ("tree", "run") or (allows.compare == "run" and invitation.compare != "run"):
        raise ConsentError(
            f"{what}: sets of users are compared within each {invitation.compare[:20]}, this user wants the whole run; "
            "set compare at the server, or in [consent] of this user"
        )
    if not 0 < invitation.quantile_bits <= allows.quantile_bits:
        raise ConsentError(
            f"{what}: cut points are searched to {invitation.quantile_bits} bits of 32, this user wants at most "
            f"{allows.quantile_bits}; lower quantile_bits at the server, or raise max_quantile_bits in [consent]"
        )


def _guard_rules(side: UserSide, invitation: Invites, limits: TaskLimits, n_outputs: int) -> GuardRules:
    """What this user sees to in a run that it takes part in; it has compared the invitation with what it allows."""
    needed = most_calls(limits, n_outputs)
    most = needed if side.allows.max_calls is None else side.allows.max_calls
    shortest = (limits.rounds or 0) * (limits.depth or 1)
    if most < shortest:
        raise ConsentError(
            f"{side.party} declines run {invitation.run.hex()}: it needs about {shortest} sums, this user wants at "
            f"most {most}; train fewer or flatter trees, or raise max_calls in [consent]"
        )
    compare: Compare = "run" if invitation.compare == "run" else "tree"
    # Noise is planned for a sum of so many users, however many hide each other.
    least = invitation.least if invitation.privacy else min(invitation.hide_among, invitation.least)
    return GuardRules(invitation.hide_among, least, most, compare)


def _privacy_plan(side: UserSide, invitation: Invites, params: TrainParams) -> PrivacyPlan | None:
    """The noise that this user will add. Raises ConsentError, MessageError for a plan that cannot be."""
    what = f"{side.party} declines run {invitation.run.hex()}"
    privacy, allows = invitation.privacy, side.allows
    if privacy is None:
        if allows.epsilon is None:
            return None
        raise ConsentError(
            f"{what}: its sums have no noise, this user wants at most epsilon {allows.epsilon:g}; set epsilon in "
            "[users] of the server"
        )
    if allows.epsilon is not None and not (privacy.epsilon <= allows.epsilon and privacy.delta <= allows.delta):
        raise ConsentError(
            f"{what}: a row would cost epsilon {privacy.epsilon:g} at delta {privacy.delta:g}, this user wants at most "
            f"{allows.epsilon:g} at {allows.delta:g}; lower epsilon in [users] of the server"
        )
    if invitation.hide_among <= NOT_COMPARED:
        raise ConsentError(
            f"{what}: it compares no sets of users, and the difference of two sums with the same noise would have that "
            "of a few users only; leave hide_among=1 out at the server"
        )
    if not 1 <= privacy.honest <= invitation.least:
        raise ConsentError(
            f"{what}: its noise is planned for {privacy.honest} users, and sums may be over {invitation.least}; wanted "
            "at most as many"
        )
    try:
        return PrivacyPlan.of(privacy, params, len(invitation.columns))
    except (ParameterError, DpError, CapacityError) as error:
        raise MessageError(f"{side.party} reading the invitation: {error}") from None


def _train_params(party: str, invitation: Invites) -> TrainParams:
    given = {name: value for name, value in invitation.params.items() if value is not None}
    try:
        return TrainParams.from_dict(given)
    except (VfxgbError, TypeError) as error:
        raise MessageError(f"{party} reading the invitation: {error}") from None


def _receive(channel: Channel) -> Message:
    """The next message. Raises PeerError if it is the server's last word, _Lost if there is none."""
    try:
        message: Message = channel.recv(Message, Abort)
    except PeerError as error:
        raise _lost(error) from None
    if isinstance(message, Abort):
        raise PeerError(f"{channel.own}: the server stopped the run: {message.reason[:MAX_REASON]}")
    return message


def _send(channel: Channel, message: Message) -> None:
    try:
        channel.send(message)
    except PeerError as error:
        raise _lost(error) from None


def _lost(error: PeerError) -> PeerError | _Lost:
    """The same error if it is the server's last word: then there is nothing to come back to."""
    return error if error.kind else _Lost(str(error))
