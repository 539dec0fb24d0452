"""What is wrong with a configuration although each of its keys, taken by itself, is right."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from vfxgb.errors import EngineError

if TYPE_CHECKING:
    from vfxgb.party.config import PartyConfig

# A party's name is part of file names, of certificates and of log lines.
PARTY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def mistakes(config: "PartyConfig", given: Mapping[str, Any]) -> Iterator[str]:
    """Yield every mistake, in words. `given` is the file as it was read: it shows what is no default."""
    yield from _names(config)
    yield from _roles(config, given)
    yield from _limits(config)


def _names(config: "PartyConfig") -> Iterator[str]:
    for name in (config.party, *config.peers):
        if not PARTY_NAME.fullmatch(name):
            yield f"found the party name {name!r}, wanted at most 63 letters, digits, dots, dashes, underscores"
    if config.party in config.peers:
        yield f"[peers] names the party itself, {config.party!r}; leave it out"


def _roles(config: "PartyConfig", given: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a role needs and lacks, and keys that have no meaning for it."""
    role, data = config.role, config.data
    if role in ("passive", "server") and not config.listen:
        yield f'role {role!r} needs listen, such as listen = "0.0.0.0:7878"'
    if config.metrics.listen and not config.metrics.listen.rpartition(":")[2].isdecimal():
        yield f'listen of [metrics]: found {config.metrics.listen!r}, wanted host:port, such as "127.0.0.1:9464"'
    if role in ("active", "user"):
        for name, peer in config.peers.items():
            if not peer.address:
                yield f'[peers.{name}] needs address, such as address = "host:7878"'
    if role != "server" and not config.peers:
        yield "there is no [peers.NAME]; name who takes part, with their certificates"
    if role in ("passive", "user") and len(config.peers) > 1:
        yield f"role {role!r} has one peer, found {', '.join(config.peers)}"
    if role == "active" and data.train is not None and not data.label:
        yield "role 'active' needs label in [data]: the column to learn"
    for key in ("categorical", "dates"):
        if role in ("server", "user") and getattr(data, key):
            yield f"{key} of [data] is for parties with columns of their own; users' rows are numbers: encode them"
        for name in getattr(data, key):
            if name in (data.id, data.label, data.weight) or (data.features and name not in data.features):
                yield f"{key} of [data] names {name!r}, wanted columns in use"
    both = sorted(set(data.categorical) & set(data.dates))
    if both:
        yield f"categorical and dates of [data] both name {', '.join(map(repr, both))}; wanted each in one of them"
    if role == "passive":
        for key in ("valid", "label", "weight"):
            if getattr(data, key):
                yield f"{key} of [data] is the active party's; leave it out"
        if config.protocol.params or "name" in given.get("protocol", {}):
            yield "[protocol] of a passive party has `local` only; what it accepts is [consent]"


def _limits(config: "PartyConfig") -> Iterator[str]:
    """Yield limits that refuse everything, and settings that exclude each other."""
    consent, resume = config.consent, config.resume
    most = consent.max_claimed_ids
    if most is not None and most < max(1, consent.min_claimed_ids):
        yield (
            f"max_claimed_ids = {most} and min_claimed_ids = {consent.min_claimed_ids} of [consent] would refuse every "
            "alignment; wanted max_claimed_ids to be no less, and at least 1"
        )
    try:
        config.engine.check()
    except EngineError as error:
        yield f"[engine]: {error}"
    if resume.key_file is not None and resume.passphrase_env:
        yield "[resume] has key_file and passphrase_env; wanted one of them"
