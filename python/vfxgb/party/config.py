"""A party's configuration: one TOML file, read once, checked as a whole, then frozen.

Every section is a struct whose fields are its keys, with default and meaning beside each other. A key that no section
has is refused with the closest one that exists. Paths in the file are relative to the file. The environment overrides
single values: VFXGB_TRAIN__N_ESTIMATORS=20 stands for n_estimators of [train], VFXGB_PEERS__SHOP__ADDRESS for address
of [peers.shop], and VFXGB__LISTEN, without a section, for listen at the top. A value is read as TOML where it is TOML,
and as text where it is not.
"""

import math
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import msgspec

from vfxgb.checks import closest_name
from vfxgb.engine.settings import EngineSettings
from vfxgb.errors import ConfigError, EngineError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Role = Literal["active", "passive", "server", "user"]
ROLES: tuple[str, ...] = get_args(Role)
# A party's name is part of file names, of certificates and of log lines.
PARTY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
PREFIX = "VFXGB_"

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)


class TlsSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How this party proves who it is.

    `certificate`: this party's, a PEM file. `key`: its private key, a PEM file that only its owner may read.
    """

    certificate: Path
    key: Path


class PeerSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Another party.

    `certificate`: its certificate, a PEM file, which is the pin; or a list of two while the party changes from one to
    the other. `address`: where it listens ("host:port"), if this party is to dial it.
    """

    certificate: tuple[Path, ...]
    address: str = ""


class DataSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """This party's tables and what their columns are.

    `train`: the table to train on, a file or a folder of Parquet files. `valid`: the active party's table for metrics
    and early stopping. `predict`: the passive party's table for prediction, `train` if absent. `id`: the column that
    names the rows. `label`: the column to learn, the active party's. `weight`: the column of row weights, the active
    party's. `features`: columns in use, all others if absent. `normalise`: the steps that make ids of all parties alike
    (vfxgb.align.normalise). `missing`: a value that counts as missing, beside an empty cell.
    """

    train: Path | None = None
    valid: Path | None = None
    predict: Path | None = None
    id: str = "id"
    label: str = ""
    weight: str = ""
    features: tuple[str, ...] | None = None
    normalise: tuple[str, ...] = ()
    missing: float = math.nan


class ProtocolSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How gradients and sums are protected.

    `name`: the protocol, the active party's choice. `params`: the protocol's parameters, sent to all. `local`:
    those that are each party's own and never sent.
    """

    name: str = "ot_shares"
    params: dict[str, Any] = {}
    local: dict[str, Any] = {}


class ConsentSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a passive party agrees to; anything beyond is refused by name.

    `protocols`: those accepted; absent: all of vfxgb's own without a known attack. `insecure`: broken protocols too, if
    listed. `min_key_bits`: least size of an encryption key. `features`: columns offered; absent: all in use.
    `purposes`: the purposes accepted, compared as text; absent: any. `max_trees`: trees of a run, again if begun again;
    absent: no limit. `total_trees`: trees begun for a peer, over all runs; absent: counted without a limit.
    `max_depth`: of its trees; absent: no limit. `min_bucket_rows`: least rows of a bucket whose sums are shown.
    `told_sample`: to hear which rows GOSS chose, which says much about labels.
    `min_common_rows`: least rows in common to train on. `min_claimed_ids`: least ids that a peer brings to an
    alignment. `max_claimed_ids`: most ids that it may bring; absent: 16 times those of the own table, and at least
    1,000,000. `total_alignments`: alignments with a peer, over all runs; absent: counted without a limit. `lookup`: to
    look up ids that a peer names, for `predict --lookup` and `--serve`. `min_lookup_ids`: least ids looked up at once.
    `total_lookup_ids`: ids looked up for a peer, over all models; absent: counted without a limit.
    `total_comparisons`: rows times splits answered in predictions for a peer, over all models; absent: counted without
    a limit. `max_predicted_rows`: rows predicted per model, over all
    requests; absent: no limit. `total_predicted_rows`: rows predicted for a peer, over all models; absent: counted
    without a limit. `total_opened_sums`: gradient sums that a peer may open, over all runs; absent: counted without a
    limit. `max_epsilon`: what a run may release about one row of this party under differential privacy.
    `max_total_epsilon`: the same over all runs for a peer; a release that is used again costs nothing.
    `hide_among`: a user's: sums that can be compared are over the same users, or over sets that differ by at least so
    many; absent: ten or a tenth of all users, whichever is more; 1: sets are not compared. `compare`: a user's: "tree"
    compares sums of the same tree, "run" all sums of a run. `max_quantile_bits`: a user's: how many of the 32 bits of a
    value the search for cut points may tell. `max_calls`: a user's: sums it helps to open in a run; absent: twice what
    the training can need.
    """

    protocols: tuple[str, ...] | None = None
    insecure: bool = False
    min_key_bits: int = 2048
    features: tuple[str, ...] | None = None
    purposes: tuple[str, ...] | None = None
    max_trees: int | None = None
    total_trees: int | None = None
    max_depth: int | None = None
    min_bucket_rows: int = 1
    told_sample: bool = False
    min_common_rows: int = 1
    min_claimed_ids: int = 1
    max_claimed_ids: int | None = None
    total_alignments: int | None = None
    lookup: bool = False
    min_lookup_ids: int = 1
    total_lookup_ids: int | None = None
    total_comparisons: int | None = None
    max_predicted_rows: int | None = None
    total_predicted_rows: int | None = None
    total_opened_sums: int | None = None
    max_epsilon: float = 8.0
    max_total_epsilon: float = 32.0
    hide_among: int | None = None
    compare: Literal["tree", "run"] = "tree"
    max_quantile_bits: int = 22
    max_calls: int | None = None


class ResumeSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a run survives its processes.

    `key_file`: 32 random bytes, readable by their owner only, that seal the secrets of a checkpoint.
    `passphrase_env`: the name of an environment variable with a passphrase that does the same; without either, keys
    are made again. `resume_seconds`: how long the active party keeps dialling a party that is gone, 0 to give up at
    once.
    """

    key_file: Path | None = None
    passphrase_env: str = ""
    resume_seconds: float = 600.0


class EngineSection(EngineSettings, frozen=True, forbid_unknown_fields=True):
    """The same in a file, where a scheduler is named by its address.

    `engine_address`: of Dask's scheduler, such as "tcp://host:8786".
    """

    engine_address: str | None = None


class PartyConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file, read from `path`. Fields that are sections have structs of their own.

    `party`: this party's name, as in its certificate. `role`: active has the labels, passive further columns, a server
    trains over users' rows. `folder`: where runs, models, checkpoints and the log are kept. `listen`: "host:port" that
    passive parties and servers open. `purpose`: what the model is for, which others compare with their consent.
    `threads`: absent: VFXGB_THREADS or all cores. `max_sessions`: sessions at a time, each of which may hold
    max_session_bytes of [network]. `max_unfinished_runs`: runs of a peer without a model that a passive party keeps to
    be resumed. `log_bytes`: size from which on a new log.jsonl is begun. `log_files`: older log files that are kept,
    log.jsonl.1 the latest.

    The sections `network`, `align` and `users` hold their keys as given; they are checked by those who use them, in
    vfxgb.transport.network.Limits, vfxgb.align and vfxgb.party.users.
    """

    party: str
    role: Role
    folder: Path
    tls: TlsSection
    listen: str = ""
    purpose: str = ""
    threads: int | None = None
    max_sessions: int = 8
    max_unfinished_runs: int = 50
    log_bytes: int = 10_000_000
    log_files: int = 5
    peers: dict[str, PeerSection] = {}
    data: DataSection = DataSection()
    train: dict[str, Any] = {}
    protocol: ProtocolSection = ProtocolSection()
    consent: ConsentSection = ConsentSection()
    network: dict[str, Any] = {}
    resume: ResumeSection = ResumeSection()
    engine: EngineSection = EngineSection()
    align: dict[str, Any] = {}
    users: dict[str, Any] = {}
    path: Path = Path()


# Where keys of a section are free, there is no struct to compare them with.
SECTIONS: dict[str, type[msgspec.Struct]] = {
    "tls": TlsSection,
    "data": DataSection,
    "protocol": ProtocolSection,
    "consent": ConsentSection,
    "resume": ResumeSection,
    "engine": EngineSection,
}
# Sections that only some roles have: a section nobody reads is a mistake.
ONLY: dict[str, tuple[str, ...]] = {
    "train": ("active", "server"),
    "consent": ("passive", "user"),
    "protocol": ("active", "passive"),
    "align": ("active", "passive"),
    "resume": ("active",),
    "engine": ("active", "passive"),
    "users": ("server", "user"),
}


