"""What Linux tells of the memory of processes; other systems tell nothing."""

from collections.abc import Callable
from pathlib import Path

CLEAR_REFS = Path("/proc/self/clear_refs")
SELF = "self"


def start_peak() -> Callable[[], int | None]:
    """Forget the peak of memory of this process; the function returned says by how much it rose since, if it can."""
    try:
        CLEAR_REFS.write_text("5", encoding="ascii")  # resets the high-water mark to what is resident now
        before = status_bytes("VmRSS")
    except OSError:
        return lambda: None
    return lambda: status_bytes("VmHWM") - before


def status_bytes(field: str, process: int | str = SELF) -> int:
    """A field of /proc/<process>/status in bytes, such as VmRSS (resident) or VmHWM (its peak). Raises OSError."""
    path = Path(f"/proc/{process}/status")
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise OSError(f"no field {field} in {path}")


def peak_of(process: int) -> int | None:
    """The most memory a process ever had, None if the system does not tell."""
    try:
        return status_bytes("VmHWM", process)
    except OSError:
        return None
