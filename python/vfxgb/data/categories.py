"""Categories of a column, and dates: values that are no numbers, and the numbers that stand for them.

A column of categories becomes codes 0, 1, ..., which count its categories in an order; a missing value becomes NaN. The
list of categories, the encoding, is part of its owner's share of a model and is shown to nobody. Frames say themselves
which columns are categories and in which order these stand (pandas category, polars Categorical and Enum, pyarrow
dictionary). Columns that a party names as categories (`ColumnKinds`) are taken as text, so that CSV and Parquet give
the same categories, and an order that nobody else can know makes sure that codes say nothing.

A date becomes the number of days since 1970-01-01.
"""

import hashlib
import hmac
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import ColumnTypeError

Category: TypeAlias = str | int | float | bool
# The categories of a column, that of code 0 first.
Encoding: TypeAlias = tuple[Category, ...]
# A split: the feature; the cut point, or the codes of the categories that go right; whether missing values go left.
Split: TypeAlias = tuple[int, float | tuple[int, ...], bool]

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
DAY_SECONDS = 86_400
# Codes are bins, which fit uint16 together with the missing one.
MOST_CATEGORIES = 65_534


@dataclass(frozen=True)
class ColumnKinds:
    """Which columns of a table are categories or dates, by name, beyond what the table says itself.

    `secret`: orders the categories of the columns named here; without it they are in the order of their texts.
    """

    categorical: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    secret: bytes = b""


NUMBERS = ColumnKinds()


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of categories: float32 codes, NaN where a value is missing, and what they stand for."""

    codes: NDArray[np.float32]
    encoding: Encoding

    def __len__(self) -> int:
        return len(self.codes)


def coded(codes: NDArray[Any], values: Sequence[Any], name: str, where: str) -> Coded:
    """A column from codes, negative where a value is missing, and its categories.

    Raises ColumnTypeError for categories that are neither text nor numbers, and for too many.
    """
    encoding = tuple(_plain(value, name, where) for value in values)
    if len(encoding) > MOST_CATEGORIES:
        raise ColumnTypeError(
            f"{where}: column {name!r} has {len(encoding)} categories, wanted at most {MOST_CATEGORIES}; is it an id?"
        )
    floats = codes.astype(np.float32)
    floats[codes < 0] = np.nan
    return Coded(floats, encoding)


def from_values(values: Sequence[Any], name: str, where: str, secret: bytes = b"") -> Coded:
    """A column from its values, which are taken as text; None, NaN and an empty text are missing."""
    texts = [_text(value) for value in values]
    found = sorted({text for text in texts if text})
    if secret:
        key = hashlib.sha256(b"vfxgb order of categories\n" + secret).digest()
        found.sort(key=lambda text: hmac.digest(key, f"{name}\0{text}".encode(), "sha256"))
    place = {text: code for code, text in enumerate(found)}
    return coded(np.array([place.get(text, -1) for text in texts], dtype=np.int64), found, name, where)


def recode(codes: NDArray[np.float32], held: Encoding, wanted: Encoding) -> NDArray[np.float32]:
    """Codes of the encoding `held` as those of `wanted`; a category that `wanted` lacks becomes NaN."""
    if held == wanted:
        return codes
    place = {_key(category): code for code, category in enumerate(wanted)}
    table = np.array([*(place.get(_key(category), np.nan) for category in held), np.nan], dtype=np.float32)
    known = np.where(np.isnan(codes), len(held), codes).astype(np.int64)
    return np.asarray(table[known])


def days_of(values: Sequence[Any], name: str, where: str) -> NDArray[np.float64]:
    """Dates as days since 1970-01-01, with a fraction for the time of day; None and an empty text are missing.

    Dates are dates, datetimes, numpy's datetimes or texts in ISO 8601. A time without a zone is taken as it stands, one
    with a zone in UTC. Raises ColumnTypeError for anything else.
    """
    array = np.asarray(values)
    if array.dtype.kind == "M":
        days = array.astype("datetime64[us]").astype(np.int64) / (DAY_SECONDS * 1e6)
        return np.where(np.isnat(array), np.nan, days)
    return np.array([_days(value, row, name, where) for row, value in enumerate(values)], dtype=np.float64)


def _days(value: Any, row: int, name: str, where: str) -> float:
    if value is None or value == "" or value != value:
        return math.nan
    try:
        when = datetime.fromisoformat(value.strip().replace("Z", "+00:00")) if isinstance(value, str) else value
        if isinstance(when, date) and not isinstance(when, datetime):
            when = datetime(when.year, when.month, when.day)
        known = when if when.tzinfo is not None else when.replace(tzinfo=timezone.utc)
        return float((known - EPOCH).total_seconds() / DAY_SECONDS)
    except (AttributeError, TypeError, ValueError):
        raise ColumnTypeError(
            f"{where}: column {name!r} holds {value!r} in row {row}, wanted a date such as 2024-05-31 or "
            "2024-05-31T18:00:00, or an empty cell"
        ) from None


def _plain(value: Any, name: str, where: str) -> Category:
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, str | int | float | bool):
        raise ColumnTypeError(
            f"{where}: column {name!r} has the category {value!r} of type {type(value).__name__}, wanted text or "
            "numbers; rename its categories"
        )
    return plain


def _text(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        # Integers with a gap come as floats.
        return str(int(value))
    return str(value)


def _key(category: Category) -> tuple[bool, Category]:
    """What makes categories equal: text and numbers never are."""
    return isinstance(category, str), category
