"""What came of the demo: the bank's record, what each party was told, and scores next to those of pooled data."""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.demo.data import BINS, Pooled
from vfxgb.metric import METRICS
from vfxgb.runtime.ledger import counted

# The same trees by another program: rounding in float32 may differ in the last digits.
TOLERANCE = 0.005
# How far the AUC of a joint model may be below that of pooled data where its splits were chosen by another rule.
AUC_TOLERANCE = 0.02
OWN = "vfxgb, one process"


@dataclass(frozen=True)
class Comparison:
    """Scores of unseen customers: AUC of the joint model, of one of all data in one place, and of the bank alone.

    `program`: what trained the other two. `difference`: the largest between a joint score and one of pooled data.
    """

    customers: int
    joint: float
    pooled: float
    alone: float
    program: str
    difference: float

    @property
    def alike(self) -> bool:
        """Whether the joint scores are those of pooled data."""
        return self.difference < TOLERANCE

    @property
    def as_good(self) -> bool:
        """Whether the joint model ranks customers as well as one of pooled data does."""
        return self.joint > self.pooled - AUC_TOLERANCE


def results(folder: Path) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """The bank's record of the run, and of each party what its own ledger says it was told."""
    (path,) = (folder / "bank-folder" / "runs").iterdir()
    record = {**json.loads((path / "run.json").read_text(encoding="utf-8")), "path": str(path)}
    told: dict[str, list[str]] = {}
    for party in ("bank", "shop"):
        file = folder / f"{party}-folder" / "runs" / path.name / "ledger.json"
        ledger = json.loads(file.read_text(encoding="utf-8"))
        heard = [entry for entry in ledger["entries"] if entry["receiver"] == party and entry["amount"]]
        told[party] = [f"{entry['reveals']} ({counted(entry['amount'], entry['unit'])})" for entry in heard]
    return record, told


def compare(pooled: Pooled, file: Path, trees: int) -> Comparison:
    """The scores in `file`, next to those of other models of the same trees."""
    with file.open(newline="", encoding="utf-8") as text:
        by_id = {line["id"]: line["score"] for line in csv.DictReader(text)}
    joint = np.array([float(by_id[pooled.ids[row]]) for row in pooled.test.tolist()])
    labels = pooled.y[pooled.test]
    program, whole = _fit_and_score(pooled, [*pooled.bank, *pooled.shop], trees)
    _, alone = _fit_and_score(pooled, list(pooled.bank), trees)
    joint_auc, whole_auc, alone_auc = (_auc(labels, scores) for scores in (joint, whole, alone))
    difference = float(np.abs(joint - whole).max())
    return Comparison(len(labels), joint_auc, whole_auc, alone_auc, program, difference)


def _fit_and_score(pooled: Pooled, columns: Sequence[int], trees: int) -> tuple[str, NDArray[np.float64]]:
    """A model of these columns in one process, by xgboost if it is installed; its scores of the test rows."""
    own = pooled.X[:, list(columns)]
    train, test = own[pooled.train], own[pooled.test]
    labels = pooled.y[pooled.train]
    settings: dict[str, Any] = {"n_estimators": trees, "max_depth": 3, "max_bin": BINS, "learning_rate": 0.3}
    try:
        xgboost = import_module("xgboost")
    except ImportError:
        from vfxgb.estimator import VFXGBClassifier

        return OWN, VFXGBClassifier(**settings).fit(train, labels).predict_proba(test)[:, 1]
    model = xgboost.XGBClassifier(tree_method="hist", **settings).fit(train, labels)
    return f"xgboost {xgboost.__version__}", model.predict_proba(test)[:, 1].astype(np.float64)


def _auc(labels: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    return float(METRICS["auc"](labels.astype(np.float32), scores, None))
