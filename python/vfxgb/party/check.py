"""`vfxgb check`: everything that can be found out before a run, one finding per line.

The data, the certificates, the peers (each is asked whether it would agree, and how many rows and features it has), the
versions, the clocks; and an estimate of time, bytes and memory. Nothing is computed on the data and no id leaves.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Literal

from vfxgb import __version__
from vfxgb.align import AlignParams
from vfxgb.align.overlap import overlap_hint
from vfxgb.errors import ConsentError, VfxgbError
from vfxgb.files import make_private
from vfxgb.params import TrainParams
from vfxgb.party.budget import Budget
from vfxgb.party.config import PartyConfig, section
from vfxgb.party.consent import Consent
from vfxgb.party.estimate import FACTOR, Shape, estimate
from vfxgb.party.folder import PartyFolder
from vfxgb.party.logs import Log
from vfxgb.party.messages import Hello, TrainRequest, Welcome
from vfxgb.party.mistakes import (
    address_mistakes,
    check_labels,
    check_metrics,
    check_resume,
    parameter_mistakes,
    read_through,
    table_mistakes,
)
from vfxgb.party.record import now
from vfxgb.party.session import CLOCK_SECONDS, Network, greet, hello, other_steps
from vfxgb.party.tables import PartyTable, read_table
from vfxgb.party.training_input import training_request
from vfxgb.protocols import make_protocol_params, protocol_by_name, require_consent, shipped_protocols
from vfxgb.runtime.ledger import Ledger
from vfxgb.train.account import Account
from vfxgb.train.plan import RunPlan, refusals, resolve_protocol
from vfxgb.train.wire_estimate import FACTOR as LINE_FACTOR
from vfxgb.train.wire_estimate import estimate_line
from vfxgb.transport.line import KnownLine
from vfxgb.transport.network import Peer
from vfxgb.transport.network.certificates import Description, check_identity, check_peer

Verdict = Literal["good", "warning", "bad"]
SOON_DAYS = 30
MEGA = 1e6


@dataclass(frozen=True)
class Finding:
    """Says what came of looking at `subject`. `refused`: a peer does not agree. `peer`: it is about another party."""

    verdict: Verdict
    subject: str
    text: str
    refused: bool = False
    peer: bool = False


def check(config: PartyConfig) -> Iterator[Finding]:
    """Yield findings as they come. What cannot be looked at is a bad finding, not an error."""
    network: Network | None = None
    try:
        network = Network.of(config)
        section(AlignParams, config.align, "align", config.path)
        make_private(config.folder)
        yield Finding("good", "configuration", f"{config.path.name}: {config.party}, {config.role}")
    except (VfxgbError, OSError) as error:
        yield Finding("bad", "configuration", str(error))
    for text in address_mistakes(config):
        yield Finding("bad", "addresses", text)
    if network is not None:
        yield from _certificates(network)
    if config.role in ("server", "user"):
        yield _tried("run", _describe_users, config)
        return
    tables = yield from _data(config)
    train = tables.get("train")
    if config.role == "passive":
        yield from _last_overlap(config)
        yield from _passive(config, network)
        return
    yield from _accounts(config)
    params = yield from _training(config, tables)
    if network is not None:
        words = hello("check", purpose=config.purpose, train=_request(config, params, tables))
        welcomes = yield from _peers(config, network, words)
        yield from _last_overlap(config, *(answer.n_rows for answer in welcomes))
        if params is not None and train is not None and len(welcomes) == len(config.peers):
            own = (train.table.n_rows, len(train.table.names))
            yield from _estimate(config, params, own, welcomes, network.limits.line)


def _tried(subject: str, step: Callable[..., str], *arguments: Any) -> Finding:
    """Return a good finding with what the step says, or a bad one with the error that it raises."""
    try:
        return Finding("good", subject, step(*arguments))
    except (VfxgbError, OSError) as error:
        return Finding("bad", subject, str(error))


def _certificates(network: Network) -> Iterator[Finding]:
    try:
        yield _expiry("certificate", network.identity.party, check_identity(network.identity))
    except (VfxgbError, OSError) as error:
        yield Finding("bad", "certificate", str(error))
    for name, peer in network.peers.items():
        yield from _certificates_of(name, peer)


def _certificates_of(name: str, peer: Peer) -> Iterator[Finding]:
    """Yield a finding for each pin; a pin that cannot be used is bad unless another can."""
    subject = f"certificate of {name}"
    try:
        check_peer(peer)
    except (VfxgbError, OSError) as error:
        yield Finding("bad", subject, str(error))
        return
    for path in peer.certificates:
        yield _pin(subject, Peer(name, path))


def _pin(subject: str, peer: Peer) -> Finding:
    """Look at one pin of a peer that has at least one that can be used."""
    try:
        return _expiry(subject, peer.party, check_peer(peer))
    except VfxgbError as error:
        return Finding("warning", subject, f"{error} (the other certificate of {peer.party} can be used)")


def _expiry(subject: str, party: str, said: Description) -> Finding:
    days = (said.ends - datetime.now(timezone.utc)).days
    text = f"{party}, until {said.ends:%Y-%m-%d} ({days} days), SHA-256 {said.fingerprint}"
    return Finding("warning" if days < SOON_DAYS else "good", subject, text)


def _describe_users(config: PartyConfig) -> str:
    """Say what a server of users, or a user, would do. Raises what is wrong with it."""
    from vfxgb.party.user import UserParty
    from vfxgb.party.users_server import UsersServer

    side = UsersServer(config, Log(None)) if config.role == "server" else UserParty(config, Log(None))
    return side.describe()


def _data(config: PartyConfig) -> Generator[Finding, None, dict[str, PartyTable]]:
    """Yield findings about the tables and every column that cannot be read; returns the tables that can be."""
    read = {}
    tables = [("train", config.data.train), ("valid", config.data.valid), ("predict", config.data.predict)]
    for what, path in tables:
        if path is None and what != "train":
            continue
        labelled = config.role == "active" and what != "predict"
        try:
            held = read_table(config, path, what, labelled=labelled, in_files=config.engine.in_shards)
            read_through(held.table)
        except (VfxgbError, OSError) as error:
            for text in table_mistakes(config, path, what, labelled) or [str(error)]:
                yield Finding("bad", f"data: {what}", text)
            continue
        rows, features = held.table.n_rows, len(held.table.names)
        read[what] = held
        yield Finding("good", f"data: {what}", f"{rows:,} rows, {features} features, every id once")
    return read


def _training(config: PartyConfig, tables: Mapping[str, PartyTable]) -> Generator[Finding, None, TrainParams | None]:
    """Yield what training would refuse before it asks a peer, of [train], [protocol], [resume] and labels.

    Returns the parameters, None where peers cannot be asked about them.
    """
    params, texts = parameter_mistakes(config)
    bad = [Finding("bad", "training", text) for text in texts]

    def need(subject: str, step: Callable[..., object], *arguments: Any) -> None:
        finding = _tried(subject, lambda: str(step(*arguments)))
        bad.extend([finding] if finding.verdict == "bad" else [])

    need("protocol", _protocol, config)
    if params is not None and not bad:
        bad.extend(Finding("bad", "training", text) for text in plan_mistakes(config, params))
    known = params is not None and not bad
    need("resume", check_resume, config)
    if params is not None:
        need("eval_metric", check_metrics, params)
        for what in ("train", "valid"):
            if what in tables:
                need(f"labels: {what}", check_labels, params, tables[what], config.party, what)
        if "train" in tables:
            need("training", params.constraints, tables["train"].table.names)
    yield from bad
    if bad or params is None:
        return params if known else None
    spec = protocol_by_name(config.protocol.name)
    bins = spec.default_bins if params.max_bin is None else params.bins
    text = f"{params.n_estimators} rounds of depth {params.max_depth} by {spec.name}, max_bin {bins}"
    yield Finding("good", "training", text + (f" (the default of {spec.name})" if params.max_bin is None else ""))
    if spec.security != "semi-honest":
        words = "; ".join(spec.attacks) or spec.summary
        yield Finding("warning", "protocol", f"{spec.name} does not protect: {words}")
    return params


def _protocol(config: PartyConfig) -> None:
    """Raise what training by [protocol] would raise before anybody is asked."""
    spec = protocol_by_name(config.protocol.name)
    require_consent(spec, make_protocol_params(spec, {**config.protocol.params, **config.protocol.local}))
    training_request(config, TrainParams(), resume=False)


def plan_mistakes(config: PartyConfig, params: TrainParams) -> list[str]:
    """List what does not go together in [train] and [protocol]: all that the protocol cannot have, not the first."""
    try:
        plan_of(config, params)
    except VfxgbError as error:
        spec, _ = resolve_protocol(config.protocol.name, {**config.protocol.params, **config.protocol.local})
        return [str(each) for each in refusals(spec, params)] or [str(error)]
    return []


def plan_of(config: PartyConfig, params: TrainParams) -> RunPlan:
    """Plan the run that the configuration is for. Raises what does not go together."""
    given = {**config.protocol.params, **config.protocol.local}
    return RunPlan.resolve(config.party, (config.party, *config.peers), "", params, config.protocol.name, given)


def _request(config: PartyConfig, params: TrainParams | None, tables: Mapping[str, PartyTable]) -> TrainRequest | None:
    """Return what peers would be asked for; None where this party's own part is not right."""
    if params is None:
        return None
    n_ids = sum(len(tables[what].ids) for what in ("train", "valid") if what in tables)
    return training_request(config, params, resume=False, n_ids=n_ids)


