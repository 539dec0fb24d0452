"""From what users hold to named one-dimensional arrays of real numbers, without importing what they did not.

Frames of pandas, polars and pyarrow are recognised by the module of their class, so none of these packages is loaded
unless the caller already has it; Parquet needs one of them and says so. Categories become codes (categories.py) where
the caller takes them. Strings and dates are refused by name, unless the caller says which columns are categories or
dates.
"""

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.categories import NUMBERS, Coded, ColumnKinds, coded, days_of, from_values
from vfxgb.data.files import read_file
from vfxgb.data.places import absent_column, reading
from vfxgb.errors import ColumnNameError, ColumnTypeError, TableError

Columns = list[tuple[str, NDArray[Any]]]
Features = list[tuple[str, NDArray[Any] | Coded]]


def read_source(data: Any, names: Sequence[str] | None, party: str, columns: Sequence[str] | None = None) -> Columns:
    """The (name, values) pairs of `data`; values are bool, integer or float arrays, views where possible.

    `names` is for arrays only; `columns`, if given, picks columns before any is converted. Raises TableError,
    ColumnNameError or ColumnTypeError naming party and column.
    """
    where = reading(party)
    return [(str(name), numbers(values, str(name), where)) for name, values in _read(data, names, where, columns)]


def read_features(
    data: Any,
    names: Sequence[str] | None,
    party: str,
    columns: Sequence[str] | None = None,
    kinds: ColumnKinds = NUMBERS,
) -> Features:
    """What `read_source` reads, where columns may also be categories, and dates where `kinds` names them."""
    where = reading(party)
    read = _read(data, names, where, columns, (*kinds.categorical, *kinds.dates))
    for name in (*kinds.categorical, *kinds.dates):
        if columns is None and name not in [str(held) for held, _ in read]:
            raise absent_column(name, [str(held) for held, _ in read], where)
    return [(str(name), feature(values, str(name), where, kinds)) for name, values in read]


def _read(
    data: Any, names: Sequence[str] | None, where: str, columns: Sequence[str] | None, texts: Sequence[str] = ()
) -> list[tuple[Any, Any]]:
    """Named columns as they stand; `texts` are columns of a CSV file that are not numbers."""
    if isinstance(data, (str, os.PathLike)):
        data = read_file(data, where, columns, texts)
    if hasattr(data, "tocsr") or type(data).__module__.startswith("scipy.sparse"):
        raise ColumnTypeError(f"{where}: found a sparse matrix, and sparse data is not supported; pass X.toarray()")
    raw = _raw_columns(data, where)
    if raw is None:
        raw = _array_columns(data, names, where)
    elif names is not None and list(names) != [str(name) for name, _ in raw]:
        raise ColumnNameError(f"{where}: the data has column names of its own; rename them there, or pass an array")
    return raw if columns is None else _pick(raw, columns, where)


def row_ids(data: Any) -> tuple[NDArray[Any], ...] | None:
    """The index of a pandas frame, or None where it only counts rows or there is none."""
    index = getattr(data, "index", None)
    if type(data).__module__.split(".")[0] != "pandas" or index is None:
        return None
    counts = type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)
    return None if counts else (np.asarray(index),)


def _raw_columns(data: Any, where: str) -> list[tuple[Any, Any]] | None:
    """Named columns of a frame or mapping, or None for anything else."""
    package = type(data).__module__.split(".")[0]
    if isinstance(data, Mapping):
        return list(data.items())
    if package == "pandas" and hasattr(data, "iloc") and hasattr(data, "columns"):
        return [(name, data.iloc[:, place]) for place, name in enumerate(data.columns)]
    if package == "polars" and hasattr(data, "get_columns"):
        return [(series.name, series) for series in data.get_columns()]
    if package == "polars" and hasattr(data, "collect"):
        raise TableError(f"{where}: found a polars LazyFrame, wanted a DataFrame; call .collect() first")
    if package == "pyarrow" and hasattr(data, "column_names"):
        return list(zip(data.column_names, data.columns, strict=True))
    return None


