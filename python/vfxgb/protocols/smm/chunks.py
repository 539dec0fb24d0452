"""Arrays of rows in pieces: how a matrix of n_node columns travels."""

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import MessageError
from vfxgb.protocols.receive import Context, receive, require
from vfxgb.protocols.smm.messages import Smm1Basis, Smm2Basis
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import Bulk, Message, pack_array, unpack_array

# More rows than any array has that travels.
MOST_ROWS = 2**31 - 1

B = TypeVar("B", Smm1Basis, Smm2Basis)


class Place(NamedTuple):
    """What a message of either protocol is about: its first fields."""

    round: int
    depth: int
    tree: int
    node: int


def pieces(count: int, columns: int, chunk_bytes: int) -> Iterator[tuple[int, int]]:
    """(first, rows) of the pieces of a float64[count, columns]: at most chunk_bytes each, one row at least.

    One empty piece for an empty array, so that there is always a message.
    """
    step = max(1, chunk_bytes // (8 * max(columns, 1)))
    return ((first, min(step, count - first)) for first in range(0, max(count, 1), step))


def vector_messages(kind: type[B], place: Place, vectors: NDArray[np.float64], chunk_bytes: int) -> Iterator[B]:
    """The messages with the vectors of a basis, float64[rank, n_node]."""
    for first, count in pieces(len(vectors), vectors.shape[1], chunk_bytes):
        part = pack_array(vectors[first : first + count])
        yield kind(*place, rank=len(vectors), first=first, vectors=part)


def read_pieces(
    context: Context,
    channel: Channel,
    kind: type[Message],
    place: Place,
    fields: tuple[str, str],
    columns: int,
    what: str,
    most: int = MOST_ROWS,
) -> Iterator[tuple[Any, NDArray[np.float64]]]:
    """The pieces of an array float64[rows, columns] as they arrive: the message, and its rows.

    `fields` name those of the message that hold the number of all rows and the rows of the piece. Raises MessageError
    unless the pieces follow each other, whole, and the array has at most `most` rows.
    """
    done, total = 0, -1
    while done != total:
        message: Any = receive(context, channel, kind, what, **place._asdict())
        announced, data = (getattr(message, name) for name in fields)
        if total < 0:
            if not 0 <= announced <= most:
                raise MessageError(f"{what}: found {announced} {fields[1]}, wanted 0 to {most}")
            total = announced
        require(what, f"{announced} {fields[1]}", f"{total} {fields[1]}")
        rows = _unpack_rows(data, message.first, done, total, columns, what)
        done += len(rows)
        yield message, rows


def _unpack_rows(data: Bulk, first: int, wanted_first: int, total: int, columns: int, what: str) -> NDArray[np.float64]:
    """The rows of one piece. Raises MessageError unless they follow the ones before, whole and within `total`."""
    size = 8 * columns
    count = len(data) // size if size else 0
    if first != wanted_first or (count == 0 and total > 0) or first + count > total:
        raise MessageError(
            f"{what}: found {count} rows from {first}, wanted at least 1 from {wanted_first} on, of {total}"
        )
    rows: NDArray[np.float64] = unpack_array(data, np.float64, (count, columns), what)
    return rows


def read_vectors(
    context: Context, channel: Channel, kind: type[B], place: Place, columns: int, most: int, what: str
) -> NDArray[np.float64]:
    """All vectors of a basis, float64[rank, columns]. Raises MessageError, also if rank is above `most`."""
    vectors = np.empty((0, columns))
    for message, rows in read_pieces(context, channel, kind, place, ("rank", "vectors"), columns, what, most):
        if message.first == 0:
            vectors = np.empty((message.rank, columns))
        vectors[message.first : message.first + len(rows)] = rows
    return vectors
