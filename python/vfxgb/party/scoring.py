"""Scores of single rows on request: the active party's part of `vfxgb predict --serve`, below HTTP (endpoint.py).

One session to each passive party of the model is kept open, and ids are looked up in it (vfxgb.align.lookup): each
round is one round trip for the ids and one per depth of the trees, for however many questions. The passive parties see
who is asked for, and, unless predictions are hidden, which of their splits the rows reach. A session that was lost is
opened again with the next question, or when somebody looks (`look`).
"""

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.align import Asker, Ids, make_ids
from vfxgb.align.normalise import check_steps
from vfxgb.data.table import Table
from vfxgb.errors import ChannelClosedError, ConfigError, ConsentError, PeerError, ShareMismatchError, VfxgbError
from vfxgb.model.shares import ActiveShare
from vfxgb.party.config import PartyConfig
from vfxgb.party.dialling import open_sessions
from vfxgb.party.folder import PartyFolder
from vfxgb.party.logs import Log
from vfxgb.party.messages import PredictRequest
from vfxgb.party.partner_health import Partners
from vfxgb.party.partners import PartnerWatch
from vfxgb.party.predict import Predictor, find_model, hide
from vfxgb.party.session import Network, Session, channels_of, hello, prediction_talk
from vfxgb.party.tables import agreed
from vfxgb.predict.sides import lead_prediction
from vfxgb.runtime.ledger import Ledger

# For the round under way when the scorer is closed.
CLOSE_SECONDS = 5.0
# A client waits for its score, so a passive party that is slower than this counts as lost, whatever [network] says for
# training: seconds for a message, and for a lost connection to come back.
MESSAGE_SECONDS = 60.0
RECONNECT_SECONDS = 5.0
# Rows for which hidden predictions have transfers ready, so that a row waits for nothing but the flights of its levels.
HIDDEN_STOCK_ROWS = 64


@dataclass(frozen=True)
class Question:
    """Asks for the scores of rows, by checked ids and values by feature."""

    ids: Ids
    columns: Mapping[str, NDArray[np.float64]]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def keys(self) -> frozenset[bytes]:
        """Return what is equal for equal ids."""
        return frozenset(digest.tobytes() for digest in self.ids.digests)


@dataclass(frozen=True)
class Answer:
    """Holds scores float64[n, outputs], NaN where a party lacks the row, and the run that made the model."""

    run: str
    scores: NDArray[np.float64]