def _array_columns(data: Any, names: Sequence[str] | None, where: str) -> list[tuple[Any, Any]]:
    try:
        array = np.asarray(data)
    except ValueError as error:
        raise TableError(f"{where}: rows of different length are no table ({error})") from error
    if array.dtype.kind == "c":
        raise TableError(f"{where}: Complex data not supported, wanted real numbers")
    if array.ndim != 2:
        raise TableError(
            f"{where}: Expected 2D array, got {array.ndim}D array instead (rows x columns wanted). Reshape your data: "
            "array.reshape(-1, 1) if it is one column, array.reshape(1, -1) if it is one row"
        )
    if names is None:
        names = [f"f{place}" for place in range(array.shape[1])]
    if len(names) != array.shape[1]:
        raise ColumnNameError(f"{where}: found {len(names)} names for {array.shape[1]} columns, wanted one per column")
    return [(name, array[:, place]) for place, name in enumerate(names)]


def _pick(raw: list[tuple[Any, Any]], columns: Sequence[str], where: str) -> list[tuple[Any, Any]]:
    by_name = {str(name): (name, values) for name, values in raw}
    for name in columns:
        if name not in by_name:
            raise absent_column(name, list(by_name), where)
    return [by_name[name] for name in columns]


def feature(values: Any, name: str, where: str, kinds: ColumnKinds = NUMBERS) -> NDArray[Any] | Coded:
    """A column as `numbers` gives it, as codes if it holds categories, or as days if `kinds` says that it holds dates.

    Raises ColumnTypeError or TableError.
    """
    if name in kinds.categorical:
        held = _categories(values, name, where)
        entries = _entries(values) if held is None else _values_of(held)
        return from_values(entries, name, where, kinds.secret)
    if name in kinds.dates:
        return days_of(_entries(values), name, where)
    held = _categories(values, name, where)
    return numbers(values, name, where) if held is None else held


def _categories(values: Any, name: str, where: str) -> Coded | None:
    """A column that a frame holds as categories; None for any other."""
    package = type(values).__module__.split(".")[0]
    if package == "pandas" and type(getattr(values, "dtype", None)).__name__ == "CategoricalDtype":
        return coded(np.asarray(values.cat.codes, dtype=np.int64), list(values.cat.categories), name, where)
    if package == "polars" and str(values.dtype).split("(")[0] in ("Categorical", "Enum"):
        if str(values.dtype).startswith("Enum"):
            known = values.dtype.categories.to_list()
            place = {value: code for code, value in enumerate(known)}
            return coded(np.array([place.get(value, -1) for value in values.to_list()]), known, name, where)
        # Physical codes have gaps where the process knows more categories than the column holds.
        physical = values.to_physical().to_list()
        found = dict(sorted((code, text) for code, text in set(zip(physical, values.to_list(), strict=True)) if text))
        place = {code: rank for rank, code in enumerate(found)}
        return coded(np.array([place.get(code, -1) for code in physical]), list(found.values()), name, where)
    if package == "pyarrow" and str(values.type).startswith("dictionary"):
        chunked = values.unify_dictionaries() if hasattr(values, "unify_dictionaries") else values
        chunks = chunked.chunks if hasattr(chunked, "chunks") else [chunked]
        codes = [np.asarray(chunk.indices.fill_null(-1)).astype(np.int64) for chunk in chunks]
        known = chunks[0].dictionary.to_pylist() if chunks else []
        return coded(np.concatenate([np.zeros(0, dtype=np.int64), *codes]), known, name, where)
    return None


def _entries(values: Any) -> Any:
    """The entries of a column one by one, or numpy's datetimes; what pandas holds as missing is None."""
    package = type(values).__module__.split(".")[0]
    if package == "pandas":
        if getattr(values.dtype, "kind", "O") == "M":
            # A time with a zone becomes that of UTC.
            plain = values.dt.tz_convert(None) if getattr(values.dt, "tz", None) is not None else values
            return plain.to_numpy(dtype="datetime64[us]")
        return [None if missing else value for value, missing in zip(values, values.isna(), strict=True)]
    if package == "polars":
        return values.to_list()
    return values.to_pylist() if package == "pyarrow" else values


