"""A party's configuration: one TOML file, read once, checked as a whole, then frozen.

Every section is a struct whose fields are its keys (sections.py). A key that no section
has is refused with the closest one that exists. Paths in the file are relative to the file. The environment overrides
single values: VFXGB_TRAIN__N_ESTIMATORS=20 stands for n_estimators of [train], VFXGB_PEERS__SHOP__ADDRESS for address
of [peers.shop], and VFXGB__LISTEN, without a section, for listen at the top. A value is read as TOML where it is TOML,
and as text where it is not.
"""

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast, get_args

import msgspec
from msgspec import Meta

from vfxgb.checks import closest_name
from vfxgb.described import documented, mistake
from vfxgb.errors import ConfigError
from vfxgb.party.config_rules import mistakes
from vfxgb.party.sections import (
    ConsentSection,
    DataSection,
    EngineSection,
    MetricsSection,
    PeerSection,
    PredictSection,
    ProtocolSection,
    ResumeSection,
    TlsSection,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Role = Literal["active", "passive", "server", "user"]
ROLES: tuple[str, ...] = get_args(Role)
PREFIX = "VFXGB_"

T = TypeVar("T")


Positive = Annotated[int, Meta(ge=1)]


@documented()
class PartyConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file, read from `path`. Fields that are sections have structs of their own.

    The sections `network`, `align` and `users` hold their keys as given; they are checked by those who use them, in
    vfxgb.transport.network.Limits, vfxgb.align and vfxgb.party.users.
    """

    party: Annotated[str, Meta(description="This party's name, as in its certificate.")]
    role: Annotated[
        Role,
        Meta(
            description="The active party has the labels, passive parties have further columns, a server trains over "
            "the rows of its users."
        ),
    ]
    folder: Annotated[Path, Meta(description="Where runs, models, checkpoints and the log are kept.")]
    tls: TlsSection
    listen: Annotated[str, Meta(description="The 'host:port' that passive parties and servers open.")] = ""
    purpose: Annotated[str, Meta(description="What the model is for, which others compare with their consent.")] = ""
    threads: Annotated[
        Positive | None, Meta(description="The number of threads. Without it, VFXGB_THREADS or all cores.")
    ] = None
    max_sessions: Annotated[
        int,
        Meta(
            ge=1,
            description="The most sessions at a time, each of which may hold max_session_bytes of [network].",
        ),
    ] = 8
    max_unfinished_runs: Annotated[
        int,
        Meta(
            ge=1,
            description="A passive party keeps so many runs of a peer that have no model yet, to be resumed.",
        ),
    ] = 50
    log_bytes: Annotated[
        int, Meta(ge=1000, description="A new log.jsonl is begun when the log is larger than this.")
    ] = 10_000_000
    log_files: Annotated[
        int, Meta(ge=0, description="So many older log files are kept, log.jsonl.1 being the latest.")
    ] = 5
    peers: dict[str, PeerSection] = {}
    data: DataSection = DataSection()
    train: dict[str, Any] = {}
    protocol: ProtocolSection = ProtocolSection()
    consent: ConsentSection = ConsentSection()
    predict: PredictSection = PredictSection()
    network: dict[str, Any] = {}
    resume: ResumeSection = ResumeSection()
    engine: EngineSection = EngineSection()
    metrics: MetricsSection = MetricsSection()
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
    "predict": PredictSection,
    "resume": ResumeSection,
    "engine": EngineSection,
    "metrics": MetricsSection,
}
# Sections that only some roles have: a section nobody reads is a mistake.
ONLY: dict[str, tuple[str, ...]] = {
    "train": ("active", "server"),
    "consent": ("passive", "user"),
    "predict": ("active",),
    "protocol": ("active", "passive"),
    "align": ("active", "passive"),
    "resume": ("active",),
    "engine": ("active", "passive"),
    "metrics": ("passive",),
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
        raise ConfigError(f"{where}: {_said(mistake(error, values, PartyConfig, toml=True))}") from None
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
        return kind(**given) if is_dataclass(kind) else msgspec.convert(dict(given), kind, dec_hook=_path)
    except (msgspec.ValidationError, ValueError, TypeError) as error:
        raise ConfigError(f"{where}: [{name}]: {_said(mistake(error, given, kind, toml=True))}") from None


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


def _said(mistake: str) -> str:
    """msgspec's words, with its `$.data.id` as data.id."""
    return mistake.replace("`$.", "`").replace("Object ", "the file or section ").replace(" - at ", ", at ")


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
