"""What the others' columns are worth: the active party's own columns alone against all columns together."""

from typing import Any

from vfxgb.report.html import Markup, markup, quiet, table, tag
from vfxgb.report.owners import badge, badges
from vfxgb.report.words import number, plural

TRAINING_ROWS = "train"


def render(document: dict[str, Any]) -> Markup:
    """The two models on the same rows, each after its best round; empty where nobody compared them."""
    alone, run = document["alone"], document["run"]
    if alone is None:
        return Markup()
    rows = compared(run, alone)
    others = [name for name in run["parties"] if name != run["party"]]
    head = ("metric", "own columns alone", "together", "difference", "")
    return markup(
        tag("h2", "What the others' columns are worth"),
        tag(
            "p",
            f"The same training once more on the {plural(alone['features'], 'column')} of ",
            (badge(document, run["party"]), " alone, against all columns together with ", badges(document, others)),
            ": same rows, labels and parameters, each model after the round that its predictions end with. It was done "
            "at this party; nothing was sent.",
        ),
        table("Own columns alone and together", head, rows, numeric=(1, 2, 3), stack=True) if rows else None,
        None
        if any(name != TRAINING_ROWS for name in run["evals"])
        else quiet(
            "There are only the rows that both models were trained on, which say little of other rows: name a table "
            "of rows with labels as an eval set to know what the columns are worth."
        ),
    )


def compared(run: dict[str, Any], alone: dict[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """Metric and set, alone, together, difference, and whether that is better; eval sets before training rows."""
    sets = [name for name in reversed(run["evals"]) if name != TRAINING_ROWS] or [TRAINING_ROWS]
    rows = []
    for name in sets:
        for metric in run["evals"].get(name, {}):
            apart = _judged(alone["evals"], name, metric, alone["best_iteration"])
            joint = _judged(run["evals"], name, metric, run["best_iteration"])
            if apart is None or joint is None:
                continue
            gain = joint - apart if metric in alone["maximised"] else apart - joint
            said = "together better" if gain > 0 else "alone better" if gain < 0 else "the same"
            shown = "the training rows" if name == TRAINING_ROWS else name
            rows.append((f"{metric} on {shown}", number(apart), number(joint), f"{joint - apart:+.3g}", said))
    return rows


def _judged(evals: dict[str, Any], name: str, metric: str, best: int | None) -> float | None:
    """The value after the round that predictions end with."""
    values: list[float | None] = evals.get(name, {}).get(metric, [])
    place = len(values) - 1 if best is None else best
    return values[place] if 0 <= place < len(values) else None
