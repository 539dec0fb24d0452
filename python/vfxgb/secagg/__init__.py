"""Aggregators: one folder each. A folder with a spec.py is registered by being there.

Aggregators of other packages come in by an entry point of the group "vfxgb.secagg", or by `register`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vfxgb.registry import Registry, make_params

if TYPE_CHECKING:
    from vfxgb.secagg.base import AggregatorSpec


_REGISTRY = Registry(__name__, __file__, "aggregator", "AggregatorSpec")


def aggregator_names() -> tuple[str, ...]:
    """The names of all aggregators, sorted."""
    return _REGISTRY.names()


def aggregator_by_name(name: str) -> "AggregatorSpec":
    """The aggregator of that name. Raises UnknownNameError, RegistrationError for one that cannot be loaded."""
    spec: AggregatorSpec = _REGISTRY.load(name)
    return spec


def register(spec: "AggregatorSpec") -> None:
    """Add an aggregator of another package to this process. Raises RegistrationError, for a name that is taken too."""
    _REGISTRY.register(spec)


def make_aggregator_params(spec: "AggregatorSpec", given: Mapping[str, Any] | None) -> Any:
    """`given` as the aggregator's own class of parameters. Raises ProtocolParameterError, naming what does not fit."""
    return make_params(spec, "aggregator", given)
