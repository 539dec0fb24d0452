"""An audit: every attack on the view of every party it is for, each claim judged, all in one report."""

from collections.abc import Sequence

from vfxgb.audit.attack import Attack, attack_by_name, attack_names
from vfxgb.audit.claims import Finding
from vfxgb.audit.report import AuditReport, NotRun
from vfxgb.audit.truth import Truth
from vfxgb.audit.view import AttackerView
from vfxgb.train.transcript import Transcript


def audit(transcript: Transcript, attacks: Sequence[str] | None = None, seed: int = 0) -> AuditReport:
    """Attack a recorded run as each of its parties and say what that party could have learned.

    `attacks` are names, None for all. `seed` decides the attackers' own coins and the labels some are assumed to know.
    Raises UnknownNameError for an attack that does not exist, MissingPackageError for one that needs a package.
    """
    chosen = [attack_by_name(name) for name in (attack_names() if attacks is None else attacks)]
    truth = Truth(transcript)
    findings: list[Finding] = []
    not_run: list[NotRun] = []
    remarks: dict[str, str] = {}
    for attack in chosen:
        reasons: dict[str, None] = {}
        before = len(findings)
        for party in transcript.records:
            view = view_of(transcript, party, truth, attack, seed)
            why_not = attack.missing(view)
            if not why_not:
                outcome = attack.run(view)
                why_not = outcome.why_not
                if outcome.remark:
                    remarks[attack.name] = outcome.remark
                for claim in outcome.claims:
                    judged = truth.judge(claim, seed)
                    if isinstance(judged, str):
                        why_not = judged
                        continue
                    findings.append(Finding.of(attack.name, party, claim, judged))
            if why_not and (attack.attacker == "active") == view.active:
                reasons[why_not] = None
        if len(findings) == before:
            not_run.append(NotRun(attack.name, "; ".join(reasons) or "no party of its kind in this run"))
    return AuditReport(transcript.protocol, tuple(findings), tuple(not_run), remarks)


def view_of(
    transcript: Transcript, party: str, truth: Truth, attack: Attack | None = None, seed: int = 0
) -> AttackerView:
    """The view of one party, with the labels and cuts that `attack` is assumed to know."""
    known = truth.some_labels(attack.known_labels, seed) if attack is not None and attack.known_labels else None
    cuts = truth.cuts() if attack is not None and attack.known_cuts else None
    return AttackerView(
        transcript.records[party], transcript.catalogue, transcript.protocol, transcript.params, known, cuts
    )
