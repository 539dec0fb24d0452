"""A passive party in a session of predictions: it finds the rows that are asked for, and answers for its splits."""

import numpy as np
from numpy.typing import NDArray

from vfxgb.align import Answerer, align_passive
from vfxgb.engine.base import Engine
from vfxgb.engine.settings import engines_for
from vfxgb.errors import ConsentError, MessageError, ShareMismatchError, VfxgbError
from vfxgb.model.file import load_share
from vfxgb.model.shares import PassiveShare, SplitPaths
from vfxgb.party.agreement import agree_to_prediction
from vfxgb.party.messages import Hello
from vfxgb.party.serving_party import ServingParty
from vfxgb.party.session import Session, prediction_talk, welcome
from vfxgb.party.tables import agreed
from vfxgb.predict.hidden_answers import HiddenSide, connect_hidden_side
from vfxgb.predict.hidden_shape import HiddenShape
from vfxgb.predict.messages import Leaned, Routed
from vfxgb.predict.paths import most_comparisons
from vfxgb.predict.sides import follow_prediction
from vfxgb.routing.messages import HiddenRouted
from vfxgb.transport.messages import Message


class PredictionAnswers:
    """One session with a peer that may use the model it asks for in `words`.

    The limits that hold are always those of now: a session that looks rows up may have begun before a reload.
    Construction raises ConsentError for a model that this party cannot predict with.
    """

    def __init__(self, party: ServingParty, session: Session, words: Hello) -> None:
        if words.predict is None or not words.run:
            raise MessageError(f"{party.name} answering {session.channel.peer}: a request to predict names no model")
        self._party = party
        self._session = session
        self._words = words
        self._request = words.predict
        # What every line of the log about this session names.
        self._who = {"peer": session.channel.peer, "run": words.run}
        self._share, self._paths = _load_share(party, words.run)
        self._budget = party.budget(session.channel.peer)
        self._held = party.table("predict", single_rows=self._request.matching == "lookup")
        self._rows = self._comparisons = 0
        self._hidden: HiddenSide | None = None
        self._most = self._most_comparisons()

    def answer(self) -> None:
        """Answer until the peer has all it asked for. Raises ConsentError and what else goes wrong."""
        channel, ids = self._session.channel, self._held.ids
        agree_to_prediction(self._party, self._budget, self._words, self._request, len(ids))
        self._table = self._held.table.select(self._share.records.features)
        self._session.speak(prediction_talk(self._request.hidden))
        channel.send(welcome(-1, self._table.n_rows, len(self._table.names), ids.steps_digest))
        channel.before_send = self._count
        try:
            if self._request.hidden:
                self._hidden = connect_hidden_side(channel, self._party.settings.config.threads)
            if self._request.matching == "psi":
                self._align()
            else:
                Answerer(self._party.name, ids, channel, self._look_up, self._looked_up).serve(self._predict)
        finally:
            # What was told counts, however the session ended.
            self._party.log.info("predicted", **self._who, rows=self._rows, comparisons=self._comparisons)
            self._write_ledger()

    def _count(self, message: Message) -> None:
        self._comparisons += message.amount() if isinstance(message, (Routed, Leaned, HiddenRouted)) else 0

    def _most_comparisons(self) -> int:
        """The most that one row is told: of its path, or, where that is hidden, one for each tree and level."""
        if not self._request.hidden:
            return most_comparisons(self._paths)
        n_trees = int(self._paths.tree.max(initial=-1)) + 1
        return HiddenShape.of(self._paths, n_trees).comparisons

    def _align(self) -> None:
        """Find the rows by private set intersection, and predict them."""
        settings = self._party.settings
        config = settings.config
        aligned = align_passive(
            config.party,
            self._held.ids,
            self._session.channel,
            settings.align,
            config.threads,
            self._accept,
            may_be_none=True,
        )
        if aligned.hint:
            self._party.log.warning("overlap", **self._who, text=aligned.hint)
        with engines_for([config.party], config.engine, config.threads) as engines:
            self._predict(aligned.positions[0], aligned.digest, engines[config.party])

    def _accept(self, claimed: int) -> None:
        own = len(self._held.ids)
        self._party.settings.consent.alignment(claimed, own, training=False)
        self._budget.charge(alignments=1)
        self._party.log.info("aligning", **self._who, claimed=claimed, own=own)

    def _look_up(self, asked: int) -> None:
        self._party.settings.consent.lookup(asked, len(self._held.ids))
        self._budget.charge(lookup_ids=asked)

    def _looked_up(self, asked: int, known: int) -> None:
        self._party.log.info("looked up", **self._who, ids=asked, found=known)

    def _predict(self, positions: NDArray[np.int64], digest: bytes = b"", engine: Engine | None = None) -> None:
        """Answer for the rows at these positions of the table, which are charged first."""
        if not len(positions):
            return
        count = len(positions)
        most = self._most * count
        with self._party.lock:
            queries = self._party.settings.queries
            queries.allow(self._words.run, count)
            self._party.budget(self._session.channel.peer).charge(predicted_rows=count, comparisons=most)
            queries.take(self._words.run, count)
        before = self._comparisons
        try:
            rows = agreed([(self._table, positions)], digest, engine)
            self._rows += follow_prediction(
                self._share, rows, self._session.channel, engine=engine, hidden=self._hidden
            )
        finally:
            self._budget.give_back(most - (self._comparisons - before))

    def _write_ledger(self) -> None:
        """Add what the session told to predictions.json; what cannot be written must not hide how the session ended."""
        party, run = self._party, self._words.run
        try:
            self._session.ledger.account = f"over all runs: {self._budget.describe()}"
            with party.lock:
                party.folder.run(run).add_predictions(self._session.ledger)
        except (VfxgbError, OSError) as error:
            party.log.error("failed", text=str(error), run=run, kind=type(error).__name__)


def _load_share(party: ServingParty, run: str) -> tuple[PassiveShare, SplitPaths]:
    """Load the party's share of a model, and where its splits stand, to which questions are held."""
    file = party.folder.run(run).share_file
    try:
        share = load_share(file)
    except FileNotFoundError:
        raise ConsentError(f"{party.name} has no share of the model of run {run[:8]}") from None
    if not isinstance(share, PassiveShare) or share.party != party.name:
        raise ShareMismatchError(f"{str(file)!r} holds no share of passive party {party.name!r}")
    if share.paths is None:
        raise ConsentError(
            f"{party.name} does not agree to predicting with the model of run {run[:8]}: its share is of an earlier "
            "version, does not say where its splits stand in the trees and so cannot hold questions to the paths of "
            "rows; train the model again"
        )
    return share, share.paths
