"""The accountant: what all releases of a run cost each party's counterpart, in epsilon and delta.

Events are facts (event.py); this adds up those that one receiver saw about one kind of item, by a composition of
composition.py. Where a release has no guarantee, no number is reported; nor where the deltas reach 1, because
(epsilon, 1) holds for a mechanism that hands the data over.
"""

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from vfxgb.dp.bounds import check_delta, check_epsilon, check_releases, refuse_tiny
from vfxgb.dp.composition import COMPOSITIONS, GAUSSIAN, available, compose
from vfxgb.dp.event import Event
from vfxgb.errors import DpError, NoGuaranteeError

__all__ = ["Accountant", "Event", "Total", "budget"]

DELTA = 1e-6


class Total(NamedTuple):
    """Releases and their cost. `epsilon_per_release`: the largest, where they differ. `delta`: 0 for pure epsilon."""

    epsilon_per_release: float
    releases: int
    epsilon_total: float
    delta: float
    composition: str


class Accountant:
    """The events of a run. `delta`: the target of every composition but "basic"; None for that of the releases.

    That is the delta at which the run's total was asked for, or what the releases' own deltas sum up to, or 1e-6.
    """

    def __init__(self, delta: float | None = None) -> None:
        self.delta = delta if delta is None else check_delta(delta, "accountant")
        self._events: list[Event] = []

    def add(self, *events: Event) -> None:
        """Enter releases."""
        for event in events:
            if not isinstance(event, Event):
                raise DpError(f"accountant: found {type(event).__name__}, wanted an Event")
        self._events.extend(events)

    @property
    def events(self) -> tuple[Event, ...]:
        """All releases, in the order in which they were entered."""
        return tuple(self._events)

    @property
    def groups(self) -> tuple[tuple[str, str], ...]:
        """(receiver, what is protected) of all releases, each once."""
        return tuple(dict.fromkeys((event.receiver, event.protects) for event in self._events))

    def seen_by(self, receiver: str, protects: str | None = None) -> tuple[Event, ...]:
        """The releases to one party, about one kind of item when given."""
        return tuple(e for e in self._events if e.receiver == receiver and protects in (None, e.protects))

    def total(self, receiver: str, protects: str | None = None, composition: str = "basic") -> Total:
        """What `receiver` can tell about one protected item.

        Raises NoGuaranteeError if a release has no guarantee or the delta of the total reaches 1, DpError if `protects`
        is left out and ambiguous, MissingPackageError for "pld" and "rdp" without dp-accounting.
        """
        kinds = [what for party, what in self.groups if party == receiver]
        if protects is None and len(kinds) > 1:
            raise DpError(f"accountant: {receiver} saw releases about {len(kinds)} kinds of item, wanted one: {kinds}")
        events = self.seen_by(receiver, protects)
        broken = _reasons(events)
        if broken:
            raise NoGuaranteeError(f"accountant: no guarantee against {receiver}: {'; '.join(broken)}")
        target = self.target(events)
        if composition != "basic" and target >= 1.0:
            raise NoGuaranteeError(f"accountant: no guarantee against {receiver}: {_exhausted(events, target)}")
        epsilon, delta = _composed(events, composition, target)
        if delta >= 1.0:
            raise NoGuaranteeError(f"accountant: no guarantee against {receiver}: {_exhausted(events, delta)}")
        largest = max((event.epsilon for event in events), default=0.0)
        return Total(largest, len(events), epsilon, delta, composition)

    def target(self, events: Iterable[Event]) -> float:
        """The delta at which these releases are totalled; 1 or more means that there is no total."""
        if self.delta is not None:
            return self.delta
        events = tuple(events)
        own = _own_delta(events)
        return max((own, *(event.total_delta for event in events))) or DELTA

    def totals(self, receiver: str, protects: str) -> tuple[Total, ...]:
        """Add up by every composition that can be computed here and whose delta is below 1, "basic" first."""
        names = (*(COMPOSITIONS if available() else ("basic", "advanced")), GAUSSIAN)
        attempts = (self._attempt(receiver, protects, name) for name in names)
        return tuple(total for total in attempts if total is not None)

    def _attempt(self, receiver: str, protects: str, composition: str) -> Total | None:
        try:
            return self.total(receiver, protects, composition)
        except (DpError, NoGuaranteeError):  # the deltas leave nothing, or the composition does not cover the releases
            return None

    def _no_guarantee(self, receiver: str, protects: str) -> list[str]:
        """Why there is no total of these releases, empty if there is one."""
        events = self.seen_by(receiver, protects)
        if broken := _reasons(events):
            return broken
        return [] if self.totals(receiver, protects) else [_exhausted(events, self.target(events))]

    def as_dict(self) -> dict[str, Any]:
        """Everything, for files: per receiver and item the totals or why there are none."""
        return {
            "numerical": available(),
            "totals": [self._group(receiver, protects) for receiver, protects in self.groups],
        }

    def _group(self, receiver: str, protects: str) -> dict[str, Any]:
        events = self.seen_by(receiver, protects)
        broken = self._no_guarantee(receiver, protects)
        group: dict[str, Any] = {
            "receiver": receiver,
            "protects": protects,
            "mechanisms": sorted({event.mechanism for event in events}),
            "releases": len(events),
            "holds": not broken,
            "reasons": broken,
        }
        if group["holds"]:
            group["delta"] = self.target(events)
            group["compositions"] = {
                total.composition: {
                    "epsilon_per_release": total.epsilon_per_release,
                    "epsilon_total": total.epsilon_total,
                    "delta": total.delta,
                }
                for total in self.totals(receiver, protects)
            }
        return group

    def summary(self) -> str:
        """Say it in plain words, a line for each receiver and item, for the ledger and the terminal."""
        if not self._events:
            return "nothing was released under differential privacy"
        lines = [self._line(receiver, protects) for receiver, protects in self.groups]
        if not available():
            lines.append('totals by pld and rdp are missing: dp-accounting is not installed; pip install "vfxgb[dp]"')
        return "\n".join(lines)

    def _line(self, receiver: str, protects: str) -> str:
        events = self.seen_by(receiver, protects)
        names = ", ".join(sorted({event.mechanism for event in events}))
        head = f"{receiver} saw {len(events):,} release{'s'[: len(events) > 1]} ({names}) about {protects}: "
        if broken := self._no_guarantee(receiver, protects):
            return head + f"no guarantee: {'; '.join(broken)}"
        summed, *others = self.totals(receiver, protects)
        if summed.composition != "basic":
            best = min((summed, *others), key=lambda total: total.epsilon_total)
            tightest = f"{_amount(best)} in total (by {best.composition} composition)"
            return head + f"{tightest}, no guarantee by adding up: {_exhausted(events, _own_delta(events))}"
        # The tightest first. One that costs a delta must gain something over a sum that does not.
        least = summed.epsilon_total * (1.0 if summed.delta else 0.99)
        best = min(others, key=lambda total: total.epsilon_total, default=summed)
        if best.epsilon_total >= least:
            return head + f"{_amount(summed)} in total{_each(summed)}"
        tightest = f"{_amount(best)} in total (by {best.composition} composition)"
        return head + f"{tightest}, {_amount(summed)} by adding up{_each(summed)}"

    def __len__(self) -> int:
        return len(self._events)

    def __repr__(self) -> str:
        return f"Accountant({len(self)} events, delta={self.delta})"


