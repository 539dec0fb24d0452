"""All parameters there are, in sections: training, estimators, protocols, aggregators, party.toml, the environment."""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import vfxgb.estimator.users
import vfxgb.estimator.vertical
from vfxgb.align.params import AlignParams
from vfxgb.estimator.base import EstimatorBase
from vfxgb.horizontal.settings import REFUSED
from vfxgb.params import Rule, TrainParams, parameter_names
from vfxgb.party.config import ONLY, ROLES, SECTIONS, PartyConfig, PeerSection
from vfxgb.party.users import ServerSection, UserSection
from vfxgb.protocols import protocol_by_name, protocol_names, shipped_protocols
from vfxgb.reference.docstrings import defaults, forms, meanings, shown, table_meanings
from vfxgb.secagg import aggregator_by_name, aggregator_names
from vfxgb.transport.network.limits import BOUNDS, Limits

ENVIRONMENT = {
    "VFXGB_THREADS": "threads of everything that is not told how many; all cores without it",
    "VFXGB_SIMD": "`portable` chooses the kernels that run on any processor; results are the same to the bit",
    "VFXGB_DATA": "a folder of datasets for benchmarks and tests; without it they generate tables of the same shape",
    "VFXGB_PASSPHRASE": "seals keys in checkpoints, if `passphrase_env` of `[resume]` names this variable, or another",
    "VFXGB_SECTION__KEY": "`key` of `[section]` in party.toml, such as `VFXGB_TRAIN__MAX_DEPTH=4`; see "
    "[commands.md](commands.md#configuration)",
    "VFXGB__KEY": "`key` at the top of party.toml, such as `VFXGB__LISTEN`",
}


@dataclass(frozen=True)
class Entry:
    """A parameter. `default` and `form` (what it may be) are empty where there is nothing to say."""

    name: str
    default: str
    form: str
    meaning: str


@dataclass(frozen=True)
class Section:
    """Parameters that are given in one place.

    A user calls the section `key`; it belongs to `group`. `heading` stands above the column of names.
    """

    key: str
    group: str
    title: str
    intro: str
    entries: tuple[Entry, ...]
    heading: str = "name"


def sections(exit_codes: Mapping[int, str], shipped_only: bool = False) -> tuple[Section, ...]:
    """All of them, and what the command's exit codes mean. `shipped_only`: without protocols of other packages."""
    protocols = shipped_protocols() if shipped_only else protocol_names()
    return (
        _training(),
        *_estimators(),
        *(_protocol(name) for name in protocols),
        *(_aggregator(name) for name in aggregator_names()),
        *_configuration(),
        Section(
            "environment",
            "Environment and exit codes",
            "Environment variables",
            "",
            tuple(Entry(name, "", "", meaning) for name, meaning in ENVIRONMENT.items()),
        ),
        Section(
            "exits",
            "Environment and exit codes",
            "Exit codes",
            "",
            tuple(Entry(str(code), "", "", meaning) for code, meaning in exit_codes.items()),
            heading="code",
        ),
    )


def _training() -> Section:
    entries = []
    for parameter in fields(TrainParams):
        rule: Rule = parameter.metadata["rule"]
        entries.append(Entry(parameter.name, shown(parameter.default), rule.wanted(), rule.doc))
    intro = "Arguments of the estimators and keys of `[train]` in party.toml, under XGBoost's names."
    return Section("train", "Training", "Training", intro, tuple(entries))


def _estimators() -> Iterable[Section]:
    columns, users = vfxgb.estimator.vertical, vfxgb.estimator.users
    yield _estimator("VFXGB", columns.VFXGBClassifier, columns.__doc__, {})
    yield _estimator("FedXGB", users.FedXGBClassifier, users.__doc__, REFUSED)


def _estimator(prefix: str, kind: type[EstimatorBase], docstring: str | None, refused: Mapping[str, str]) -> Section:
    arguments = inspect.signature(kind.__init__).parameters
    described = table_meanings(docstring)
    absent = [name for name in parameter_names() if name not in arguments]
    left_out = [name for name in absent if name not in refused]
    intro = f"All training parameters but {', '.join(f'`{name}`' for name in left_out)}, which the labels tell"
    if refused:
        intro += "; but also " + "; ".join(f"`{name}` ({why})" for name, why in refused.items())
    entries = (
        Entry(name, shown(arguments[name].default), "", meaning)
        for name, meaning in described.items()
        if name in arguments
    )
    title = f"{prefix}Classifier, {prefix}Regressor"
    return Section(prefix.lower(), "Estimators", title, f"{intro}; and:", tuple(entries))


def _protocol(name: str) -> Section:
    spec = protocol_by_name(name)
    intro = f"{spec.summary[0].upper()}{spec.summary[1:]}. Security: {spec.security}."
    if spec.local_params:
        intro += f" Each party's own, never sent: {', '.join(f'`{own}`' for own in spec.local_params)}."
    return Section(name, "Protocols: `protocol_params`, `[protocol.params]`", name, intro, _entries(spec.params))


def _aggregator(name: str) -> Section:
    spec = aggregator_by_name(name)
    intro = f"{spec.summary[0].upper()}{spec.summary[1:]}. Security: {spec.security}."
    return Section(name, "Aggregators: `aggregator_params`, `[users.params]`", name, intro, _entries(spec.params))


def _configuration() -> Iterable[Section]:
    kinds: dict[str, type[Any]] = {
        "tls": SECTIONS["tls"],
        "peers.NAME": PeerSection,
        "data": SECTIONS["data"],
        "protocol": SECTIONS["protocol"],
        "consent": SECTIONS["consent"],
        "align": AlignParams,
        "network": Limits,
        "resume": SECTIONS["resume"],
        "engine": SECTIONS["engine"],
    }
    group = "Configuration: party.toml"
    nested = {"tls", "peers", "path", "train", *kinds, *ONLY}
    top = tuple(entry for entry in _entries(PartyConfig, toml=True) if entry.name not in nested)
    yield Section("top", group, "At the top", "", top)
    for name, kind in kinds.items():
        intro = f"For {' and '.join(ONLY.get(name, ROLES))}." if name in ONLY else ""
        yield Section(name, group, f"[{name}]", intro, _entries(kind, toml=True))
    yield Section("train", group, "[train]", f"For {' and '.join(ONLY['train'])}: the training parameters above.", ())
    for role, kind in (("server", ServerSection), ("user", UserSection)):
        yield Section("users", group, f"[users] of a {role}", "", _entries(kind, toml=True))


def _entries(kind: type[Any], toml: bool = False) -> tuple[Entry, ...]:
    """The fields of a class of settings, inherited ones first."""
    said, formed = meanings(kind), forms(kind, toml)
    if kind is PeerSection:
        formed["certificate"] = "a path, or [a path, a path]"
    if kind is Limits:
        formed |= {name: f"{_range(low)} to {_range(high)}" for name, (low, high) in BOUNDS.items()}
    return tuple(
        Entry(name, shown(default, toml), formed[name], said.get(name, "")) for name, default in defaults(kind).items()
    )


def _range(value: float) -> str:
    return f"{value:g}" if value != int(value) else str(int(value))
