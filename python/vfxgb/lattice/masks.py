"""Masks of nodes, made ahead by a thread, each taken once.

With a file, masks outlive the party: a later run finds those that were made and not taken. A mask that is taken is
marked and wiped on disk before it is given out; so whatever happens to the party, no mask comes twice. A file is that
of one set-up; one of another set-up is begun anew.
"""

import os
import threading
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import LatticeError
from vfxgb.files import locked, naming, write_atomically

Words = NDArray[np.uint64]

# Masks made in one call: enough for the kernels, few enough not to keep anybody waiting.
_BATCH = 8
_STOP_SECONDS = 60.0


class MaskFile:
    """Places for masks on disk. A place is a number (0: free or taken, 1: ready) and the words of one mask.

    One process at a time: another one would take the same masks. Raises LatticeError where one has it open.
    """

    def __init__(self, path: Path, name: bytes, places: int, words: int) -> None:
        self._path = path
        self._lock = ExitStack()
        try:
            self._lock.enter_context(locked(path.with_name(f"{path.name}-lock"), wait=False))
        except BlockingIOError:
            raise LatticeError(
                f"masking nodes: {path} is used by another run, wanted it for this one alone, since no mask may come "
                "twice; wait for the other run, or do without keep_masks"
            ) from None
        size = len(name) + 8 * places * (1 + words)
        if not _belongs_to(path, name, size):
            write_atomically(path, name, bytes(size - len(name)))
        with naming(path):
            self._data = np.memmap(path, dtype=np.uint64, mode="r+", offset=len(name), shape=(places, 1 + words))

    def ready(self) -> list[int]:
        """The places whose masks can be taken."""
        return [int(place) for place in np.flatnonzero(self._data[:, 0] == 1)]

    def free(self) -> list[int]:
        """The places where a mask can be put."""
        return [int(place) for place in np.flatnonzero(self._data[:, 0] == 0)]

    def put(self, place: int, words: Words) -> None:
        """Keep a mask; it counts only once all of it is on disk."""
        self._data[place, 1:] = words
        self._data.flush()
        self._data[place, 0] = 1
        self._data.flush()

    def take(self, place: int) -> Words:
        """A mask, which is gone from the disk when this returns. Raises LatticeError for one that was taken before."""
        if self._data[place, 0] != 1:
            raise LatticeError(
                f"masking nodes: found mask {place} of {self._path} used up, wanted one that nobody has taken, since "
                "no mask may come twice; remove the file to begin with new masks"
            )
        words = np.array(self._data[place, 1:])
        # The mark first: a mask that is wiped in part and still marked as ready would hide nothing.
        self._data[place, 0] = 0
        self._data.flush()
        self._data[place, 1:] = 0
        self._data.flush()
        return words

    def close(self) -> None:
        """Leave the file to others."""
        self._lock.close()


def _belongs_to(path: Path, name: bytes, size: int) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(name)) == name and os.fstat(file.fileno()).st_size == size
    except FileNotFoundError:
        return False


class MaskStock:
    """Up to `ahead` masks in advance. `file`: where they are kept; None keeps them in memory alone."""

    def __init__(
        self,
        maker: _native.lattice.MaskMaker,
        degree: int,
        columns: int,
        ahead: int,
        threads: int = 1,
        file: MaskFile | None = None,
    ) -> None:
        self._maker = maker
        self._degree = degree
        self._columns = columns
        self._ahead = ahead
        self._threads = threads
        self._file = file
        self._made: list[Words] = []
        self._places: list[int] = [] if file is None else file.ready()
        self._changed = threading.Condition()
        self._closed = False
        self._error: BaseException | None = None
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._run, name="vfxgb-masks", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """Masks that are ready."""
        with self._changed:
            return len(self._made) + len(self._places)

    def take(self, count: int) -> tuple[Words, Words]:
        """(w[count, N], x[count, columns]) of masks that nobody has taken; made here and now where the stock is short.

        Raises LatticeError after `close` and in a forked process, which has the same masks as its parent.
        """
        if os.getpid() != self._process:
            raise LatticeError(
                "masking nodes: found masks that another process made, wanted the one that began; after a fork both "
                "would use the same ones"
            )
        masks: list[Words] = []
        with self._changed:
            if self._error is not None:
                raise self._error
            if self._closed:
                raise LatticeError("masking nodes: the stock of masks is closed; open a new one")
            while len(masks) < count and self._places and self._file is not None:
                masks.append(self._file.take(self._places.pop()))
            while len(masks) < count and self._made:
                masks.append(self._made.pop())
            self._changed.notify_all()
        if len(masks) < count:
            masks.extend(self._make(count - len(masks)))
        both = np.stack(masks) if masks else np.zeros((0, self._degree + self._columns), dtype=np.uint64)
        for mask in masks:
            mask.fill(0)
        return both[:, : self._degree], both[:, self._degree :]

    def _make(self, count: int) -> list[Words]:
        w, x = self._maker.make(count, self._threads)
        made = [np.concatenate([w[k], x[k]]) for k in range(count)]
        w.fill(0)
        x.fill(0)
        return made

    def _run(self) -> None:
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._closed or self._missing() > 0)
                    if self._closed:
                        return
                    missing = self._missing()
                made = self._make(min(_BATCH, missing))
                with self._changed:
                    self._keep(made)
        except BaseException as error:  # it is raised where masks are taken
            with self._changed:
                self._error = error

    def _missing(self) -> int:
        return self._ahead - len(self._made) - len(self._places)

    def _keep(self, made: list[Words]) -> None:
        if self._closed:
            for mask in made:
                mask.fill(0)
            return
        free = [] if self._file is None else self._file.free()
        for mask in made:
            if self._file is not None and free:
                place = free.pop()
                self._file.put(place, mask)
                self._places.append(place)
                mask.fill(0)
            else:
                self._made.append(mask)

    def close(self) -> None:
        """End the thread; masks in memory are wiped, those in a file stay for a later run."""
        with self._changed:
            self._closed = True
            for mask in self._made:
                mask.fill(0)
            self._made.clear()
            self._changed.notify_all()
        self._thread.join(_STOP_SECONDS)
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> "MaskStock":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