def _amount(total: Total) -> str:
    return f"epsilon {total.epsilon_total:.6g}" + (f" at delta {total.delta:.3g}" if total.delta else "")


def _each(total: Total) -> str:
    return f", {total.epsilon_per_release:.4g} each" if total.releases > 1 else ""


@lru_cache(maxsize=64)  # the summary and the file ask for the same totals
def _composed(events: tuple[Event, ...], composition: str, delta: float) -> tuple[float, float]:
    return compose(events, composition, delta)


def _own_delta(events: Iterable[Event]) -> float:
    return math.fsum(event.delta for event in events)


def _exhausted(events: Iterable[Event], delta: float) -> str:
    return f"the deltas of {len(tuple(events)):,} releases add up to {delta:.3g}, and a delta of 1 allows anything"


def _reasons(events: Iterable[Event]) -> list[str]:
    return list(dict.fromkeys(event.reason for event in events if not event.holds))


def budget(total_epsilon: float, releases: int, composition: str = "basic", delta: float = DELTA) -> Total:
    """The largest epsilon that each of `releases` releases may have for a total of `total_epsilon` (pure epsilon each).

    The inverse of the composition; the total in the result is what the composition gives for it, at most that asked
    for. For Gaussian noise, `Gaussian(..., releases=)` does this exactly.
    """
    check_epsilon(total_epsilon, "privacy budget")
    check_releases(releases, "privacy budget")
    refuse_tiny(total_epsilon / releases, f"privacy budget of {total_epsilon:g} for {releases} releases")

    def spent(epsilon: float) -> tuple[float, float]:
        return compose([Event("any", epsilon, "", "")] * releases, composition, delta)

    low = total_epsilon / releases  # always within the budget
    if composition == "basic":
        return Total(low, releases, total_epsilon, 0.0, composition)
    high = min(total_epsilon, 2 * low)
    while high < total_epsilon and spent(high)[0] <= total_epsilon:
        low, high = high, min(total_epsilon, 2 * high)
    while high - low > 1e-5 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle)[0] <= total_epsilon else (low, middle)
    return Total(low, releases, *spent(low), composition)
