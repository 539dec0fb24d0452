"""Protocols: one folder each. A folder with a spec.py is registered by being there.

`protocol_names` lists them, `protocol_by_name` loads one; nothing else in the package branches on a name. Protocols of
other packages come in by an entry point of the group "vfxgb.protocols", or by `register` (docs/extending.md).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vfxgb.errors import ProtocolParameterError
from vfxgb.registry import Registry, make_params

if TYPE_CHECKING:
    from vfxgb.contract import ProtocolSpec


_REGISTRY = Registry(__name__, __file__, "protocol", "ProtocolSpec", home="vfxgb.contract")


def protocol_names() -> tuple[str, ...]:
    """The names of all protocols, sorted."""
    return _REGISTRY.names()


def shipped_protocols() -> tuple[str, ...]:
    """The names of those that are part of vfxgb, sorted."""
    return _REGISTRY.shipped


def protocol_by_name(name: str) -> "ProtocolSpec":
    """The protocol of that name. Raises UnknownNameError, RegistrationError for one that cannot be loaded."""
    spec: ProtocolSpec = _REGISTRY.load(name)
    return spec


def register(spec: "ProtocolSpec") -> None:
    """Add a protocol of another package to this process. Raises RegistrationError, for a name that is taken too."""
    _REGISTRY.register(spec)


def make_protocol_params(spec: "ProtocolSpec", given: Mapping[str, Any] | None) -> Any:
    """`given` as the protocol's own class of parameters. Raises ProtocolParameterError, naming what does not fit."""
    return make_params(spec, "protocol", given)


def broken(spec: "ProtocolSpec") -> str:
    """What a broken protocol gives away, in plain words."""
    return f"protocol {spec.name!r} is broken and for research only: {'; '.join(spec.attacks)}"


def require_consent(spec: "ProtocolSpec", params: Any) -> None:
    """Raise ProtocolParameterError for a broken protocol whose parameters do not say insecure=True."""
    if spec.security == "broken" and not params.insecure:
        raise ProtocolParameterError(
            f"{broken(spec)}. To run it all the same give protocol_params={{'insecure': True}}; 'sealed', "
            "'ot_shares' and 'batch_he' protect"
        )
