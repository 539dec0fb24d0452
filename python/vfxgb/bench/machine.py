"""Facts about the machine a measurement ran on."""

import os
import platform
import subprocess
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from vfxgb import __version__
from vfxgb.kernels import kernels_in_use
from vfxgb.threads import available_cores

PACKAGES = ("numpy", "gmpy2", "phe")
# What a commit is compared in: pages, and the results that a benchmark has just written, change no measurement.
CODE = (".", ":(exclude)docs", ":(exclude)*.md")
# The source tree around the package, if there is one.
SOURCE = Path(__file__).resolve().parents[3]
# Where a file that git does not know changes what is measured.
CODE_FOLDERS = ("python", "cpp", "bench")


def machine_facts() -> dict[str, str]:
    """Processor, cores, kernels, versions, commit, date and load, as printable text."""
    facts = {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "processor": _processor(),
        "cores": str(available_cores()),
        "kernels": kernels_in_use(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "vfxgb": __version__,
    }
    facts.update({name: _version(name) for name in PACKAGES})
    measured = commit()
    if measured:
        facts["commit"] = measured
    if hasattr(os, "getloadavg"):
        facts["load average"] = " ".join(f"{load:.2f}" for load in os.getloadavg())
    return facts


def commit(source: Path = SOURCE) -> str:
    """The commit measured, with a plus if its code (CODE) was changed; empty outside a source tree."""
    if not (source / ".git").exists():
        return ""
    try:
        head = _git(source, "rev-parse", "--short", "HEAD")
    except FileNotFoundError:
        return ""
    name = head.stdout.strip()
    return f"{name}+" if name and local_changes(source) else name


def local_changes(source: Path = SOURCE) -> list[str]:
    """The files of a source tree whose code (CODE) differs from its commit, new ones too; empty outside one."""
    if not (source / ".git").exists():
        return []
    try:
        lines = _git(source, "status", "--porcelain", "--", *CODE).stdout.splitlines()
    except FileNotFoundError:
        return []
    return [line[3:] for line in lines if not line.startswith("??") or line[3:].split("/")[0] in CODE_FOLDERS]


def same_code(name: str, source: Path = SOURCE) -> bool:
    """Whether the code of a commit is that of HEAD. No commit that is unknown or was changed is the same."""
    if not name.isalnum():
        return False
    return _git(source, "diff", "--quiet", name, "HEAD", "--", *CODE).returncode == 0


def _git(source: Path, *rest: str) -> "subprocess.CompletedProcess[str]":
    command = ["git", "-C", str(source), *rest]
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
