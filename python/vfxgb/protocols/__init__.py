"""Protocols: one folder each. A folder with a spec.py is registered by being there.

`protocol_names` lists them, `protocol_by_name` loads one; nothing else in the package branches on a name.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from vfxgb.errors import ProtocolParameterError, UnknownNameError

if TYPE_CHECKING:
    from vfxgb.protocols.base import ProtocolSpec


@cache
def protocol_names() -> tuple[str, ...]:
    """The names of all protocols, sorted."""
    folder = Path(__file__).parent
    return tuple(sorted(spec.parent.name for spec in folder.glob("*/spec.py")))


@cache
def protocol_by_name(name: str) -> "ProtocolSpec":
    """The protocol of that name. Raises UnknownNameError."""
    if name not in protocol_names():
        raise UnknownNameError(f"choosing a protocol: found {name!r}, wanted one of {', '.join(protocol_names())}")
    spec: ProtocolSpec = import_module(f"{__name__}.{name}.spec").SPEC
    if spec.name != name:
        raise UnknownNameError(f"loading protocol {name!r}: its folder describes {spec.name!r}; rename one of them")
    return spec


def make_protocol_params(spec: "ProtocolSpec", given: Mapping[str, Any] | None) -> Any:
    """`given` as the protocol's own class of parameters. Raises ProtocolParameterError, naming what does not fit."""
    try:
        return msgspec.convert(dict(given or {}), spec.params)
    except msgspec.ValidationError as error:
        known = ", ".join(spec.params.__struct_fields__) or "none"
        raise ProtocolParameterError(
            f"reading protocol_params of {spec.name!r}: {error}; its parameters are: {known}"
        ) from None


def broken(spec: "ProtocolSpec") -> str:
    """What a broken protocol gives away, in plain words."""
    return f"protocol {spec.name!r} is broken and for research only: {'; '.join(spec.attacks)}"


def require_consent(spec: "ProtocolSpec", params: Any) -> None:
    """Raise ProtocolParameterError for a broken protocol whose parameters do not say insecure=True."""
    if spec.security == "broken" and not params.insecure:
        raise ProtocolParameterError(
            f"{broken(spec)}. To run it all the same give protocol_params={{'insecure': True}}; 'ot_shares' "
            "and 'batch_he' protect"
        )
