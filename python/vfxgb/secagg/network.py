"""An Exchange over the network: users are parties of their own, each at the other end of a link.

Requests go out to all users of a stage at once, and replies are taken as they arrive until the stage's deadline, or
until some time after enough users have answered. Users that keep the others waiting are named. Who has not answered by
then, whose link has ended, or whose reply cannot be right has dropped out of the call; the run goes on without it. A
user answers every request once and in order. So one that owes a reply is not asked anything else: its late reply is
read when it comes, and thrown away.

New and returning users come in through a `Door`, which is looked at between replies. There is one thread, however many
users there are.
"""

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from vfxgb.errors import ChannelClosedError, FrameError, MessageError, PeerError
from vfxgb.secagg.base import M
from vfxgb.secagg.simulation import SERVER, Absence, StageCost, nobody
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import Abort, Message, encode
from vfxgb.transport.network import NetworkLink, Selector

# How long to wait for a reply before the door is looked at again.
GLANCE_SECONDS = 0.1
# After how long users that have not answered are named.
LATE_SECONDS = 5.0
# A user that has sent so many replies that cannot be right is left out for the rest of the run.
MAX_WRONG = 3

# (user, what happened to it): for the log.
Note: TypeAlias = Callable[[int, str], None]


def unheard(user: int, what: str) -> None:
    """A Note that nobody reads."""
    del user, what


@dataclass
class Member:
    """A connected user. `owed`: replies to requests of stages that have ended. `anew`: it knows nothing of the run."""

    user: int
    channel: Channel
    link: NetworkLink
    owed: int = 0
    anew: bool = False


class Door(Protocol):
    """Users come in here. Nobody waits for those in `declined`, who came and will not or may not take part."""

    declined: set[int]

    def poll(self) -> list[Member]:
        """Users that have come since the last look. One that is there already has a new link: the old one is dead."""


