"""A fitted estimator as a file: the model with all its shares, and what the estimator needs to predict with it.

What JSON cannot hold is left out: callables and callbacks among the parameters, and the ledger, traffic and timings of
the fit. Numbers that JSON has no word for stand there as {"float": "nan"}; mappings as lists of pairs, in their order.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import ExportError, FormatError
from vfxgb.estimator.data import Layout


class SavedClasses(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The classes of a classifier: numpy's name of their type, and each of them."""

    dtype: str
    values: list[Any]


class SavedLayout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """See Layout; the parties with their columns are pairs, in party order."""

    parties: list[tuple[str, tuple[str, ...]]]
    order: tuple[str, ...]
    active: str
    named: bool
    missing: Any


class About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file says about a model beside its shares.

    `ran`: role of the party with the trees, name and parameters of the protocol or aggregator. `others`: further
    attributes of the estimator, by name.
    """

    estimator: str
    params: Any
    layout: SavedLayout
    ran: tuple[str, str, Any]
    classes: SavedClasses | None
    evals_result: Any
    best_iteration: int | None
    best_score: Any
    others: Any


def classes_to_save(classes: NDArray[Any] | None) -> SavedClasses | None:
    """The classes for a file. Raises ExportError for classes that JSON cannot hold."""
    if classes is None:
        return None
    try:
        return SavedClasses(classes.dtype.str, [to_plain(value) for value in classes.tolist()])
    except TypeError:
        raise ExportError(
            f"saving the model: found classes of type {classes.dtype}, which a file of JSON cannot hold; train on "
            "classes that are text or numbers, or use pickle"
        ) from None


def classes_from(saved: SavedClasses) -> NDArray[Any]:
    """The classes as training found them. Raises FormatError."""
    values = [from_plain(value) for value in saved.values]
    try:
        dtype = np.dtype(saved.dtype)
        if dtype.kind not in "biufUO":
            raise TypeError(f"type {saved.dtype!r}")
        return np.array(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"reading a model: its classes are none ({error}); use an intact copy") from None


def layout_to_save(layout: Layout) -> SavedLayout:
    """The layout for a file."""
    parties = [(party, tuple(names)) for party, names in layout.parties.items()]
    return SavedLayout(parties, layout.order, layout.active, layout.named, to_plain(layout.missing))


def layout_from(saved: SavedLayout) -> Layout:
    """The layout as training found it."""
    return Layout(dict(saved.parties), saved.order, saved.active, saved.named, float(from_plain(saved.missing)))


def plain_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Those parameters that JSON can hold."""
    return {name: to_plain(value) for name, value in params.items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    try:
        to_plain(value)
    except TypeError:
        return False
    return True


def to_plain(value: Any) -> Any:
    """A value as JSON. Raises TypeError for one that it cannot hold."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {"pairs": [[to_plain(key), to_plain(entry)] for key, entry in value.items()]}
    if isinstance(value, (list, tuple)):
        return [to_plain(entry) for entry in value]
    raise TypeError(type(value).__name__)


def from_plain(value: Any) -> Any:
    """What `to_plain` was given. Raises FormatError."""
    if isinstance(value, list):
        return [from_plain(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    try:
        if "float" in value:
            return float(value["float"])
        return {from_plain(key): from_plain(entry) for key, entry in value["pairs"]}
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"reading a model: found {value!r} among what is said of it ({error!r})") from None


def read_about(found: Any, path: str | Path) -> About:
    """What a file says about its model. Raises FormatError."""
    try:
        return msgspec.convert(found, About)
    except msgspec.ValidationError as error:
        raise FormatError(f"reading the model {str(path)!r}: {error}; was it written by an estimator?") from None