def _last_overlap(config: PartyConfig, *others: int) -> Iterator[Finding]:
    """Warn if few ids were common in the last run: before a run nobody can know.

    `others` are the numbers of rows of the peers' tables.
    """
    for folder in PartyFolder(config.folder).runs():
        rows = folder.read().rows
        common = rows.get("train" if config.role == "active" else "common")
        if common is None:
            continue
        hint = overlap_hint(common, rows.get("own", 0), min(others, default=rows.get("peer", rows.get("own", 0))))
        if hint:
            yield Finding("warning", "overlap", f"run {folder.run[:8]}: {hint}")
        return


def _passive(config: PartyConfig, network: Network | None) -> Iterator[Finding]:
    yield _tried("consent", _consent, config)
    yield _tried("limits", _limits, config)
    yield from _accounts(config)
    if network is None:
        return
    try:
        with network.listen(config.listen, config.max_sessions, Log(None)) as listener:
            yield Finding("good", "port", f"can listen at {listener.address}")
    except VfxgbError as error:
        yield Finding("warning", "port", f"{error} (if this party serves already, that is why)")


def _consent(config: PartyConfig) -> str:
    Consent(config.party, config.consent).check()
    return "every protocol in it is known"


def _limits(config: PartyConfig) -> str:
    """What consent sets for protocols that tell rows split by split, with what stands for a limit that is left out."""
    consent, told = Consent(config.party, config.consent), []
    for name in config.consent.protocols or shipped_protocols():
        spec = protocol_by_name(name)
        if spec.consent_params:
            consent.local_params(name, config.protocol.local if name == config.protocol.name else {})
            limits = consent.limits(name, {})
            set_to = (
                f"{limit} = {limits[limit]:g}" if limit in limits else f"no {limit}" for limit in spec.consent_params
            )
            told.append(f"{name}: {', '.join(set_to)}")
    return "; ".join(told) or "no protocol accepted tells rows split by split"


