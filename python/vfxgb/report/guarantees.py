"""What a run's protocol promises, in plain words: from what the protocol or aggregator says about itself.

The words follow from the fields of its spec (security, exact, shows_sums, ...), never from its name.
"""

from contextlib import suppress
from typing import Any

from vfxgb.contract import ProtocolSpec
from vfxgb.errors import ProtocolParameterError, UnknownNameError
from vfxgb.party.record import RunRecord
from vfxgb.protocols import make_protocol_params, protocol_by_name
from vfxgb.runtime.ledger import COMPUTABLE
from vfxgb.secagg import aggregator_by_name
from vfxgb.secagg.base import AggregatorSpec
from vfxgb.transport.messages import NOTHING

# The roles of a run over users' rows, where `protocol` names an aggregator.
USER_ROLES = ("server", "user")

# A parameter of every protocol whose settings can be made too weak to protect, and what it means.
WEAKENED = "This run allowed settings that do not protect, such as keys that are too short (insecure=true)."

_PARTIES = {
    "semi-honest": "The protection holds against parties that follow the protocol and try to learn more from what they "
    "receive. A party that departs from the protocol is not covered.",
    "broken": "The protection does not hold: an attack is known that undoes the protection. For research only.",
    "none": "There is no protection: the other side sees gradients or data in clear.",
}
_USERS = {
    "active": "The protection holds even against a server that lies to its users, as long as fewer users than "
    "the threshold side with it: the server learns sums over many users and no single user's numbers. Users refuse "
    'sums of a tree that could be subtracted; sums of different trees are compared only with compare = "run".',
    "semi-honest": "The protection holds against a server that follows the protocol and tries to learn more from what "
    "it receives. A server that departs from the protocol is not covered.",
    "none": "There is no protection: the server sees the numbers of every user.",
}
_EXACT = {
    True: "Exact: the model has the splits and leaves that unprotected training gives.",
    False: "Not exact: the model differs from that of unprotected training.",
}
_SUMS = {
    True: f"The active party sees gradient sums of candidate splits: {COMPUTABLE}.",
    False: "The active party sees no gradient sums of other parties' candidate splits.",
}
_HIDDEN_NODES = "Passive parties are not told which rows are in a node of a tree, nor the splits of others."
_NOISY = "Labels or gradients are replaced by noisy ones before anything is made of them."
_LEAVING = {
    True: "Users may leave at any stage of a sum.",
    False: "No user may leave once its vector was asked for.",
}
# What a server learns by whether sums are protected, and what its users learn.
_USERS_SUMS = {
    True: "sums over the users who took part, and no single user's numbers",
    False: "the numbers of every single user",
}
_USERS_TREES = "the trees of the model, and nothing of another user's rows beyond what these trees say"
_KEY_CENTRE = "A trusted key centre hands out keys or parameters before the run."


def guarantees(record: RunRecord) -> dict[str, Any]:
    """`name`, `summary`, `security`, `weakened` (by parameters), `points` (sentences), `attacks`,
    `reveals` (what messages tell by design), `kind` ("protocol" or "aggregator"), `learned` ("active" and "passive" ->
    what that side learns, with {others} for the names of the other side; empty where it is not known).

    What the record says counts before what this version knows: it is what the run was made with.
    """
    users = record.role in USER_ROLES
    section: dict[str, Any] = {
        "name": record.protocol,
        "kind": "aggregator" if users else "protocol",
        "summary": "",
        "security": record.security,
        "weakened": record.protocol_params.get("insecure") is True,
        "points": [],
        "attacks": list(record.attacks),
        "reveals": [],
        "learned": {},
    }
    words = _USERS if users else _PARTIES
    if record.security in words:
        section["points"].append(words[record.security])
    if section["weakened"]:
        section["points"].append(WEAKENED)
    try:
        spec = aggregator_by_name(record.protocol) if users else _spec_of(record)
    except UnknownNameError:
        # A run of another version, or one that failed before a protocol was agreed on.
        return section
    section["summary"] = spec.summary
    section["points"] += _of_protocol(spec) if isinstance(spec, ProtocolSpec) else _of_aggregator(spec)
    section["learned"] = _learned(spec)
    told = dict.fromkeys(message.REVEALS.what for message in spec.messages)
    section["reveals"] = [what for what in told if what != NOTHING.what]
    return section


def _learned(spec: ProtocolSpec | AggregatorSpec) -> dict[str, str]:
    if not isinstance(spec, ProtocolSpec):
        return {"active": _USERS_SUMS[spec.security != "none"], "passive": _USERS_TREES}
    return {} if spec.learned is None else {"active": spec.learned.active, "passive": spec.learned.passive}


def _spec_of(record: RunRecord) -> ProtocolSpec:
    """The protocol as it was under the run's parameters, or in general if these are of another version."""
    spec = protocol_by_name(record.protocol)
    with suppress(ProtocolParameterError):
        return spec.under(make_protocol_params(spec, record.protocol_params))
    return spec


def _of_protocol(spec: ProtocolSpec) -> list[str]:
    released = [f"Released under differential privacy: {event}." for event in spec.dp_events]
    hidden = [] if spec.shows_nodes else [_HIDDEN_NODES]
    noisy = [_NOISY] if spec.release is not None else []
    return [_EXACT[spec.exact], _SUMS[spec.shows_sums], *hidden, *noisy, *released]


def _of_aggregator(spec: AggregatorSpec) -> list[str]:
    return [_LEAVING[spec.survives_drops], *([_KEY_CENTRE] if spec.deal is not None else [])]
