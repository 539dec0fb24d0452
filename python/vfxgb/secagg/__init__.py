"""Aggregators: one folder each. A folder with a spec.py is registered by being there."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from vfxgb.registry import load_spec, make_params, registered

if TYPE_CHECKING:
    from vfxgb.secagg.base import AggregatorSpec


@cache
def aggregator_names() -> tuple[str, ...]:
    """The names of all aggregators, sorted."""
    return registered(__file__)


@cache
def aggregator_by_name(name: str) -> "AggregatorSpec":
    """The aggregator of that name. Raises UnknownNameError."""
    spec: AggregatorSpec = load_spec(__name__, "aggregator", name, aggregator_names())
    return spec


def make_aggregator_params(spec: "AggregatorSpec", given: Mapping[str, Any] | None) -> Any:
    """`given` as the aggregator's own class of parameters. Raises ProtocolParameterError, naming what does not fit."""
    return make_params(spec, "aggregator", given)
