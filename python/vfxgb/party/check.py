"""`vfxgb check`: everything that can be found out before a run, one finding per line.

The data, the certificates, the peers (each is asked whether it would agree, and how many rows and features it has), the
versions, the clocks; and an estimate of time, bytes and memory. Nothing is computed on the data and no id leaves.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import pairwise
from typing import Literal

from vfxgb import __version__
from vfxgb.align import AlignParams
from vfxgb.data.parquet import ParquetSource
from vfxgb.data.table import Table
from vfxgb.errors import ConsentError, VfxgbError
from vfxgb.files import make_private
from vfxgb.params import TrainParams
from vfxgb.party.budget import Budget
from vfxgb.party.config import PartyConfig, section
from vfxgb.party.consent import Consent
from vfxgb.party.estimate import FACTOR, Shape, estimate
from vfxgb.party.folder import PartyFolder, now
from vfxgb.party.messages import Hello, TrainRequest, Welcome
from vfxgb.party.session import CLOCK_SECONDS, Network, Session, greet, hello
from vfxgb.party.tables import read_table
from vfxgb.party.training_input import check_classes, read_params, training_request
from vfxgb.protocols import make_protocol_params, protocol_by_name, require_consent
from vfxgb.train.ledger import Ledger
from vfxgb.transport.network import Listener, Peer, dial
from vfxgb.transport.network.certificates import Description, check_identity, check_peer

Verdict = Literal["good", "warning", "bad"]
SOON_DAYS = 30
MEGA = 1e6


@dataclass(frozen=True)
class Finding:
    """`subject`: what was looked at. `refused`: a peer does not agree. `peer`: it concerns another party."""

    verdict: Verdict
    subject: str
    text: str
    refused: bool = False
    peer: bool = False


def check(config: PartyConfig) -> Iterator[Finding]:
    """Findings as they come. What cannot be looked at is a bad finding, not an error."""
    network: Network | None = None
    try:
        network = Network.of(config)
        section(AlignParams, config.align, "align", config.path)
        make_private(config.folder)
        yield Finding("good", "configuration", f"{config.path.name}: {config.party}, {config.role}")
    except (VfxgbError, OSError) as error:
        yield Finding("bad", "configuration", str(error))
    if network is not None:
        yield from _certificates(network)
    if config.role in ("server", "user"):
        yield from _users(config)
        return
    shape = yield from _data(config)
    if config.role == "passive":
        yield from _passive(config, network)
        return
    yield from _accounts(config)
    params, request = yield from _training(config)
    if network is not None:
        welcomes = yield from _peers(config, network, request)
        if params is not None and shape is not None and len(welcomes) == len(config.peers):
            yield _estimate(config, params, shape, welcomes)


def _certificates(network: Network) -> Iterator[Finding]:
    try:
        yield _expiry("certificate", network.identity.party, check_identity(network.identity))
    except (VfxgbError, OSError) as error:
        yield Finding("bad", "certificate", str(error))
    for name, peer in network.peers.items():
        yield _certificate_of(name, peer)


def _certificate_of(name: str, peer: Peer) -> Finding:
    try:
        return _expiry(f"certificate of {name}", name, check_peer(peer))
    except (VfxgbError, OSError) as error:
        return Finding("bad", f"certificate of {name}", str(error))


def _expiry(subject: str, party: str, said: Description) -> Finding:
    days = (said.ends - datetime.now(timezone.utc)).days
    text = f"{party}, until {said.ends:%Y-%m-%d} ({days} days), SHA-256 {said.fingerprint[:16]}"
    return Finding("warning" if days < SOON_DAYS else "good", subject, text)


def _users(config: PartyConfig) -> Iterator[Finding]:
    from vfxgb.party.logs import Log
    from vfxgb.party.user import UserParty
    from vfxgb.party.users_server import UsersServer

    try:
        side = UsersServer(config, Log(None)) if config.role == "server" else UserParty(config, Log(None))
        yield Finding("good", "run", side.describe())
    except (VfxgbError, OSError) as error:
        yield Finding("bad", "run", str(error))


def _data(config: PartyConfig) -> Generator[Finding, None, tuple[int, int] | None]:
    """Findings about the tables; returns (rows, features) of the training table, None if it cannot be read."""
    found = None
    tables = [("train", config.data.train), ("valid", config.data.valid), ("predict", config.data.predict)]
    for what, path in tables:
        if path is None and what != "train":
            continue
        labelled = config.role == "active" and what != "predict"
        try:
            held = read_table(config, path, what, labelled=labelled, in_files=config.engine.in_shards)
            _read_through(held.table)
            if labelled and what == "train":
                check_classes(held.labels, read_params(config), config.party, repr(str(path)))
        except (VfxgbError, OSError) as error:
            yield Finding("bad", f"data: {what}", str(error))
            continue
        rows, features = held.table.n_rows, len(held.table.names)
        found = (rows, features) if what == "train" else found
        yield Finding("good", f"data: {what}", f"{rows:,} rows, {features} features, every id once")
    return found


def _read_through(table: Table | ParquetSource) -> None:
    """Read every value of a table that is in files, a part at a time, to find those that training would refuse."""
    if isinstance(table, Table):
        return
    for first, stop in pairwise(table.parts):
        for feature in range(len(table.names)):
            table.column(feature, first, stop)


def _training(config: PartyConfig) -> Generator[Finding, None, tuple[TrainParams | None, TrainRequest | None]]:
    """Findings about [train] and [protocol]; returns (params, request), None for what is wrong."""
    try:
        params = read_params(config)
        spec = protocol_by_name(config.protocol.name)
        require_consent(spec, make_protocol_params(spec, {**config.protocol.params, **config.protocol.local}))
    except VfxgbError as error:
        yield Finding("bad", "training", str(error))
        return None, None
    yield Finding("good", "training", f"{params.n_estimators} rounds of depth {params.max_depth} by {spec.name}")
    if spec.security != "semi-honest":
        words = "; ".join(spec.attacks) or spec.summary
        yield Finding("warning", "protocol", f"{spec.name} does not protect: {words}")
    return params, training_request(config, params, resume=False)


def _passive(config: PartyConfig, network: Network | None) -> Iterator[Finding]:
    try:
        Consent(config.party, config.consent).check()
        yield Finding("good", "consent", "every protocol in it is known")
    except VfxgbError as error:
        yield Finding("bad", "consent", str(error))
    yield from _accounts(config)
    if network is None:
        return
    try:
        with Listener(network.identity, network.peers, config.listen, network.limits, config.max_sessions) as listener:
            yield Finding("good", "port", f"can listen at {listener.address}")
    except VfxgbError as error:
        yield Finding("warning", "port", f"{error} (if this party serves already, that is why)")


def _accounts(config: PartyConfig) -> Iterator[Finding]:
    """What each peer was shown or given over all runs, where there was anything."""
    folder = PartyFolder(config.folder)
    for peer in config.peers:
        account = folder.account(config.party, peer)
        if not account.file.exists():
            continue
        try:
            spent = account.read().spent()
            shown = Budget(config.consent, account).describe() if config.role == "passive" else spent
            yield Finding("good", f"account of {peer}", shown)
        except (VfxgbError, OSError) as error:
            yield Finding("bad", f"account of {peer}", str(error))


def _peers(
    config: PartyConfig, network: Network, request: TrainRequest | None
) -> Generator[Finding, None, list[Welcome]]:
    """Ask every peer; returns what those that answered said."""
    welcomes: list[Welcome] = []
    words = hello("check", purpose=config.purpose, train=request)
    for name, peer in network.peers.items():
        try:
            answer, skew = _ask(network, peer, words)
        except ConsentError as error:
            yield Finding("bad", f"peer {name}", str(error), refused=True, peer=True)
            continue
        except (VfxgbError, OSError) as error:
            yield Finding("bad", f"peer {name}", str(error), peer=True)
            continue
        welcomes.append(answer)
        yield Finding("good", f"peer {name}", f"agrees; {answer.n_rows:,} rows, {answer.n_features} features")
        if answer.version != __version__:
            yield Finding("warning", f"peer {name}", f"has vfxgb {answer.version}, here is {__version__}")
        if abs(skew) > CLOCK_SECONDS:
            side = "ahead of" if skew > 0 else "behind"
            yield Finding("warning", f"peer {name}", f"its clock is {abs(skew) / 60:.0f} minutes {side} this one")
    return welcomes


def _ask(network: Network, peer: Peer, words: Hello) -> tuple[Welcome, float]:
    """The answer of a peer, and by how many seconds its clock is ahead."""
    link = dial(network.identity, peer, network.limits)
    session = Session.over(network.identity.party, link, Ledger())
    try:
        begin = now()
        answer = greet(session, words)
        return answer, answer.clock - (begin + now()) / 2
    finally:
        session.channel.close()


def _estimate(config: PartyConfig, params: TrainParams, own: tuple[int, int], welcomes: list[Welcome]) -> Finding:
    rows = min(own[0], *(answer.n_rows for answer in welcomes))
    others = sum(answer.n_features for answer in welcomes)
    trees = params.n_estimators * params.num_class
    shape = Shape(rows, own[1], others, params.max_bin, params.max_depth, trees)
    spec = protocol_by_name(config.protocol.name)
    found = estimate(spec.name, make_protocol_params(spec, {**config.protocol.params, **config.protocol.local}), shape)
    if found is None:
        return Finding("warning", "estimate", f"none: protocol {spec.name} was never measured")
    return Finding(
        "good",
        "estimate",
        f"about {duration(found.seconds)}, {found.bytes / MEGA:,.0f} MB on the wire, {found.memory / MEGA:,.0f} MB of "
        f"memory here, if all {rows:,} rows are common and each party has two cores; good to a factor of {FACTOR}",
    )


def duration(seconds: float) -> str:
    """Seconds in words."""
    if seconds < 100:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
