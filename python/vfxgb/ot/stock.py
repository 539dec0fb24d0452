"""Batches made ahead by a thread, so that nobody waits for AES: one kind of stock for each party.

    with ReceiverStock(receiver, domain, 65536) as stock:         the thread makes requests, `ahead` of them in advance
        request, batch = stock.take()                             send the request, use the batch
    with SenderStock(sender, domain, 65536) as stock:
        stock.give(request)                                       as soon as a request arrives; the thread answers it
        batch = stock.take()                                      in the order of the requests

Nothing here talks to anybody: the owner of a channel sends and receives, at the points of its protocol, and the thread
computes in between. While a stock is open its Sender or Receiver serves nobody else. Closing ends the thread after the
batch that it is at; what was made and not taken is lost, and the other party is told where transfers go on (`skip_to`).
"""

import threading
from collections import deque
from types import TracebackType
from typing import Any, Generic, TypeVar

from vfxgb.errors import TransferError
from vfxgb.ot.batch import ReceiverBatch, SenderBatch
from vfxgb.ot.silent import SilentReceiver, SilentSender
from vfxgb.ot.transfers import Receiver, Sender
from vfxgb.ot.wire import Bytes, Place

T = TypeVar("T")
S = TypeVar("S", bound="_Stock[Any]")
# Waiting in turns of so many seconds: a signal that arrives just before a wait begins is seen after it.
_TURN_SECONDS = 0.5
_STOP_SECONDS = 60.0


class _Stock(Generic[T]):
    """A thread that calls `_make` while `_wanted`, and what it has made."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._made: deque[T] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="vfxgb-transfers", daemon=True)
        self._thread.start()

    def _wanted(self) -> bool:
        raise NotImplementedError

    def _make(self) -> T:
        raise NotImplementedError

    def _run(self) -> None:
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._closed or self._wanted())
                    if self._closed:
                        return
                made = self._make()
                with self._changed:
                    self._made.append(made)
                    self._changed.notify_all()
        except BaseException as error:  # it is raised where batches are taken
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def take(self) -> T:
        """The next batch; waits for it. Raises what making it raised, and TransferError after `close`."""
        with self._changed:
            while not self._made:
                if self._error is not None:
                    raise self._error
                if self._closed:
                    raise TransferError(f"{self._what}: the stock is closed; open a new one")
                self._changed.wait(_TURN_SECONDS)
            self._changed.notify_all()
            return self._made.popleft()

    def __len__(self) -> int:
        """Batches that are ready."""
        with self._changed:
            return len(self._made)

    def close(self) -> None:
        """End the thread after the batch that it is at. Batches that are ready are dropped."""
        with self._changed:
            self._closed = True
            self._made.clear()
            self._changed.notify_all()
        self._thread.join(_STOP_SECONDS)

    def __enter__(self: S) -> S:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ReceiverStock(_Stock[tuple[bytes, ReceiverBatch]]):
    """Requests of `count` random transfers each, at the places of `domain` from block `first` on."""

    def __init__(
        self, receiver: Receiver | SilentReceiver, domain: int, count: int, ahead: int = 2, first: int = 0
    ) -> None:
        self._receiver = receiver
        self._domain = domain
        self._count = count
        self._ahead = ahead
        self._block = first
        super().__init__(f"transfers with {receiver.peer}")

    def _wanted(self) -> bool:
        return len(self._made) < self._ahead

    def _make(self) -> tuple[bytes, ReceiverBatch]:
        self._block += 1
        return self._receiver.request(Place(self._domain, self._block - 1), self._count)


class SenderStock(_Stock[SenderBatch]):
    """The sender's batches for such requests."""

    def __init__(self, sender: Sender | SilentSender, domain: int, count: int, first: int = 0) -> None:
        self._sender = sender
        self._domain = domain
        self._count = count
        self._block = first
        self._requests: deque[Bytes] = deque()
        super().__init__(f"transfers with {sender.peer}")

    def give(self, request: Bytes) -> None:
        """Take a request of the peer's, in the order in which they arrive."""
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()

    def _wanted(self) -> bool:
        return bool(self._requests)

    def _make(self) -> SenderBatch:
        with self._changed:
            request = self._requests.popleft()
        self._block += 1
        return self._sender.answer(Place(self._domain, self._block - 1), self._count, request)
