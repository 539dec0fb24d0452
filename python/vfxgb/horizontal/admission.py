"""Where users come in at the server: who may, what they are told first, and those who come back."""

import time
from dataclasses import dataclass, field

import msgspec

from vfxgb import __version__
from vfxgb.errors import ChannelClosedError, FrameError, MessageError, PeerError
from vfxgb.horizontal.directory import UserDirectory
from vfxgb.horizontal.handshake import Accepts, Arrives, Declines, Invites, TurnsAway
from vfxgb.horizontal.server import SERVER
from vfxgb.horizontal.training import USERS
from vfxgb.secagg.network import Member, Note, unheard
from vfxgb.transport.channel import Channel, Observer
from vfxgb.transport.link import LinkTimeout
from vfxgb.transport.messages import MAX_REASON, Catalogue, Message
from vfxgb.transport.network import Listener, NetworkLink, Selector

# All that a user may say before it is in: nothing of it is large.
_AT_THE_DOOR = Catalogue((Arrives, Accepts, Declines))


class _Objection(Exception):  # noqa: N818 - a signal within this module
    """Why a user does not take part: it does not want to, or may not. `again`: not in what it asked for, but it may."""

    def __init__(self, text: str, again: bool = False) -> None:
        super().__init__(text)
        self.again = again


@dataclass
class _Guest:
    """Somebody between Arrives and Accepts; dropped at the deadline."""

    user: int
    channel: Channel
    link: NetworkLink
    deadline: float
    invited: bool = False
    anew: bool = True


@dataclass
class UserDoor:
    """A Door. Everybody gets the same `invitation`, but for the number, and may take `seconds` to accept it.

    `observer` is told of every message to and from users. Once the run has `begun`, only those come in who have been in
    before.
    """

    listener: Listener
    directory: UserDirectory
    catalogue: Catalogue
    invitation: Invites
    seconds: float
    note: Note = unheard
    observer: Observer | None = None
    begun: bool = False
    declined: set[int] = field(default_factory=set)
    _guests: dict[NetworkLink, _Guest] = field(default_factory=dict)
    _selector: Selector = field(default_factory=Selector)

    def poll(self) -> list[Member]:
        """See Door. Never waits."""
        self._accept()
        admitted = []
        for link in self._selector.wait(0):
            guest = self._guests[link]
            try:
                if self._hear(guest):
                    self._dismiss(guest, close=False)
                    self.declined.discard(guest.user)
                    admitted.append(Member(guest.user, guest.channel, link, anew=guest.anew))
            except (PeerError, ChannelClosedError) as error:
                self._keep_out(guest, str(error), again=True)
            except (_Objection, FrameError, MessageError) as error:
                self._keep_out(guest, str(error), again=isinstance(error, _Objection) and error.again)
        now = time.monotonic()
        for guest in [guest for guest in self._guests.values() if guest.deadline < now]:
            self._keep_out(guest, f"it said nothing for {self.seconds:g} s")
        return admitted

    def _keep_out(self, guest: _Guest, why: str, again: bool = False) -> None:
        """Send a guest away; `again`: it may dial again."""
        self.note(guest.user, f"did not come in: {why}")
        if not again:
            self.declined.add(guest.user)
        self._dismiss(guest)

    def close(self) -> None:
        """Send away who has not come in."""
        for guest in list(self._guests.values()):
            self._dismiss(guest)

    def _accept(self) -> None:
        while True:
            try:
                arrival = self.listener.accept(0)
            except LinkTimeout:
                return
            link = arrival.link
            # Reading never waits: it follows the selector. The timeout is for a link that breaks its promise.
            channel = Channel(SERVER, arrival.peer, link, _AT_THE_DOOR, link.session, self._observe, self.seconds)
            user = self.directory.number(arrival.peer)
            self._guests[link] = _Guest(user, channel, link, time.monotonic() + self.seconds)
            self._selector.add(link)

    def _observe(self, sender: str, receiver: str, message: Message, size: int) -> None:
        """Users are one party in the ledger."""
        del receiver
        if self.observer is not None:
            ends = (SERVER, USERS) if sender == SERVER else (USERS, SERVER)
            self.observer(*ends, message, size)

    def _hear(self, guest: _Guest) -> bool:
        """Read what a guest says; returns whether it is in."""
        if guest.invited:
            answer = guest.channel.recv(Accepts, Declines)
            if isinstance(answer, Declines):
                raise _Objection(f"it declined: {answer.reason[:MAX_REASON]}")
            guest.channel.use(self.catalogue, self.seconds)
            return True
        said = guest.channel.recv(Arrives)
        reason = self._objection(said)
        if reason:
            guest.channel.send(TurnsAway(reason=reason))
            # One that asked for another run will ask for this one, unless it has begun.
            raise _Objection(reason, again=bool(said.run) and not self.begun)
        guest.channel.send(msgspec.structs.replace(self.invitation, number=guest.user))
        guest.invited = True
        guest.anew = said.anew or not said.run
        return False

    def _objection(self, said: Arrives) -> str:
        if said.version != __version__:
            return f"found vfxgb {said.version[:40]} and at the server {__version__}; install the same on both sides"
        if said.run and said.run != self.invitation.run:
            return "the server has begun another run; start again to take part in it"
        if self.begun and not said.run:
            return "the run has begun, and its sums are over the users that were there then; wait for the next run"
        return ""

    def _dismiss(self, guest: _Guest, close: bool = True) -> None:
        self._selector.discard(guest.link)
        del self._guests[guest.link]
        if close:
            guest.link.begin_close()