def _values_of(held: Coded) -> list[Any]:
    return [None if np.isnan(code) else held.encoding[int(code)] for code in held.codes]


def numbers(values: Any, name: str, where: str) -> NDArray[Any]:
    """A column as a one-dimensional numeric array; missing entries become NaN.

    What an entry becomes depends on that entry and the column's type alone, so that a column of Arrow can be read in
    parts. Raises ColumnTypeError or TableError.
    """
    convert = _CONVERSIONS.get(type(values).__module__.split(".")[0])
    array = np.asarray(values) if convert is None else convert(values, name, where)
    if array.ndim != 1:
        raise TableError(f"{where}: column {name!r} has shape {array.shape}, wanted one dimension")
    if array.dtype.kind == "c":
        raise TableError(f"{where}: column {name!r}: Complex data not supported, wanted real numbers")
    if array.dtype.kind == "O":
        return _from_objects(array, name, where)
    if array.dtype.kind not in "biuf":
        raise not_numbers(name, where, str(array.dtype))
    return array


def _from_objects(array: NDArray[Any], name: str, where: str) -> NDArray[np.float64]:
    for row, value in enumerate(array):
        # float() would parse these; a column of text is a mistake, not a column of numbers.
        if isinstance(value, (str, bytes)):
            raise not_numbers(name, where, f"the text {value!r} in row {row}")
    try:
        return np.array([np.nan if value is None else float(value) for value in array], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise not_numbers(name, where, f"objects ({error})") from error


def _from_pandas(series: Any, name: str, where: str) -> NDArray[Any]:
    if isinstance(series.dtype, np.dtype):
        return np.asarray(series.to_numpy())
    # Nullable and Arrow-backed types know how to become floats; categories, text and dates do not.
    if getattr(series.dtype, "kind", "O") not in "biuf":
        raise not_numbers(name, where, str(series.dtype))
    return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))


def _from_polars(series: Any, name: str, where: str) -> NDArray[Any]:
    dtype = series.dtype
    if not (dtype.is_numeric() or str(dtype) in ("Boolean", "Null")):
        raise not_numbers(name, where, str(dtype))
    if dtype.is_decimal() or series.null_count() or str(dtype) == "Null":
        # A cast keeps null apart from the values; to_numpy then writes it as NaN.
        series = series.cast(import_module("polars").Float64)
    return np.asarray(series.to_numpy())


def is_arrow_number(kind: Any) -> bool:
    """Whether a column of this Arrow type can be a feature: booleans, integers, floats, decimals, or only nulls."""
    types = import_module("pyarrow").types
    tests = (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def _from_arrow(column: Any, name: str, where: str) -> NDArray[Any]:
    pyarrow = import_module("pyarrow")
    types = pyarrow.types
    kind = column.type
    if not is_arrow_number(kind):
        raise not_numbers(name, where, str(kind))
    if types.is_decimal(kind) or types.is_null(kind):
        column = column.cast(pyarrow.float64())
    elif types.is_boolean(kind):
        column = column.cast(pyarrow.uint8())
    if column.null_count and types.is_integer(column.type):
        # Straight to float32: through float64 a value would be rounded twice, and only where some other row is null.
        values = np.asarray(column.fill_null(0)).astype(np.float32)
        values[np.asarray(column.is_null())] = np.nan
        return values
    return np.asarray(column)


_CONVERSIONS = {"pandas": _from_pandas, "polars": _from_polars, "pyarrow": _from_arrow}


def not_numbers(name: str, where: str, held: str) -> ColumnTypeError:
    """The error for a column that holds what `held` says."""
    if any(word in held.lower() for word in ("datetime", "timestamp", "date")):
        return ColumnTypeError(
            f"{where}: column {name!r} holds {held}, wanted real numbers; turn dates into numbers, such as days since "
            "1970-01-01, or name the column in `dates` of [data], which does that"
        )
    return ColumnTypeError(
        f"{where}: column {name!r} holds {held}, wanted real numbers or categories; make it a category (such as "
        "astype('category') in pandas), name it in `categorical` of [data], encode it as numbers or leave it out"
    )
