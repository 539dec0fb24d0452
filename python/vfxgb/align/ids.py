"""A party's ids: read from a column, brought to one spelling, kept as digests of 16 bytes.

An id is text as it stands, or an integer as decimal digits. Floats are refused, for 1e16 has no exact neighbour and
1.0 may be "1" or "1.0" elsewhere; so are missing and empty ids, and an id that stands in two rows. Messages name rows
and never an id. Rows count from 0.
"""

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.align.normalise import check_steps, normaliser, steps_digest
from vfxgb.data.files import read_text_column
from vfxgb.errors import AlignmentError

DIGEST_BYTES = 16
_PERSON = b"vfxgb id 1"


@dataclass(frozen=True, eq=False)
class Ids:
    """Ids of rows 0, 1, ...; make them with `make_ids` or `read_ids`.

    `digests`, uint8[n, 16], are all different. `steps` say how ids were normalised. Error messages name `party`.
    """

    party: str
    digests: NDArray[np.uint8]
    steps: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.digests)

    @property
    def steps_digest(self) -> bytes:
        """32 bytes that parties compare."""
        return steps_digest(self.steps)

    def take(self, rows: NDArray[Any]) -> "Ids":
        """The ids of some rows, by number or by a mask; row i of the result is rows[i] here."""
        return replace(self, digests=np.ascontiguousarray(self.digests[rows]))

    def __repr__(self) -> str:
        return f"Ids(party={self.party!r}, n={len(self)}, steps={list(self.steps)})"


def read_ids(path: str | os.PathLike[str], column: str, party: str = "", normalise: Sequence[str] = ()) -> Ids:
    """The ids in a column of a CSV (plain or gzipped) or Parquet file; cells of a CSV are text as they stand.

    Raises what `make_ids` raises, TableError for a file that cannot be read, ColumnNameError for a column that is not
    there, MissingPackageError for Parquet without a reader.
    """
    where = f"reading ids of party {party!r}"
    return make_ids(read_text_column(path, column, where), party, normalise)


def make_ids(values: Any, party: str = "", normalise: Sequence[str] = ()) -> Ids:
    """Ids from a sequence, an array, or a column of pandas, polars or pyarrow; `normalise`: steps of normalise.py.

    Raises AlignmentError for an id that is a float or of another kind, missing, empty, or in two rows, naming the rows;
    ParameterError for a step that is none.
    """
    return join_ids([values], party, normalise)


def join_ids(parts: Iterable[Any], party: str = "", normalise: Sequence[str] = ()) -> Ids:
    """Ids from parts of a column, one after the other: of each, its digests are all that stays. See make_ids."""
    where = f"reading ids of party {party!r}"
    steps = check_steps(normalise, f"{where}: normalise")
    digests = bytearray()
    for values in parts:
        digests += _digests(values, steps, len(digests) // DIGEST_BYTES, where)
    ids = Ids(party, np.frombuffer(digests, dtype=np.uint8).reshape(-1, DIGEST_BYTES), steps)
    refuse_duplicates([ids], where)
    return ids


def _digests(values: Any, steps: tuple[str, ...], first: int, where: str) -> bytes:
    """Hash the ids of rows `first`, first + 1, ..."""
    numbered = enumerate(objects_of(values), first)
    texts = [value if type(value) is str else _text(value, row, where) for row, value in numbered]
    if steps:
        texts = list(map(normaliser(steps), texts))
    if "" in texts:
        raise AlignmentError(
            f"{where}: row {first + texts.index('')} has no id{' after normalisation' if steps else ''}; drop the row "
            "or fill the id in"
        )
    try:
        data = [text.encode() for text in texts]
    except UnicodeEncodeError as error:
        raise AlignmentError(
            f"{where}: the id in row {first + texts.index(error.object)} is no valid Unicode text; read the file in "
            "the encoding it was written in"
        ) from None
    return b"".join([blake2b(id_, digest_size=DIGEST_BYTES, person=_PERSON).digest() for id_ in data])


def refuse_duplicates(groups: Sequence[Ids], where: str) -> None:
    """Raise AlignmentError, naming both places, for an id that stands twice in one group or in two groups."""
    ends = np.cumsum([len(ids) for ids in groups])
    words = np.concatenate([ids.digests for ids in groups]).view("<u8").reshape(-1, 2)
    # lexsort is stable: of equal ids the first row comes first.
    order = np.lexsort((words[:, 0], words[:, 1]))
    again = np.flatnonzero((words[order[1:]] == words[order[:-1]]).all(axis=1))
    if not len(again):
        return
    place = again[np.argmin(order[again + 1])]
    first, second = (_place(int(order[place + step]), ends, len(groups)) for step in (0, 1))
    raise AlignmentError(f"{where}: {first} and {second} have the same id, wanted each id once; drop one of the rows")


def _place(row: int, ends: NDArray[Any], n_groups: int) -> str:
    group = int(np.searchsorted(ends, row, side="right"))
    row -= int(ends[group - 1]) if group else 0
    return f"row {row}" + (f" of group {group}" if n_groups > 1 else "")


def objects_of(values: Any) -> Any:
    """The values of a sequence, an array or a column as Python objects, one after the other."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, method):
            return getattr(values, method)()
    return values


def _text(value: Any, row: int, where: str) -> str:
    if isinstance(value, bool):
        raise AlignmentError(f"{where}: row {row} holds a bool, wanted text or an integer")
    if isinstance(value, (int, np.integer, str)):
        return str(value)
    missing = value is None or type(value).__name__ in ("NAType", "NaTType")
    if missing or (isinstance(value, (float, np.floating)) and math.isnan(value)):
        raise AlignmentError(f"{where}: row {row} has no id; drop the row or fill the id in")
    if isinstance(value, (float, np.floating)):
        raise AlignmentError(
            f"{where}: row {row} holds a float, wanted text or an integer; read the column as text (in pandas: "
            "dtype=str), for a float may have lost digits of the id"
        )
    raise AlignmentError(f"{where}: row {row} holds a {type(value).__name__}, wanted text or an integer")