def _accounts(config: PartyConfig) -> Iterator[Finding]:
    """Say what each peer was shown or given over all runs, where there was anything."""
    folder = PartyFolder(config.folder)
    for peer in config.peers:
        account = folder.account(config.party, peer)
        if account.file.exists():
            yield _tried(f"account of {peer}", _shown, config, account)


def _shown(config: PartyConfig, account: Account) -> str:
    # Reading comes first, so that the party itself is told where a damaged account lies.
    spent = account.read().spent()
    return Budget(config.consent, account).describe() if config.role == "passive" else spent


def _peers(config: PartyConfig, network: Network, words: Hello) -> Generator[Finding, None, list[Welcome]]:
    """Ask every peer; returns what those that answered said."""
    welcomes: list[Welcome] = []
    for name in network.peers:
        try:
            answer, skew, key_exchange = _ask(network, name, words)
        except (VfxgbError, OSError) as error:
            yield Finding("bad", f"peer {name}", str(error), refused=isinstance(error, ConsentError), peer=True)
            continue
        welcomes.append(answer)
        agrees = "agrees" if words.train is not None else "answers (what to train is not known)"
        counts = f"{answer.n_rows:,} rows, {answer.n_features} features"
        yield Finding("good", f"peer {name}", f"{agrees}; {counts}; keys of the line by {key_exchange}")
        if answer.limits:
            limits = ", ".join(f"{limit} = {value:g}" for limit, value in answer.limits.items())
            yield Finding("good", f"limits of {name}", f"{limits}; splits of {name} that win beyond them are withheld")
        steps = other_steps(name, answer, config.data.normalise)
        if steps:
            yield Finding("bad", "normalise", steps)
        if answer.version != __version__:
            yield Finding("warning", f"peer {name}", f"has vfxgb {answer.version}, here is {__version__}")
        if abs(skew) > CLOCK_SECONDS:
            side = "ahead of" if skew > 0 else "behind"
            yield Finding("warning", f"peer {name}", f"its clock is {abs(skew) / 60:.0f} minutes {side} this one")
    return welcomes