class Scorer:
    """Scores with one model, for any number of threads, which take turns. Construction needs no peer.

    `model` names the run that made the model, "latest" the last one that has finished now. A run that finishes later
    changes nothing, unless `follow` is set: then `look` changes to it.
    """

    def __init__(self, config: PartyConfig, log: Log, model: str = "latest", follow: bool = False) -> None:
        self.config = config
        self.follow = follow
        self._log = log
        self.steps = check_steps(config.data.normalise, "reading the configuration: normalise")
        self._turn = threading.Lock()
        self._conversation: _Conversation | None = None
        self._closed = False
        self._not_followed = ""
        self.share = Predictor(config, log, model).share
        if self.share.records.categories is not None:
            raise ConfigError(
                f"scoring: the part of {config.party!r} in the model has features of categories, and the endpoint "
                "takes numbers only; use `vfxgb predict` with a file, or train with these columns encoded as numbers"
            )
        self.partners = Partners(self.share.parties[1:])
        self.watch = PartnerWatch(log, lambda: "then requests fail", lambda: self.share.run)

    @property
    def features(self) -> tuple[str, ...]:
        """Every question has to have these columns, which are this party's of the model."""
        return self.share.records.features

    def connect(self) -> None:
        """Open the sessions if they are not. Raises ConsentError, PeerError."""
        with self._turn:
            self._meet()

    def look(self) -> None:
        """Bring `partners` up to date, and with `follow` the model; opens sessions that were lost, if it is time.

        Call it now and then. While a question is being asked it only looks whether the connections are there.
        """
        if not self._turn.acquire(blocking=False):
            conversation = self._conversation
            if conversation is not None:
                conversation.notice_lost(self.partners)
            return
        try:
            if self._closed:
                return
            if self.follow:
                self._follow()
            if self._conversation is not None:
                self._conversation.observe(self.partners)
                if self._conversation.is_over:
                    self._forget()
            if self._conversation is None and self.partners.is_time():
                with suppress(VfxgbError):
                    self._meet()
        finally:
            self._turn.release()

    def read(self, ids: Sequence[Any], columns: Mapping[str, Sequence[Any]]) -> Question:
        """Check ids and values of `features`.

        Raises AlignmentError for ids that are none or come twice, ColumnValueError and other errors of tables.
        """
        values = {name: np.array(column, dtype=np.float64) for name, column in columns.items()}
        question = Question(make_ids(ids, self.config.party, self.steps), values)
        self._table([question])
        return question

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        """Score the rows of all questions, whose ids are all different, in one round with the passive parties.

        Raises ConsentError beyond what a passive party allows, PeerError, and ShareMismatchError for a question that
        was read for a model with other features.
        """
        digests = np.concatenate([question.ids.digests for question in questions])
        ids = Ids(self.config.party, digests, self.steps)
        with self._turn:
            for question in questions:
                if tuple(question.columns) != self.features:
                    raise ShareMismatchError(
                        f"scoring: the model has changed to run {self.share.run}, which has other features: "
                        f"{', '.join(self.features)}; ask again with these"
                    )
            table = self._table(questions)
            known = self._conversation is not None
            try:
                scores = self._ask(ids, table)
            except (PeerError, ChannelClosedError):
                if not known:
                    raise
                # The session may have ended long ago, without anybody asking.
                scores = self._ask(ids, table)
            run = self.share.run
        self._log.info(
            "predicted", run=run, rows=int(np.isfinite(scores[:, 0]).sum()), of=len(ids), questions=len(questions)
        )
        ends = np.cumsum([len(question) for question in questions])
        return [Answer(run, part) for part in np.split(scores, ends[:-1])]

    def score(self, ids: Sequence[Any], columns: Mapping[str, Sequence[Any]]) -> NDArray[np.float64]:
        """Score the rows of one question. Raises what `read` and `answer` raise."""
        return self.answer([self.read(ids, columns)])[0].scores

    def close(self) -> None:
        """Tell the passive parties that there are no more questions, and end the sessions."""
        if not self._turn.acquire(timeout=CLOSE_SECONDS):
            # Somebody waits for a passive party that says nothing.
            conversation = self._conversation
            if conversation is not None:
                conversation.cut()
            self._turn.acquire()
        try:
            self._closed = True
            if self._conversation is not None:
                self._conversation.say_goodbye()
            self._forget()
        finally:
            self._turn.release()

    def _table(self, questions: Sequence[Question]) -> Table:
        columns = {
            name: np.concatenate([question.columns[name] for question in questions]) for name in questions[0].columns
        }
        return Table.read(columns, party=self.config.party, missing=self.config.data.missing)

    def _meet(self) -> "_Conversation":
        if self._conversation is None:
            self._conversation = _Conversation(self, self.share, self.partners)
            self._log.info("scoring", run=self.share.run, peers=list(self.share.parties[1:]))
        return self._conversation

    def _ask(self, ids: Ids, table: Table) -> NDArray[np.float64]:
        conversation = self._meet()
        scores = np.full((len(ids), self.share.n_outputs), np.nan)
        try:
            rows = np.flatnonzero(conversation.asker.ask(ids))
            if len(rows):
                common, threads = agreed([(table, rows)], b""), self.config.threads
                values = lead_prediction(
                    self.share,
                    common,
                    conversation.channels,
                    what="value",
                    threads=threads,
                    hidden=conversation.hidden,
                )
                scores[rows] = values.reshape(len(rows), -1)
        except BaseException as error:
            if isinstance(error, (PeerError, ChannelClosedError)):
                conversation.observe(self.partners, error)
            # Half of a conversation is of no use for the next one.
            self._forget(error)
            raise
        return scores

    def _forget(self, error: BaseException | None = None) -> None:
        conversation, self._conversation = self._conversation, None
        if conversation is not None:
            conversation.end(error)

    def _follow(self) -> None:
        """Change to the last model that has finished, if the passive parties take part in that, too."""
        run = before = self.share.run
        try:
            run = find_model(PartyFolder(self.config.folder), "latest").run
            if run in (before, self._not_followed):
                return
            share = Predictor(self.config, self._log, run).share
            partners = Partners(share.parties[1:])
            conversation = _Conversation(self, share, partners)
        except (VfxgbError, OSError) as error:
            if not isinstance(error, (PeerError, ChannelClosedError)):
                # Another attempt would end the same way.
                self._not_followed = run
                self._log.warning("not followed", text=f"the newer model {run} is not used: {error}", run=before)
            return
        self._forget()
        self.share, self.partners, self._conversation = share, partners, conversation
        self._log.info(
            "followed", text=f"run {before} was used until now", run=share.run, peers=list(share.parties[1:])
        )


