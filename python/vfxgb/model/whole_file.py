"""All shares of a model in one file: what a simulation, or whoever was given every share, may keep together.

One JSON document: the documents of the shares as each stands in a file of its own (file.py), what the writer has to say
about the model beside its shares, and a checksum over all. Whoever has the file can predict alone.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vfxgb.checksum import FIELD, checksum, is_whole
from vfxgb.errors import FormatError, ShareMismatchError
from vfxgb.model.file import FORMAT as SHARE_FORMAT
from vfxgb.model.file import read_json, read_share, share_document, write_document
from vfxgb.model.fitted import FittedModel
from vfxgb.model.seal import check_shares
from vfxgb.model.shares import ActiveShare, PassiveShare

FORMAT = "vfxgb model"
VERSION = 1


def save_model(model: FittedModel, about: Mapping[str, Any], path: str | Path) -> None:
    """Write a model to `path`, atomically; `about` must be plain JSON. Raises OSError."""
    shares: list[ActiveShare | PassiveShare] = [model.active_share, *model.passive_shares.values()]
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "about": dict(about),
        "shares": [share_document(share) for share in shares],
    }
    document[FIELD] = checksum(document)
    write_document(document, path)


def load_model(path: str | Path) -> tuple[FittedModel, Any]:
    """The model in a file, and what was said about it, which is not checked here.

    Raises FormatError for a file that holds no model or one of another version, ShareMismatchError for contents that
    were altered or do not belong together, OSError.
    """
    where = f"reading the model {str(path)!r}"
    document = read_json(path, where)
    _check_format(document, where)
    if not is_whole(document) or FIELD not in document:
        raise ShareMismatchError(
            f"{where}: it was damaged or changed after it was written: its contents do not match its checksum; use an "
            "intact copy"
        )
    active: ActiveShare | None = None
    passive: dict[str, PassiveShare] = {}
    for entry in document["shares"]:
        share = read_share(entry, where)
        if isinstance(share, PassiveShare):
            passive[share.party] = share
        else:
            active = share
    if active is None:
        raise FormatError(f"{where}: it has no share of an active party; use the file as save_model wrote it")
    check_shares(active, passive)
    return FittedModel(active, passive), document["about"]


def _check_format(document: Any, where: str) -> None:
    found = document.get("format") if isinstance(document, dict) else None
    if found == SHARE_FORMAT:
        raise FormatError(
            f"{where}: it is the share of one party, wanted all shares in one file; predict jointly with the others "
            "(vfxgb predict), or read it with vfxgb.model.file.load_share"
        )
    if found != FORMAT:
        hint = "; xgboost reads its own models" if isinstance(document, dict) and "learner" in document else ""
        raise FormatError(f"{where}: it is no model that save_model wrote{hint}")
    if document.get("version") != VERSION:
        raise FormatError(
            f"{where}: found version {document.get('version')!r}, wanted {VERSION}; use the vfxgb that wrote it"
        )
    if not isinstance(document.get("shares"), list) or "about" not in document:
        raise FormatError(f"{where}: its shares are missing; use an intact copy")
