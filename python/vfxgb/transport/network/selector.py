"""Waiting for a frame from any of many links, without a thread per link."""

from collections.abc import Iterable

from vfxgb.transport.network.link import NetworkLink


class Selector:
    """A set of links of which some may be ready. For one waiting thread; `add` and `discard` from any."""

    def __init__(self, links: Iterable[NetworkLink] = ()) -> None:
        raise NotImplementedError

    def add(self, link: NetworkLink) -> None:
        """Watch a link."""
        raise NotImplementedError

    def discard(self, link: NetworkLink) -> None:
        """Watch it no longer."""
        raise NotImplementedError

    def wait(self, timeout: float) -> list[NetworkLink]:
        """The links whose `get(0)` would return a frame or raise LinkClosed/FrameError; [] after `timeout` seconds.

        A link stays ready until its frames are read; discard one that has ended.
        """
        raise NotImplementedError
