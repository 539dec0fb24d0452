"""How well the model does: metrics by round, calibration and ROC."""

from collections.abc import Iterator, Sequence
from typing import Any

from vfxgb.report.charts import Frame, Series, line_chart
from vfxgb.report.html import Markup, markup, tag
from vfxgb.report.words import number, plural

# Classes of a model whose curves are drawn; more lines than this nobody tells apart.
MOST_CLASSES = 6
_ELSEWHERE = {
    "passive": "This party holds no labels: metrics are with the active party.",
    "user": "Metrics are with the server, which has rows of its own to evaluate on.",
}


def learning(document: dict[str, Any]) -> Markup:
    """A chart per metric, a line per eval set."""
    run = document["run"]
    charts = [
        _metric_chart(place, metric, series, run["best_iteration"])
        for place, (metric, series) in enumerate(_by_metric(run["evals"]).items())
    ]
    why = _no_metrics(run)
    if not charts and not why:
        return Markup()
    return markup(tag("h2", "Learning"), tag("div", charts, class_="charts") if charts else tag("p", why))


def curves(document: dict[str, Any]) -> Markup:
    """Calibration and ROC of every eval set that has them."""
    charts = [
        chart
        for place, (name, held) in enumerate(document["run"]["curves"].items())
        for chart in _set_charts(f"curve-{place}", name, held)
    ]
    if not charts:
        return Markup()
    return markup(
        tag("h2", "Calibration and ROC"),
        tag(
            "p",
            f"{_after(document['run'])} Calibration puts what the model predicts next to what came true, for "
            "groups of rows with similar predictions; a model that means what it says lies on the dashed line.",
        ),
        tag("div", charts, class_="charts"),
    )


def _after(run: dict[str, Any]) -> str:
    """Which round the curves are of."""
    best = run["best_iteration"]
    if best is not None and run["curves_round"] == best:
        return f"After round {best}, the best, with which predictions end."
    return "After the last finished round."


def _by_metric(evals: dict[str, dict[str, list[float | None]]]) -> dict[str, list[Series]]:
    by_metric: dict[str, list[Series]] = {}
    for name, metrics in evals.items():
        for metric, values in metrics.items():
            defined = [(float(place), value) for place, value in enumerate(values) if value is not None]
            if defined:
                by_metric.setdefault(metric, []).append(Series(name, *zip(*defined, strict=True)))
    return by_metric


def _metric_chart(place: int, metric: str, series: list[Series], best: int | None) -> Markup:
    said = "; ".join(f"{line.name}: {_span(line.y)}" for line in series)
    rounds = int(max(line.x[-1] for line in series)) + 1
    frame = Frame(
        f"metric-{place}",
        metric,
        f"{said}, over {plural(rounds, 'round')}.",
        "round",
        metric,
        mark=None if best is None else (float(best), f"best: {best}"),
        whole=True,
        values=lambda value: f"{value:.6g}",
    )
    return line_chart(frame, series)


def _span(values: Sequence[float]) -> str:
    return number(values[0]) if len(values) == 1 else f"{number(values[0])} to {number(values[-1])}"


def _no_metrics(run: dict[str, Any]) -> str:
    """Why a run has no metrics."""
    if run["role"] in _ELSEWHERE:
        return _ELSEWHERE[run["role"]]
    if run["state"] == "running":
        return "No round has finished yet."
    if not run["rounds"]:
        return "No round was finished, so there are no metrics."
    return "The run had no labelled rows to evaluate on."


def _set_charts(key: str, name: str, held: dict[str, Any]) -> Iterator[Markup]:
    classes = held.get("classes")
    groups = {"": held}
    if classes is not None:
        groups = {f"class {label}": curve for label, curve in list(classes.items())[:MOST_CLASSES]}
    left_out = len(classes or groups) - len(groups)
    note = f" {left_out} more classes are in run.json." if left_out > 0 else ""
    rocs = {label: curve["roc"] for label, curve in groups.items() if curve.get("roc")}
    if rocs:
        areas = ", ".join((f"{label}: " if label else "") + number(roc["auc"]) for label, roc in rocs.items())
        says = f"Area under the curve{' by class' if classes else ''}: {areas}.{note}"
        false, true = "false positive rate", "true positive rate"
        square = Frame(f"{key}-roc", f"ROC, {name}", says, false, true, (0.0, 1.0), (0.0, 1.0), diagonal=True)
        yield line_chart(square, [Series(label or true, roc["fpr"], roc["tpr"]) for label, roc in rocs.items()])
    bins = {label: curve["calibration"] for label, curve in groups.items() if curve.get("calibration")}
    if bins:
        yield _calibration(f"{key}-calibration", name, bins, note)


def _calibration(key: str, name: str, bins: dict[str, dict[str, Any]], note: str) -> Markup:
    values = [value for curve in bins.values() for side in ("predicted", "observed") for value in curve[side]]
    rows = next(iter(bins.values()))["rows"]
    share = min(values) >= 0.0 and max(values) <= 1.0
    ends = (0.0, 1.0) if share else (min(values), max(values))
    says = f"Mean prediction against mean outcome of {number(sum(rows))} rows in {len(rows)} groups.{note}"
    title = f"Calibration, {name}"
    frame = Frame(key, title, says, "predicted", "observed", ends, ends, diagonal=True, dots=True)
    lines = [Series(label or "observed", curve["predicted"], curve["observed"]) for label, curve in bins.items()]
    return line_chart(frame, lines)
