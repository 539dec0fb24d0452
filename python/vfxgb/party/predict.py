"""`vfxgb predict`: scores of a file of rows, by all parties of a model together.

Rows are matched by private set intersection, or looked up by id where the passive parties may see who is asked for.
"""

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vfxgb.align import AlignParams, Asker, align_active, make_ids
from vfxgb.align.ids import objects_of
from vfxgb.align.overlap import overlap_hint
from vfxgb.data.parquet import ParquetSource
from vfxgb.data.table import Table
from vfxgb.engine.settings import engines_for
from vfxgb.errors import ConfigError, FormatError, MissingPackageError, PartiesError, ShareMismatchError, TableError
from vfxgb.files import write_atomically
from vfxgb.model.file import load_share
from vfxgb.model.shares import ActiveShare
from vfxgb.party.config import PartyConfig, section
from vfxgb.party.dialling import open_sessions
from vfxgb.party.folder import PartyFolder, RunFolder
from vfxgb.party.logs import Log, Tell, say_nothing
from vfxgb.party.messages import PredictRequest
from vfxgb.party.partners import PartnerWatch
from vfxgb.party.session import Network, channels_of, hello, need_role, prediction_talk, total_bytes
from vfxgb.party.tables import agreed, open_table
from vfxgb.predict.hidden_line import HiddenLines, connect_hidden
from vfxgb.predict.sides import lead_prediction
from vfxgb.routing import RoutingSettings
from vfxgb.runtime.ledger import Ledger
from vfxgb.transport.channel import Channel

Matching = Literal["psi", "lookup"]
Progress = Callable[[str, int, int], None]
ENDINGS = (".csv", ".parquet")


@dataclass(frozen=True)
class Scores:
    """Holds `ids` as they stand in the input and `values` float64[n, outputs], NaN where a party lacks the row.

    `ledger` says what the messages revealed, and `bytes` passed between the parties. `hint` says what to look at where
    few ids are common.
    """

    ids: list[Any]
    values: NDArray[np.float64]
    ledger: Ledger
    bytes: int
    hint: str = ""

    @property
    def missing(self) -> int:
        """Count the rows that some party does not have."""
        return int(np.isnan(self.values[:, 0]).sum())


class Predictor:
    """Predicts with one model. Construction checks everything that needs no peer.

    `model` names the run that made the model, "latest" the last one that finished. `tell` gets lines for people.
    """

    def __init__(self, config: PartyConfig, log: Log, model: str = "latest", tell: Tell = say_nothing) -> None:
        need_role(config, "predict", "active")
        self.config = config
        self._log = log
        self._tell = tell
        self._network = Network.of(config)
        self._align = section(AlignParams, config.align, "align", config.path)
        self.folder = find_model(PartyFolder(config.folder), model)
        self.share = load_active(self.folder)
        absent = [name for name in self.share.parties if name != config.party and name not in config.peers]
        if absent:
            raise PartiesError(f"predicting: the model needs {', '.join(absent)}, wanted [peers] with these; add them")

    def read(self, path: Path, in_files: bool = False) -> tuple[list[Any], Table | ParquetSource]:
        """Read the ids of a table as they stand, and the columns that the model needs. Raises what reading raises.

        With `in_files`, columns in Parquet files stay where they are.
        """
        parts, table = open_table(self.config, path, self.share.records.features, in_files)
        return [name for part in parts for name in objects_of(part)], table

    def run(self, path: Path, matching: Matching = "psi", progress: Progress | None = None) -> Scores:
        """Score the rows of a table. Raises ConsentError, PeerError and what else goes wrong."""
        config = self.config
        texts, table = self.read(path, in_files=config.engine.in_shards)
        ids = make_ids(texts, config.party, config.data.normalise)
        ledger = Ledger()
        peers = {name: peer for name, peer in self._network.peers.items() if name in self.share.parties}
        network = Network(self._network.identity, peers, self._network.limits)
        run = self.share.run
        request = PredictRequest(len(ids), matching, config.predict.hidden)
        words = hello("predict", run, config.purpose, predict=request)
        values = np.full((len(ids), self.share.n_outputs), np.nan)
        watch = PartnerWatch(self._log, lambda: "then the prediction fails; run it again", lambda: run, self._tell)
        with open_sessions(network, ledger, watch) as sessions:
            for session in sessions.values():
                session.begin(words, config.data.normalise, prediction_talk(request.hidden))
            channels, digest = channels_of(sessions), b""
            hidden = hide(config, self.share, channels, self._network.limits.line.mbit)
            if matching == "psi":
                aligned = align_active(
                    config.party, [ids], channels, self._align, config.threads, progress, may_be_none=True
                )
                rows, digest, hint = aligned.positions[0], aligned.digest, aligned.hint
            else:
                asker = Asker(config.party, channels, ids.steps)
                rows = np.flatnonzero(asker.ask(ids))
                hint = overlap_hint(len(rows), len(ids), min(asker.n_ids.values()))
            if len(rows):
                values[rows] = self._lead(table, rows, digest, channels, hidden)
            if matching == "lookup":
                asker.close()
        scores = Scores(texts, values, ledger, total_bytes(sessions), hint)
        self.folder.add_predictions(ledger)
        if hint:
            self._log.warning("overlap", run=run, text=hint)
        self._log.info("predicted", run=run, rows=len(ids) - scores.missing, missing=scores.missing)
        return scores

    def _lead(
        self,
        table: Table | ParquetSource,
        rows: NDArray[np.int64],
        digest: bytes,
        channels: Mapping[str, Channel],
        hidden: HiddenLines | None,
    ) -> NDArray[Any]:
        config = self.config
        with engines_for([config.party], config.engine, config.threads) as engines:
            engine = engines[config.party]
            common = agreed([(table, rows)], digest, engine)
            values = lead_prediction(
                self.share, common, channels, what="value", threads=config.threads, engine=engine, hidden=hidden
            )
        return values.reshape(len(rows), -1)


