"""All parameters there are, in sections: training, estimators, protocols, aggregators, party.toml, the environment."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from vfxgb.align.params import AlignParams
from vfxgb.described import parameters
from vfxgb.engine.settings import EngineSettings
from vfxgb.estimator.users import FedXGBClassifier
from vfxgb.estimator.vertical import VFXGBClassifier
from vfxgb.horizontal.settings import REFUSED
from vfxgb.params import TrainParams, parameter_names
from vfxgb.party.config import ONLY, SECTIONS, PartyConfig
from vfxgb.party.sections import PeerSection
from vfxgb.party.users import ServerSection, UserSection
from vfxgb.protocols import protocol_by_name, protocol_names, shipped_protocols
from vfxgb.secagg import aggregator_by_name, aggregator_names
from vfxgb.transport.network.limits import Limits

ENVIRONMENT = {
    "VFXGB_THREADS": "The number of threads of everything that is not told how many. Without it, all cores.",
    "VFXGB_SIMD": "The highest instruction set that kernels may use: `portable`, `avx2`, `avx512` or `ifma`; on "
    "64-bit Arm `portable` or `neon`. Without it, the best there is; results are the same to the bit.",
    "VFXGB_DATA": "A folder of datasets for benchmarks and tests. Without it, they generate tables of the same shape.",
    "VFXGB_PASSPHRASE": "The passphrase that seals keys in checkpoints, if `passphrase_env` of `[resume]` names this "
    "variable, or another.",
    "VFXGB_SECTION__KEY": "The `key` of `[section]` in party.toml, such as `VFXGB_TRAIN__MAX_DEPTH=4`; see "
    "[commands.md](commands.md#configuration).",
    "VFXGB__KEY": "The `key` at the top of party.toml, such as `VFXGB__LISTEN`.",
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
    around = "Environment and exit codes"
    variables = tuple(Entry(name, "", "", meaning) for name, meaning in ENVIRONMENT.items())
    codes = tuple(Entry(str(code), "", "", meaning) for code, meaning in exit_codes.items())
    training = "Arguments of the estimators and keys of `[train]` in party.toml, under XGBoost's names."
    return (
        Section("train", "Training", "Training", training, _entries(TrainParams)),
        _estimator("VFXGB", VFXGBClassifier, {}, EngineSettings),
        _estimator("FedXGB", FedXGBClassifier, REFUSED),
        *(_protocol(protocol_by_name(name), "Protocols: `protocol_params`, `[protocol.params]`") for name in protocols),
        *(
            _protocol(aggregator_by_name(name), "Aggregators: `aggregator_params`, `[users.params]`")
            for name in aggregator_names()
        ),
        *_configuration(),
        Section("environment", around, "Environment variables", "", variables),
        Section("exits", around, "Exit codes", "", codes, heading="code"),
    )


def _estimator(prefix: str, kind: type[Any], refused: Mapping[str, str], *sources: type[Any]) -> Section:
    """The parameters that are not those of training, or have another meaning there."""
    own = tuple(entry for entry in _entries(kind, *sources) if entry.meaning)
    taken = {parameter.name for parameter in parameters(kind)}
    left_out = [name for name in parameter_names() if name not in taken and name not in refused]
    intro = f"All training parameters but {', '.join(f'`{name}`' for name in left_out)}, which the labels tell"
    if refused:
        intro += "; but also " + "; ".join(f"`{name}` ({why})" for name, why in refused.items())
    return Section(prefix.lower(), "Estimators", f"{prefix}Classifier, {prefix}Regressor", f"{intro}; and:", own)


def _protocol(spec: Any, group: str) -> Section:
    """Those of a protocol or an aggregator."""
    intro = f"{spec.summary[0].upper()}{spec.summary[1:]}. Security: {spec.security}."
    if local := getattr(spec, "local_params", ()):
        intro += f" Each party's own, never sent: {', '.join(f'`{own}`' for own in local)}."
    return Section(spec.name, group, spec.name, intro, _entries(spec.params))


def _configuration() -> Iterable[Section]:
    kinds: dict[str, type[Any]] = {**SECTIONS, "peers.NAME": PeerSection, "align": AlignParams, "network": Limits}
    order = ("tls", "peers.NAME", "data", "protocol", "consent", "predict", "align", "network", "resume", "engine")
    group = "Configuration: party.toml"
    # What has no meaning of its own is a section.
    top = tuple(entry for entry in _entries(PartyConfig, toml=True) if entry.meaning)
    yield Section("top", group, "At the top", "", top)
    for name in order:
        intro = f"For {' and '.join(ONLY[name])}." if name in ONLY else ""
        yield Section(name, group, f"[{name}]", intro, _entries(kinds[name], toml=True))
    yield Section("train", group, "[train]", f"For {' and '.join(ONLY['train'])}: the training parameters above.", ())
    for role, kind in (("server", ServerSection), ("user", UserSection)):
        yield Section("users", group, f"[users] of a {role}", "", _entries(kind, toml=True))


def _entries(kind: type[Any], *sources: type[Any], toml: bool = False) -> tuple[Entry, ...]:
    """The parameters of a class, inherited ones first."""
    return tuple(
        Entry(parameter.name, parameter.shown(toml), parameter.wanted(toml), parameter.meaning)
        for parameter in parameters(kind, *sources)
    )
