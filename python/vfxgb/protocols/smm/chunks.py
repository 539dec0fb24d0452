"""Arrays of rows in pieces: how a matrix of n_node columns travels."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import MessageError
from vfxgb.transport.messages import Bulk, unpack_array

# (round, depth, tree, node): what a message of either protocol is about.
Place = tuple[int, int, int, int]


def pieces(count: int, columns: int, chunk_bytes: int) -> Iterator[tuple[int, int]]:
    """(first, rows) of the pieces of a float64[count, columns]: at most chunk_bytes each, one row at least.

    One empty piece for an empty array, so that there is always a message.
    """
    step = max(1, chunk_bytes // (8 * max(columns, 1)))
    return ((first, min(step, count - first)) for first in range(0, max(count, 1), step))


def check_place(received: Place, wanted: Place, what: str) -> None:
    """Raise MessageError unless a message is about what it should be about."""
    if received != wanted:
        names = ("round", "depth", "tree", "node")
        texts = [", ".join(f"{name} {value}" for name, value in zip(names, p, strict=True)) for p in (received, wanted)]
        raise MessageError(f"{what}: found {texts[0]}, wanted {texts[1]}")


def unpack_rows(data: Bulk, first: int, wanted_first: int, total: int, columns: int, what: str) -> NDArray[np.float64]:
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
    receive: Callable[[], tuple[Place, int, int, Bulk]], place: Place, columns: int, most: int, what: str
) -> NDArray[np.float64]:
    """All vectors of a basis, float64[rank, columns], piece by piece.

    `receive` gives (place, rank, first, data) of the next message. Raises MessageError, also if rank is above `most`.
    """
    vectors = np.empty((0, columns))
    done, rank = 0, -1
    while done != rank:
        received, announced, first, data = receive()
        check_place(received, place, what)
        if rank < 0:
            if not 0 <= announced <= most:
                raise MessageError(f"{what}: found {announced} vectors, wanted 0 to {most}")
            rank, vectors = announced, np.empty((announced, columns))
        if announced != rank:
            raise MessageError(f"{what}: found {announced} vectors in all, wanted {rank} as announced before")
        rows = unpack_rows(data, first, done, rank, columns, what)
        vectors[done : done + len(rows)] = rows
        done += len(rows)
    return vectors
