"""How many threads a native call uses."""

import os

from vfxgb.checks import is_int
from vfxgb.errors import ThreadCountError

ENVIRONMENT_VARIABLE = "VFXGB_THREADS"


def available_cores() -> int:
    """The cores this process may run on: its affinity mask where the system has one, else all of them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def resolve_threads(threads: int | None) -> int:
    """The thread count to hand to the native core, at least 1.

    None means the environment variable VFXGB_THREADS if set, else all available cores.
    Raises ThreadCountError when either is not a positive integer.
    """
    if threads is None:
        text = os.environ.get(ENVIRONMENT_VARIABLE)
        if text is None:
            return available_cores()
        if not text.strip().isdecimal() or int(text) < 1:
            raise ThreadCountError(
                f"choosing threads: environment variable {ENVIRONMENT_VARIABLE} is {text!r}, wanted an integer of at "
                "least 1; correct it or unset it to use all cores"
            )
        return int(text)
    if not is_int(threads) or threads < 1:
        raise ThreadCountError(
            f"choosing threads: found threads={threads!r}, wanted an integer of at least 1; pass None for all cores"
        )
    return threads
