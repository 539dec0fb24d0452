"""What callers give: types that annotations promise, names that are nearly right, sizes as people write them."""

import difflib
import re
from collections.abc import Sequence
from typing import TypeGuard

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(I?)B?\s*", re.IGNORECASE)


def is_int(value: object) -> TypeGuard[int]:
    """Whether `value` is a Python int and no bool, which is one only by inheritance."""
    return isinstance(value, int) and not isinstance(value, bool)


def closest_name(name: str, known: Sequence[str]) -> str | None:
    """The member of `known` that `name` most likely meant, or None when nothing is near."""
    near = difflib.get_close_matches(name.lower(), list(known), n=1, cutoff=0.5)
    return near[0] if near else None


def bytes_in(text: str) -> int | None:
    """Bytes of "1GB" (10^9), "512 MiB" (2^29) or "1000"; None where it is no size."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    number, unit, binary = match.groups()
    power = "KMGT".index(unit.upper()) + 1 if unit else 0
    return int(float(number) * (1024 if binary else 1000) ** power)
