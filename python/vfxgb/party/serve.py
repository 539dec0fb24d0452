"""`vfxgb serve`: a passive party waits for requests and answers those it has agreed to, until it is told to stop.

Every session has a thread of its own. A session that fails is logged, its peer is told, and serving goes on. A new
session for a run ends an older one of the same run: the active party has come back. The configuration can be read again
while sessions go on (reload.py). What is done in a session stands in follower.py, for training, and in
prediction_answers.py.
"""

import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from vfxgb import __version__
from vfxgb.errors import CheckpointError, ConsentError, MessageError, PeerError, VfxgbError
from vfxgb.party.agreement import agree_to_training
from vfxgb.party.config import PartyConfig
from vfxgb.party.event_metrics import EventMetrics, describe_budgets
from vfxgb.party.folder import alone
from vfxgb.party.follower import Follower
from vfxgb.party.logs import Log
from vfxgb.party.messages import Hello
from vfxgb.party.metrics import Metrics, describe_process
from vfxgb.party.metrics_server import MetricsServer
from vfxgb.party.partners import PartnerWatch
from vfxgb.party.prediction_answers import PredictionAnswers
from vfxgb.party.reload import read_again
from vfxgb.party.serving_party import ServingParty
from vfxgb.party.session import Session, check_talk, need_train, welcome
from vfxgb.runtime.ledger import Ledger
from vfxgb.transport.link import LinkClosed, LinkTimeout
from vfxgb.transport.network import Arrival, Listener

ACCEPT_SECONDS = 0.25
# How long sessions get to end when the party is told to stop, and an older session of a run when a newer one came.
END_SECONDS = 10.0


@dataclass(eq=False)
class Live:
    """A session that is being served; `run` is known after its first words. When `done`, it uses no files any more.

    `asked` says that the log has a line of what the peer wants, so that it gets one of the end, too; `over` that it has
    that one.
    """

    session: Session
    run: str = ""
    asked: bool = False
    done: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)


