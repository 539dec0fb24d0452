"""Sessions between processes: who this party is, whom it meets, the first words, and what passed the wire."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vfxgb import __version__
from vfxgb.align import ALIGN_MESSAGES
from vfxgb.align.normalise import steps_digest
from vfxgb.errors import AlignmentError, ConfigError, MessageError
from vfxgb.party.config import PartyConfig, section
from vfxgb.party.logs import Log
from vfxgb.party.messages import PARTY_MESSAGES, TALK_VERSION, Hello, Kind, PredictRequest, TrainRequest, Welcome
from vfxgb.party.record import TrafficRecord, now
from vfxgb.predict.messages import HIDDEN_PREDICTION_MESSAGES, PREDICTION_MESSAGES
from vfxgb.runtime.ledger import Ledger
from vfxgb.train.sides import training_messages
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import CONTROL_BYTES, Catalogue, Message
from vfxgb.transport.network import Identity, Limits, Listener, NetworkLink, Peer, Refusal, StateObserver, dial

# How long the first words may take: a table may have to be read before they are answered.
GREET_SECONDS = 300.0
# A difference of clocks that certificates and logs do not stand well.
CLOCK_SECONDS = 300.0


@dataclass(frozen=True)
class Network:
    """Holds what [tls], [peers] and [network] of a configuration come to, and meets the peers."""

    identity: Identity
    peers: dict[str, Peer]
    limits: Limits

    @classmethod
    def of(cls, config: PartyConfig) -> "Network":
        """Read it off a configuration. Raises ConfigError."""
        return cls(
            Identity(config.party, config.tls.certificate, config.tls.key),
            {name: Peer(name, peer.certificate, peer.address) for name, peer in config.peers.items()},
            section(Limits, config.network, "network", config.path),
        )

    def dial_link(self, name: str, on_state: StateObserver | None = None) -> NetworkLink:
        """Dial a peer that listens; NetworkLink.watch explains `on_state`. Raises CertificateError, PeerError."""
        return dial(self.identity, self.peers[name], self.limits, on_state, first_frame_bytes=CONTROL_BYTES)

    def dial(self, name: str, ledger: Ledger, on_state: StateObserver | None = None) -> "Session":
        """Open a session over such a link."""
        return Session.over(self.identity.party, self.dial_link(name, on_state), ledger)

    def listen(self, address: str, max_sessions: int, log: Log, max_per_peer: int | None = None) -> Listener:
        """Make a listener for the peers, which logs whom it turns away. Raises CertificateError, ConfigError."""

        def turned_away(refusal: Refusal) -> None:
            log.warning(
                "refused",
                text=refusal.reason,
                peer=refusal.party,
                fingerprint=refusal.fingerprint,
                address=refusal.address,
            )

        return Listener(
            self.identity,
            self.peers,
            address,
            self.limits,
            max_sessions,
            on_refused=turned_away,
            first_frame_bytes=CONTROL_BYTES,
            max_per_peer=max_per_peer,
        )


@dataclass
class Session:
    """A link to one peer with a channel on it, and the ledger that is told of every message."""

    link: NetworkLink
    channel: Channel
    ledger: Ledger

    @classmethod
    def over(cls, own: str, link: NetworkLink, ledger: Ledger) -> "Session":
        """Make a session that speaks the first words only, until `speak`."""
        first = Catalogue(PARTY_MESSAGES)
        channel = Channel(own, link.peer, link, first, link.session, ledger.record, timeout=GREET_SECONDS)
        return cls(link, channel, ledger)

    def speak(self, messages: Iterable[type[Message]]) -> None:
        """Let further messages pass from now on; the limits of the network say how long one may take."""
        self.channel.use(Catalogue((*PARTY_MESSAGES, *messages)))

    def begin(self, words: Hello, steps: Sequence[str], messages: Iterable[type[Message]]) -> Welcome:
        """Ask for what `words` say, and speak `messages` from then on; returns the peer's answer.

        Raises what `greet` raises; AlignmentError, which the peer is told, unless it normalises its ids by `steps`.
        """
        answer = greet(self, words)
        text = other_steps(self.channel.peer, answer, steps)
        if text:
            error = AlignmentError(f"{self.channel.own} aligning ids: {text}")
            self.channel.abort(error)
            raise error
        self.speak(messages)
        return answer

    def traffic(self) -> TrafficRecord:
        """Return what passed so far."""
        link = self.link
        return TrafficRecord.of(self.channel.traffic, link.wire_sent, link.wire_received, link.key_exchange)


def channels_of(sessions: Mapping[str, Session]) -> dict[str, Channel]:
    """Return the channel to each peer."""
    return {name: session.channel for name, session in sessions.items()}


def total_bytes(sessions: Mapping[str, Session]) -> int:
    """Add up the bytes of all sessions, both ways."""
    return sum(session.channel.traffic.total_bytes for session in sessions.values())


def hello(
    kind: Kind,
    run: str = "",
    purpose: str = "",
    train: TrainRequest | None = None,
    predict: PredictRequest | None = None,
) -> Hello:
    """Make the first message of the side that dialled."""
    return Hello(TALK_VERSION, kind, __version__, now(), run, purpose, train, predict)


def welcome(
    rounds: int = -1,
    n_rows: int = 0,
    n_features: int = 0,
    steps: bytes = b"",
    limits: Mapping[str, float] | None = None,
) -> Welcome:
    """Make the answer of the side that granted the request."""
    return Welcome(TALK_VERSION, __version__, now(), rounds, n_rows, n_features, steps, dict(limits or {}))


def greet(session: Session, words: Hello) -> Welcome:
    """Say what is wanted. Raises ConsentError or PeerError with the peer's reason, MessageError for another version."""
    session.channel.send(words)
    answer = session.channel.recv(Welcome)
    check_talk(session.channel.own, session.channel.peer, answer.talk, answer.version)
    return answer


