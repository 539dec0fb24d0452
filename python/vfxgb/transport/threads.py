"""Parties as threads of one process: start them, and end them together whatever happens.

A party that fails tells the others through its channel. The caller gets the error of the party that failed first, as it
was raised there, and no thread is left behind.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from vfxgb.errors import PeerError
from vfxgb.transport.channel import Channel

T = TypeVar("T")


class PartyThread:
    """A passive party in its thread. `failure` is what ended it early, if anything did."""

    def __init__(self, party: str, main: Callable[[], None], channel: Channel) -> None:
        self.failure: BaseException | None = None
        self._main = main
        self._channel = channel
        # Not a daemon: it is always joined, and the interpreter must not end under a native call.
        self._thread = threading.Thread(target=self._run, name=f"vfxgb-{party}")

    def _run(self) -> None:
        try:
            self._main()
        except BaseException as error:
            # Whatever it is, it belongs to the party that leads, in `running`.
            self.failure = error
            self._channel.abort(error)
        finally:
            self._channel.close()

    def start(self) -> None:
        """Begin to run."""
        self._thread.start()

    def join(self) -> None:
        """Wait for the end, if it ever began."""
        if self._thread.ident is not None:
            self._thread.join()


@contextmanager
def running(channels: Mapping[str, Channel], others: Mapping[str, PartyThread]) -> Iterator[None]:
    """The body leads here while `others` run in their threads; `channels` are the leader's ends.

    When the body fails because a peer did, the peer's error is raised instead, with the leader's as its cause.
    """
    try:
        for party_thread in others.values():
            party_thread.start()
        yield
    except BaseException as error:
        for channel in channels.values():
            channel.abort(error)
        for party_thread in others.values():
            party_thread.join()
        failure = first_failure(others)
        if isinstance(error, PeerError) and failure is not None:
            raise failure from error
        raise
    for party_thread in others.values():
        party_thread.join()
    for channel in channels.values():
        channel.close()
    failure = first_failure(others)
    if failure is not None:
        raise failure


def run_together(lead: Callable[[], T], channels: Mapping[str, Channel], others: Mapping[str, PartyThread]) -> T:
    """The result of `lead`, which is called while `others` are running."""
    with running(channels, others):
        return lead()


def first_failure(others: Mapping[str, PartyThread]) -> BaseException | None:
    """A failure that was not itself caused by another party's, if there is one."""
    failures = [party_thread.failure for party_thread in others.values() if party_thread.failure is not None]
    return next((failure for failure in failures if not isinstance(failure, PeerError)), None)
