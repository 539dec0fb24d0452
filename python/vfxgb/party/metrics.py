"""Numbers for monitoring, in the text format that Prometheus reads: what a party has done, and what is left.

Counters and histograms are added to while the process runs; gauges are asked for when somebody looks. Labels are names
of parties and fixed words, so their number is bounded. There is no id, no value of a table and no model in any of it.
"""

import math
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vfxgb.printable import printable

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# A name and a value for each label, in a fixed order.
Labels = tuple[tuple[str, str], ...]
# What a gauge shows when it is asked: values by labels.
Look = Callable[[], Mapping[Labels, float]]
SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


def labels(**names: str) -> Labels:
    """Return labels in the order in which they are given."""
    return tuple(names.items())


@dataclass
class _Histogram:
    """How many values were at most each of the bounds, and their sum."""

    bounds: Sequence[float]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0

    def add(self, value: float) -> None:
        self.counts = self.counts or [0] * (len(self.bounds) + 1)
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


@dataclass
class _Family:
    """All values of a name: counters or gauges by labels, or histograms by labels."""

    kind: str
    text: str
    values: dict[Labels, float] = field(default_factory=dict)
    histograms: dict[Labels, _Histogram] = field(default_factory=dict)
    look: Look | None = None


class Metrics:
    """Holds the numbers of one process, for any number of threads. Every name is described before it is used."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._families: dict[str, _Family] = {}

    def describe(self, name: str, kind: str, text: str, look: Look | None = None) -> None:
        """Say what `name` is: a "counter", a "gauge" or a "histogram". `look` gives a gauge's values when asked."""
        with self._lock:
            self._families[name] = _Family(kind, text, look=look)

    def add(self, name: str, more: float = 1.0, **names: str) -> None:
        """Add to a counter."""
        with self._lock:
            values, key = self._families[name].values, labels(**names)
            values[key] = values.get(key, 0.0) + more

    def observe(self, name: str, seconds: float, **names: str) -> None:
        """Add a value to a histogram over SECONDS."""
        with self._lock:
            self._families[name].histograms.setdefault(labels(**names), _Histogram(SECONDS)).add(seconds)

    def write(self) -> bytes:
        """Write everything as it stands. A gauge that cannot be read is left out, so that the others still show."""
        with self._lock:
            families = list(self._families.items())
        lines: list[str] = []
        for name, family in families:
            # Outside the lock: a gauge may have to read files.
            looked = _looked(family.look)
            with self._lock:
                samples = [*_samples(name, family), *((name, key, value) for key, value in looked.items())]
            lines += [f"# HELP {name} {family.text}", f"# TYPE {name} {family.kind}"]
            lines += [f"{shown}{_written(key)} {_number(value)}" for shown, key, value in samples]
        return ("\n".join(lines) + "\n").encode()


def _looked(look: Look | None) -> Mapping[Labels, float]:
    if look is None:
        return {}
    try:
        return look()
    except Exception:
        # Whatever it is, it has a line in the log where it matters; monitoring must not end what is monitored.
        return {}


def _samples(name: str, family: _Family) -> Iterable[tuple[str, Labels, float]]:
    for key, value in family.values.items():
        yield name, key, value
    for key, histogram in family.histograms.items():
        below = 0
        for bound, count in zip((*histogram.bounds, math.inf), histogram.counts, strict=True):
            below += count
            yield f"{name}_bucket", (*key, ("le", _number(bound))), below
        yield f"{name}_sum", key, histogram.total
        yield f"{name}_count", key, below


def _written(key: Labels) -> str:
    if not key:
        return ""
    shown = ",".join(f'{name}="{_escaped(value)}"' for name, value in key)
    return f"{{{shown}}}"


def _escaped(value: str) -> str:
    return printable(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1 << 53 else repr(value)


def describe_process(metrics: Metrics, party: str, version: str) -> None:
    """Describe what every process has: who it is, since when, and the processor time that it took."""
    began = time.time()
    metrics.describe("vfxgb_info", "gauge", "This party and its version.", lambda: {_info(party, version): 1.0})
    metrics.describe("process_start_time_seconds", "gauge", "When this process began.", lambda: {(): began})
    metrics.describe(
        "process_cpu_seconds_total", "counter", "Processor time of this process.", lambda: {(): time.process_time()}
    )


def _info(party: str, version: str) -> Labels:
    return labels(party=party, version=version)
