"""What the server of many users could have learned from a run, found out by attacking the run's own transcript.

clf = FedXGBClassifier(..., record=True).fit(X, y, users=ids)
print(clf.audit())                       # or: vfxgb audit run.vfxt, after clf.transcript_.save("run.vfxt")
"""

from vfxgb.audit.users.auditor import attack_names, audit_users
from vfxgb.audit.users.view import ServerView

__all__ = ["ServerView", "attack_names", "audit_users"]
