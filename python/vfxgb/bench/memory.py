"""What Linux tells of the memory of a process; other systems tell nothing."""

from collections.abc import Callable
from pathlib import Path

STATUS, CLEAR_REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def start_peak() -> Callable[[], int | None]:
    """Forget the peak of memory of this process; the function returned says by how much it rose since, if it can."""
    try:
        CLEAR_REFS.write_text("5", encoding="ascii")  # resets the high-water mark to what is resident now
        before = status_bytes("VmRSS")
    except OSError:
        return lambda: None
    return lambda: status_bytes("VmHWM") - before


def status_bytes(field: str) -> int:
    """A field of /proc/self/status in bytes, such as VmRSS (resident) or VmHWM (its peak). Raises OSError."""
    for line in STATUS.read_text(encoding="utf-8").splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise OSError(f"no field {field} in {STATUS}")


def known_bytes(field: str) -> int | None:
    """The same, None where the system does not tell."""
    try:
        return status_bytes(field)
    except OSError:
        return None
