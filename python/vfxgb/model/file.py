"""A share as a file: one JSON document per party, versioned, written atomically, its digests checked when read."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from vfxgb.checksum import FIELD, checksum, is_whole
from vfxgb.errors import FormatError, ShareMismatchError
from vfxgb.files import write_atomically
from vfxgb.model.seal import check_own
from vfxgb.model.shares import LEAF, ActiveShare, PassiveShare, Seal, SplitPaths, SplitRecords, TreeShape

FORMAT = "vfxgb share"
VERSION = 1


class _Seal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    salt: str
    own: str
    parties: list[tuple[str, str]]
    trees: str
    model: str


class _Records(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    features: list[str]
    feature: list[int]
    cut: list[float]
    default_left: list[bool]
    fill: list[float] | None


class _Paths(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What only a passive party's file has."""

    missing_strategy: str
    tree: list[int]
    depth: list[int]
    above: list[int]


class _Tree(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    party: list[int]
    record: list[int]
    left: list[int]
    right: list[int]
    parent: list[int]
    value: list[float]
    gain: list[float]
    cover: list[float]


class _Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What only the active party's file has."""

    parties: list[str]
    n_outputs: int
    objective: str
    base_margin: list[float]
    base_score: list[float]
    missing_strategy: str
    params: dict[str, Any]
    best_iteration: int | None
    trees: list[_Tree]
    private_stage: "_File | None" = None


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The document. `checksum` is that of the whole file; files of versions that wrote none and private last stages
    lack it.
    """

    format: str
    version: int
    role: str
    run: str
    party: str
    seal: _Seal
    records: _Records
    model: _Model | None = None
    paths: _Paths | None = None
    checksum: str | msgspec.UnsetType = msgspec.UNSET


def save_share(share: ActiveShare | PassiveShare, path: str | Path) -> None:
    """Write a share to `path`, atomically and with a checksum. Raises OSError."""
    document = msgspec.to_builtins(_document(share))
    document[FIELD] = checksum(document)
    write_atomically(Path(path), json.dumps(document, allow_nan=False, separators=(",", ":")).encode())


def _document(share: ActiveShare | PassiveShare) -> _File:
    seal, records = share.seal, share.records
    return _File(
        format=FORMAT,
        version=VERSION,
        role="active" if isinstance(share, ActiveShare) else "passive",
        run=share.run,
        party=share.party,
        seal=_Seal(seal.salt, seal.own, list(seal.parties), seal.trees, seal.model),
        records=_Records(
            list(records.features),
            records.feature.tolist(),
            records.cut.tolist(),
            records.default_left.tolist(),
            None if records.fill is None else list(records.fill),
        ),
        model=_model_part(share) if isinstance(share, ActiveShare) else None,
        paths=_paths_part(share.paths) if isinstance(share, PassiveShare) and share.paths is not None else None,
    )


def _paths_part(paths: SplitPaths) -> _Paths:
    return _Paths(paths.missing_strategy, paths.tree.tolist(), paths.depth.tolist(), paths.above.tolist())


def _model_part(share: ActiveShare) -> _Model:
    return _Model(
        parties=list(share.parties),
        n_outputs=share.n_outputs,
        objective=share.objective,
        base_margin=share.base_margin.tolist(),
        base_score=share.base_score.tolist(),
        missing_strategy=share.missing_strategy,
        params=dict(share.params),
        best_iteration=share.best_iteration,
        trees=[
            _Tree(
                tree.party.tolist(),
                tree.record.tolist(),
                tree.left.tolist(),
                tree.right.tolist(),
                tree.parent.tolist(),
                tree.value.tolist(),
                tree.gain.tolist(),
                tree.cover.tolist(),
            )
            for tree in share.trees
        ],
        private_stage=None if share.private_stage is None else _document(share.private_stage),
    )


def load_share(path: str | Path) -> ActiveShare | PassiveShare:
    """The share in a file.

    Raises FormatError for a file that is none (or of another version), ShareMismatchError for altered contents,
    OSError.
    """
    where = f"reading the model share {str(path)!r}"
    data = Path(path).read_bytes()
    try:
        head = msgspec.json.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        # ValueError: text that is no UTF-8.
        raise FormatError(f"{where}: it is no JSON document ({error}); is it the right file, and whole?") from None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise FormatError(f"{where}: it is no vfxgb model share")
    if head.get("version") != VERSION:
        raise FormatError(
            f"{where}: found version {head.get('version')!r}, wanted {VERSION}; read it with the vfxgb that wrote it"
        )
    try:
        document = msgspec.convert(head, _File)
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


def _share(document: _File, where: str) -> ActiveShare | PassiveShare:
    records = _records(document.records, where)
    seal = Seal(
        document.seal.salt,
        document.seal.own,
        tuple(document.seal.parties),
        document.seal.trees,
        document.seal.model,
    )
    whole = (document.role == "active") == (document.model is not None)
    if document.role not in ("active", "passive") or not whole or (document.model and document.paths):
        raise FormatError(f"{where}: its role {document.role!r} and its contents do not go together")
    model = document.model
    if model is None:
        paths = None if document.paths is None else _split_paths(document.paths, len(records), where)
        return PassiveShare(document.run, document.party, records, seal, paths)
    trees = tuple(_tree(tree, len(model.parties), where) for tree in model.trees)
    lengths = (len(model.base_margin), len(model.base_score))
    if model.n_outputs < 1 or lengths != (model.n_outputs,) * 2 or len(trees) % model.n_outputs:
        raise FormatError(
            f"{where}: {len(trees)} trees and {lengths} start values do not fit {model.n_outputs} outputs"
        )
    if document.party not in model.parties:
        raise FormatError(f"{where}: party {document.party!r} is none of {model.parties}")
    return ActiveShare(
        run=document.run,
        party=document.party,
        parties=tuple(model.parties),
        n_outputs=model.n_outputs,
        objective=model.objective,
        base_margin=np.array(model.base_margin, dtype=np.float64),
        base_score=np.array(model.base_score, dtype=np.float64),
        missing_strategy=model.missing_strategy,
        params=model.params,
        trees=trees,
        records=records,
        best_iteration=model.best_iteration,
        seal=seal,
        private_stage=None if model.private_stage is None else _stage(model.private_stage, document, where),
    )


def _stage(part: _File, document: _File, where: str) -> ActiveShare:
    stage = _share(part, where)
    whole = isinstance(stage, ActiveShare) and stage.parties == (document.party,) and stage.private_stage is None
    if not whole or stage.run != document.run or document.model is None:
        raise FormatError(f"{where}: its private last stage is not one of the same party and run")
    assert isinstance(stage, ActiveShare)  # noqa: S101 - it is `whole`
    if stage.n_outputs != document.model.n_outputs:
        raise FormatError(f"{where}: its private last stage has {stage.n_outputs} outputs, the model others")
    return stage


def _records(part: _Records, where: str) -> SplitRecords:
    lengths = {len(part.feature), len(part.cut), len(part.default_left)}
    outside = any(not 0 <= feature < len(part.features) for feature in part.feature)
    if len(lengths) != 1 or outside or (part.fill is not None and len(part.fill) != len(part.features)):
        raise FormatError(f"{where}: its records are of different lengths or name features that do not exist")
    return SplitRecords(
        tuple(part.features),
        np.array(part.feature, dtype=np.int32),
        np.array(part.cut, dtype=np.float64),
        np.array(part.default_left, dtype=np.bool_),
        None if part.fill is None else tuple(part.fill),
    )


def _split_paths(part: _Paths, n_records: int, where: str) -> SplitPaths:
    """The paths of so many records. Raises FormatError for arrays that no trees have."""
    paths = SplitPaths(
        part.missing_strategy,
        np.array(part.tree, dtype=np.int32),
        np.array(part.depth, dtype=np.int32),
        np.array(part.above, dtype=np.int32),
    )
    check_paths(paths, n_records, where)
    return paths


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


def _tree(part: _Tree, n_parties: int, where: str) -> TreeShape:
    tree = TreeShape(
        party=np.array(part.party, dtype=np.int16),
        record=np.array(part.record, dtype=np.int32),
        left=np.array(part.left, dtype=np.int32),
        right=np.array(part.right, dtype=np.int32),
        parent=np.array(part.parent, dtype=np.int32),
        value=np.array(part.value, dtype=np.float64),
        gain=np.array(part.gain, dtype=np.float64),
        cover=np.array(part.cover, dtype=np.float64),
    )
    check_tree(tree, n_parties, where)
    return tree


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
