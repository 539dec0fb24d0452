"""From what a caller passes as X to the rows of each user.

Two forms: a list with a pair (X, y) per user; or one table whose rows `users` divides. Every user has the same columns:
named ones in any order, unnamed ones by position.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.labels import read_weights
from vfxgb.data.table import Table
from vfxgb.errors import ColumnNameError, LabelError, LengthMismatchError, PartiesError, TableError
from vfxgb.estimator.data import Layout, has_names
from vfxgb.estimator.labels import read_target

Float32Array = NDArray[np.float32]

FORMS = "wanted a list with a pair (X, y) per user, or fit(X, y, users=ids) with the user of each row"


@dataclass(frozen=True)
class UsersData:
    """The rows of all users.

    `ids`: the users, as the caller names them. `X`: per user float32[n, F], NaN is missing. `labels`: of all users
    together, in the order of users and rows; `starts`: where each user's begin, and their number. `weights`: per user.
    """

    ids: tuple[Any, ...]
    X: tuple[Float32Array, ...]
    labels: NDArray[Any]
    starts: tuple[int, ...]
    weights: tuple[Float32Array | None, ...]
    names: tuple[str, ...]
    named: bool

    def layout(self, party: str, missing: float) -> Layout:
        """All columns at one party: for prediction."""
        return Layout({party: self.names}, self.names, party, self.named, missing)


def read_users(X: Any, y: Any, users: Any, weights: Any, missing: float) -> UsersData:
    """The rows of each user, without those of weight 0. Raises errors that name the user."""
    if y is None and isinstance(X, Sequence) and not isinstance(X, str | bytes):
        if users is not None:
            raise PartiesError(f"reading users: found a list of users and users= as well, {FORMS}")
        return _read_list(X, weights, missing)
    if y is None:
        raise PartiesError(f"reading users: found {type(X).__name__} without y, {FORMS}")
    if users is None:
        raise PartiesError(f"reading users: found X and y without users=, {FORMS}")
    return _read_divided(X, y, users, weights, missing)


def user_name(user: Any) -> str:
    """A user in messages."""
    return f"user {user!r}"


def _read_list(given: Sequence[Any], weights: Any, missing: float) -> UsersData:
    pairs = list(given)
    if not pairs or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        wrong = next((i for i, pair in enumerate(pairs) if not (isinstance(pair, tuple | list) and len(pair) == 2)), 0)
        found = f"{type(pairs[wrong]).__name__} as entry {wrong}" if pairs else "an empty list"
        raise PartiesError(f"reading users: found {found}, {FORMS}")
    each = [None] * len(pairs) if weights is None else list(weights)
    if len(each) != len(pairs):
        raise LengthMismatchError(
            f"reading users: found {len(each)} entries in sample_weight, wanted {len(pairs)}, one list per user"
        )
    matrices: list[Float32Array] = []
    labels: list[NDArray[Any]] = []
    kept_weights: list[Float32Array | None] = []
    names: tuple[str, ...] = ()
    named = has_names(pairs[0][0])
    for user, ((rows, target), own) in enumerate(zip(pairs, each, strict=True)):
        name = user_name(user)
        try:
            table = Table.read(rows, party=name, missing=missing)
        except TableError as error:
            raise TableError(f"{error} Leave {name} out, or mend its table") from None
        if user == 0:
            names = table.names
        elif has_names(rows) != named:
            raise ColumnNameError(
                f"reading the columns of {name}: they are {'named' if not named else 'not named'} and those of user 0 "
                f"{'are' if named else 'are not'}, wanted the same for all users"
            )
        elif not named and table.n_features == len(names):
            table = replace(table, names=names)
        X = table.align(names, "the columns").matrix()
        y = read_target(target, len(X), name)
        weight = read_weights(own, len(X), name)
        X, y, weight = _with_weight(X, y, weight)
        matrices.append(X)
        labels.append(y)
        kept_weights.append(weight)
    return _joined(tuple(range(len(pairs))), matrices, labels, kept_weights, names, named)


def _read_divided(X: Any, y: Any, users: Any, weights: Any, missing: float) -> UsersData:
    table = Table.read(X, missing=missing)
    n = table.n_rows
    ids = np.asarray(users)
    if ids.shape != (n,):
        raise LengthMismatchError(
            f"reading users: users= has shape {ids.shape}, wanted ({n},), the user of each row of X"
        )
    if ids.dtype.kind == "f" and np.isnan(ids).any():
        raise PartiesError(f"reading users: users= is NaN in row {int(np.argmax(np.isnan(ids)))}, wanted a user")
    try:
        found, number = np.unique(ids, return_inverse=True)
    except TypeError as error:
        raise PartiesError(f"reading users: users= holds values that do not sort ({error}); use one type") from error
    target = read_target(y, n, "")
    weight = read_weights(weights, n)
    order = np.argsort(number, kind="stable")
    bounds = np.searchsorted(number[order], np.arange(1, len(found)))
    rows = table.matrix()
    parts = [
        _with_weight(rows[mine], target[mine], None if weight is None else weight[mine])
        for mine in np.split(order, bounds)
    ]
    for user, (part, _, _) in zip(found.tolist(), parts, strict=True):
        if len(part) == 0:
            raise PartiesError(f"reading {user_name(user)}: all its rows have weight 0, wanted one above; leave it out")
    matrices, labels, kept = zip(*parts, strict=True)
    return _joined(tuple(found.tolist()), matrices, labels, kept, table.names, has_names(X))


def _with_weight(
    X: Float32Array, y: NDArray[Any], weight: Float32Array | None
) -> tuple[Float32Array, NDArray[Any], Float32Array | None]:
    """Without rows of weight 0, which shape neither cut points nor anything else."""
    if weight is None or weight.all():
        return X, y, weight
    kept = weight > 0
    return X[kept], y[kept], weight[kept]


def _joined(
    ids: tuple[Any, ...],
    X: Sequence[Float32Array],
    labels: Sequence[NDArray[Any]],
    weights: Sequence[Float32Array | None],
    names: tuple[str, ...],
    named: bool,
) -> UsersData:
    kinds = {"number" if part.dtype.kind in "biuf" else part.dtype.kind for part in labels}
    if len(kinds) > 1:
        odd = next(i for i, part in enumerate(labels) if part.dtype.kind != labels[0].dtype.kind)
        raise LabelError(
            f"reading labels of {user_name(ids[odd])}: found {labels[odd].dtype} and at {user_name(ids[0])} "
            f"{labels[0].dtype}, wanted labels of one type at all users"
        )
    starts = np.cumsum([0, *(len(part) for part in labels)])
    return UsersData(ids, tuple(X), np.concatenate(labels), tuple(starts.tolist()), tuple(weights), names, named)