def _ask(network: Network, name: str, words: Hello) -> tuple[Welcome, float, str]:
    """Return the answer of a peer, by how many seconds its clock is ahead, and the group of the connection's keys."""
    session = network.dial(name, Ledger())
    try:
        begin = now()
        answer = greet(session, words)
        return answer, answer.clock - (begin + now()) / 2, session.link.key_exchange or "an unknown group"
    finally:
        session.channel.close()


def _estimate(
    config: PartyConfig, params: TrainParams, own: tuple[int, int], welcomes: list[Welcome], line: KnownLine
) -> Iterator[Finding]:
    """What the run takes in all, and what each tree takes on the line, with the setting that would halve it."""
    rows = min(own[0], *(answer.n_rows for answer in welcomes))
    plan = plan_of(config, params)
    features = dict(zip(config.peers, (answer.n_features for answer in welcomes), strict=True))
    on_line = estimate_line(plan, rows, {config.party: own[1], **features}, line)
    if on_line is not None:
        yield Finding("good", "line", f"{on_line.words(line)}; good to a factor of {LINE_FACTOR}")
    trees = params.n_estimators * params.num_class
    shape = Shape(rows, own[1], sum(features.values()), plan.params.bins, params.max_depth, trees)
    costs = None if on_line is None else estimate(plan.spec.name, plan.protocol_params, shape, on_line)
    if costs is None:
        yield Finding("warning", "estimate", f"none: protocol {plan.spec.name} was never measured")
        return
    yield Finding(
        "good",
        "estimate",
        f"about {duration(costs.seconds)}, {costs.bytes / MEGA:,.0f} MB on the wire, {costs.memory / MEGA:,.0f} MB of "
        f"memory here, if all {rows:,} rows are common and each party has two cores; good to a factor of {FACTOR}",
    )


def duration(seconds: float) -> str:
    """Write seconds in words."""
    if seconds < 100:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
