"""What the server of a simulated run saw, and the rows that were behind it: for audits of simulations, nothing else.

The server's part is every task with the sum that came of it and whose it was, and what it published. The rows and
labels of the users are the truth that attacks are judged by (audit/users).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import FormatError
from vfxgb.files import write_atomically
from vfxgb.horizontal.messages import Plan, Trees
from vfxgb.secagg.base import Aggregate

MAGIC = b"vfxgb transcript of users 1\n"


@dataclass(frozen=True)
class OpenedSum:
    """A task as users got it, the sum int64[m] of their vectors, and whose they were."""

    task: bytes
    sums: NDArray[np.int64]
    users: tuple[int, ...]


@dataclass(frozen=True)
class TrueRows:
    """One user's rows: X float32[n, F] (NaN is missing) and labels float32[n]."""

    X: NDArray[np.float32]
    labels: NDArray[np.float32]


@dataclass
class UsersTranscript:
    """`epsilon`, `delta`: what the run promised for a row; None for nothing."""

    aggregator: str
    names: tuple[str, ...]
    epsilon: float | None
    delta: float | None
    rows: Sequence[TrueRows]
    plan: Plan | None = None
    opened: list[OpenedSum] = field(default_factory=list)
    trees: list[Trees] = field(default_factory=list)

    def note_sum(self, task: bytes, answer: Aggregate) -> None:
        """Enter a sum that was opened."""
        self.opened.append(OpenedSum(task, answer.sums, answer.users))

    def note_published(self, message: Plan | Trees) -> None:
        """Enter what was published."""
        if isinstance(message, Plan):
            self.plan = message
        else:
            self.trees.append(message)

    def save(self, path: str | Path) -> None:
        """Write the transcript to a file. It holds private data of all users."""
        document = _File(
            aggregator=self.aggregator,
            names=list(self.names),
            epsilon=self.epsilon,
            delta=self.delta,
            shapes=[user.X.shape for user in self.rows],
            X=[user.X.astype("<f4").tobytes() for user in self.rows],
            labels=[user.labels.astype("<f4").tobytes() for user in self.rows],
            plan=self.plan,
            tasks=[entry.task for entry in self.opened],
            sums=[entry.sums.astype("<i8").tobytes() for entry in self.opened],
            users=[entry.users for entry in self.opened],
            trees=self.trees,
        )
        write_atomically(Path(path), MAGIC + msgspec.msgpack.encode(document))

    @staticmethod
    def load(path: str | Path) -> "UsersTranscript":
        """Read a file that `save` wrote. Raises FormatError for anything else, OSError."""
        data = Path(path).read_bytes()
        if not data.startswith(MAGIC):
            raise FormatError(f"reading the transcript {str(path)!r}: it is not one of a run with users")
        try:
            document = msgspec.msgpack.decode(memoryview(data)[len(MAGIC) :], type=_File)
            rows = [
                TrueRows(np.frombuffer(X, "<f4").reshape(shape), np.frombuffer(labels, "<f4"))
                for X, labels, shape in zip(document.X, document.labels, document.shapes, strict=True)
            ]
            opened = [
                OpenedSum(task, np.frombuffer(sums, "<i8"), users)
                for task, sums, users in zip(document.tasks, document.sums, document.users, strict=True)
            ]
        except (msgspec.MsgspecError, ValueError) as error:
            raise FormatError(f"reading the transcript {str(path)!r}: {error}") from None
        return UsersTranscript(
            document.aggregator,
            tuple(document.names),
            document.epsilon,
            document.delta,
            rows,
            document.plan,
            opened,
            document.trees,
        )


def is_users_transcript(path: str | Path) -> bool:
    """Whether the file begins as one that UsersTranscript.save wrote. Raises OSError."""
    with Path(path).open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A transcript as it lies in a file: arrays as little-endian bytes."""

    aggregator: str
    names: list[str]
    epsilon: float | None
    delta: float | None
    shapes: list[tuple[int, int]]
    X: list[bytes]
    labels: list[bytes]
    plan: Plan | None
    tasks: list[bytes]
    sums: list[bytes]
    users: list[tuple[int, ...]]
    trees: list[Trees]
