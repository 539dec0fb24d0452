"""`vfxgb serve`: a passive party waits for requests and answers those it has agreed to, until it is told to stop.

Every session has a thread of its own. A session that fails is logged, its peer is told, and serving goes on. A new
session for a run ends an older one of the same run: the active party has come back.
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

from vfxgb.align import AlignParams, Answerer, align_passive
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
from vfxgb.model.shares import PassiveShare
from vfxgb.party.budget import Budget
from vfxgb.party.config import PartyConfig, section
from vfxgb.party.consent import Consent, QueryCount, passive_epsilon
from vfxgb.party.folder import PartyFolder, RunFolder, alone
from vfxgb.party.follower import Follower
from vfxgb.party.logs import Log
from vfxgb.party.messages import Hello, PredictRequest, TrainRequest
from vfxgb.party.partners import PartnerWatch
from vfxgb.party.session import Network, Session, check_talk, need_role, need_train, prediction_talk, welcome
from vfxgb.party.tables import PartyTable, agreed, read_table
from vfxgb.predict.sides import follow_prediction
from vfxgb.train.ledger import Ledger
from vfxgb.transport.link import LinkTimeout
from vfxgb.transport.network import Arrival, Listener

ACCEPT_SECONDS = 0.25
# How long sessions get to end when the party is told to stop, and an older session of a run when a newer one came.
END_SECONDS = 10.0

# What changes when a table does: of each of its files name, time and size.
Stamp = tuple[tuple[str, int, int], ...]


@dataclass(eq=False)
class Live:
    """A session that is being served; `run` is known after its first words. `done`: it uses no files any more."""

    session: Session
    run: str = ""
    done: threading.Event = field(default_factory=threading.Event)


class Server:
    """A passive party that listens. `told` gets the address once it does."""

    def __init__(self, config: PartyConfig, log: Log, told: Callable[[str], None] | None = None) -> None:
        need_role(config, "serve", "passive")
        self.config = config
        self.log = log
        self._told = told
        self._network = Network.of(config)
        self._align = section(AlignParams, config.align, "align", config.path)
        self._folder = PartyFolder(config.folder).make()
        self._consent = Consent(config.party, config.consent)
        self._queries = QueryCount(config.party, self._folder, config.consent.max_predicted_rows)
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
            self._network.identity, self._network.peers, config.listen, self._network.limits, config.max_sessions
        ) as listener:
            self.log.info("listening", address=listener.address, party=config.party)
            if self._told is not None:
                self._told(listener.address)
            while not stop.is_set():
                try:
                    arrival = listener.accept(ACCEPT_SECONDS)
                except LinkTimeout:
                    continue
                self._start(arrival)
            ended = self._end_all()
        self.log.info("stopped", party=config.party)
        return ended

    def table(self, what: str, single_rows: bool = False) -> PartyTable:
        """The table for "train" or "predict", read again when its file has changed. Raises what reading raises.

        `single_rows`: in memory even at a party that has an engine, for questions about a few rows at a time.
        """
        data = self.config.data
        path = data.train if what == "train" or data.predict is None else data.predict
        in_files = self.config.engine.in_shards and not single_rows
        if path is None or not path.exists():
            return read_table(self.config, path, what, in_files=in_files)
        stamp = _stamp(path)
        with self._lock:
            known = self._tables.get((path, in_files))
            if known is None or known[0] != stamp:
                known = (stamp, read_table(self.config, path, what, in_files=in_files))
                self._tables[path, in_files] = known
            return known[1]

    def _start(self, arrival: Arrival) -> None:
        live = Live(Session.over(self.config.party, arrival.link, Ledger()))
        after = "then the session ends, and a run that was under way can be resumed"
        arrival.link.watch(PartnerWatch(self.log, lambda: after, lambda: live.run, dials=False))
        with self._lock:
            self._live.append(live)
        name = f"vfxgb-{self.config.party}-{arrival.peer}"
        threading.Thread(target=self._serve, args=(live,), name=name, daemon=True).start()

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
        except ConsentError as error:
            channel.abort(error)
            cause = {} if error.__cause__ is None else {"cause": str(error.__cause__)}
            self.log.warning("refused", text=str(error), peer=peer, run=live.run, **cause)
        except PeerError as error:
            channel.abort(error)
            self.log.warning("lost", text=str(error), peer=peer, run=live.run)
        except (VfxgbError, OSError) as error:
            channel.abort(error)
            self.log.error("failed", text=str(error), peer=peer, run=live.run, kind=type(error).__name__)
        except BaseException as error:
            channel.abort(error)
            self.log.error("bug", text=traceback.format_exc(), peer=peer, run=live.run, kind=type(error).__name__)
        finally:
            channel.close()
            with self._lock:
                self._live.remove(live)

    def _answer(self, live: Live, words: Hello) -> None:
        peer = live.session.channel.peer
        self.log.info("asked", peer=peer, what=words.kind, run=words.run, purpose=words.purpose, version=words.version)
        self._consent.purpose(words.purpose)
        if words.kind == "check":
            self._check(live, words)
        elif words.kind == "train":
            request = need_train(words)
            self._agree_to(request)
            budget = self._budget(peer)
            self._afford(budget, request)
            if request.parties[:1] != (peer,) or self.config.party not in request.parties:
                raise MessageError(
                    f"{self.config.party} answering {peer}: found the parties {', '.join(request.parties)}, wanted "
                    f"{peer} first and {self.config.party} among them"
                ).for_peer()
            self._need_run_of(peer, words.run)
            self._supersede(live, words.run)
            folder = self._folder.run(words.run)
            self._need_room(peer, folder)
            Follower(
                self.config, self._align, self._consent, budget, folder, self.log, partial(self._begin, peer, folder)
            ).take_part(live.session, words, request, self.table("train"))
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

    def _afford(self, budget: Budget, request: TrainRequest) -> None:
        """Raise ConsentError if the peer's budget is too small for the run; a resumed one has paid for most of it."""
        offered = self._consent.features(self.table("train").table.names)
        budget.epsilon(passive_epsilon(request.protocol, request.protocol_params, len(offered)))
        if not request.resume:
            budget.training(request.n_trees)

    def _check(self, live: Live, words: Hello) -> None:
        if words.train is not None:
            self._agree_to(words.train)
            self._afford(self._budget(live.session.channel.peer), words.train)
        held = self.table("train")
        features = self._consent.features(held.table.names)
        live.session.channel.send(welcome(-1, held.table.n_rows, len(features)))
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
            other.session.link.begin_close()
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
        share = self._share(words.run)
        # How many of the rows are common shows later; a limit that is used up shows now.
        self._queries.allow(words.run, 1)
        budget = self._budget(peer)
        budget.may_predict(1)
        held = self.table("predict", single_rows=request.matching == "lookup")
        table = held.table.select(share.records.features)
        session.channel.send(welcome(-1, table.n_rows, len(table.names)))
        session.speak(prediction_talk())
        count = 0

        def use(positions: NDArray[np.int64], digest: bytes = b"", engine: Engine | None = None) -> None:
            nonlocal count
            if len(positions):
                with self._lock:
                    self._queries.allow(words.run, len(positions))
                    budget.predict(len(positions))
                    self._queries.take(words.run, len(positions))
                rows = agreed([(table, positions)], digest, engine)
                count += follow_prediction(share, rows, session.channel, engine=engine)

        self._match(session, request, held, use)
        self.log.info("predicted", peer=peer, run=words.run, rows=count, used=self._queries.used(words.run))

    def _match(self, session: Session, request: PredictRequest, held: PartyTable, use: Callable[..., None]) -> None:
        config = self.config
        if request.matching == "psi":
            found = align_passive(
                config.party, held.ids, session.channel, self._align, config.threads, may_be_none=True
            )
            with engines_for([config.party], config.engine, config.threads) as engines:
                use(found.positions[0], found.digest, engines[config.party])
        else:
            Answerer(config.party, held.ids, session.channel).serve(use)

    def _share(self, run: str) -> PassiveShare:
        file = self._folder.run(run).share_file
        try:
            share = load_share(file)
        except FileNotFoundError:
            raise ConsentError(f"{self.config.party} has no share of the model of run {run[:8]}") from None
        if not isinstance(share, PassiveShare) or share.party != self.config.party:
            raise ShareMismatchError(f"{str(file)!r} holds no share of passive party {self.config.party!r}")
        return share


def _stamp(path: Path) -> Stamp:
    files = parquet_files(path, "reading a table") if path.is_dir() else [path]
    return tuple((str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files)