class _Conversation:
    """Holds open sessions with all passive parties of a model, and the look-ups in them."""

    def __init__(self, scorer: "Scorer", share: ActiveShare, partners: Partners) -> None:
        """Open the sessions, and tell `partners` who could be reached. Raises ConsentError, PeerError and others."""
        config, steps = scorer.config, scorer.steps
        network = Network.of(config)
        limits = replace(
            network.limits,
            step_seconds=min(network.limits.step_seconds, MESSAGE_SECONDS),
            reconnect_seconds=min(network.limits.reconnect_seconds, RECONNECT_SECONDS),
        )
        request = PredictRequest(0, matching="lookup", hidden=config.predict.hidden)
        words = hello("predict", share.run, config.purpose, predict=request)
        self._open = ExitStack()
        self._sessions: dict[str, Session] = {}
        asked: list[str] = []
        try:
            for name in share.parties[1:]:
                asked = [name]
                single = Network(network.identity, {name: network.peers[name]}, limits)
                session = self._open.enter_context(open_sessions(single, Ledger(), scorer.watch))[name]
                self._sessions[name] = session
                session.begin(words, steps, prediction_talk(request.hidden))
            asked = list(self._sessions)
            self.channels = channels_of(self._sessions)
            self.hidden = hide(config, share, self.channels, limits.line.mbit, HIDDEN_STOCK_ROWS)
            self.asker = Asker(config.party, self.channels, steps)
        except BaseException as error:
            for name in asked if isinstance(error, VfxgbError) else ():
                told = partners.refused if isinstance(error, ConsentError) else partners.lost
                told(name, str(error))
            self.end(error)
            raise
        for name in self._sessions:
            partners.reached(name)

    @property
    def is_over(self) -> bool:
        """Tell whether a session has ended, so that no further question can be asked."""
        return any(session.link.ready() for session in self._sessions.values())

    def observe(self, partners: Partners, error: BaseException | None = None) -> None:
        """Tell `partners` whose connection is gone; `error` showed it, and concerns all if none is gone."""
        text = str(error or "the connection was lost")
        gone = [name for name, session in self._sessions.items() if session.link.ready() or not session.link.connected]
        if error is not None and not gone:
            gone = list(self._sessions)
        for name in self._sessions:
            if name in gone:
                partners.lost(name, text)
            else:
                partners.reached(name)

    def notice_lost(self, partners: Partners) -> None:
        """Tell `partners` whose connection is gone while somebody waits for an answer, which takes longer to fail."""
        for name, session in list(self._sessions.items()):
            if not session.link.connected:
                partners.lost(name, "the connection was lost")

    def say_goodbye(self) -> None:
        """Tell the passive parties that there are no more questions."""
        with suppress(PeerError, ChannelClosedError):
            self.asker.close()

    def cut(self) -> None:
        """End the links at once, from another thread than the one that waits."""
        for session in self._sessions.values():
            session.link.close()

    def end(self, error: BaseException | None = None) -> None:
        """End the sessions; the passive parties are told the `error`, if there is one."""
        if error is not None:
            for session in self._sessions.values():
                session.channel.abort(error)
        self._open.close()
