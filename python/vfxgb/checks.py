"""Checks of argument types that annotations promise and callers still get wrong."""

from typing import TypeGuard


def is_int(value: object) -> TypeGuard[int]:
    """Whether `value` is a Python int and no bool, which is one only by inheritance."""
    return isinstance(value, int) and not isinstance(value, bool)