class Server:
    """A passive party that listens. `told` gets the address once it does."""

    def __init__(self, config: PartyConfig, log: Log, told: Callable[[str], None] | None = None) -> None:
        self.log = log
        self.party = ServingParty(config, log)
        self._told = told
        self._reload_asked = False
        self._lock = threading.Lock()
        self._live: list[Live] = []
        self._metrics = self._watch_log()
        self.party.table("train")

    def _watch_log(self) -> Metrics:
        """Count what happens, whether anybody looks or not."""
        metrics, party = Metrics(), self.party
        describe_process(metrics, party.name, __version__)
        self.log.watch(EventMetrics(metrics).watch)
        metrics.describe("vfxgb_sessions", "gauge", "Sessions that are open.", lambda: {(): float(len(self._live))})
        describe_budgets(metrics, lambda: tuple(party.settings.network.peers), party.budget)
        return metrics

    def run(self, stop: threading.Event) -> bool:
        """Serve until `stop` is set. Raises CertificateError, ConfigError (the address cannot be used).

        Returns False if a session still computes: its thread cannot be ended, only the process.
        """
        folder = self.party.folder
        with alone(folder.lock_file, f"{self.party.name} serves from {str(folder.path)!r}"):
            return self._listen(stop)

    def _listen(self, stop: threading.Event) -> bool:
        config, network = self.party.settings.config, self.party.settings.network
        with (
            self._monitored(config.metrics.listen),
            network.listen(config.listen, config.max_sessions, self.log) as listener,
        ):
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
            left = self._end_all()
        # Their links are closed now, so that the last line of each is a matter of moments.
        ended = [live for live in left if live.done.is_set()]
        _wait_for_all([live.over for live in ended])
        self.log.info("stopped", party=config.party)
        return len(ended) == len(left)

    @contextmanager
    def _monitored(self, address: str) -> Iterator[None]:
        """Answer GET /metrics at this address meanwhile, if there is one. Raises ConfigError."""
        if not address:
            yield
            return
        server = MetricsServer(self._metrics, address)
        server.start()
        self.log.info("metrics", address=server.address, party=self.party.name)
        try:
            yield
        finally:
            server.close()

    def ask_reload(self) -> None:
        """Read configuration and certificates again, soon. May be called by a signal handler."""
        self._reload_asked = True

    def _reload(self, listener: Listener) -> None:
        """Use the configuration as its file stands now; if anything is wrong with it, go on with the old one."""
        self._reload_asked = False
        name = self.party.name
        try:
            settings = read_again(self.party.settings.config)
            # The last step that can fail: after it the new configuration is in use.
            listener.reload(settings.network.identity, settings.network.peers)
        except (VfxgbError, OSError) as error:
            self.log.error("not reloaded", text=f"{error}; the old configuration stays in use", party=name)
            return
        self.party.use(settings)
        self.log.info("reloaded", party=name, peers=list(settings.network.peers))

    def _start(self, arrival: Arrival) -> None:
        live = Live(Session.over(self.party.name, arrival.link, Ledger()))
        after = "then the session ends, and a run that was under way can be resumed"
        arrival.link.watch(PartnerWatch(self.log, lambda: after, lambda: live.run, dials=False))
        with self._lock:
            self._live.append(live)
        name = f"vfxgb-{self.party.name}-{arrival.peer}"
        try:
            threading.Thread(target=self._serve, args=(live,), name=name, daemon=True).start()
        except RuntimeError as error:
            # Python's error where the system gives no more threads: one session less, and serving goes on.
            self.log.error("failed", text=f"no thread for a session: {error}", peer=arrival.peer, kind="RuntimeError")
            with self._lock:
                self._live.remove(live)
            reason = f"{self.party.name} has no means to serve another session now; try again later"
            arrival.link.fail(LinkClosed(reason), tell=reason)

    def _end_all(self) -> list[Live]:
        """End all sessions, and return them. One that still computes is not `done`."""
        with self._lock:
            left = list(self._live)
        for live in left:
            live.session.link.begin_close()
        _wait_for_all([live.done for live in left])
        return left

    def _serve(self, live: Live) -> None:
        channel = live.session.channel
        try:
            try:
                words = channel.recv(Hello)
                check_talk(channel.own, channel.peer, words.talk, words.version)
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
            if live.asked:
                # The last line of a session: nothing more is computed, charged, given back or written because of it.
                link = live.session.link
                sent, received = link.wire_sent, link.wire_received
                self.log.info("ended", peer=channel.peer, run=live.run, sent_bytes=sent, received_bytes=received)
            live.over.set()
            with self._lock:
                self._live.remove(live)

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
        self.log.info(
            "asked",
            peer=peer,
            what=words.kind,
            run=words.run,
            purpose=words.purpose,
            version=words.version,
            key_exchange=live.session.link.key_exchange,
        )
        if words.kind == "check":
            self._check(live.session, words)
        elif words.kind == "train":
            self._train(live, words)
        elif words.kind == "predict":
            self.party.need_run_of(peer, words.run)
            live.run = words.run
            PredictionAnswers(self.party, live.session, words).answer()
        else:
            raise MessageError(f"{self.party.name} answering {peer}: {words.kind!r} is nothing for a passive party")

    def _check(self, session: Session, words: Hello) -> None:
        peer = session.channel.peer
        agree_to_training(self.party, peer, words, words.train)
        held = self.party.table("train")
        consent, asked = self.party.settings.consent, words.train
        features = consent.features(held.table.names)
        limits = {} if asked is None else consent.limits(asked.protocol, asked.protocol_params)
        session.channel.send(welcome(-1, held.table.n_rows, len(features), held.ids.steps_digest, limits))
        self.log.info("checked", peer=peer)

    def _train(self, live: Live, words: Hello) -> None:
        name, peer, request = self.party.name, live.session.channel.peer, need_train(words)
        agree_to_training(self.party, peer, words, request)
        if request.parties[:1] != (peer,) or name not in request.parties:
            raise MessageError(
                f"{name} answering {peer}: found the parties {', '.join(request.parties)}, wanted {peer} first and "
                f"{name} among them"
            ).for_peer()
        self.party.need_run_of(peer, words.run)
        self._supersede(live, words.run)
        self.party.need_room(peer, self.party.folder.run(words.run))
        Follower(self.party, live.session, words, request).take_part()

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
                    f"{self.party.name} resuming run {run[:8]}: an older session of it is still computing; try again"
                ).for_peer()


def _wait_for_all(events: list[threading.Event]) -> None:
    """Wait for them for at most END_SECONDS together."""
    end = time.monotonic() + END_SECONDS
    for event in events:
        event.wait(max(0.0, end - time.monotonic()))
