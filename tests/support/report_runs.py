"""What tests of the report share: records with everything in them, run folders, and a reader of pages."""

from html.parser import HTMLParser
from pathlib import Path

import msgspec

from vfxgb.model.file import save_share
from vfxgb.model.shares import ActiveShare, PassiveShare
from vfxgb.party.folder import PartyFolder, RunFolder
from vfxgb.party.record import RunRecord, TrafficRecord, versions
from vfxgb.runtime.ledger import Ledger

# Names that would be markup, script or the end of an attribute if they were not escaped.
HOSTILE = "<script>alert(1)</script>\"'&"
CURVE = {
    "roc": {"fpr": [0.0, 0.2, 1.0], "tpr": [0.0, 0.9, 1.0], "auc": 0.85},
    "calibration": {"predicted": [0.1, 0.5, 0.9], "observed": [0.2, 0.4, 0.95], "rows": [10.0, 12.0, 9.0]},
}
VOID = {"meta", "br", "input", "link", "img", "hr"}


class Page(HTMLParser):
    """A page read back: elements with their attributes, ids, text. Fails on tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self._open):
            self.text += data

    @property
    def ids(self) -> list[str]:
        return [attributes["id"] for _, attributes in self.elements if attributes.get("id")]

    def shown(self, section: str) -> bool:
        """Whether the section of that id has something to say."""
        return any(a.get("id") == section and "hidden" not in a for tag, a in self.elements if tag == "section")


def record(party: str = "bank", role: str = "active", **changes: object) -> RunRecord:
    """A finished run with everything in it, changed as wanted."""
    full = RunRecord(
        run="ab" * 16,
        party=party,
        role=role,
        state="finished",
        started=1e9,
        ended=1e9 + 10,
        purpose="credit scoring",
        parties=("bank", "shop"),
        protocol="plain",
        security="none",
        attacks=("an attack: that is known (E62)",),
        train={"n_estimators": 3},
        rows={"train": 12_345},
        features=("age", HOSTILE),
        rounds=3,
        planned_rounds=3,
        evals={"train": {"auc": [0.5, 0.6, 0.7]}, "valid": {"auc": [0.5, 0.55, 0.6], "logloss": [0.7, 0.6, 0.5]}},
        best_iteration=2,
        best_score=0.6,
        seconds=12.5,
        timings={"bank": {"open": 2.0, "wait": 3.0}},
        operations={"encrypt": 1000},
        traffic={"shop": TrafficRecord(1500, 2_500_000, 3, 4, 3, 1600, 2_400_000, "X25519MLKEM768")},
        versions=versions(),
        facts={"users": 7, "nothing": None},
        pace={"seconds": [5.0, 8.0, 12.5], "bytes": [1e6, 2e6, 2.5e6]},
        curves={"valid": CURVE},
    )
    return msgspec.structs.replace(full, **changes)


def write_run(
    folder: Path, share: ActiveShare | PassiveShare, ledger: Ledger, role: str = "active", **changes: object
) -> RunFolder:
    """A run folder of the share's party with record, ledger and share."""
    made = PartyFolder(folder / share.party).make().run("ab" * 16).make()
    made.write(record(share.party, role, **changes))
    made.write_ledger(ledger)
    save_share(share, made.share_file)
    return made
