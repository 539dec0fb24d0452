"""Sessions between processes: who this party is, whom it dials, the first words, and what passed the wire."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vfxgb import __version__
from vfxgb.align import ALIGN_MESSAGES
from vfxgb.align.normalise import steps_digest
from vfxgb.errors import AlignmentError, ConfigError, MessageError
from vfxgb.party.config import PartyConfig, section
from vfxgb.party.folder import TrafficRecord, now
from vfxgb.party.messages import PARTY_MESSAGES, TALK_VERSION, Hello, Kind, PredictRequest, TrainRequest, Welcome
from vfxgb.predict.messages import PREDICTION_MESSAGES
from vfxgb.runtime.ledger import Ledger
from vfxgb.train.sides import training_messages
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import Catalogue, Message
from vfxgb.transport.network import Identity, Limits, NetworkLink, Peer

# How long the first words may take: a table may have to be read before they are answered.
GREET_SECONDS = 300.0
# A difference of clocks that certificates and logs do not stand well.
CLOCK_SECONDS = 300.0


@dataclass(frozen=True)
class Network:
    """What [tls], [peers] and [network] of a configuration come to."""

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


@dataclass
class Session:
    """A link to one peer with a channel on it, and the ledger that is told of every message."""

    link: NetworkLink
    channel: Channel
    ledger: Ledger

    @classmethod
    def over(cls, own: str, link: NetworkLink, ledger: Ledger) -> "Session":
        """A session that speaks the first words only, until `speak`."""
        first = Catalogue(PARTY_MESSAGES)
        channel = Channel(own, link.peer, link, first, link.session, ledger.record, timeout=GREET_SECONDS)
        return cls(link, channel, ledger)

    def speak(self, messages: Iterable[type[Message]]) -> None:
        """Further messages that may pass from now on; the limits of the network say how long one may take."""
        self.channel.use(Catalogue((*PARTY_MESSAGES, *messages)))

    def traffic(self) -> TrafficRecord:
        """What passed so far."""
        counted = self.channel.traffic
        return TrafficRecord(
            counted.sent_bytes,
            counted.received_bytes,
            counted.sent_messages,
            counted.received_messages,
            counted.round_trips,
            self.link.wire_sent,
            self.link.wire_received,
        )


def hello(
    kind: Kind,
    run: str = "",
    purpose: str = "",
    train: TrainRequest | None = None,
    predict: PredictRequest | None = None,
) -> Hello:
    """The first message of the side that dialled."""
    return Hello(TALK_VERSION, kind, __version__, now(), run, purpose, train, predict)


def welcome(rounds: int = -1, n_rows: int = 0, n_features: int = 0, steps: bytes = b"") -> Welcome:
    """The answer of the side that granted the request."""
    return Welcome(TALK_VERSION, __version__, now(), rounds, n_rows, n_features, steps)


def greet(session: Session, words: Hello) -> Welcome:
    """Say what is wanted. Raises ConsentError or PeerError with the peer's reason, MessageError for another version."""
    session.channel.send(words)
    answer = session.channel.recv(Welcome)
    check_talk(session.channel.own, session.channel.peer, answer.talk, answer.version)
    return answer


def other_steps(peer: str, answer: Welcome, steps: Sequence[str]) -> str:
    """What to say where a peer normalises its ids by another list of steps than this party; "" for the same list."""
    if answer.steps in (b"", steps_digest(steps)):
        return ""
    return (
        f"{peer} normalises its ids by other steps than this party ({', '.join(steps) or 'none'}), wanted the same "
        "list in the same order; agree on one and write it as normalise into [data] of both"
    )


def need_same_steps(session: Session, answer: Welcome, steps: Sequence[str]) -> None:
    """Raise AlignmentError, and tell the peer, unless it normalises its ids by `steps`."""
    text = other_steps(session.channel.peer, answer, steps)
    if text:
        error = AlignmentError(f"{session.channel.own} aligning ids: {text}")
        session.channel.abort(error)
        raise error


def check_talk(own: str, peer: str, talk: int, version: str) -> None:
    """Raise MessageError unless the peer speaks this version of the first words."""
    if talk != TALK_VERSION:
        raise MessageError(
            f"{own} meeting {peer}: found version {talk} of the talk between parties (vfxgb {version}), wanted "
            f"{TALK_VERSION} (vfxgb {__version__}); install the same vfxgb on both sides"
        ).for_peer()


def training_talk(protocol: str) -> tuple[type[Message], ...]:
    """Everything that may pass in a training session."""
    return (*ALIGN_MESSAGES, *training_messages(protocol))


def prediction_talk() -> tuple[type[Message], ...]:
    """Everything that may pass in a prediction session."""
    return (*ALIGN_MESSAGES, *PREDICTION_MESSAGES)


def need_role(config: PartyConfig, command: str, *roles: str) -> None:
    """Raise ConfigError unless the party's role is one of those a command is for."""
    if config.role not in roles:
        raise ConfigError(
            f"vfxgb {command}: {str(config.path)!r} has role {config.role!r}, wanted {' or '.join(map(repr, roles))}"
        )


def need_train(words: Hello) -> TrainRequest:
    """The request in a Hello about training. Raises MessageError for one without."""
    if words.train is None or not words.run:
        raise MessageError("reading a request to train: it names no run or nothing to train")
    return words.train
