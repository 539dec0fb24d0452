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
# Rows, labels and weights of a user.
Part = tuple[Float32Array, NDArray[Any], Float32Array | None]

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
    if not pairs:
        raise PartiesError(f"reading users: found an empty list, {FORMS}")
    for i, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise PartiesError(f"reading users: found {type(pair).__name__} as entry {i}, {FORMS}")
    each = [None] * len(pairs) if weights is None else list(weights)
    if len(each) != len(pairs):
        raise LengthMismatchError(
            f"reading users: found {len(each)} entries in sample_weight, wanted {len(pairs)}, one list per user"
        )
    parts: list[Part] = []
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
        parts.append(_with_weight(X, read_target(target, len(X), name), read_weights(own, len(X), name)))
    return _joined(tuple(range(len(pairs))), parts, names, named)


def _read_divided(X: Any, y: Any, users: Any, weights: Any, missing: float) -> UsersData:
    table = Table.read(X, missing=missing)
    n = table.n_rows
    user_of = np.asarray(users)
    if user_of.shape != (n,):
        raise LengthMismatchError(
            f"reading users: users= has shape {user_of.shape}, wanted ({n},), the user of each row of X"
        )
    if user_of.dtype.kind == "f" and np.isnan(user_of).any():
        raise PartiesError(f"reading users: users= is NaN in row {int(np.argmax(np.isnan(user_of)))}, wanted a user")
    try:
        ids, number = np.unique(user_of, return_inverse=True)
    except TypeError as error:
        raise PartiesError(f"reading users: users= holds values that do not sort ({error}); use one type") from error
    target = read_target(y, n, "")
    weight = read_weights(weights, n)
    order = np.argsort(number, kind="stable")
    rows = table.matrix()
    parts = [
        _with_weight(rows[mine], target[mine], None if weight is None else weight[mine])
        for mine in np.split(order, np.searchsorted(number[order], np.arange(1, len(ids))))
    ]
    for user, (part, _, _) in zip(ids.tolist(), parts, strict=True):
        if len(part) == 0:
            raise PartiesError(f"reading {user_name(user)}: all its rows have weight 0, wanted one above; leave it out")
    return _joined(tuple(ids.tolist()), parts, table.names, has_names(X))


def _with_weight(X: Float32Array, y: NDArray[Any], weight: Float32Array | None) -> Part:
    """Without rows of weight 0, which shape neither cut points nor anything else."""
    if weight is None or weight.all():
        return X, y, weight
    kept = weight > 0
    return X[kept], y[kept], weight[kept]


def _joined(ids: tuple[Any, ...], parts: Sequence[Part], names: tuple[str, ...], named: bool) -> UsersData:
    X, labels, weights = zip(*parts, strict=True)
    kinds = {"number" if part.dtype.kind in "biuf" else part.dtype.kind for part in labels}
    if len(kinds) > 1:
        odd = next(i for i, part in enumerate(labels) if part.dtype.kind != labels[0].dtype.kind)
        raise LabelError(
            f"reading labels of {user_name(ids[odd])}: found {labels[odd].dtype} and at {user_name(ids[0])} "
            f"{labels[0].dtype}, wanted labels of one type at all users"
        )
    starts = np.cumsum([0, *(len(part) for part in labels)])
    return UsersData(ids, X, np.concatenate(labels), tuple(starts.tolist()), weights, names, named)
