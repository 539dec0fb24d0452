"""Aggregators: one folder each. A folder with a spec.py is registered by being there."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from vfxgb.errors import ProtocolParameterError, UnknownNameError

if TYPE_CHECKING:
    from vfxgb.secagg.base import AggregatorSpec


@cache
def aggregator_names() -> tuple[str, ...]:
    """The names of all aggregators, sorted."""
    folder = Path(__file__).parent
    return tuple(sorted(spec.parent.name for spec in folder.glob("*/spec.py")))


@cache
def aggregator_by_name(name: str) -> "AggregatorSpec":
    """The aggregator of that name. Raises UnknownNameError."""
    if name not in aggregator_names():
        raise UnknownNameError(f"choosing an aggregator: found {name!r}, wanted one of {', '.join(aggregator_names())}")
    spec: AggregatorSpec = import_module(f"{__name__}.{name}.spec").SPEC
    if spec.name != name:
        raise UnknownNameError(f"loading aggregator {name!r}: its folder describes {spec.name!r}; rename one of them")
    return spec


def make_aggregator_params(spec: "AggregatorSpec", given: Mapping[str, Any] | None) -> Any:
    """`given` as the aggregator's own class of parameters. Raises ProtocolParameterError, naming what does not fit."""
    try:
        return msgspec.convert(dict(given or {}), spec.params)
    except msgspec.ValidationError as error:
        known = ", ".join(spec.params.__struct_fields__) or "none"
        raise ProtocolParameterError(
            f"reading aggregator_params of {spec.name!r}: {error}; its parameters are: {known}"
        ) from None