def other_steps(peer: str, answer: Welcome, steps: Sequence[str]) -> str:
    """Say what is wrong if a peer normalises its ids by another list of steps than this party; "" for the same."""
    if answer.steps in (b"", steps_digest(steps)):
        return ""
    return (
        f"{peer} normalises its ids by other steps than this party ({', '.join(steps) or 'none'}), wanted the same "
        "list in the same order; agree on one and write it as normalise into [data] of both"
    )


def check_talk(own: str, peer: str, talk: int, version: str) -> None:
    """Raise MessageError unless the peer speaks this version of the first words."""
    if talk != TALK_VERSION:
        raise MessageError(
            f"{own} meeting {peer}: found version {talk} of the talk between parties (vfxgb {version}), wanted "
            f"{TALK_VERSION} (vfxgb {__version__}); install the same vfxgb on both sides"
        ).for_peer()


def training_talk(protocol: str) -> tuple[type[Message], ...]:
    """List the messages that may pass in a training session."""
    return (*ALIGN_MESSAGES, *training_messages(protocol))


def prediction_talk(hidden: bool = False) -> tuple[type[Message], ...]:
    """List the messages that may pass in a prediction session; in a hidden one, none that names a split."""
    return (*ALIGN_MESSAGES, *(HIDDEN_PREDICTION_MESSAGES if hidden else PREDICTION_MESSAGES))


def need_role(config: PartyConfig, command: str, *roles: str) -> None:
    """Raise ConfigError unless the party's role is one of those a command is for."""
    if config.role not in roles:
        raise ConfigError(
            f"vfxgb {command}: {str(config.path)!r} has role {config.role!r}, wanted {' or '.join(map(repr, roles))}"
        )


def need_train(words: Hello) -> TrainRequest:
    """Return the request in a Hello about training. Raises MessageError for one without."""
    if words.train is None or not words.run:
        raise MessageError("reading a request to train: it names no run or nothing to train")
    return words.train
