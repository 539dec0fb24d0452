"""An audit of a run with users: every attack on the server's view, judged by the rows, in one report."""

from collections.abc import Sequence

from vfxgb.audit.claims import Finding, Judgement
from vfxgb.audit.report import AuditReport, NotRun
from vfxgb.audit.users.attack import UsersAttack, make_registry
from vfxgb.audit.users.claims import UserClaim
from vfxgb.audit.users.judge import UsersTruth
from vfxgb.audit.users.view import ServerView
from vfxgb.errors import FormatError
from vfxgb.horizontal.transcript import UsersTranscript

_REGISTRY = make_registry()


def attack_names() -> tuple[str, ...]:
    """The names of all attacks of a server on its users, sorted."""
    return _REGISTRY.names()


def audit_users(transcript: UsersTranscript, attacks: Sequence[str] | None = None, seed: int = 0) -> AuditReport:
    """Attack a recorded run as its server, by the `attacks` named, or by all (None). `seed` decides the guesses.

    Raises UnknownNameError for an attack that does not exist, FormatError for a run that ended before its plan.
    """
    if transcript.plan is None:
        raise FormatError("auditing a run with users: it ended before cut points were published; nothing to attack")
    budget = None
    if transcript.epsilon is not None and transcript.delta is not None:
        budget = transcript.epsilon, transcript.delta
    view = ServerView(transcript.opened, transcript.plan, budget)
    truth = UsersTruth(transcript.rows, view.cuts, seed)
    findings: list[Finding] = []
    not_run: list[NotRun] = []
    for name in attack_names() if attacks is None else attacks:
        attack: UsersAttack = _REGISTRY.load(name)
        outcome = attack.run(view)
        if not outcome.claims:
            not_run.append(NotRun(name, outcome.why_not))
            continue
        findings += [
            _finding(name, outcome.claims, target, judged, len(truth.labels))
            for target, judged in truth.judge(outcome.claims).items()
        ]
    noise = "" if budget is None else f" with epsilon {budget[0]:g} at delta {budget[1]:g} for a row"
    return AuditReport(f"{transcript.aggregator}{noise}", tuple(findings), tuple(not_run), {})


def _finding(name: str, claims: Sequence[UserClaim], target: str, judged: Judgement, rows: int) -> Finding:
    return Finding(
        attack=name,
        attacker="server",
        victim="users",
        target=target,
        round=0,
        tree=0,
        node=-1,
        rows=rows,
        success=judged.success,
        guess=judged.guess,
        count=judged.count,
        claims=len(claims),
        detail=judged.detail,
    )