def load_config(path: str | os.PathLike[str], environment: Mapping[str, str] | None = None) -> PartyConfig:
    """The configuration in a file, with overrides from `environment` (that of the process if None).

    Raises ConfigError naming file, section and key.
    """
    file = Path(path)
    where = f"reading the configuration {str(file)!r}"
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{where}: {error.strerror or error}; `vfxgb init` writes one to begin with") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{where}: it is no TOML: {error}") from None
    used = _override(values, os.environ if environment is None else environment, where)
    if used:
        where += f" (with {', '.join(used)} of the environment)"
    values["path"] = file.absolute()
    _refuse_unknown(values, where)
    _list_pins(values, where)
    try:
        config = msgspec.convert(values, PartyConfig, dec_hook=_path, strict=True)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {_said(error)}") from None
    config = _anchored(config, file.absolute().parent)
    _check(config, values, where)
    return config


def section(kind: type[T], given: Mapping[str, Any], name: str, path: Path) -> T:
    """The keys of section `name` as a frozen struct or dataclass `kind`. Raises ConfigError."""
    where = f"reading the configuration {str(path)!r}"
    known = tuple(getattr(kind, "__struct_fields__", ())) or tuple(getattr(kind, "__dataclass_fields__", ()))
    _refuse_key(given, known, f"[{name}]", where)
    try:
        return msgspec.convert(dict(given), kind, dec_hook=_path)
    except (msgspec.ValidationError, ValueError, TypeError) as error:
        raise ConfigError(f"{where}: [{name}]: {_said(error)}") from None


def _override(values: dict[str, Any], environment: Mapping[str, str], where: str) -> list[str]:
    """Put what the environment says over what the file says; returns the variables that were used."""
    used = []
    for variable in sorted(environment):
        if not variable.startswith(PREFIX) or "__" not in variable:
            continue
        names = [part.strip("_") for part in variable.removeprefix(PREFIX).split("__") if part.strip("_")]
        if not names:
            continue
        place = values
        for name in names[:-1]:
            place = place.setdefault(_same_name(name, place), {})
            if not isinstance(place, dict):
                raise ConfigError(f"{where}: the environment's {variable} names no section of the file")
        place[_same_name(names[-1], place)] = _toml_value(environment[variable])
        used.append(variable)
    return used


def _same_name(name: str, place: Mapping[str, Any]) -> str:
    """The key of `place` that an environment variable means, which knows no lower case."""
    return next((key for key in place if key.upper() == name), name.lower())


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _refuse_unknown(values: Mapping[str, Any], where: str) -> None:
    _refuse_key(values, PartyConfig.__struct_fields__, "the file", where)
    for name, kind in SECTIONS.items():
        if isinstance(values.get(name), dict):
            _refuse_key(values[name], kind.__struct_fields__, f"[{name}]", where)
    peers = values.get("peers")
    for name, peer in peers.items() if isinstance(peers, dict) else ():
        if isinstance(peer, dict):
            _refuse_key(peer, PeerSection.__struct_fields__, f"[peers.{name}]", where)


def _list_pins(values: Mapping[str, Any], where: str) -> None:
    """Make `certificate` of every peer a list: most have one pin and write it as a path."""
    peers = values.get("peers")
    for name, peer in peers.items() if isinstance(peers, dict) else ():
        if not isinstance(peer, dict) or "certificate" not in peer:
            continue
        given = peer["certificate"]
        files = [given] if isinstance(given, str) else given
        good = isinstance(files, list) and all(isinstance(file, str) and file for file in files)
        if not good or not files or len(set(files)) < len(files):
            raise ConfigError(
                f"{where}: [peers.{name}] has certificate = {given!r}, wanted a path, or a list of two different ones "
                f"while {name} changes its certificate"
            )
        peer["certificate"] = files


def _refuse_key(given: Iterable[str], known: tuple[str, ...], place: str, where: str) -> None:
    for key in given:
        if key not in known:
            near = closest_name(key, known)
            hint = f"did you mean {near!r}?" if near else f"known: {', '.join(known)}"
            raise ConfigError(f"{where}: {place} has no key {key!r}; {hint}")


def _path(kind: type[Any], value: Any) -> Any:
    if kind is Path:
        if not isinstance(value, (str, Path)) or not str(value):
            raise ValueError(f"expected a path, got {value!r}")
        return Path(value)
    raise NotImplementedError(f"{kind} in a configuration")


def _said(error: Exception) -> str:
    """msgspec's words, with its `$.data.id` as data.id."""
    return str(error).replace("`$.", "`").replace("Object ", "the file or section ").replace(" - at ", ", at ")


