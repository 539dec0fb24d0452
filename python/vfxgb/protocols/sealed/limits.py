"""What a passive party lets the active party win: runs, splits in all, and different columns.

An active party learns the rows' bits at every split that wins, and one that deviates can make any column win. These
limits bound what it gets, over all runs where the passive party keeps a record of what was won. A win beyond a limit is
*withheld*: the rows of its node are all said to go right. The active party sees that no row goes left, which cannot be
at a split that has won, and takes its own best or a leaf in its place. Training goes on. What is told is on disk before
the rows are.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import PassiveContext
from vfxgb.errors import ConsentError
from vfxgb.files import locked
from vfxgb.protocols.sealed.columns import CandidateColumns
from vfxgb.protocols.sealed.kept import WinRecord, kept_file, read_wins, write_wins
from vfxgb.protocols.sealed.params import SealedParams


class WinLimits:
    """Counts what was won. Raises ConsentError for a run too many, FormatError for a record that is damaged."""

    def __init__(self, context: PassiveContext, columns: CandidateColumns) -> None:
        params: SealedParams = context.params
        self._params, self._party = params, context.party
        self._disclosed = context.disclosed
        folder = context.kept_in or params.setup_dir
        self._path: Path | None = None if folder is None else kept_file(str(folder), context, "wins")
        self._record = WinRecord()
        # Columns are known by their cuts and how many rows go left, so that one is the same in every order.
        self._digest, self._place = ("", np.arange(len(columns)))
        if self._path is not None:
            self._digest, self._place = _named(columns)
        # A run that is resumed is the same run.
        run = hashlib.sha256(b"vfxgb sealed run " + context.secret).hexdigest()
        with self._changing():
            runs = self._record.runs
            if run not in runs:
                runs = (*runs, run)
            if params.max_runs is not None and len(runs) > params.max_runs:
                raise ConsentError(
                    f"{self._party} tells the rows of its winning splits in at most {params.max_runs} runs "
                    f"(max_runs), and this would be number {len(runs)}; ask {self._party} for more"
                )
            self._keep(runs, self._record.wins, self._won())

    @property
    def wins(self) -> int:
        """Splits whose rows were told."""
        return self._record.wins

    @property
    def won_columns(self) -> int:
        """Different columns among them."""
        return int(np.count_nonzero(self._won()))

    def enter(self, columns: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Enter columns that have won a level, before their rows are told: bool[k], which of them may be told."""
        params = self._params
        told = np.zeros(len(columns), dtype=np.bool_)
        with self._changing():
            won, wins = self._won(), self._record.wins
            most = int(params.max_won_columns * len(won) + 1e-9)
            count = int(np.count_nonzero(won))
            for place, column in enumerate(self._place[columns].tolist()):
                if params.max_wins is not None and wins >= params.max_wins:
                    self._disclosed.withheld_wins += 1
                elif not won[column] and count >= most:
                    self._disclosed.withheld_columns += 1
                else:
                    count += not won[column]
                    won[column] = told[place] = True
                    wins += 1
            self._keep(self._record.runs, wins, won)
        return told

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Runs of the same party at the same time count together."""
        if self._path is None:
            yield
            return
        with locked(self._path.with_name(f".{self._path.name}.lock")):
            self._record = read_wins(self._path, self._party)
            yield

    def _won(self) -> NDArray[np.bool_]:
        packed = self._record.columns.get(self._digest, b"")
        won: NDArray[np.bool_] = np.zeros(len(self._place), dtype=np.bool_)
        if len(packed) == -(-len(won) // 8):
            won |= np.unpackbits(np.frombuffer(packed, np.uint8), count=len(won), bitorder="little").astype(np.bool_)
        return won

    def _keep(self, runs: tuple[str, ...], wins: int, won: NDArray[np.bool_]) -> None:
        packed = np.packbits(won, bitorder="little").tobytes()
        self._record = WinRecord(runs, wins, {**self._record.columns, self._digest: packed})
        if self._path is not None:
            write_wins(self._path, self._record)


def _named(columns: CandidateColumns) -> tuple[str, NDArray[np.int64]]:
    """A digest of all columns, and int64[columns], the place of each among them, in any order of rows and columns."""
    names = columns.names()
    order = sorted(range(len(names)), key=names.__getitem__)
    place = np.zeros(len(names), dtype=np.int64)
    place[order] = np.arange(len(names))
    return hashlib.sha256(b"".join(names[column] for column in order)).hexdigest(), place
