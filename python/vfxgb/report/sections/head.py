"""What ran, how it ended, and the few numbers that everybody asks for first."""

from typing import Any

from vfxgb.report.guarantees import WEAKENED
from vfxgb.report.html import Child, Markup, alert, markup, tag
from vfxgb.report.owners import badge, badges
from vfxgb.report.phases import doing
from vfxgb.report.words import duration, joined, moment, number, plural, shown, size

# What a reader must not overlook, by the protocol's security.
_WARNINGS = {
    "broken": "This protocol is broken: an attack is known that undoes its protection. Use it for research only.",
    "none": "This run was not protected: others saw gradients or data in clear.",
}
# A state in other words than its own.
_STATES = {"stopped": "stopped, can be resumed"}
_ROLES = {
    "active": "the active party, which holds the labels",
    "passive": "a passive party, which holds features and no labels",
    "server": "the server, which holds the trees and none of the users' rows",
    "user": "a user, who holds some of the rows",
}
_HOW = {"protocol": "Training by ", "aggregator": "Training over users' rows, sums protected by "}
_FACTS = {"number": "User number"}
MOST_CARDS = 8
# The eval set of the rows that a model was trained on.
TRAINING_ROWS = "train"


def render(document: dict[str, Any]) -> Markup:
    """The head of the page."""
    run, security = document["run"], document["run"]["security"]
    others = [name for name in run["parties"] if name != run["party"]]
    chips = [tag("span", _STATES.get(run["state"], run["state"]), class_="chip", data_state=run["state"])]
    if security:
        chips.append(tag("span", f"security: {security}", class_="chip", data_security=security))
    return markup(
        tag("p", chips, class_="chips"),
        tag("h1", run["purpose"] or f"Run {run['run'][:8]}"),
        tag(
            "p",
            (_HOW[document["guarantees"]["kind"]], tag("b", run["protocol"] or "no protocol yet")),
            (", as ", badge(document, run["party"]), " saw it"),
            (" with ", badges(document, others)) if others else None,
            f". Begun {moment(run['started'])}." if run["started"] else ".",
            class_="lead",
        ),
        tag("p", now, class_="now") if (now := doing(run)) else None,
        alert(tag("b", "It ended with: "), run["error"]) if run["error"] else None,
        alert(_WARNINGS[security]) if security in _WARNINGS else None,
        alert(WEAKENED) if document["guarantees"]["weakened"] else None,
        tag("ol", (tag("li", sentence) for sentence in document["verdict"]), class_="verdict")
        if document["verdict"]
        else None,
        _cards(document),
        tag("dl", (_entry(name, value) for name, value in _facts(document)), class_="facts"),
    )


def _entry(name: str, *value: Child) -> Markup:
    return tag("div", tag("dt", name), tag("dd", *value))


def _cards(document: dict[str, Any]) -> Markup:
    numbers = _numbers(document)[:MOST_CARDS]
    columns = len(numbers) if len(numbers) <= 6 else 4
    cards = (_entry(name, value, tag("small", small) if small else None) for name, value, small in numbers)
    return tag("dl", cards, class_=f"cards n{columns}")


def _numbers(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Name, value and a small word each, the most wanted first."""
    run = document["run"]
    planned = run["planned_rounds"]
    best = run["best_iteration"]
    chosen = f", {best:,} the best" if best is not None else ""
    numbers = [*_metrics(run), ("Rounds", f"{run['rounds']:,}", f"of {planned:,}{chosen}" if planned else "")]
    if run["seconds"]:
        each = f"{duration(run['seconds'] / run['rounds'])} a round" if run["rounds"] else ""
        numbers.append(("Time", duration(run["seconds"]), each))
    total = sum(peer["sent_bytes"] + peer["received_bytes"] for peer in run["traffic"].values())
    if total:
        numbers.append(("Traffic", size(total), "to and from others"))
    rows = run["rows"].get("train", run["rows"].get("common"))
    if rows is not None:
        numbers.append(("Rows", f"{rows:,}", "trained on" if "train" in run["rows"] else "common to all"))
    return numbers


def _metrics(run: dict[str, Any]) -> list[tuple[str, str, str]]:
    """How well the model that predicts does, and on which rows: those it was not trained on, where there are any."""
    best = run["best_iteration"]
    # Predictions end with the best round, where early stopping chose one.
    place, which = (-1, "after the last round") if best is None else (best, f"after round {best:,}, the best")
    own = run["evals"].get(TRAINING_ROWS, {})
    sets = {name: metrics for name, metrics in reversed(run["evals"].items()) if name != TRAINING_ROWS}
    return [
        (
            f"{metric} on {'the training rows' if name == TRAINING_ROWS else name}",
            "none" if values[place] is None else number(values[place]),
            which + (": says little of other rows" if name == TRAINING_ROWS else ""),
        )
        for name, metrics in (sets or {TRAINING_ROWS: own}).items()
        for metric, values in metrics.items()
        if values and place < len(values)
    ]


def _facts(document: dict[str, Any]) -> list[tuple[str, Child]]:
    run = document["run"]
    facts: list[tuple[str, Child]] = [
        ("Run", tag("code", run["run"])),
        ("Seen by", f"{run['party']}: {_ROLES.get(run['role'], run['role'])}"),
    ]
    summary = document["guarantees"]["summary"]
    if summary:
        facts.append((document["guarantees"]["kind"].capitalize(), f"{run['protocol']}: {summary}"))
    if run["rows"]:
        facts.append(("Rows", joined([f"{count:,} {what}" for what, count in run["rows"].items()])))
    if run["features"]:
        names = ", ".join(run["features"][:40]) + (", ..." if len(run["features"]) > 40 else "")
        owned = "Features" if document["guarantees"]["kind"] == "aggregator" else "Own features"
        facts.append((owned, f"{len(run['features'])}: {names}"))
    facts += [
        (_FACTS.get(name, name.replace("_", " ").capitalize()), shown(value))
        for name, value in run["facts"].items()
        if value is not None
    ]
    if run["ended"] is not None:
        facts.append(("Ended", moment(run["ended"])))
    if run["sessions"] > 1:
        facts.append(("Sessions", f"the parties met {plural(run['sessions'], 'time')} for this run"))
    return facts
