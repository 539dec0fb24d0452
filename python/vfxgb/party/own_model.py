"""`vfxgb predict` of a user, or of a server of users: they hold the whole model and ask nobody."""

from pathlib import Path
from typing import Any

import numpy as np

from vfxgb.align.ids import objects_of
from vfxgb.data.table import Table
from vfxgb.errors import ConfigError, TableError
from vfxgb.party.config import PartyConfig
from vfxgb.party.folder import PartyFolder
from vfxgb.party.logs import Log
from vfxgb.party.predict import Scores, find_model, load_active
from vfxgb.party.session import need_role
from vfxgb.party.tables import column_names, open_table
from vfxgb.predict.sides import lead_prediction
from vfxgb.runtime.ledger import Ledger

ROW = "row"


class OwnModel:
    """Predicts with a model that this party holds alone. Construction checks that it does.

    `model` names the run that made it, "latest" the last one that finished.
    """

    def __init__(self, config: PartyConfig, log: Log, model: str = "latest") -> None:
        need_role(config, "predict", "user", "server")
        self.config = config
        self._log = log
        self.folder = find_model(PartyFolder(config.folder), model)
        self.share = load_active(self.folder)
        others = [party for party in self.share.parties if party != self.share.party]
        if others:
            raise ConfigError(
                f"vfxgb predict: the model of run {self.folder.run[:8]} has splits of {', '.join(others)}, wanted one "
                "that was trained with users; name its run with --model"
            )

    def read(self, path: Path) -> tuple[str, list[Any], Table]:
        """Read which column names the rows, the names, and the columns the model needs. Raises what reading raises.

        A table without the id column of [data] is fine: users' rows need no names, and are then numbered from 0.
        """
        config, where = self.config, f"reading rows to predict at {self.config.party!r}"
        features = self.share.records.features
        if config.data.id in column_names(path, where):
            parts, table = open_table(config, path, features, in_files=False)
            assert isinstance(table, Table)  # noqa: S101 - not in files
            return config.data.id, [name for part in parts for name in objects_of(part)], table
        if path.is_dir():
            raise TableError(
                f"{where}: the files in {str(path)!r} have no column {config.data.id!r} that names their rows; name "
                "one with id in [data], or give a single file"
            )
        table = Table.read(path, columns=features, party=config.party, missing=config.data.missing)
        return ROW, list(range(table.n_rows)), table

    def run(self, path: Path) -> tuple[str, Scores]:
        """Return the column that names the rows, and the scores of all rows of a table."""
        name, ids, table = self.read(path)
        values = lead_prediction(self.share, table, {}, what="value", threads=self.config.threads)
        scores = Scores(ids, np.asarray(values, dtype=np.float64).reshape(len(ids), -1), Ledger(), 0)
        self._log.info("predicted", run=self.share.run, rows=len(ids), missing=0)
        return name, scores
