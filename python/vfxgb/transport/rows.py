"""A digest of which rows a party holds and in which order: what guards alignment without sending ids."""

import hashlib
from collections.abc import Iterable
from typing import Any

from numpy.typing import NDArray

from vfxgb.errors import AlignmentError


def rows_digest(ids: Iterable[NDArray[Any]] | None) -> bytes:
    """32 bytes over the ids in their order, given as arrays one after the other; none (b"") for rows without ids.

    Ids are told apart by kind: 7 and "7" are different people until the caller says otherwise.
    """
    if ids is None:
        return b""
    digest = hashlib.sha256(b"vfxgb rows 2\n")
    for part in ids:
        if part.dtype.kind in "iu":
            # As text a number would be the same with any width; so are these bytes.
            digest.update(b"".join(f"i{number};".encode() for number in part.tolist()))
        else:
            for entry in part.tolist():
                text = str(entry).encode()
                digest.update(f"{type(entry).__name__[0]}{len(text)}:".encode() + text)
    return digest.digest()


def check_rows(party: str, peer: str, own: tuple[int, bytes], theirs: tuple[int, bytes]) -> None:
    """Raise AlignmentError unless (number of rows, digest) agree; digests only where both sides have ids."""
    if own[0] != theirs[0]:
        raise AlignmentError(
            f"{party} comparing rows with {peer}: found {theirs[0]} rows there and {own[0]} here, wanted the same; "
            "align the tables first"
        ).for_peer()
    if own[1] and theirs[1] and own[1] != theirs[1]:
        raise AlignmentError(
            f"{party} comparing rows with {peer}: the row ids or their order differ; align the tables first, or drop "
            "the ids (reset_index) if row i is the same person in both"
        ).for_peer()
