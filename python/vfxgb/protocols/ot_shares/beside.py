"""Work of a protocol beside other work of its party: one thread, whose end is waited for and whose error is raised."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from vfxgb.transport.channel import Channel

# How long work that is to end early may take for the unit it is at, before its channels are closed under it.
PATIENCE_SECONDS = 2.0


class Ended(Exception):  # noqa: N818 - a signal within this file, never shown to a user
    """The work is not wanted any more."""


@contextmanager
def beside(work: Callable[[Callable[[], None]], None], channels: Sequence[Channel]) -> Iterator[None]:
    """A block during which `work(unit_done)` goes on in a thread; the block ends when both have ended.

    The work calls `unit_done` now and then. It alone uses `channels` meanwhile. If the block fails, the work ends at
    its next unit; work that waits for a peer instead is ended by closing the channels, after the peers were told.
    """
    ended, errors = threading.Event(), []

    def unit_done() -> None:
        if ended.is_set():
            raise Ended

    def run() -> None:
        try:
            work(unit_done)
        except Ended:
            pass
        except BaseException as error:  # it is raised where the block ends
            errors.append(error)

    # Not a daemon: the interpreter must not end under a native call.
    thread = threading.Thread(target=run, name="vfxgb-beside")
    thread.start()
    try:
        yield
    except BaseException as error:
        ended.set()
        thread.join(PATIENCE_SECONDS)
        if thread.is_alive():
            for channel in channels:
                channel.abort(error)
        thread.join()
        raise
    thread.join()
    if errors:
        raise errors[0]
