"""What a curious party could have learned from a run, found out by attacking the run's own transcript.

    clf = VFXGBClassifier(..., record=True).fit(X, y)
    print(clf.audit())                       # or: vfxgb audit run.vfxt, after clf.transcript_.save("run.vfxt")

A transcript holds the private data of all parties: it is for audits of simulations, and for nothing else.
"""

from vfxgb.audit.attack import Attack, attack_by_name, attack_names, register
from vfxgb.audit.auditor import audit
from vfxgb.audit.claims import Claim, Finding, Outcome
from vfxgb.audit.report import AuditReport, NotRun
from vfxgb.audit.view import AttackerView, KnownLabels
from vfxgb.train.transcript import Transcript

__all__ = [
    "Attack",
    "AttackerView",
    "AuditReport",
    "Claim",
    "Finding",
    "KnownLabels",
    "NotRun",
    "Outcome",
    "Transcript",
    "attack_by_name",
    "attack_names",
    "audit",
    "register",
]
