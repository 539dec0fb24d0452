"""What monitoring shows of a party that serves: counted from its log's lines, and read from accounts and sessions.

Everything that happens has a line in the log already, with a fixed word for the kind of event; so the log is what is
counted, and nothing that is logged can be missing here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vfxgb.errors import ConsentError
from vfxgb.party.budget import COUNTED, Budget
from vfxgb.party.logs import Level
from vfxgb.party.metrics import Labels, Metrics, labels


class EventMetrics:
    """Counts the events of a log: give `watch` to Log.watch."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        metrics.describe("vfxgb_events_total", "counter", "Lines of the log, by event and level.")
        metrics.describe("vfxgb_requests_total", "counter", "What peers have asked for: train, predict, check.")
        metrics.describe("vfxgb_trainings_total", "counter", "Trainings that have ended with a model.")
        metrics.describe("vfxgb_training_seconds_total", "counter", "Time from the first to the last round of these.")
        metrics.describe("vfxgb_predicted_rows_total", "counter", "Rows that predictions have asked about.")
        metrics.describe("vfxgb_bytes_total", "counter", "Bytes handed to and taken from connections, by peer.")

    def watch(self, level: Level, event: str, fields: Mapping[str, Any]) -> None:
        """Count a line of the log."""
        add, peer = self._metrics.add, str(fields.get("peer", ""))
        add("vfxgb_events_total", event=event, level=level)
        if event == "asked":
            add("vfxgb_requests_total", peer=peer, what=str(fields.get("what", "")))
        elif event == "trained":
            add("vfxgb_trainings_total", peer=peer)
            add("vfxgb_training_seconds_total", float(fields.get("seconds", 0.0)), peer=peer)
        elif event == "predicted":
            add("vfxgb_predicted_rows_total", float(fields.get("rows", 0)), peer=peer)
        elif event == "ended":
            for direction in ("sent", "received"):
                add("vfxgb_bytes_total", float(fields.get(f"{direction}_bytes", 0)), peer=peer, direction=direction)


def describe_budgets(metrics: Metrics, peers: Callable[[], Sequence[str]], budget: Callable[[str], Budget]) -> None:
    """Describe what each peer was shown over all runs, and the limits of [consent] where there are any."""

    def read(value: Callable[[Budget, str], float | None]) -> dict[Labels, float]:
        found: dict[Labels, float] = {}
        for peer in peers():
            try:
                values = {what: value(budget(peer), what) for what in (*COUNTED, "epsilon")}
            except ConsentError:
                # A damaged account answers nothing, and has its own gauge below.
                continue
            found.update({labels(peer=peer, what=what): shown for what, shown in values.items() if shown is not None})
        return found

    def damaged() -> dict[Labels, float]:
        return {labels(peer=peer): float(_is_damaged(budget(peer))) for peer in peers()}

    metrics.describe(
        "vfxgb_budget_used",
        "gauge",
        "What a peer was shown over all runs.",
        lambda: read(lambda held, what: held.used(what)),
    )
    metrics.describe(
        "vfxgb_budget_limit",
        "gauge",
        "The limits of [consent] on that.",
        lambda: read(lambda held, what: held.limit(what)),
    )
    metrics.describe(
        "vfxgb_account_damaged", "gauge", "1: the account of a peer cannot be read, and it gets no answers.", damaged
    )


def _is_damaged(budget: Budget) -> bool:
    try:
        budget.totals()
    except ConsentError:
        return True
    return False
