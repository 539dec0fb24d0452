"""vfxgb itself: every protocol that no attack breaks, over its own links with mutual TLS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from field.adapter import ACTIVE, PASSIVE, Entrant, Job, Peer, Reporter

OBJECTIVE = "binary:logistic"
KEY_BITS = 2048
EPSILON = 4.0
ARRIVAL_SECONDS = 600.0
# Entrant -> protocol and its parameters. Keys have the size that most peers use.
PROTOCOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("plain", {}),
    "sealed": ("sealed", {}),
    "ot_shares": ("ot_shares", {}),
    "batch_he-ou": ("batch_he", {"scheme": "ou", "key_bits": KEY_BITS}),
    "batch_he-paillier": ("batch_he", {"scheme": "paillier", "key_bits": KEY_BITS}),
    "secureboost": ("secureboost", {"scheme": "paillier", "key_bits": KEY_BITS}),
    "ldp": ("ldp", {"epsilon": EPSILON}),
    "federboost": ("federboost", {"epsilon": EPSILON}),
}
NOTES = {
    "ldp": f"labels randomised once, epsilon {EPSILON:g} for the training",
    "federboost": f"buckets randomised once, epsilon {EPSILON:g} for each feature",
}


def _entrants() -> Mapping[str, Entrant]:
    from vfxgb.bench.field.axes import level_of
    from vfxgb.protocols import protocol_by_name
    from vfxgb.train.plan import resolve_protocol

    found = {}
    for name, (protocol, given) in PROTOCOLS.items():
        _, params = resolve_protocol(protocol, given)
        spec = protocol_by_name(protocol).under(params)
        precision = getattr(params, "precision_bits", None)
        found[name] = Entrant(
            level=level_of(spec),
            learns=_learns(spec),
            key_bits=given.get("key_bits", 0),
            twin={"precision_bits": precision} if spec.exact else None,
            notes=(NOTES[name],) if name in NOTES else (),
        )
    return found


def _learns(spec: Any) -> str:
    """What a protocol's statement about itself says, in words."""
    said = [spec.summary]
    if spec.security != "none":
        opened = "opens the sums of every candidate" if spec.shows_sums else "opens no sum of a candidate"
        nodes = "which rows are in which node" if spec.shows_nodes else "no node but through its own splits"
        said.append(f"the active party {opened}; the passive party is shown {nodes}")
    said += [f"released under differential privacy: {event}" for event in spec.dp_events]
    known = [attack.partition(":")[0] for attack in spec.attacks]
    said += [f"known against it: {', '.join(known)}"] if known else []
    return "; ".join(said)


def _play(job: Job, reporter: Reporter) -> None:
    (_play_active if job.role == ACTIVE else _play_passive)(job, reporter)


def _limits(job: Job) -> Any:
    from vfxgb.transport.network import Limits

    return Limits(mbit=job.mbit, delay_ms=job.delay_ms)


def _identity(job: Job, party: str) -> Any:
    from vfxgb.transport.network import Identity

    return Identity(party, job.path / f"{party}.pem", job.path / f"{party}.key")


def _channel(job: Job, own: str, other: str, link: Any) -> Any:
    from vfxgb.train.sides import training_messages
    from vfxgb.transport.channel import Channel
    from vfxgb.transport.messages import Catalogue

    protocol, _ = PROTOCOLS[job.entrant]
    return Channel(own, other, link, Catalogue(training_messages(protocol)), link.session)


def _table(job: Job, party: str) -> Any:
    from vfxgb.data.table import Table

    rows = job.table(party)
    return Table.read(rows, names=[f"{party}{place}" for place in range(rows.shape[1])], party=party)


def _play_active(job: Job, reporter: Reporter) -> None:
    from vfxgb.model.file import save_share
    from vfxgb.params import TrainParams
    from vfxgb.train.active import ActiveInput
    from vfxgb.train.callbacks import TrainingCallback, TrainingState
    from vfxgb.train.plan import ActiveHooks, RunPlan
    from vfxgb.train.sides import run_active
    from vfxgb.transport.network import Peer as TlsPeer
    from vfxgb.transport.network import dial

    class Trees(TrainingCallback):
        """Tells when a tree is done."""

        def after_iteration(self, state: TrainingState) -> bool:  # noqa: ARG002 - a hook
            traffic = channel.traffic
            messages = traffic.sent_messages + traffic.received_messages
            reporter.tree(messages=messages, round_trips=traffic.round_trips)
            return False

    protocol, params = PROTOCOLS[job.entrant]
    train = TrainParams(
        n_estimators=job.trees, max_depth=job.depth, max_bin=job.bins, n_jobs=job.threads, objective=OBJECTIVE
    )
    table, labels, limits = _table(job, ACTIVE), job.labels(), _limits(job)
    reporter.ready()
    shop = TlsPeer(PASSIVE, job.path / f"{PASSIVE}.pem", f"127.0.0.1:{job.dial[PASSIVE]}")
    with dial(_identity(job, ACTIVE), shop, limits) as link:
        channel = _channel(job, ACTIVE, PASSIVE, link)
        plan = RunPlan.resolve(ACTIVE, (ACTIVE, PASSIVE), link.session.hex(), train, protocol, params)
        given = ActiveInput(table, labels, None, job.rows, (), job.threads, line=limits.line)
        reporter.begin()
        result = run_active(plan, given, {PASSIVE: channel}, ActiveHooks(callbacks=[Trees()]))
    save_share(result.share, job.path / f"{ACTIVE}.json")


def _play_passive(job: Job, reporter: Reporter) -> None:
    from vfxgb.model.file import save_share
    from vfxgb.protocols import make_protocol_params, protocol_by_name
    from vfxgb.train.passive import PassiveInput
    from vfxgb.train.plan import PassiveHooks
    from vfxgb.train.sides import run_passive
    from vfxgb.transport.network import Listener
    from vfxgb.transport.network import Peer as TlsPeer

    protocol, given = PROTOCOLS[job.entrant]
    spec = protocol_by_name(protocol)
    params = make_protocol_params(spec, given)
    local = {name: getattr(params, name) for name in spec.local_params}
    table, limits = _table(job, PASSIVE), _limits(job)
    peers = {ACTIVE: TlsPeer(ACTIVE, job.path / f"{ACTIVE}.pem")}
    with Listener(_identity(job, PASSIVE), peers, f"127.0.0.1:{job.listen[PASSIVE]}", limits) as listener:
        reporter.ready()
        link = listener.accept(ARRIVAL_SECONDS).link
        run_passive(
            PASSIVE,
            link.session.hex(),
            PassiveInput(table, job.threads, local_params=local, line=limits.line),
            _channel(job, PASSIVE, ACTIVE, link),
            PassiveHooks(save=lambda share: save_share(share, job.path / f"{PASSIVE}.json")),
        )
        link.close()


PEER = Peer(
    title="vfxgb",
    distribution="vfxgb",
    module="vfxgb",
    requirements=("vfxgb",),
    install="pip install .",
    source="the specs of its protocols (python/vfxgb/protocols)",
    entrants=_entrants,
    play=_play,
    notes=(
        "over its own links: gRPC with mutual TLS 1.3, whose bytes count",
        "keys of 2048 bits, so that they are those of the peers; the defaults are larger",
        "protocols that an attack breaks are left out",
    ),
)
