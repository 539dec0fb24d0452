"""What all sessions of a passive party share: its settings, its tables, folders of runs, accounts of peers."""

import threading
from pathlib import Path

from vfxgb.data.parquet import parquet_files
from vfxgb.errors import ConsentError
from vfxgb.party.budget import Budget
from vfxgb.party.config import PartyConfig
from vfxgb.party.folder import PartyFolder, RunFolder
from vfxgb.party.logs import Log
from vfxgb.party.reload import Settings
from vfxgb.party.tables import PartyTable, read_table

# A stamp changes when a table does: it has name, time and size of each of its files.
Stamp = tuple[tuple[str, int, int], ...]


class ServingParty:
    """A passive party that serves. `settings` may be replaced at any time (`use`); `lock` guards counts and folders."""

    def __init__(self, config: PartyConfig, log: Log) -> None:
        self.log = log
        self.settings = Settings.of(config)
        self.name = config.party
        self.folder = PartyFolder(config.folder).make()
        self.lock = threading.Lock()
        self._tables: dict[tuple[Path, bool], tuple[Stamp, PartyTable]] = {}

    def use(self, settings: Settings) -> None:
        """Work by these settings from now on."""
        with self.lock:
            # Both together: what was read for the old settings is not used for the new ones.
            self.settings, self._tables = settings, {}

    def table(self, what: str, single_rows: bool = False) -> PartyTable:
        """Return the table for "train" or "predict", read again when its file has changed. Raises what reading raises.

        With `single_rows` it is in memory even at a party that has an engine, for questions about a few rows at a time.
        """
        with self.lock:
            config, tables = self.settings.config, self._tables
        data = config.data
        path = data.train if what == "train" or data.predict is None else data.predict
        in_files = config.engine.in_shards and not single_rows
        if path is None or not path.exists():
            return read_table(config, path, what, in_files=in_files)
        stamp = _stamp(path)
        with self.lock:
            known = tables.get((path, in_files))
            if known is None or known[0] != stamp:
                known = (stamp, read_table(config, path, what, in_files=in_files))
                tables[path, in_files] = known
            return known[1]

    def budget(self, peer: str) -> Budget:
        """Return what a peer may still be shown, by the settings of now."""
        return Budget(self.settings.config.consent, self.folder.account(self.name, peer))

    def need_run_of(self, peer: str, run: str) -> None:
        """Raise ConsentError if another party began the run: its model and checkpoint are not this one's to use."""
        folder = self.folder.run(run)
        if folder.run_file.exists() and folder.read().parties[:1] != (peer,):
            raise ConsentError(f"{self.name} does not agree to {peer} using run {run[:8]}, which is another's")

    def need_room(self, peer: str, folder: RunFolder) -> None:
        """Raise ConsentError if another unfinished run of the peer would be one too many; old ones may go on."""
        most = self.settings.config.max_unfinished_runs
        if not folder.path.is_dir() and (unfinished := self.folder.count_unfinished(peer)) >= most:
            raise ConsentError(
                f"{self.name} does not agree to another run of {peer}: {unfinished} of its runs are unfinished here, "
                f"wanted fewer than {most} (max_unfinished_runs); resume one, or have {self.name} remove some (vfxgb "
                "clean)"
            )

    def begin(self, peer: str, folder: RunFolder) -> None:
        """Make the folder of a run. Raises ConsentError if the peer has too many unfinished ones."""
        with self.lock:
            self.need_room(peer, folder)
            folder.make()


def _stamp(path: Path) -> Stamp:
    files = parquet_files(path, "reading a table") if path.is_dir() else [path]
    return tuple((str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files)
