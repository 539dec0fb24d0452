"""Checks of what callers give: types that annotations promise, and names that are nearly right."""

import difflib
from collections.abc import Sequence
from typing import TypeGuard


def is_int(value: object) -> TypeGuard[int]:
    """Whether `value` is a Python int and no bool, which is one only by inheritance."""
    return isinstance(value, int) and not isinstance(value, bool)


def closest_name(name: str, known: Sequence[str]) -> str | None:
    """The member of `known` that `name` most likely meant, or None when nothing is near."""
    near = difflib.get_close_matches(name.lower(), list(known), n=1, cutoff=0.5)
    return near[0] if near else None
