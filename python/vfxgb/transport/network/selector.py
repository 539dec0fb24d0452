"""Waiting for a frame from any of many links, without a thread per link."""

import threading
import time
from collections.abc import Iterable

from vfxgb.transport.network.link import NetworkLink


class Selector:
    """A set of links of which some may be ready. For one waiting thread; `add` and `discard` from any."""

    def __init__(self, links: Iterable[NetworkLink] = ()) -> None:
        self._changed = threading.Condition()
        self._links: set[NetworkLink] = set()
        # Links that were ready at some time since they were last looked at.
        self._maybe: set[NetworkLink] = set()
        for link in links:
            self.add(link)

    def add(self, link: NetworkLink) -> None:
        """Watch a link."""
        with self._changed:
            if link in self._links:
                return
            self._links.add(link)
        link.watch_ready(self._note)

    def discard(self, link: NetworkLink) -> None:
        """Watch it no longer."""
        with self._changed:
            self._links.discard(link)
            self._maybe.discard(link)
        link.unwatch_ready(self._note)

    def wait(self, timeout: float) -> list[NetworkLink]:
        """The links whose `get(0)` would return a frame or raise LinkClosed or FrameError; [] after `timeout` seconds.

        A link stays ready until its frames are read; discard one that has ended.
        """
        deadline = time.monotonic() + timeout
        while True:
            with self._changed:
                candidates, self._maybe = self._maybe, set()
            # Without our lock: a link notes us while it holds its own.
            ready = [link for link in candidates if link.ready()]
            with self._changed:
                ready = [link for link in ready if link in self._links]
                self._maybe.update(ready)
                if ready:
                    return ready
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    return []
                if not self._maybe:
                    self._changed.wait(remaining)

    def _note(self, link: NetworkLink) -> None:
        with self._changed:
            if link in self._links:
                self._maybe.add(link)
                self._changed.notify()
