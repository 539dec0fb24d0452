"""A real user: it dials the server, answers what an honest server may ask, and comes back when the connection is lost.

What the user knows of a run (its keys, its margins) lives in this process. A process that was killed cannot take part
in the same run again: the others hold keys that are gone.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from vfxgb import __version__
from vfxgb.errors import (
    ChannelClosedError,
    ColumnNameError,
    ConsentError,
    FrameError,
    MessageError,
    PeerError,
    VfxgbError,
)
from vfxgb.horizontal.directory import UserDirectory
from vfxgb.horizontal.meeting import Accepts, Arrives, Declines, Finishes, Invites, Kept, TurnsAway, catalogue_of
from vfxgb.horizontal.messages import Plan, Trees
from vfxgb.horizontal.rows import Float32Array
from vfxgb.horizontal.simulation import UserRows
from vfxgb.horizontal.user import User, UserSettings
from vfxgb.objective import make_objective
from vfxgb.params import TrainParams
from vfxgb.secagg import aggregator_by_name, make_aggregator_params
from vfxgb.secagg.base import UserContext
from vfxgb.transport.channel import Channel, Observer
from vfxgb.transport.messages import MAX_REASON, Abort, Message
from vfxgb.transport.network import NetworkLink

# Between attempts to reach the server: doubled each time, up to the last.
FIRST_PAUSE, LAST_PAUSE = 0.2, 10.0


@dataclass(frozen=True)
class UserSide:
    """What a user brings to a run.

    `columns`: the names of the columns of `rows.X`. `aggregator`, `aggregator_params`: how sums have to be protected;
    an invitation that says otherwise is declined. `accept`: raises ConsentError for an invitation beyond consent.
    `dial`: a new link to the server; raises PeerError. `reach_seconds`: how long to try, at first and after a loss.
    `observer`: told of every message. `said`: told what happens, in plain words.
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
    while True:
        channel = _reach(side, taking)
        try:
            invitation = _meet(side, channel, b"" if taking is None else taking.invitation.run)
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


class _Part:
    """A user in a run, with what it knows."""

    def __init__(self, side: UserSide, invitation: Invites) -> None:
        self.invitation = invitation
        self.rounds = 0
        spec = aggregator_by_name(side.aggregator)
        params = _train_params(side.party, invitation)
        objective = make_objective(params)
        labels = objective.check_labels(side.rows.labels, side.party)
        settings = UserSettings(objective, params.subsample, params.random_state, side.threads)
        rows: Float32Array = side.rows.X[:, [side.columns.index(name) for name in invitation.columns]]
        self._user = User(invitation.number, rows, labels, side.rows.weights, settings)
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
        try:
            if isinstance(message, Plan | Trees):
                received = self._user.read(message)
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


def _meet(side: UserSide, channel: Channel, run: bytes) -> Invites:
    _send(channel, Arrives(version=__version__, run=run))
    answer = _receive(channel)
    if isinstance(answer, TurnsAway):
        raise PeerError(f"{side.party} joining a run: the server turned it away: {answer.reason[:MAX_REASON]}")
    if not isinstance(answer, Invites):
        raise MessageError(f"{side.party} joining a run: found message {answer.TAG!r}, wanted {Invites.TAG!r}")
    if run and answer.run != run:
        raise PeerError(f"{side.party}: the server has begun another run; start again to take part in it")
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
    missing = [name for name in invitation.columns if name not in side.columns]
    if missing:
        raise ColumnNameError(f"{what}: its table has no column {missing[0]!r}, which the run needs")
    if side.rows.weights is not None and not invitation.weighted:
        raise ConsentError(f"{what}: this user weighs its rows and the run has no weights; set weight at the server")


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
