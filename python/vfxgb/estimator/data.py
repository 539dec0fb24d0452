"""From what a user passes as X to one table per party, at fit and again, with the same columns, afterwards.

X is one table whose columns `parties` divides, or a mapping from party to that party's own table. Columns without names
are numbered f0, f1, ... over the whole of X: in a mapping the second party goes on where the first one ended, so that
both forms of the same data have the same names.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.labels import read_weights
from vfxgb.data.parties import check_parties, split_by_party
from vfxgb.data.table import Table
from vfxgb.errors import ColumnNameError, CutsError, LengthMismatchError, PartiesError
from vfxgb.estimator.labels import encode_labels, read_target

Tables = dict[str, Table]
Slices = list[tuple[str, slice]]
Parties = Mapping[str, Sequence[str | int]]
# The party of data that nobody divided.
ONLY_PARTY = "active"


@dataclass(frozen=True)
class Layout:
    """Who holds which columns, as training found it.

    `parties`: party -> columns, in party order. `order`: all columns in the order of X. `active`: who has the label.
    `named`: the columns have names of the user's, all of them strings. `missing`: the value that counts as missing.
    """

    parties: Mapping[str, tuple[str, ...]]
    order: tuple[str, ...]
    active: str
    named: bool
    missing: float


@dataclass(frozen=True)
class EvalSet:
    """One eval set: its tables, labels [n] and weights float32[n] or None."""

    name: str
    tables: Tables
    labels: NDArray[np.floating]
    weights: NDArray[np.float32] | None


def read_training(X: Any, parties: Parties | None, active: str | None, missing: float) -> tuple[Tables, Layout]:
    """The tables of training, and their layout for everything read later.

    `active` None is the first party. Raises PartiesError when X and `parties` name different parties, and what
    reading a table raises.
    """
    if is_divided(X):
        tables, named = _read_divided(X, parties, missing)
        order = tuple(name for table in tables.values() for name in table.names)
        active = next(iter(tables)) if active is None else active
        check_parties(tables, active)
    else:
        table, named = Table.read(X, missing=missing), has_names(X)
        order = table.names
        if parties is None:
            parties = {active or ONLY_PARTY: table.names}
        elif not parties:
            raise PartiesError(
                "dividing columns: parties is empty, wanted at least one party; pass None for a single one"
            )
        active = next(iter(parties)) if active is None else active
        tables = split_by_party(table, parties, active)
    return tables, Layout({party: t.names for party, t in tables.items()}, order, active, named, missing)


def read_again(X: Any, layout: Layout, what: str, estimator: str) -> Tables:
    """The tables of `X` in the layout of training, for `what` ("eval set 0", "prediction").

    Named columns are found by name, in any order; unnamed ones by position. Raises ColumnNameError for a column too
    many or too few, PartiesError for other parties, LengthMismatchError for parties of different length.
    """
    if not is_divided(X):
        named = has_names(X)
        table = Table.read(X, missing=layout.missing)
        if not named:
            if table.n_features != len(layout.order):
                raise ColumnNameError(
                    f"reading {what}: X has {table.n_features} features, but {estimator} is expecting "
                    f"{len(layout.order)} features as input; pass the columns of training"
                )
            table = replace(table, names=layout.order)
        table = table.align(layout.order, what)
        return {party: table.with_party(party).select(names) for party, names in layout.parties.items()}
    _same_parties(X, layout.parties, what)
    tables = {}
    for party, names in layout.parties.items():
        table = Table.read(X[party], party=party, missing=layout.missing)
        if not has_names(X[party]) and table.n_features == len(names):
            table = replace(table, names=names)
        tables[party] = table.align(names, what)
    check_parties(tables, layout.active)
    return tables


def read_eval_sets(
    eval_set: Sequence[Any] | None,
    weights: Sequence[Any] | None,
    layout: Layout,
    classes: NDArray[Any] | None,
    estimator: str,
) -> list[EvalSet]:
    """The eval sets, named validation_0, validation_1, ... as XGBoost names them.

    `classes`: those of training; None where labels are numbers. Raises LengthMismatchError unless `weights` is None or
    has one entry (None included) per eval set.
    """
    sets = []
    for i, (X, y, weight) in enumerate(eval_triples(eval_set, weights)):
        what = f"eval set {i}"
        tables = read_again(X, layout, what, estimator)
        n_rows = tables[layout.active].n_rows
        labels = encode_labels(read_target(y, n_rows, layout.active, what), classes, layout.active, what)
        sets.append(EvalSet(f"validation_{i}", tables, labels, read_weights(weight, n_rows, layout.active)))
    return sets


def eval_triples(eval_set: Sequence[Any] | None, weights: Sequence[Any] | None) -> list[tuple[Any, Any, Any]]:
    """X, y and weights of each eval set, as given. Raises PartiesError, LengthMismatchError."""
    pairs = list(eval_set) if eval_set is not None else []
    each = list(weights) if weights is not None else [None] * len(pairs)
    if len(each) != len(pairs):
        raise LengthMismatchError(
            f"reading eval sets: found {len(each)} entries in sample_weight_eval_set, wanted {len(pairs)}, "
            "one per eval set"
        )
    for i, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise PartiesError(f"reading eval set {i}: found {type(pair).__name__}, wanted a pair (X, y)")
    return [(X, y, weight) for (X, y), weight in zip(pairs, each, strict=True)]


def stack_tables(
    tables: Tables, layout: Layout, labels: NDArray[np.floating], sample_weight: Any, sets: Sequence[EvalSet]
) -> tuple[Tables, NDArray[np.floating], NDArray[np.float64] | None, int, Slices]:
    """The training rows followed by those of every eval set.

    These are the tables, the labels, the weights, how many rows are for training, and where each eval set is.
    Training rows of weight 0 are left out, so that they shape neither cut points nor imputed values. A passive party,
    which never sees weights, so learns which rows take no part at all, as when parties align.
    """
    weight = read_weights(sample_weight, len(labels), layout.active)
    if weight is not None and not weight.all():
        kept = weight > 0
        tables = {party: table.take(kept) for party, table in tables.items()}
        labels, weight = labels[kept], weight[kept]
    stacked = {party: Table.stack([table, *(entry.tables[party] for entry in sets)]) for party, table in tables.items()}
    y, weights, slices = stack_labels(labels, weight, sets)
    return stacked, y, weights, len(labels), slices


def stack_labels(
    labels: NDArray[np.floating], weight: NDArray[np.float32] | None, sets: Sequence[EvalSet]
) -> tuple[NDArray[np.floating], NDArray[np.float64] | None, Slices]:
    """Labels of training rows, then of every eval set; weights, None when no row has one; and where each set is."""
    ends = np.cumsum([len(labels), *(len(entry.labels) for entry in sets)]).tolist()
    slices = [(entry.name, slice(*ends[i : i + 2])) for i, entry in enumerate(sets)]
    parts = [(weight, len(labels)), *((entry.weights, len(entry.labels)) for entry in sets)]
    weights = None
    if any(values is not None for values, _ in parts):
        weights = np.concatenate([np.ones(n) if values is None else values.astype(np.float64) for values, n in parts])
    return np.concatenate([labels, *(entry.labels for entry in sets)]), weights, slices


def read_cuts(cuts: Any, layout: Layout) -> Mapping[str, Any] | None:
    """Cut points by column. A pair is what xgboost's QuantileDMatrix.get_quantile_cut() returns, for the columns of X.

    The pair (starts, values) has feature i's cuts at values[starts[i]:starts[i + 1]]. The first of them lies below all
    values of training and serves splits between missing and present. Raises CutsError for a pair of another shape.
    """
    if cuts is None or isinstance(cuts, Mapping):
        return cuts
    if not isinstance(cuts, tuple) or len(cuts) != 2:
        raise CutsError(
            f"reading cuts: found {type(cuts).__name__}, wanted a mapping from column to cut points, or the pair that "
            "xgboost's get_quantile_cut() returns"
        )
    starts, values = (np.asarray(part) for part in cuts)
    if starts.shape != (len(layout.order) + 1,) or values.ndim != 1 or int(starts[-1]) != len(values):
        raise CutsError(
            f"reading cuts: found {len(starts) - 1} features and {len(values)} cut points, wanted {len(layout.order)} "
            "features, those of X, and as many cut points as the last start says"
        )
    bounds = [int(start) for start in starts]
    return {name: values[bounds[i] : bounds[i + 1]] for i, name in enumerate(layout.order)}


def is_divided(X: Any) -> bool:
    """Whether X is a mapping from party to table; one format of sparse matrices is a mapping too, and no such thing."""
    return isinstance(X, Mapping) and not hasattr(X, "tocsr")


def has_names(data: Any) -> bool:
    """Whether the columns of `data` carry names of their own: a frame with string names, a mapping, a file."""
    if isinstance(data, Mapping | str | os.PathLike | Table):
        return True
    names = getattr(data, "column_names", None)
    if names is None:
        names = getattr(data, "columns", None)
    return names is not None and len(names) > 0 and all(isinstance(name, str) for name in names)


def _read_divided(X: Mapping[str, Any], parties: Parties | None, missing: float) -> tuple[Tables, bool]:
    """One table per party, and whether the names are the user's throughout."""
    if not X:
        raise PartiesError("reading X: the mapping is empty, wanted a table per party")
    if parties is not None:
        _same_parties(X, parties, "X")
    tables: Tables = {}
    taken = 0
    named = True
    for party in parties if parties is not None else X:
        if not isinstance(party, str):
            raise PartiesError(f"reading X: found the party {party!r}, wanted a name; a mapping is party -> its table")
        table = Table.read(X[party], party=party, missing=missing)
        if not has_names(X[party]):
            table = replace(table, names=tuple(f"f{taken + i}" for i in range(table.n_features)))
            named = False
        taken += table.n_features
        if parties is not None:
            wanted = [table.names[name] if isinstance(name, int) else name for name in parties[party]]
            table = table.align(wanted, "X")
        tables[party] = table
    return tables, named


def _same_parties(X: Mapping[str, Any], parties: Mapping[str, Any], what: str) -> None:
    if set(X) != set(parties):
        raise PartiesError(
            f"reading {what}: found tables of {sorted(map(str, X))}, wanted one of each of {sorted(parties)}; "
            "name the parties as in training"
        )
