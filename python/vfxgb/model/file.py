"""A share as a file: one JSON document per party, versioned, written atomically, its digests checked when read."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb.checksum import FIELD, checksum, is_whole
from vfxgb.data.column_regressions import MAX_COLUMNS, MAX_SLOPE, MAX_WEIGHT, ColumnRegressions
from vfxgb.data.impute import REGRESSION
from vfxgb.errors import FormatError, ShareMismatchError
from vfxgb.files import write_atomically
from vfxgb.model.leanings import MAX_LEAN, STRATA, Leanings
from vfxgb.model.seal import check_own
from vfxgb.model.shares import (
    CONDITIONAL,
    LEAF,
    ActiveShare,
    CategorySets,
    PassiveShare,
    Seal,
    SplitPaths,
    SplitRecords,
    TreeShape,
)

FORMAT = "vfxgb share"
VERSION = 1
# What the entries of an array are in the file, by numpy's letter for the kind of its type.
_ENTRIES: dict[str, Any] = {"b": list[bool], "i": list[int], "f": list[float]}


class _Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What only the active party's file has: fields of ActiveShare, in the order of the file."""

    parties: tuple[str, ...]
    n_outputs: int
    objective: str
    base_margin: NDArray[np.float64]
    base_score: NDArray[np.float64]
    missing_strategy: str
    params: dict[str, Any]
    best_iteration: int | None
    trees: tuple[TreeShape, ...]
    private_stage: "_File | None" = None


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The document. `checksum` is that of the whole file; files of versions that wrote none and private last stages
    lack it. Only a passive party's file has `paths`.
    """

    format: str
    version: int
    role: str
    run: str
    party: str
    seal: Seal
    records: SplitRecords
    model: _Model | None = None
    paths: SplitPaths | None = None
    checksum: str | msgspec.UnsetType = msgspec.UNSET


def save_share(share: ActiveShare | PassiveShare, path: str | Path) -> None:
    """Write a share to `path`, atomically and with a checksum. Raises OSError."""
    write_document(share_document(share), path)


def share_document(share: ActiveShare | PassiveShare) -> dict[str, Any]:
    """A share as the document of its file, with its checksum."""
    document: dict[str, Any] = msgspec.to_builtins(_document(share), enc_hook=np.ndarray.tolist)
    document[FIELD] = checksum(document)
    return document


def write_document(document: dict[str, Any], path: str | Path) -> None:
    """Write a document as JSON, atomically. Raises OSError."""
    write_atomically(Path(path), json.dumps(document, allow_nan=False, separators=(",", ":")).encode())


def _document(share: ActiveShare | PassiveShare) -> _File:
    if isinstance(share, PassiveShare):
        return _File(FORMAT, VERSION, "passive", share.run, share.party, share.seal, share.records, paths=share.paths)
    fields = {name: getattr(share, name) for name in _Model.__struct_fields__}
    stage = None if share.private_stage is None else _document(share.private_stage)
    model = _Model(**fields | {"params": dict(share.params), "private_stage": stage})
    return _File(FORMAT, VERSION, "active", share.run, share.party, share.seal, share.records, model)


def load_share(path: str | Path) -> ActiveShare | PassiveShare:
    """The share in a file.

    Raises FormatError for a file that is none (or of another version), ShareMismatchError for altered contents,
    OSError.
    """
    where = f"reading the model share {str(path)!r}"
    return read_share(read_json(path, where), where)


def read_json(path: str | Path, where: str) -> Any:
    """What JSON a file holds. Raises FormatError, OSError."""
    data = Path(path).read_bytes()
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        # ValueError: text that is no UTF-8.
        raise FormatError(f"{where}: it is no JSON document ({error}); is it the right file, and whole?") from None


def read_share(head: Any, where: str) -> ActiveShare | PassiveShare:
    """The share in a document. Raises FormatError and ShareMismatchError as load_share does."""
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise FormatError(f"{where}: it is no vfxgb model share")
    if head.get("version") != VERSION:
        raise FormatError(
            f"{where}: found version {head.get('version')!r}, wanted {VERSION}; read it with the vfxgb that wrote it"
        )
    try:
        document = msgspec.convert(head, _File, dec_hook=_array)
        share = _share(document, where)
        whole = is_whole(head)
    except (msgspec.ValidationError, OverflowError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{where}: {error}") from None
    check_own(share)
    if isinstance(share, ActiveShare) and share.private_stage is not None:
        check_own(share.private_stage)
    if not whole:
        raise ShareMismatchError(
            f"{where}: it was damaged or changed after it was written: its contents do not match its checksum; use an "
            "intact copy"
        )
    return share


def load_shares(paths: Iterable[Path]) -> tuple[ActiveShare | None, dict[str, PassiveShare]]:
    """The shares in files, which must be of one run: the active party's if it is among them, and the others.

    Raises ShareMismatchError, and what load_share raises.
    """
    active: ActiveShare | None = None
    passive: dict[str, PassiveShare] = {}
    first: ActiveShare | PassiveShare | None = None
    for path in paths:
        share = load_share(path)
        first = first or share
        if (share.run, share.seal.model) != (first.run, first.seal.model):
            raise ShareMismatchError(
                f"reading {str(path)!r}: its share is of another run, or another state of it, than that of "
                f"{first.party!r}; give shares that were saved together"
            )
        if share.party in passive or (active is not None and share.party == active.party):
            raise ShareMismatchError(f"reading {str(path)!r}: a second share of party {share.party!r}; give it once")
        if isinstance(share, ActiveShare):
            active = share
        else:
            passive[share.party] = share
    return active, passive


def _array(kind: Any, value: Any) -> NDArray[Any]:
    """An array of type NDArray[...] from a list. Raises ValueError, which msgspec tells with the place."""
    dtype = np.dtype(get_args(get_args(kind)[1])[0])
    try:
        return np.array(msgspec.convert(value, _ENTRIES[dtype.kind]), dtype=dtype)
    except (msgspec.ValidationError, OverflowError) as error:
        raise ValueError(str(error)) from None


def _share(document: _File, where: str) -> ActiveShare | PassiveShare:
    check_records(document.records, where)
    model = document.model
    whole = (document.role == "active") == (model is not None)
    if document.role not in ("active", "passive") or not whole or (model and document.paths):
        raise FormatError(f"{where}: its role {document.role!r} and its contents do not go together")
    if model is None:
        if document.paths is not None:
            check_paths(document.paths, len(document.records), where)
            _check_ways(document.records, document.paths.missing_strategy, where)
        return PassiveShare(document.run, document.party, document.records, document.seal, document.paths)
    _check_ways(document.records, model.missing_strategy, where)
    for tree in model.trees:
        check_tree(tree, len(model.parties), where)
    lengths = (len(model.base_margin), len(model.base_score))
    if model.n_outputs < 1 or lengths != (model.n_outputs,) * 2 or len(model.trees) % model.n_outputs:
        raise FormatError(
            f"{where}: {len(model.trees)} trees and {lengths} start values do not fit {model.n_outputs} outputs"
        )
    if document.party not in model.parties:
        raise FormatError(f"{where}: party {document.party!r} is none of {list(model.parties)}")
    fields: dict[str, Any] = {name: getattr(model, name) for name in _Model.__struct_fields__}
    if model.private_stage is not None:
        fields["private_stage"] = _stage(model.private_stage, document, where)
    return ActiveShare(document.run, document.party, records=document.records, seal=document.seal, **fields)


def _stage(part: _File, document: _File, where: str) -> ActiveShare:
    stage = _share(part, where)
    whole = isinstance(stage, ActiveShare) and stage.parties == (document.party,) and stage.private_stage is None
    if not whole or stage.run != document.run or document.model is None:
        raise FormatError(f"{where}: its private last stage is not one of the same party and run")
    assert isinstance(stage, ActiveShare)  # noqa: S101 - it is `whole`
    if stage.n_outputs != document.model.n_outputs:
        raise FormatError(f"{where}: its private last stage has {stage.n_outputs} outputs, the model others")
    return stage


def check_records(records: SplitRecords, where: str) -> None:
    """Raise FormatError unless the arrays are of one length and name features that exist."""
    lengths = {len(records.feature), len(records.cut), len(records.default_left)}
    outside = (records.feature < 0) | (records.feature >= len(records.features))
    filled = records.fill is None or len(records.fill) == len(records.features)
    if len(lengths) != 1 or outside.any() or not filled:
        raise FormatError(f"{where}: its records are of different lengths or name features that do not exist")
    if records.regressions is not None:
        _check_regressions(records.regressions, len(records.features), where)
    if records.categories is not None:
        _check_categories(records.categories, records, where)
    if records.leanings is not None:
        _check_leanings(records.leanings, records, where)


def _check_categories(sets: CategorySets, records: SplitRecords, where: str) -> None:
    """Raise FormatError unless splits of features of categories, and no others, have sets of codes that exist."""
    counts = [None if known is None else len(known) for known in sets.encodings]
    sound = (
        len(counts) == len(records.features)
        and len(sets.start) == len(records) + 1
        and int(sets.start[0]) == 0
        and bool((np.diff(sets.start) >= 0).all())
        and int(sets.start[-1]) == len(sets.codes)
        and all(_fits(sets.right(record), counts[records.feature[record]]) for record in range(len(records)))
    )
    if not sound:
        raise FormatError(f"{where}: its categories are not those of {len(records)} splits and {len(counts)} features")


def _fits(right: NDArray[np.int32] | None, count: int | None) -> bool:
    """Whether a set of codes is one of a feature of `count` categories, and there is none for a feature of numbers."""
    if right is None or count is None:
        return right is None and count is None
    return bool(right[0] >= 0 and right[-1] < count and (np.diff(right) > 0).all())


def _check_regressions(regressions: ColumnRegressions, n_features: int, where: str) -> None:
    """Raise FormatError unless there is a regression for each feature, of numbers that fitting can give."""
    own, square = regressions, n_features * n_features
    numbers = (own.median, own.spread, own.low, own.high, own.slope, own.offset)
    lengths = {len(array) for array in (*numbers, own.known)}
    sound = (
        lengths == {n_features}
        and len(own.weights) == square
        and n_features <= MAX_COLUMNS
        and all(bool(np.isfinite(array).all()) for array in numbers)
        and bool((own.spread >= 0).all() and (own.low <= own.high).all())
        and bool((np.abs(own.slope) <= MAX_SLOPE).all() and (np.abs(own.weights.astype(np.int64)) < MAX_WEIGHT).all())
        and not own.weights.reshape(n_features, n_features).diagonal().any()
    )
    if not sound:
        raise FormatError(f"{where}: its regressions are not those of {n_features} features")


def _check_leanings(leanings: Leanings, records: SplitRecords, where: str) -> None:
    """Raise FormatError unless there is a lean for each split and class of rows."""
    n_features = len(records.features)
    _check_regressions(leanings.regressions, n_features, where)
    sound = (
        len(leanings.edges) == n_features * (STRATA - 1)
        and len(leanings.leans) == len(records) * STRATA
        and bool(np.isfinite(leanings.edges).all())
        and bool((np.diff(leanings.edges.reshape(n_features, -1), axis=1) >= 0).all())
        and bool((np.abs(leanings.leans.astype(np.int64)) <= MAX_LEAN).all())
    )
    if not sound:
        raise FormatError(f"{where}: its leanings are not those of {len(records)} splits and {n_features} features")


def _check_ways(records: SplitRecords, missing_strategy: str, where: str) -> None:
    """Raise FormatError where records lack what the way to treat missing values needs, or have what it does not."""
    wanted = (missing_strategy == REGRESSION, missing_strategy == CONDITIONAL)
    if (records.regressions is not None, records.leanings is not None) != wanted:
        raise FormatError(
            f"{where}: its records and missing_strategy={missing_strategy!r} do not go together; use an intact copy"
        )


def check_paths(paths: SplitPaths, n_records: int, where: str) -> None:
    """Raise FormatError unless every record has a place, below a record of the same tree that was made before it."""
    if {len(paths.tree), len(paths.depth), len(paths.above)} != {n_records}:
        raise FormatError(f"{where}: its paths are not of {n_records} records, one place each")
    below = np.flatnonzero(paths.above >= 0)
    over = paths.above[below] // 2
    sound = (
        bool((paths.tree >= 0).all() and (paths.depth >= 0).all() and (paths.above >= -1).all())
        and bool((over < below).all())
        and bool((paths.tree[over] == paths.tree[below]).all() and (paths.depth[over] < paths.depth[below]).all())
    )
    if not sound:
        raise FormatError(f"{where}: its paths do not lie in trees")


def check_tree(tree: TreeShape, n_parties: int, where: str) -> None:
    """Raise FormatError unless the arrays are one tree: walks end, children know their parents."""
    n = tree.n_nodes
    arrays = (tree.record, tree.left, tree.right, tree.parent, tree.value, tree.gain, tree.cover)
    if n == 0 or any(len(array) != n for array in arrays):
        raise FormatError(f"{where}: a tree has no nodes, or arrays of different lengths")
    inner = tree.party != LEAF
    nodes = np.flatnonzero(inner)
    left, right = tree.left[inner], tree.right[inner]
    sound = (
        bool(((tree.party >= LEAF) & (tree.party < n_parties)).all())
        and bool((tree.record[inner] >= 0).all())
        and bool((left > nodes).all() and (right > nodes).all() and (left < n).all() and (right < n).all())
        and bool((tree.left[~inner] == LEAF).all() and (tree.right[~inner] == LEAF).all())
        and len(nodes) * 2 + 1 == n
        and len(np.unique(np.concatenate([left, right]))) == 2 * len(nodes)
    )
    if not sound or not (np.array_equal(tree.parent[left], nodes) and np.array_equal(tree.parent[right], nodes)):
        raise FormatError(f"{where}: the nodes of a tree do not form a tree")
