"""A party's configuration: one TOML file, read once, checked as a whole, then frozen.

Every section is a struct whose fields are its keys, with default and meaning beside each other. A key that no section
has is refused with the closest one that exists. Paths in the file are relative to the file. The environment overrides
single values: VFXGB_TRAIN__N_ESTIMATORS=20 stands for n_estimators of [train], VFXGB_PEERS__SHOP__ADDRESS for address
of [peers.shop], and VFXGB__LISTEN, without a section, for listen at the top. A value is read as TOML where it is TOML,
and as text where it is not.
"""

import math
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args

import msgspec

from vfxgb.checks import closest_name
from vfxgb.engine.settings import EngineSettings
from vfxgb.errors import ConfigError
from vfxgb.party.config_rules import mistakes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Role = Literal["active", "passive", "server", "user"]
ROLES: tuple[str, ...] = get_args(Role)
PREFIX = "VFXGB_"

T = TypeVar("T")


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

    def mistake(self, text: str) -> ConfigError:
        """An error about something in the file that shows only when it is used."""
        return ConfigError(f"{_reading(self.path)}: {text}")


# Where keys of a section are free, there is no struct to compare them with.
SECTIONS: dict[str, type[msgspec.Struct]] = {
    "tls": TlsSection,
    "data": DataSection,
    "protocol": ProtocolSection,
    "consent": ConsentSection,
    "resume": ResumeSection,
    "engine": EngineSection,
}  # Sections that only some roles have: a section nobody reads is a mistake.
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
    where = _reading(file)
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
    config = anchored(config, file.absolute().parent)
    for name, roles in ONLY.items():
        if name in values and config.role not in roles:
            text = f"[{name}] is for {' and '.join(roles)} and has no meaning for role {config.role!r}"
            raise ConfigError(f"{where}: {text}")
    for text in mistakes(config, values):
        raise ConfigError(f"{where}: {text}")
    return config


def section(kind: type[T], given: Mapping[str, Any], name: str, path: Path) -> T:
    """The keys of section `name` as a frozen struct or dataclass `kind`. Raises ConfigError."""
    where = _reading(path)
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


def anchored(value: T, base: Path) -> T:
    """The same with every path in it made absolute: paths of structs, of those in them, and of lists."""
    return cast("T", _anchored(value, base))


def _anchored(value: Any, base: Path) -> Any:
    if isinstance(value, Path):
        return base / value.expanduser()
    if isinstance(value, tuple):
        return tuple(_anchored(part, base) for part in value)
    if isinstance(value, dict):
        return {name: _anchored(part, base) for name, part in value.items()}
    if isinstance(value, msgspec.Struct):
        fields = {name: _anchored(getattr(value, name), base) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **fields)
    return value


def _reading(path: Path) -> str:
    return f"reading the configuration {str(path)!r}"