def _anchored(config: PartyConfig, base: Path) -> PartyConfig:
    """The same with every path made absolute."""

    def made(struct: S) -> S:
        changes: dict[str, Any] = {}
        for name in struct.__struct_fields__:
            value = getattr(struct, name)
            if isinstance(value, Path):
                changes[name] = base / value.expanduser()
            elif isinstance(value, tuple) and any(isinstance(item, Path) for item in value):
                changes[name] = tuple(base / item.expanduser() for item in value)
        return msgspec.structs.replace(struct, **changes) if changes else struct

    peers = {name: made(peer) for name, peer in config.peers.items()}
    return msgspec.structs.replace(
        made(config),
        tls=made(config.tls),
        peers=peers,
        data=made(config.data),
        resume=made(config.resume),
        engine=made(config.engine),
    )


def _check(config: PartyConfig, given: Mapping[str, Any], where: str) -> None:
    """What no single key shows."""
    for name in (config.party, *config.peers):
        if not PARTY_NAME.fullmatch(name):
            raise ConfigError(
                f"{where}: found the party name {name!r}, wanted at most 63 letters, digits, dots, dashes, underscores"
            )
    if config.party in config.peers:
        raise ConfigError(f"{where}: [peers] names the party itself, {config.party!r}; leave it out")
    for name, roles in ONLY.items():
        if name in given and config.role not in roles:
            raise ConfigError(
                f"{where}: [{name}] is for {' and '.join(roles)} and has no meaning for role {config.role!r}"
            )
    if config.role in ("passive", "server") and not config.listen:
        raise ConfigError(f'{where}: role {config.role!r} needs listen, such as listen = "0.0.0.0:7878"')
    if config.role in ("active", "user"):
        for name, peer in config.peers.items():
            if not peer.address:
                raise ConfigError(f'{where}: [peers.{name}] needs address, such as address = "host:7878"')
    if config.role != "server" and not config.peers:
        raise ConfigError(f"{where}: there is no [peers.NAME]; name who takes part, with their certificates")
    if config.role in ("passive", "user") and len(config.peers) > 1:
        raise ConfigError(f"{where}: role {config.role!r} has one peer, found {', '.join(config.peers)}")
    if config.role == "active" and config.data.train is not None and not config.data.label:
        raise ConfigError(f"{where}: role 'active' needs label in [data]: the column to learn")
    if config.role == "passive":
        for key in ("valid", "label", "weight"):
            if getattr(config.data, key):
                raise ConfigError(f"{where}: {key} of [data] is the active party's; leave it out")
        if set(config.protocol.params) or "name" in given.get("protocol", {}):
            raise ConfigError(f"{where}: [protocol] of a passive party has `local` only; what it accepts is [consent]")
    consent = config.consent
    for key in ("max_epsilon", "max_total_epsilon"):
        # NaN would be no limit at all.
        if not getattr(consent, key) >= 0:
            raise ConfigError(f"{where}: {key} = {getattr(consent, key)}, wanted 0 or more (inf: no limit)")
    most = consent.max_claimed_ids
    if most is not None and most < max(1, consent.min_claimed_ids):
        raise ConfigError(
            f"{where}: max_claimed_ids = {most} and min_claimed_ids = {consent.min_claimed_ids} of [consent] would "
            "refuse every alignment; wanted max_claimed_ids to be no less, and at least 1"
        )
    for key, least in (("hide_among", 1), ("max_quantile_bits", 1), ("max_calls", 1)):
        limit = getattr(consent, key)
        if limit is not None and limit < least:
            raise ConfigError(f"{where}: {key} = {limit} in [consent], wanted at least {least}")
    try:
        config.engine.check()
    except EngineError as error:
        raise ConfigError(f"{where}: [engine]: {error}") from None
    if config.threads is not None and config.threads < 1:
        raise ConfigError(f"{where}: threads = {config.threads}, wanted at least 1")
    if config.max_sessions < 1:
        raise ConfigError(f"{where}: max_sessions = {config.max_sessions}, wanted at least 1")
    for name, least in (("max_unfinished_runs", 1), ("log_bytes", 1000), ("log_files", 0)):
        if getattr(config, name) < least:
            raise ConfigError(f"{where}: {name} = {getattr(config, name)}, wanted at least {least}")
    if not 0 <= config.resume.resume_seconds < math.inf:
        raise ConfigError(f"{where}: resume_seconds = {config.resume.resume_seconds}, wanted 0 or more seconds")
    if config.resume.key_file is not None and config.resume.passphrase_env:
        raise ConfigError(f"{where}: [resume] has key_file and passphrase_env; wanted one of them")
