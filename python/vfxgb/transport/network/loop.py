"""The network thread: one event loop for all listeners and dialled links of a process, alive while any of them is.

gRPC's threads do not survive a fork; neither does this one. A child that forks off must make its own links.
"""

import asyncio
import gc
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class NetworkThread:
    """A daemon thread with an event loop, shared and counted: `acquire` and `release` come in pairs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def acquire(self) -> asyncio.AbstractEventLoop:
        """The loop, running."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_main, args=(self._loop,), name="vfxgb-network", daemon=True)
                self._thread.start()
            self._users += 1
            return self._loop

    def release(self) -> None:
        """One user less; the last one ends the thread."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._loop is not None and self._thread is not None:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join()
                self._loop = self._thread = None
                # gRPC ends its own thread when the last of its objects is gone, and they refer to each other.
                gc.collect()


def _main(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(_finish())
        loop.close()


async def _finish() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


NETWORK = NetworkThread()


def call(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T], timeout: float) -> T:
    """The result of `work`, run in the loop, for another thread. Raises what it raises, and futures' TimeoutError."""
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return future.result(timeout)
    except BaseException:
        future.cancel()
        raise
