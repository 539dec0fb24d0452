"""`vfxgb serve`: a passive party waits for requests and answers those it has agreed to, until it is told to stop.

Every session has a thread of its own. A session that fails is logged, its peer is told, and serving goes on. A new
session for a run ends an older one of the same run: the active party has come back. The configuration can be read again
while sessions go on (reload.py).
"""

import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vfxgb.align import Answerer, align_passive
from vfxgb.data.parquet import parquet_files
from vfxgb.engine.base import Engine
from vfxgb.engine.settings import engines_for
from vfxgb.errors import (
    CheckpointError,
    ConsentError,
    MessageError,
    PeerError,
    ProtocolParameterError,
    ShareMismatchError,
    UnknownNameError,
    VfxgbError,
)
from vfxgb.model.file import load_share
from vfxgb.model.shares import PassiveShare, SplitPaths
from vfxgb.party.budget import Budget
from vfxgb.party.config import PartyConfig
from vfxgb.party.consent import Refusals, passive_epsilon
from vfxgb.party.folder import PartyFolder, RunFolder, alone
from vfxgb.party.follower import Follower
from vfxgb.party.logs import Log
from vfxgb.party.messages import Hello, PredictRequest, TrainRequest
from vfxgb.party.partners import PartnerWatch
from vfxgb.party.reload import Settings, read_again
from vfxgb.party.session import Session, check_talk, need_train, prediction_talk, welcome
from vfxgb.party.tables import PartyTable, agreed, read_table
from vfxgb.predict.messages import Routed
from vfxgb.predict.paths import most_comparisons
from vfxgb.predict.sides import follow_prediction
from vfxgb.runtime.ledger import Ledger
from vfxgb.transport.link import LinkClosed, LinkTimeout
from vfxgb.transport.messages import CONTROL_BYTES, Message
from vfxgb.transport.network import Arrival, Listener, Refusal

ACCEPT_SECONDS = 0.25
# How long sessions get to end when the party is told to stop, and an older session of a run when a newer one came.
END_SECONDS = 10.0

# What changes when a table does: of each of its files name, time and size.
Stamp = tuple[tuple[str, int, int], ...]


@dataclass(eq=False)
class Live:
    """A session that is being served; `run` is known after its first words. `done`: it uses no files any more.

    `asked`: the log has a line of what the peer wants, so that it gets one of the end, too.
    """

    session: Session
    run: str = ""
    asked: bool = False
    done: threading.Event = field(default_factory=threading.Event)