def hide(
    config: PartyConfig, share: ActiveShare, channels: Mapping[str, Channel], mbit: float | None, stock_rows: int = 0
) -> HiddenLines | None:
    """Set up hidden routing with the passive parties if the configuration says so; see connect_hidden.

    `mbit`: of the line to them, None if nobody has told.
    """
    if not config.predict.hidden:
        return None
    settings = RoutingSettings.for_line(config.predict.transfers, mbit, config.threads)
    return connect_hidden(share, channels, settings, stock_rows)


def find_model(folder: PartyFolder, model: str) -> RunFolder:
    """Find the run that made a model. Raises ConfigError when there is none."""
    if model != "latest":
        return folder.find(model)
    for run in folder.runs():
        if run.share_file.exists():
            return run
    raise ConfigError(f"predicting: there is no model in {str(folder.path)!r}; train one first")


def load_active(folder: RunFolder) -> ActiveShare:
    """Load the active party's share in a run folder. Raises ConfigError, FormatError, ShareMismatchError."""
    try:
        share = load_share(folder.share_file)
    except FileNotFoundError:
        raise ConfigError(f"predicting: run {folder.run[:8]} has no model; did it finish?") from None
    except (FormatError, ShareMismatchError) as error:
        runs = PartyFolder(folder.path.parents[1]).runs()
        others = [run.run[:8] for run in runs if run.run != folder.run and run.share_file.exists()]
        hint = f"; other models here: --model {' or '.join(others[:5])}" if others else ""
        raise type(error)(f"{error}{hint}") from None
    if not isinstance(share, ActiveShare):
        raise ConfigError(f"predicting: {str(folder.share_file)!r} is a passive party's share, wanted the active one")
    return share


def check_output(path: Path) -> None:
    """Raise TableError or MissingPackageError unless scores can be written to such a file."""
    if path.suffix.lower() not in ENDINGS:
        raise TableError(f"writing scores: {path.name!r} ends in {path.suffix!r}, wanted one of {', '.join(ENDINGS)}")
    if path.suffix.lower() == ".parquet":
        _arrow()
    if not path.parent.is_dir():
        raise TableError(f"writing scores: there is no folder {str(path.parent)!r}")


def write_scores(path: Path, scores: Scores, id_column: str) -> None:
    """Write id and score columns in the order of the input, no score where a party lacks the row. Raises OSError."""
    outputs = scores.values.shape[1]
    names = ["score"] if outputs == 1 else [f"score_{output}" for output in range(outputs)]
    if path.suffix.lower() == ".parquet":
        arrow, parquet = _arrow()
        columns = {id_column: arrow.array(scores.ids)}
        for place, name in enumerate(names):
            columns[name] = arrow.array(scores.values[:, place], from_pandas=True)
        sink = io.BytesIO()
        parquet.write_table(arrow.table(columns), sink)
        write_atomically(path, sink.getvalue())
        return
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([id_column, *names])
    for name, values in zip(scores.ids, scores.values.tolist(), strict=True):
        # Nine digits bring every float32 back.
        writer.writerow([name, *("" if value != value else f"{value:.9g}" for value in values)])
    write_atomically(path, text.getvalue().encode())


def _arrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise MissingPackageError("writing scores: Parquet needs pyarrow, which is not installed; write .csv") from None