@dataclass
class NetworkExchange:
    """An Exchange over links. A stage may take `seconds`; the message `declines` stands for "no".

    `enough` replies let a stage end `grace` seconds after the last of them was there; None waits for all. Users in
    `absent` are not asked now. `costs` are counted as in a simulation, without the seconds at users.
    """

    seconds: float
    door: Door
    declines: type[Message]
    absent: Absence = nobody
    note: Note = unheard
    enough: int | None = None
    grace: float = math.inf
    costs: dict[str, StageCost] = field(default_factory=dict)
    members: dict[int, Member] = field(default_factory=dict)
    _wrong: dict[int, int] = field(default_factory=dict)
    _came: dict[int, bool] = field(default_factory=dict)
    _by_link: dict[NetworkLink, Member] = field(default_factory=dict)
    _selector: Selector = field(default_factory=Selector)

    def ask(self, stage: str, requests: Mapping[int, Message], reply: type[M]) -> Iterator[tuple[int, M]]:
        """See Exchange."""
        cost = self.costs.setdefault(stage, StageCost())
        cost.times += 1
        start = time.monotonic()
        deadline, late_at = start + self.seconds, start + LATE_SECONDS
        self.admit()
        waiting = self._send(stage, requests, cost)
        if self.enough is not None and len(waiting) < self.enough:
            # A few that are behind the others, who are enough: they are not waited for any longer than in company.
            deadline = min(deadline, start + self.grace)
        answered = 0
        while waiting and (left := deadline - time.monotonic()) > 0:
            for member in self._ready(min(left, GLANCE_SECONDS)):
                late = member.owed > 0
                answer = self._read(member, stage, cost)
                if late or answer is None:
                    continue
                if waiting.get(member.user) is not member:
                    self._lost(member, MessageError(f"it sent message {answer.TAG!r} without being asked"))
                    continue
                del waiting[member.user]
                if self._fits(stage, member.user, answer, reply):
                    assert isinstance(answer, reply)  # noqa: S101 - _fits has looked
                    answered += 1
                    if answered == self.enough:
                        deadline = min(deadline, time.monotonic() + self.grace)
                    yield member.user, answer
            if time.monotonic() >= late_at:
                late_at = math.inf
                self._name_late(stage, waiting, deadline)
            self.admit()
            # Also those whose links have ended meanwhile, or were replaced by new ones.
            for user, member in list(waiting.items()):
                if self.members.get(user) is not member:
                    del waiting[user]
        waited = min(self.seconds, round(time.monotonic() - start, 1))
        for user, member in waiting.items():
            member.owed += 1
            self.note(user, f"no answer in stage {stage!r} within {waited:g} s; it has dropped out of the call")

    def _name_late(self, stage: str, waiting: Mapping[int, Member], deadline: float) -> None:
        left = max(0.0, deadline - time.monotonic())
        for user in waiting:
            self.note(user, f"is late in stage {stage!r}: no answer for {LATE_SECONDS:g} s, at most {left:.0f} s more")

    def present(self) -> frozenset[int]:
        """See Exchange."""
        self.admit()
        return frozenset(self.members)

    def newcomers(self) -> dict[int, bool]:
        """See Exchange."""
        self.admit()
        came, self._came = self._came, {}
        return came

    def gather(self, wanted: Collection[int], seconds: float, progress: Callable[[int], None]) -> None:
        """Wait until the `wanted` users are there or have declined, at most so long.

        `progress`: told how many are there, when it changes.
        """
        deadline = time.monotonic() + seconds
        told = -1
        while True:
            self.admit()
            if len(self.members) != told:
                told = len(self.members)
                progress(told)
            if self.door.declined.union(self.members).issuperset(wanted) or time.monotonic() >= deadline:
                return
            time.sleep(GLANCE_SECONDS)

    def leave_out(self, absent: Absence) -> None:
        """From now on do not ask these users either."""
        before = self.absent
        self.absent = lambda stage, user: absent(stage, user) or before(stage, user)

    def refuse(self, stage: str, user: int, error: MessageError) -> None:
        """See Exchange."""
        self.note(user, f"a reply in stage {stage!r} that cannot be right; it has dropped out of the call: {error}")
        self._wrong[user] = self._wrong.get(user, 0) + 1
        if self._wrong[user] == MAX_WRONG:
            self.note(user, f"{MAX_WRONG} replies that cannot be right; it is not asked any more")

    def admit(self) -> None:
        """Let in who stands at the door."""
        for member in self.door.poll():
            before = self.members.get(member.user)
            if before is not None:
                self._forget(before)
            self.members[member.user] = member
            self._came[member.user] = member.anew or self._came.get(member.user, False)
            self._by_link[member.link] = member
            self._selector.add(member.link)

    def dismiss(self, user: int) -> None:
        """End the link of a user that has done its part."""
        if user in self.members:
            self._forget(self.members[user])

    def close(self, error: BaseException | None = None) -> None:
        """End all links, telling users why if there is an error. Waits for nobody: the Listener's close does."""
        for member in list(self.members.values()):
            if error is not None:
                with suppress(PeerError, ChannelClosedError):
                    member.channel.send(Abort(reason=f"{type(error).__name__} at {SERVER}", kind=type(error).__name__))
            self._forget(member)

    def _send(self, stage: str, requests: Mapping[int, Message], cost: StageCost) -> dict[int, Member]:
        """Send all requests; returns those of whom a reply can be expected."""
        waiting: dict[int, Member] = {}
        # One message to many is encoded once.
        encoded: Message | None = None
        payload = b""
        for user, request in requests.items():
            member = self.members.get(user)
            if member is None or member.owed or self._wrong.get(user, 0) >= MAX_WRONG or self.absent(stage, user):
                continue
            start = time.perf_counter()
            if request is not encoded:
                encoded, payload = request, encode(request)
            before = member.channel.traffic.sent_bytes
            try:
                member.channel.send_encoded(request, payload)
            except (PeerError, ChannelClosedError) as error:
                self._lost(member, error)
                continue
            size = member.channel.traffic.sent_bytes - before
            cost.server_seconds += time.perf_counter() - start
            cost.down += size
            waiting[user] = member
        return waiting

    def _ready(self, seconds: float) -> list[Member]:
        return [member for link in self._selector.wait(seconds) if (member := self._by_link.get(link)) is not None]

    def _read(self, member: Member, stage: str, cost: StageCost) -> Message | None:
        """The next message of a member whose link is ready, None if it is none or comes too late."""
        before = member.channel.traffic.received_bytes
        start = time.perf_counter()
        try:
            answer = member.channel.recv(Message)
        except (PeerError, FrameError, MessageError, ChannelClosedError) as error:
            # Bytes that are no frame leave the two sides without a common count of frames.
            self._lost(member, error)
            return None
        size = member.channel.traffic.received_bytes - before
        cost.server_seconds += time.perf_counter() - start
        cost.up += size
        cost.asked += 1
        if member.owed:
            member.owed -= 1
            self.note(member.user, f"answers, in stage {stage!r}, what it was asked before; it can take part again")
            return None
        return answer

    def _fits(self, stage: str, user: int, answer: Message, reply: type[Message]) -> bool:
        if isinstance(answer, reply):
            return True
        if isinstance(answer, self.declines):
            # No fault of its own: what another user sealed for it may be wrong.
            self.note(user, f"declined in stage {stage!r}; it has dropped out of the call")
        else:
            text = f"server, stage {stage!r}, user {user}: found message {answer.TAG!r}, wanted {reply.TAG!r}"
            self.refuse(stage, user, MessageError(text))
        return False

    def _lost(self, member: Member, error: Exception) -> None:
        self.note(member.user, f"its connection has ended: {error}")
        self._forget(member)

    def _forget(self, member: Member) -> None:
        self._selector.discard(member.link)
        self._by_link.pop(member.link, None)
        if self.members.get(member.user) is member:
            del self.members[member.user]
        # Not close(), which waits for the other side: one user may not hold up the others.
        member.link.begin_close()
