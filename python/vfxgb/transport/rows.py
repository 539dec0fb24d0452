"""A digest of which rows a party holds and in which order: what guards alignment without sending ids."""

import hashlib
from collections.abc import Iterable

from vfxgb.errors import AlignmentError


def rows_digest(n_rows: int, ids: Iterable[str | int] | None = None) -> bytes:
    """32 bytes over the ids in their order; without ids over the number of rows alone.

    Ids are told apart by type: 7 and "7" are different people until the caller says otherwise.
    """
    digest = hashlib.sha256(f"vfxgb rows 1\n{n_rows}\n".encode())
    if ids is not None:
        count = 0
        for row_id in ids:
            text = str(row_id).encode()
            digest.update(f"{type(row_id).__name__[0]}{len(text)}:".encode())
            digest.update(text)
            count += 1
        if count != n_rows:
            raise AlignmentError(f"digesting row ids: found {count} ids for {n_rows} rows, wanted one per row")
    return digest.digest()


def check_rows(party: str, peer: str, own: tuple[int, bytes], theirs: tuple[int, bytes]) -> None:
    """Raise AlignmentError unless (number of rows, digest) agree."""
    if own[0] != theirs[0]:
        raise AlignmentError(
            f"{party} comparing rows with {peer}: found {theirs[0]} rows there and {own[0]} here, wanted the same; "
            "align the tables first"
        )
    if own[1] != theirs[1]:
        raise AlignmentError(
            f"{party} comparing rows with {peer}: the row ids or their order differ; align the tables first"
        )
