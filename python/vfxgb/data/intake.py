"""From what users hold to named one-dimensional arrays of real numbers, without importing what they did not.

Frames of pandas, polars and pyarrow are recognised by the module of their class, so none of these packages is loaded
unless the caller already has it; Parquet needs one of them and says so. Nothing is parsed or encoded on the way:
strings, dates and categories are refused by name.
"""

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.files import read_file
from vfxgb.data.places import absent_column, reading
from vfxgb.errors import ColumnNameError, ColumnTypeError, TableError

Columns = list[tuple[str, NDArray[Any]]]


def read_source(data: Any, names: Sequence[str] | None, party: str, columns: Sequence[str] | None = None) -> Columns:
    """The (name, values) pairs of `data`; values are bool, integer or float arrays, views where possible.

    `names` is for arrays only; `columns`, if given, picks columns before any is converted. Raises TableError,
    ColumnNameError or ColumnTypeError naming party and column.
    """
    where = reading(party)
    if isinstance(data, (str, os.PathLike)):
        data = read_file(data, where, columns)
    if hasattr(data, "tocsr") or type(data).__module__.startswith("scipy.sparse"):
        raise ColumnTypeError(f"{where}: found a sparse matrix, and sparse data is not supported; pass X.toarray()")
    raw = _raw_columns(data, where)
    if raw is None:
        raw = _array_columns(data, names, where)
    elif names is not None and list(names) != [str(name) for name, _ in raw]:
        raise ColumnNameError(f"{where}: the data has column names of its own; rename them there, or pass an array")
    picked = raw if columns is None else _pick(raw, columns, where)
    return [(str(name), numbers(values, str(name), where)) for name, values in picked]


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
    """The error for a column that holds `found`."""
    return ColumnTypeError(
        f"{where}: column {name!r} holds {held}, wanted real numbers; encode it as numbers or leave it out"
    )
