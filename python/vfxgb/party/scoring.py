"""Scores of single rows on request: the active party's part of `vfxgb predict --serve`, below HTTP (endpoint.py).

One session to each passive party of the model is kept open, and ids are looked up in it (vfxgb.align.lookup): each
question is one round trip for the ids and one per depth of the trees. The passive parties see who is asked for. A
session that was lost is opened again with the next question.
"""

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.align import Asker, make_ids
from vfxgb.align.normalise import check_steps
from vfxgb.data.table import Table
from vfxgb.errors import ChannelClosedError, PeerError
from vfxgb.party.config import PartyConfig
from vfxgb.party.dialling import open_sessions
from vfxgb.party.logs import Log
from vfxgb.party.messages import PredictRequest
from vfxgb.party.partners import PartnerWatch
from vfxgb.party.predict import Predictor
from vfxgb.party.session import Network, Session, greet, hello, prediction_talk
from vfxgb.party.tables import agreed
from vfxgb.predict.sides import lead_prediction
from vfxgb.train.ledger import Ledger

# For the question under way when the scorer is closed.
CLOSE_SECONDS = 5.0


class Scorer:
    """Scores with one model. Construction needs no peer. For any number of threads, which take turns.

    `model`: the run that made the model, "latest" for the last one that finished.
    """

    def __init__(self, config: PartyConfig, log: Log, model: str = "latest") -> None:
        self.config = config
        self.share = Predictor(config, log, model).share
        self.features: tuple[str, ...] = self.share.records.features
        self._log = log
        network = Network.of(config)
        peers = {name: peer for name, peer in network.peers.items() if name in self.share.parties}
        self._network = Network(network.identity, peers, network.limits)
        self._steps = check_steps(config.data.normalise, "reading the configuration: normalise")
        self._turn = threading.Lock()
        self._open = ExitStack()
        self._sessions: dict[str, Session] = {}
        self._asker: Asker | None = None

    def connect(self) -> None:
        """Open the sessions if they are not. Raises ConsentError, PeerError."""
        with self._turn:
            self._meet()

    def score(self, ids: Sequence[Any], columns: Mapping[str, Sequence[Any]]) -> NDArray[np.float64]:
        """Scores float64[n, outputs] of rows with these ids and values of `features`; NaN where a party lacks the row.

        Raises AlignmentError for ids that are none or come twice, ColumnValueError and other errors of tables,
        ConsentError beyond what a passive party allows, PeerError.
        """
        read = make_ids(ids, self.config.party, self._steps)
        table = Table.read(
            {name: np.array(columns[name], dtype=np.float64) for name in self.features},
            party=self.config.party,
            missing=self.config.data.missing,
        )
        with self._turn:
            known = self._asker is not None
            try:
                return self._ask(read, table)
            except (PeerError, ChannelClosedError):
                if not known:
                    raise
            # The session may have ended long ago, without anybody asking.
            return self._ask(read, table)

    def close(self) -> None:
        """Tell the passive parties that there are no more questions, and end the sessions."""
        if not self._turn.acquire(timeout=CLOSE_SECONDS):
            # Somebody waits for a passive party that says nothing.
            for session in list(self._sessions.values()):
                session.link.close()
            self._turn.acquire()
        try:
            if self._asker is not None:
                with suppress(PeerError, ChannelClosedError):
                    self._asker.close()
            self._forget()
        finally:
            self._turn.release()

    def _meet(self) -> Asker:
        if self._asker is None:
            try:
                watch = PartnerWatch(self._log, lambda: "then requests fail", lambda: self.share.run)
                self._sessions = self._open.enter_context(open_sessions(self._network, Ledger(), watch))
                words = hello(
                    "predict", self.share.run, self.config.purpose, predict=PredictRequest(0, matching="lookup")
                )
                for session in self._sessions.values():
                    greet(session, words)
                    session.speak(prediction_talk())
                self._asker = Asker(self.config.party, self._channels(), self._steps)
                self._log.info("scoring", run=self.share.run, peers=list(self._sessions))
            except BaseException as error:
                self._forget(error)
                raise
        return self._asker

    def _ask(self, ids: Any, table: Table) -> NDArray[np.float64]:
        asker = self._meet()
        scores = np.full((len(ids), self.share.n_outputs), np.nan)
        try:
            rows = np.flatnonzero(asker.ask(ids))
            if len(rows):
                found = lead_prediction(
                    self.share,
                    agreed([(table, rows)], b""),
                    self._channels(),
                    what="value",
                    threads=self.config.threads,
                )
                scores[rows] = found.reshape(len(rows), -1)
        except BaseException as error:
            # Half of a conversation is of no use for the next one.
            self._forget(error)
            raise
        self._log.info("predicted", run=self.share.run, rows=len(rows), missing=len(ids) - len(rows))
        return scores

    def _channels(self) -> dict[str, Any]:
        return {name: session.channel for name, session in self._sessions.items()}

    def _forget(self, error: BaseException | None = None) -> None:
        if error is not None:
            for session in self._sessions.values():
                session.channel.abort(error)
        self._open.close()
        self._sessions, self._asker = {}, None
