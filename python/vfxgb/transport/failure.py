"""Telling peers that this side has failed, so that nobody waits for it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from vfxgb.transport.channel import Channel


@contextmanager
def failure_told(channels: Iterable[Channel]) -> Iterator[None]:
    """A block whose failure, whatever it is, goes through all of `channels` (Channel.abort) before it goes on up."""
    try:
        yield
    except BaseException as error:
        for channel in channels:
            channel.abort(error)
        raise
