"""Numbers as people read them."""

import datetime as dt
import json
from typing import Any

_UNITS = ("B", "kB", "MB", "GB", "TB")


def size(count: float) -> str:
    """Bytes: 1.5 MB."""
    for unit in _UNITS:
        if count < 999.5 or unit == _UNITS[-1]:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.3g} {unit}"
        count /= 1000
    return ""


def duration(seconds: float) -> str:
    """Seconds: 3.1 ms, 0.42 s, 12.5 s, 3 min 20 s, 2 h 5 min."""
    if 0 < seconds < 1e-4:
        return "< 0.1 ms"
    if seconds < 0.0995:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 99.95:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min"


def number(value: float, digits: int = 4) -> str:
    """A measured value in so many digits."""
    return f"{value:,.0f}" if abs(value) >= 10_000 and value == value else f"{value:.{digits}g}"


def share(value: float) -> str:
    """A share of one as a percentage."""
    return f"{100 * value:.1f}%"


def moment(seconds: float) -> str:
    """A Unix time."""
    return f"{dt.datetime.fromtimestamp(seconds, dt.timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def plural(count: int, what: str) -> str:
    """1 round, 2 rounds, 1,000 rounds."""
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def shown(value: Any) -> str:
    """A parameter's value: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def joined(names: list[str]) -> str:
    """a, b and c."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
