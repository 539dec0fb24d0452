"""Protocols as the suites run them: by name, and once more under parameters that make another protocol of them."""

from typing import Any

from vfxgb.contract import ProtocolSpec
from vfxgb.protocols import make_protocol_params, protocol_by_name

# name -> (protocol, parameters beside its quick ones)
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {"plain, nodes hidden": ("plain", {"hide_nodes": True})}
# Cases of the conformance suite that need passive parties to know the rows of nodes.
NEED_NODES = ("min bucket rows", "told goss")
# Case of the suite -> the parameter of training that a protocol may refuse (ProtocolSpec.refused).
NEED_PARAMETERS = {
    "regression": "reg_alpha",
    "poisson": "max_delta_step",
    "step and child weight": "max_delta_step",
    "monotone": "monotone_constraints",
    "monotone missing": "monotone_constraints",
}


def protocol_of(name: str) -> str:
    """The registered name."""
    return VARIANTS.get(name, (name, {}))[0]


def settings_of(name: str) -> dict[str, Any]:
    """The parameters that make the variant of the protocol; none for a protocol as it is."""
    return dict(VARIANTS.get(name, (name, {}))[1])


def params_of(name: str) -> dict[str, Any]:
    """The protocol_params to run it with: quick ones, and those of the variant."""
    return {**protocol_by_name(protocol_of(name)).quick_params, **settings_of(name)}


def spec_of(name: str) -> ProtocolSpec:
    """What it says about itself under these parameters."""
    spec = protocol_by_name(protocol_of(name))
    return spec.under(make_protocol_params(spec, params_of(name)))


def with_variants(names: tuple[str, ...]) -> tuple[str, ...]:
    """The protocols and their variants."""
    return (*names, *(name for name, (protocol, _) in VARIANTS.items() if protocol in names))


def allows(name: str, case: str) -> bool:
    """Whether a case of the conformance suite can be run with it."""
    spec = spec_of(name)
    return (spec.shows_nodes or case not in NEED_NODES) and NEED_PARAMETERS.get(case) not in spec.refused
