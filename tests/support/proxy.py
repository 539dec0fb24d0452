"""A TCP proxy with knobs, to make a link bad: slow, far away, silent, cut.

    with Proxy(listener.address) as proxy:
        proxy.delay = 0.2           # seconds that every byte takes, each way
        proxy.rate = 10e6 / 8       # bytes per second, each way and connection
        proxy.silent = True         # connections stay open and nothing passes
        proxy.refusing = True       # new connections are closed at once
        proxy.cut()                 # all connections end, as if a cable were pulled; they have when it returns
        proxy.cuts = [900, 5000]    # the next two connections end after so many bytes towards the listener
        proxy.before = look         # called before any bytes are passed on, which wait until it returns
        proxy.heard[0]              # the first bytes of the first connection, towards the listener and back

Dial `proxy.address`.
"""

import asyncio
import threading
from collections.abc import Callable
from types import TracebackType

# How much of each connection and direction is kept.
HEARD_BYTES = 16384


class Proxy:
    """Passes connections on to `target` ("host:port") until it is closed."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self.delay = 0.0
        self.rate = 0.0
        self.silent = False
        self.refusing = False
        self.cuts: list[int] = []
        self.before: Callable[[], None] = lambda: None
        self.connections = 0
        self.bytes = 0
        self.heard: list[tuple[bytearray, bytearray]] = []
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._main, name="proxy")
        self._thread.start()
        assert self._started.wait(60)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    def cut(self) -> None:
        """End all connections; none of their bytes is passed on after this call."""
        done = threading.Event()

        def cut() -> None:
            self._cut()
            done.set()

        self._loop.call_soon_threadsafe(cut)
        assert done.wait(60)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _main(self) -> None:
        server = self._loop.run_until_complete(self._serve())
        self._port = server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()
        server.close()
        self._loop.run_until_complete(self._finish())
        self._loop.close()

    async def _serve(self) -> asyncio.Server:
        return await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(*self._target)

    async def _finish(self) -> None:
        self._cut()
        # A task that is ended may have begun another one a moment before.
        while left := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    def _cut(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self.refusing:
            writer.transport.abort()
            return
        cut_after = self.cuts.pop(0) if self.cuts else 0
        try:
            there, back = await self._connect()
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, back}
        self.heard.append((bytearray(), bytearray()))
        to, fro = self.heard[-1]
        try:
            await asyncio.gather(self._pass(reader, back, cut_after, to), self._pass(there, writer, 0, fro))
        except (OSError, asyncio.CancelledError):
            # The end of a connection, or of the proxy: asyncio reports a cancelled handler as an error.
            pass
        finally:
            for one in (writer, back):
                one.transport.abort()
                self._open.discard(one)

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cut_after: int, heard: bytearray
    ) -> None:
        """One direction. A task of its own reads, so that a delay does not become a rate."""
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(4096)

        async def read() -> None:
            while data := await reader.read(16384):
                await waiting.put((self._loop.time(), data))
            await waiting.put((self._loop.time(), b""))

        task = asyncio.ensure_future(read())
        # The error of a connection that ended is not news.
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        passed = 0
        try:
            while True:
                came, data = await waiting.get()
                while self.silent:
                    await asyncio.sleep(0.01)
                pause = came + self.delay - self._loop.time()
                if self.delay and pause > 0:
                    await asyncio.sleep(pause)
                if self.rate:
                    await asyncio.sleep(len(data) / self.rate)
                if not data:
                    raise ConnectionResetError
                self.before()
                heard += data[: HEARD_BYTES - len(heard)]
                passed += len(data)
                self.bytes += len(data)
                if cut_after and passed >= cut_after:
                    writer.write(data[: len(data) // 2])
                    raise ConnectionResetError
                writer.write(data)
                await writer.drain()
        finally:
            # Not awaited: a direction that is thrown away with its loop could not.
            task.cancel()