class Server:
    """A passive party that listens. `told` gets the address once it does."""

    def __init__(self, config: PartyConfig, log: Log, told: Callable[[str], None] | None = None) -> None:
        self.log = log
        self._told = told
        self._use(Settings.of(config))
        self._folder = PartyFolder(config.folder).make()
        self._reload_asked = False
        self._tables: dict[tuple[Path, bool], tuple[Stamp, PartyTable]] = {}
        self._lock = threading.Lock()
        self._live: list[Live] = []
        self.table("train")

    def run(self, stop: threading.Event) -> bool:
        """Serve until `stop` is set. Raises CertificateError, ConfigError (the address cannot be used).

        False if a session still computes: its thread cannot be ended, only the process.
        """
        with alone(self._folder.lock_file, f"{self.config.party} serves from {str(self._folder.path)!r}"):
            return self._listen(stop)

    def _listen(self, stop: threading.Event) -> bool:
        config = self.config
        with Listener(
            self._network.identity,
            self._network.peers,
            config.listen,
            self._network.limits,
            config.max_sessions,
            on_refused=self._turned_away,
            first_frame_bytes=CONTROL_BYTES,
        ) as listener:
            self.log.info("listening", address=listener.address, party=config.party)
            if self._told is not None:
                self._told(listener.address)
            while not stop.is_set():
                if self._reload_asked:
                    self._reload(listener)
                try:
                    arrival = listener.accept(ACCEPT_SECONDS)
                except LinkTimeout:
                    continue
                self._start(arrival)
            ended = self._end_all()
        self.log.info("stopped", party=config.party)
        return ended

    def ask_reload(self) -> None:
        """Read configuration and certificates again, soon. May be called by a signal handler."""
        self._reload_asked = True

    def _reload(self, listener: Listener) -> None:
        """Use the configuration as its file stands now; if anything is wrong with it, go on with the old one."""
        self._reload_asked = False
        try:
            settings = read_again(self.config)
            # The last step that can fail: after it the new configuration is in use.
            listener.reload(settings.network.identity, settings.network.peers)
        except (VfxgbError, OSError) as error:
            self.log.error("not reloaded", text=f"{error}; the old configuration stays in use", party=self.config.party)
            return
        with self._lock:
            self._use(settings)
            self._tables = {}
        self.log.info("reloaded", party=self.config.party, peers=list(settings.network.peers))

    def _use(self, settings: Settings) -> None:
        self.config = settings.config
        self._network = settings.network
        self._align = settings.align
        self._consent = settings.consent
        self._queries = settings.queries

    def table(self, what: str, single_rows: bool = False) -> PartyTable:
        """The table for "train" or "predict", read again when its file has changed. Raises what reading raises.

        `single_rows`: in memory even at a party that has an engine, for questions about a few rows at a time.
        """
        with self._lock:
            # A reload puts both in place together: what was read for the old configuration is not used for the new one.
            config, tables = self.config, self._tables
        data = config.data
        path = data.train if what == "train" or data.predict is None else data.predict
        in_files = config.engine.in_shards and not single_rows
        if path is None or not path.exists():
            return read_table(config, path, what, in_files=in_files)
        stamp = _stamp(path)
        with self._lock:
            known = tables.get((path, in_files))
            if known is None or known[0] != stamp:
                known = (stamp, read_table(config, path, what, in_files=in_files))
                tables[path, in_files] = known
            return known[1]

    def _turned_away(self, refusal: Refusal) -> None:
        self.log.warning(
            "refused",
            text=refusal.reason,
            peer=refusal.party,
            fingerprint=refusal.fingerprint,
            address=refusal.address,
        )

    def _start(self, arrival: Arrival) -> None:
        live = Live(Session.over(self.config.party, arrival.link, Ledger()))
        after = "then the session ends, and a run that was under way can be resumed"
        arrival.link.watch(PartnerWatch(self.log, lambda: after, lambda: live.run, dials=False))
        with self._lock:
            self._live.append(live)
        name = f"vfxgb-{self.config.party}-{arrival.peer}"
        try:
            threading.Thread(target=self._serve, args=(live,), name=name, daemon=True).start()
        except RuntimeError as error:
            # Python's error where the system gives no more threads: one session less, and serving goes on.
            self.log.error("failed", text=f"no thread for a session: {error}", peer=arrival.peer, kind="RuntimeError")
            with self._lock:
                self._live.remove(live)
            reason = f"{self.config.party} has no means to serve another session now; try again later"
            arrival.link.fail(LinkClosed(reason), tell=reason)

    def _end_all(self) -> bool:
        with self._lock:
            left = list(self._live)
        for live in left:
            live.session.link.begin_close()
        end = time.monotonic() + END_SECONDS
        return all(live.done.wait(max(0.0, end - time.monotonic())) for live in left)

    def _serve(self, live: Live) -> None:
        channel = live.session.channel
        peer = channel.peer
        try:
            try:
                words = channel.recv(Hello)
                check_talk(self.config.party, peer, words.talk, words.version)
                self._answer(live, words)
            finally:
                # Telling a peer that is gone takes a while; what waits for this session need not.
                live.done.set()
        except BaseException as error:
            # First the log: whatever becomes of the peer, there is a line about it.
            self._log_end(live, error)
            channel.abort(error)
        finally:
            channel.close()
            with self._lock:
                self._live.remove(live)
            if live.asked:
                # The last line of a session: nothing more is computed, charged, given back or written because of it.
                self.log.info("ended", peer=peer, run=live.run)

    def _log_end(self, live: Live, error: BaseException) -> None:
        peer, run, text = live.session.channel.peer, live.run, str(error)
        if isinstance(error, ConsentError):
            cause = {} if error.__cause__ is None else {"cause": str(error.__cause__)}
            self.log.warning("refused", text=text, peer=peer, run=run, **cause)
        elif isinstance(error, PeerError):
            self.log.warning("lost", text=text, peer=peer, run=run)
        elif isinstance(error, (VfxgbError, OSError)):
            self.log.error("failed", text=text, peer=peer, run=run, kind=type(error).__name__)
        else:
            self.log.error("bug", text="".join(traceback.format_exception(error)), peer=peer, run=run)

    def _answer(self, live: Live, words: Hello) -> None:
        peer, live.asked = live.session.channel.peer, True
        self.log.info("asked", peer=peer, what=words.kind, run=words.run, purpose=words.purpose, version=words.version)
        if words.kind == "check":
            self._check(live, words)
        elif words.kind == "train":
            request = need_train(words)
            self._agree(peer, words, request)
            if request.parties[:1] != (peer,) or self.config.party not in request.parties:
                raise MessageError(
                    f"{self.config.party} answering {peer}: found the parties {', '.join(request.parties)}, wanted "
                    f"{peer} first and {self.config.party} among them"
                ).for_peer()
            self._need_run_of(peer, words.run)
            self._supersede(live, words.run)
            folder = self._folder.run(words.run)
            self._need_room(peer, folder)
            begin = partial(self._begin, peer, folder)
            Follower(self.config, self._align, self._consent, self._budget(peer), folder, self.log, begin).take_part(
                live.session, words, request, self.table("train")
            )
        elif words.kind == "predict":
            self._predict(live, words)
        else:
            raise MessageError(f"{self.config.party} answering {peer}: {words.kind!r} is nothing for a passive party")

    def _agree_to(self, request: TrainRequest) -> None:
        """Raise ConsentError for what this party does not agree to, and the error of a request that makes no sense."""
        try:
            self._consent.training(request)
        except (ProtocolParameterError, UnknownNameError) as error:
            # It is about what the peer wrote, and names nothing of this party.
            raise error.for_peer() from None

    def _budget(self, peer: str) -> Budget:
        return Budget(self.config.consent, self._folder.account(self.config.party, peer))

    def _agree(self, peer: str, words: Hello, request: TrainRequest | None) -> None:
        """Raise ConsentError with everything in a request to train or to check that this party does not agree to.

        A peer whose budget is too small is refused now; a resumed run has paid for most of it.
        """
        held, budget = self.table("train"), self._budget(peer)
        refusals = Refusals(self.config.party)
        with refusals.also():
            self._consent.purpose(words.purpose)
        n_features = 0
        with refusals.also():
            n_features = len(self._consent.features(held.table.names))
        if request is not None:
            with refusals.also():
                self._agree_to(request)
            if self._consent.accepts(request):
                with refusals.also():
                    budget.epsilon(passive_epsilon(request.protocol, request.protocol_params, n_features))
        if request is not None and not request.resume:
            with refusals.also():
                budget.training(request.n_trees)
            with refusals.also():
                budget.may_align()
            if request.n_ids > 0:
                with refusals.also():
                    self._consent.alignment(request.n_ids, len(held.ids), training=True)
        refusals.tell()

    def _check(self, live: Live, words: Hello) -> None:
        self._agree(live.session.channel.peer, words, words.train)
        held = self.table("train")
        features = self._consent.features(held.table.names)
        live.session.channel.send(welcome(-1, held.table.n_rows, len(features), held.ids.steps_digest))
        self.log.info("checked", peer=live.session.channel.peer)

    def _need_run_of(self, peer: str, run: str) -> None:
        """Raise ConsentError if another party began the run: its model and checkpoint are not this one's to use."""
        folder = self._folder.run(run)
        if folder.run_file.exists() and folder.read().parties[:1] != (peer,):
            raise ConsentError(f"{self.config.party} does not agree to {peer} using run {run[:8]}, which is another's")

    def _begin(self, peer: str, folder: RunFolder) -> None:
        """Make the folder of a run. Raises ConsentError if the peer has too many unfinished ones."""
        with self._lock:
            self._need_room(peer, folder)
            folder.make()

    def _need_room(self, peer: str, folder: RunFolder) -> None:
        """Raise ConsentError if another unfinished run of the peer would be one too many; old ones may go on."""
        most = self.config.max_unfinished_runs
        if not folder.path.is_dir() and (unfinished := self._folder.count_unfinished(peer)) >= most:
            raise ConsentError(
                f"{self.config.party} does not agree to another run of {peer}: {unfinished} of its runs are unfinished "
                f"here, wanted fewer than {most} (max_unfinished_runs); resume one, or have {self.config.party} remove "
                "some (vfxgb clean)"
            )

    def _supersede(self, live: Live, run: str) -> None:
        """End older sessions of the run, and wait until they let go of its files."""
        with self._lock:
            older = [other for other in self._live if other is not live and other.run == run]
            live.run = run
        for other in older:
            self.log.info("superseded", peer=live.session.channel.peer, run=run)
            link, reason = other.session.link, f"{other.session.channel.peer} has begun another session of this run"
            # A peer that is gone would be waited for, and the new session with it.
            link.fail(LinkClosed(reason), tell=reason if link.connected else "")
            if not other.done.wait(END_SECONDS):
                raise CheckpointError(
                    f"{self.config.party} resuming run {run[:8]}: an older session of it is still computing; try again"
                ).for_peer()

    def _predict(self, live: Live, words: Hello) -> None:
        session, request = live.session, words.predict
        party, peer = self.config.party, session.channel.peer
        if request is None or not words.run:
            raise MessageError(f"{party} answering {peer}: a request to predict names no model")
        self._need_run_of(peer, words.run)
        live.run = words.run
        share, paths = self._share(words.run)
        budget = self._budget(peer)
        held = self.table("predict", single_rows=request.matching == "lookup")
        self._agree_to_predict(budget, words, request, len(held.ids))
        table = held.table.select(share.records.features)
        session.speak(prediction_talk())
        session.channel.send(welcome(-1, table.n_rows, len(table.names), held.ids.steps_digest))
        per_row = most_comparisons(paths)
        count = comparisons = 0

        def note(message: Message) -> None:
            nonlocal comparisons
            comparisons += message.amount() if isinstance(message, Routed) else 0

        def use(positions: NDArray[np.int64], digest: bytes = b"", engine: Engine | None = None) -> None:
            nonlocal count
            if len(positions):
                most = per_row * len(positions)
                with self._lock:
                    self._queries.allow(words.run, len(positions))
                    # The limits that hold now: a session that looks rows up may have begun before a reload.
                    self._budget(peer).predict(len(positions), most)
                    self._queries.take(words.run, len(positions))
                before = comparisons
                try:
                    rows = agreed([(table, positions)], digest, engine)
                    count += follow_prediction(share, rows, session.channel, engine=engine)
                finally:
                    budget.give_back(most - (comparisons - before))

        session.channel.before_send = note
        try:
            self._match(session, words.run, request, held, budget, use)
        finally:
            # What was told counts, however the session ended.
            self.log.info("predicted", peer=peer, run=words.run, rows=count, comparisons=comparisons)
            self._note_predictions(words.run, session.ledger, budget)

    def _note_predictions(self, run: str, ledger: Ledger, budget: Budget) -> None:
        """Add what a session told to predictions.json; what cannot be written must not hide how the session ended."""
        try:
            ledger.account = f"over all runs: {budget.describe()}"
            with self._lock:
                self._folder.run(run).add_predictions(ledger)
        except (VfxgbError, OSError) as error:
            self.log.error("failed", text=str(error), run=run, kind=type(error).__name__)

    def _agree_to_predict(self, budget: Budget, words: Hello, request: PredictRequest, own: int) -> None:
        """Raise ConsentError with everything in a request to predict that this party does not agree to.

        How many of the rows are common shows later; a limit that is used up shows now.
        """
        refusals = Refusals(self.config.party)
        with refusals.also():
            self._consent.purpose(words.purpose)
        with refusals.also():
            self._queries.allow(words.run, 1)
        with refusals.also():
            budget.may_predict(1)
        if request.matching == "psi":
            with refusals.also():
                budget.may_align()
            if request.n_rows > 0:
                with refusals.also():
                    self._consent.alignment(request.n_rows, own, training=False)
        else:
            with refusals.also():
                self._consent.lookups()
                budget.may_look_up(max(1, request.n_rows))
                if request.n_rows > 0:
                    self._consent.lookup(request.n_rows, own)
        refusals.tell()

    def _match(
        self,
        session: Session,
        run: str,
        request: PredictRequest,
        held: PartyTable,
        budget: Budget,
        use: Callable[..., None],
    ) -> None:
        """Find the rows of a request, by what this party agrees to, and have them predicted."""
        config, peer, own = self.config, session.channel.peer, len(held.ids)

        def align(claimed: int) -> None:
            self._consent.alignment(claimed, own, training=False)
            budget.align()
            self.log.info("aligning", peer=peer, run=run, claimed=claimed, own=own)

        def look_up(asked: int) -> None:
            self._consent.lookup(asked, own)
            budget.look_up(asked)

        def told(asked: int, found: int) -> None:
            self.log.info("looked up", peer=peer, run=run, ids=asked, found=found)

        if request.matching == "psi":
            found = align_passive(
                config.party, held.ids, session.channel, self._align, config.threads, align, may_be_none=True
            )
            if found.hint:
                self.log.warning("overlap", peer=peer, run=run, text=found.hint)
            with engines_for([config.party], config.engine, config.threads) as engines:
                use(found.positions[0], found.digest, engines[config.party])
        else:
            Answerer(config.party, held.ids, session.channel, look_up, told).serve(use)

    def _share(self, run: str) -> tuple[PassiveShare, SplitPaths]:
        """This party's share of a model, and where its splits stand, to which questions are held."""
        file = self._folder.run(run).share_file
        try:
            share = load_share(file)
        except FileNotFoundError:
            raise ConsentError(f"{self.config.party} has no share of the model of run {run[:8]}") from None
        if not isinstance(share, PassiveShare) or share.party != self.config.party:
            raise ShareMismatchError(f"{str(file)!r} holds no share of passive party {self.config.party!r}")
        if share.paths is None:
            raise ConsentError(
                f"{self.config.party} does not agree to predicting with the model of run {run[:8]}: its share is of an "
                "earlier version, does not say where its splits stand in the trees and so cannot hold questions "
                "to the paths of rows; train the model again"
            )
        return share, share.paths


def _stamp(path: Path) -> Stamp:
    files = parquet_files(path, "reading a table") if path.is_dir() else [path]
    return tuple((str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files)
