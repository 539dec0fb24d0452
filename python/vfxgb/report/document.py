"""Everything that the page of a run shows, as plain JSON, read from the run's folder.

    run          RunRecord of the run
    verdict      what the run comes to, in three sentences (verdict.py)
    ledger       ledger.json, None while there is none
    guarantees   what the protocol or aggregator says about itself (guarantees.py)
    model        trees and importance as the shares given allow, None while there is no share (trees.py)
    audit        findings of `vfxgb audit --json`, None if none were given
    alone        what the active party's own columns reach alone (party/alone.py), None if nobody compared
    files        names of the files in the folder
    vfxgb, made  the version that made the document, and when (Unix seconds)

A run that is still going on has no share and often no ledger; a record is all that must be there.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from vfxgb import __version__
from vfxgb.audit.report import FORMAT as AUDIT_FORMAT
from vfxgb.audit.report import VERSION as AUDIT_VERSION
from vfxgb.errors import FormatError, ShareMismatchError
from vfxgb.model.file import load_shares
from vfxgb.party.alone import read_alone
from vfxgb.party.folder import LEDGER_FORMAT, RunFolder
from vfxgb.party.record import RunRecord, now
from vfxgb.report.guarantees import guarantees
from vfxgb.report.trees import describe_model
from vfxgb.report.verdict import verdict
from vfxgb.runtime.ledger import counted


def read_document(folder: RunFolder, audit: Path | None = None, shares: Sequence[Path] = ()) -> dict[str, Any]:
    """Make the document of a run, with the findings of `audit`; `shares` of other parties unmask their splits.

    Raises FormatError for files that are not what they should be, ShareMismatchError for shares that are not of this
    run, OSError.
    """
    return make_document(
        folder.read(),
        read_ledger(folder),
        _model(folder, shares),
        None if audit is None else read_audit(audit),
        sorted(path.name for path in folder.path.iterdir()),
        read_alone(folder),
    )


def make_document(
    record: RunRecord,
    ledger: dict[str, Any] | None,
    model: dict[str, Any] | None,
    audit: dict[str, Any] | None = None,
    files: Sequence[str] = (),
    alone: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A document of parts that are at hand, each as this module's first lines say."""
    # Through JSON: tuples become lists, and metrics that are not defined None.
    run, promised = msgspec.json.decode(msgspec.json.encode(record)), guarantees(record)
    return {
        "run": run,
        "verdict": verdict(run, promised, ledger),
        "ledger": ledger,
        "guarantees": promised,
        "model": model,
        "audit": audit,
        "alone": alone,
        "files": list(files),
        "vfxgb": __version__,
        "made": now(),
    }


def read_ledger(folder: RunFolder) -> dict[str, Any] | None:
    """ledger.json with what predictions have told since; None if there is none yet. Raises FormatError."""
    if not folder.ledger_file.is_file():
        return None
    ledger = _read(folder.ledger_file, LEDGER_FORMAT, "ledger")
    if folder.predictions_file.is_file():
        told = _read(folder.predictions_file, LEDGER_FORMAT, "ledger of predictions")
        lines = [
            f"In predictions, {entry['receiver']} learned from {entry['sender']}: {entry['reveals']} "
            f"({counted(entry['amount'], entry['unit'])})"
            for entry in told["entries"]
            if entry["unit"]
        ]
        account = [told["account"]] if told["account"] else []
        ledger["notes"] = [*ledger["notes"], *lines]
        ledger["account"] = told["account"] or ledger.get("account", "")
        ledger["text"] = "\n".join([ledger["text"], *lines, *account])
    return ledger


def read_audit(path: Path) -> dict[str, Any]:
    """What `vfxgb audit --json` wrote. Raises FormatError, OSError."""
    document = _read(path, AUDIT_FORMAT, "audit; `vfxgb audit RUN --json FILE` writes one")
    if document.get("version") != AUDIT_VERSION:
        raise FormatError(
            f"reading {str(path)!r}: found an audit of version {document.get('version')!r}, wanted {AUDIT_VERSION}; "
            "audit the run again with this vfxgb"
        )
    return document


def _read(path: Path, form: str, what: str) -> dict[str, Any]:
    where = f"reading {str(path)!r}"
    try:
        document = json.loads(path.read_bytes())
    except ValueError as error:
        raise FormatError(f"{where}: it is no JSON document ({error})") from None
    if not isinstance(document, dict) or document.get("format") != form:
        raise FormatError(f"{where}: it is no {what}")
    return document


def _model(folder: RunFolder, others: Sequence[Path]) -> dict[str, Any] | None:
    """The shares as one description, None while this party has none. A run that goes on shows what it has so far."""
    file = folder.share_file if folder.share_file.is_file() else folder.draft_file
    if not file.is_file():
        if others:
            raise ShareMismatchError(
                f"reading {str(others[0])!r}: the run in {str(folder.path)!r} has no share yet, so no other can join it"
            )
        return None
    return describe_model(*load_shares([file, *others]))
