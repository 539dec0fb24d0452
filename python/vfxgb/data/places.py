"""Asking a table for columns and rows: their places, and the errors for what is not there."""

from collections import Counter
from collections.abc import Iterator, Sequence

from vfxgb.checks import closest_name
from vfxgb.errors import ColumnNameError, TableError


def check_rows(n_rows: int, first: int, stop: int, party: str) -> None:
    """Raise TableError unless 0 <= first <= stop <= n_rows."""
    if not 0 <= first <= stop <= n_rows:
        raise TableError(
            f"{reading(party)}: asked for rows {first} to {stop}, wanted an ascending range within 0 to {n_rows}"
        )


def stacked_ranges(counts: Sequence[int], first: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """(table, first, stop within it) of those tables, of `counts` rows and below each other, that have the rows.

    Of no rows it is an empty range of the first table: what has no values still has a type.
    """
    if first == stop:
        yield 0, 0, 0
    start = 0
    for place, count in enumerate(counts):
        low, high = max(first - start, 0), min(stop - start, count)
        if low < high:
            yield place, low, high
        start += count


def place_of(feature: int | str, names: Sequence[str], party: str) -> int:
    """The position of a feature given by position or name. Raises ColumnNameError."""
    if isinstance(feature, str):
        if feature in names:
            return names.index(feature)
        raise absent_column(feature, names, reading(party))
    if not 0 <= feature < len(names):
        raise ColumnNameError(f"{reading(party)}: asked for feature {feature}, wanted one of 0 to {len(names) - 1}")
    return feature


def absent_column(name: str, names: Sequence[str], where: str) -> ColumnNameError:
    """The error for a column that is not among `names`."""
    meant = closest_name(str(name), names)
    hint = f"did you mean {meant!r}?" if meant else f"the columns are {list(names[:20])}"
    return ColumnNameError(f"{where}: there is no column {name!r}; {hint}")


def refuse_repeated(names: Sequence[str], where: str) -> None:
    """Raise ColumnNameError for a name that appears twice."""
    for name, count in Counter(names).items():
        if count > 1:
            raise ColumnNameError(f"{where}: column {name!r} appears more than once, wanted unique names; rename it")


def refuse_empty(n_rows: int, n_features: int, where: str) -> None:
    """Raise TableError for a table without columns or without rows, in the words that scikit-learn looks for."""
    for what, count in (("feature", n_features), ("sample", n_rows)):
        if count == 0:
            shape = (n_rows, n_features)
            raise TableError(f"{where}: 0 {what}(s) (shape={shape}) while a minimum of 1 is required.")


def reading(party: str) -> str:
    """How messages about a party's table begin."""
    return f"reading a table of party {party!r}" if party else "reading a table"
