"""What the attacks on the recorded run achieved."""

from typing import Any

from vfxgb.report.charts import bar
from vfxgb.report.html import Child, Markup, alert, bullets, markup, more, table, tag
from vfxgb.report.owners import badge
from vfxgb.report.words import share


def render(document: dict[str, Any]) -> Markup:
    """Success next to the guess of a party that saw nothing; empty if no audit was given."""
    audit = document["audit"]
    if audit is None:
        return Markup()
    findings, ran = audit["summary"], document["run"]["protocol"]
    worse = sum(finding["better"] for finding in findings)
    other = f"These findings are of a run of {audit['protocol']}, not of {ran}." if audit["protocol"] != ran else ""
    said = (
        f"{worse} of {len(findings)} attacks did better than guessing. The guess is that of a party that saw nothing "
        "of the run."
    )
    head = ("attack", "attacker", "learns", "round, from 1", "success", "", "guess", "verdict")
    rows = [_row(document, finding) for finding in findings]
    return markup(
        tag("h2", "Audit"),
        alert(other) if other else None,
        tag("p", said if findings else "No attack applies to this run."),
        table("Findings of the audit", head, rows, numeric=(4, 6), wide=5, stack=True) if rows else None,
        _left_out(audit),
    )


def _row(document: dict[str, Any], finding: dict[str, Any]) -> list[Child]:
    first, last = finding["round"], finding["last_round"]
    rounds = "all" if first < 0 else (f"{first + 1} to {last + 1}" if last > first else f"{first + 1}")
    return [
        (finding["attack"], tag("span", finding["detail"], class_="tagname") if finding["detail"] else None),
        badge(document, finding["attacker"]),
        (f"{finding['target']} of ", badge(document, finding["victim"])),
        rounds,
        share(finding["success"]),
        bar(finding["success"], 1.0, "bad" if finding["better"] else "good"),
        share(finding["guess"]),
        finding["verdict"],
    ]


def _left_out(audit: dict[str, Any]) -> Markup:
    items = [f"{attack['attack']}: {attack['why']}" for attack in audit["not_run"]]
    items += [f"{name}, left out for cost: {text}" for name, text in audit["remarks"].items()]
    return more(f"Not run ({len(items)})", bullets(items), key="audit-not-run") if items else Markup()
