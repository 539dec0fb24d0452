"""What a party's folder holds of old runs, what of it can go, and its removal.

Runs with a model stay unless they are asked for, runs that a process works on stay in any case. Nothing but folders of
runs is ever touched: accounts of what peers were shown, releases, counts of predicted rows and the log outlive every
run, so that removing runs lifts no limit.
"""

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vfxgb.errors import ConfigError, FormatError
from vfxgb.files import locked, naming
from vfxgb.party.folder import PartyFolder, RunFolder

# Folders that are being removed get this before their name, so that nobody takes them for runs.
REMOVED = ".removed-"
# A run that says it is running, and whose files changed so recently, may be one of a process that holds no lock.
RECENT_SECONDS = 600.0
DAY_SECONDS = 86_400.0


@dataclass(frozen=True)
class OldRun:
    """A folder below runs/, described in `what`. It takes `size` bytes; its latest file has Unix time `changed`.

    `kept` says why it stays, and is empty if it goes.
    """

    path: Path
    what: str
    size: int
    changed: float
    kept: str

    @property
    def name(self) -> str:
        """The first characters of the run's id, enough for people."""
        return self.path.name.removeprefix(REMOVED)[:8]


def survey(folder: PartyFolder, models: bool = False, older_days: float = 0.0) -> list[OldRun]:
    """List all runs in a party's folder, the oldest first, and which of them would go.

    With `models` those with a model go, too. Only what has not changed for `older_days` goes. Raises ConfigError for a
    folder that is no party's.
    """
    runs = folder.path / "runs"
    if not runs.is_dir():
        raise ConfigError(
            f"looking for old runs in {str(folder.path)!r}: there is no folder runs/ in it; give the folder that a "
            "party's configuration names"
        )
    served = _is_locked(folder.lock_file)
    folders = (path for path in runs.iterdir() if path.is_dir() and not path.is_symlink())
    old = [_look(path, served, models, older_days) for path in folders]
    return sorted(old, key=lambda run: run.changed)


def remove(runs: Sequence[OldRun]) -> None:
    """Remove the folders of those runs that are not kept. Raises OSError."""
    for run in runs:
        if not run.kept:
            with naming(run.path):
                gone = run.path
                if not gone.name.startswith(REMOVED):
                    # One step, so that a run is there as a whole or not at all, whatever ends this process.
                    gone = run.path.rename(run.path.with_name(f"{REMOVED}{run.path.name}"))
                shutil.rmtree(gone)


def _look(path: Path, served: bool, models: bool, older_days: float) -> OldRun:
    files = [file for file in path.rglob("*") if file.is_file()]
    stats = [file.stat() for file in files]
    changed = max((stat.st_mtime for stat in stats), default=path.stat().st_mtime)
    folder = RunFolder(path)
    what, running = _describe(folder)
    kept = ""
    age = time.time() - changed
    if _is_locked(folder.lock_file) or (running and (served or age < RECENT_SECONDS)):
        kept = "a process may be working on it"
    elif folder.share_file.exists() and not models and not path.name.startswith(REMOVED):
        kept = "it has a model"
    elif age < older_days * DAY_SECONDS:
        kept = f"it changed within {older_days:g} days"
    return OldRun(path, what, sum(stat.st_size for stat in stats), changed, kept)


def _describe(folder: RunFolder) -> tuple[str, bool]:
    """Describe a run in words, and say whether its record calls it running."""
    if folder.path.name.startswith(REMOVED):
        return "left over from an earlier clean-up", False
    if not folder.run_file.exists():
        return "never began", False
    try:
        record = folder.read()
    except (FormatError, OSError):
        return "damaged record" + (", with a model" if folder.share_file.exists() else ""), False
    words = f"{record.state}, {record.rounds} of {record.planned_rounds} rounds, begun {record.began:%Y-%m-%d}"
    words += f", with {record.others}" if record.others else ""
    words += ", can be resumed" if folder.checkpoint_file.exists() and not folder.share_file.exists() else ""
    return words, record.state == "running"


def _is_locked(file: Path) -> bool:
    """Return whether another process holds the lock in `file` (folder.alone)."""
    try:
        with locked(file, wait=False, make=False):
            return False
    except OSError as error:
        return isinstance(error, BlockingIOError)
