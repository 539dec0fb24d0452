"""The encryption schemes, registered by presence.

Every module of this folder with a `SCHEME` attribute is a scheme: adding one means adding one file. What a scheme
has to provide is `Scheme` in base.py.
"""

import importlib
import pkgutil
from functools import cache

from vfxgb.crypto.schemes.base import Scheme
from vfxgb.errors import FormatError, UnknownNameError


@cache
def _registry() -> dict[str, Scheme]:
    modules = [importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    schemes: list[Scheme] = [module.SCHEME for module in modules if hasattr(module, "SCHEME")]
    return {scheme.name: scheme for scheme in schemes}


def scheme_names() -> list[str]:
    """Names of all schemes, sorted."""
    return sorted(_registry())


def scheme_by_name(name: str) -> Scheme:
    """The scheme called `name`; UnknownNameError if there is none."""
    scheme = _registry().get(str(name))
    if scheme is None:
        raise UnknownNameError(f"choosing a scheme: found {name!r}, wanted one of {', '.join(scheme_names())}")
    return scheme


def scheme_by_code(code: int, step: str) -> Scheme:
    """The scheme with this number on the wire; FormatError if there is none."""
    for scheme in _registry().values():
        if scheme.code == code:
            return scheme
    raise FormatError(
        f"{step}: found scheme number {code}, wanted one of {sorted(s.code for s in _registry().values())}; the bytes "
        "come from a newer vfxgb or are damaged"
    )


__all__ = ["Scheme", "scheme_by_code", "scheme_by_name", "scheme_names"]
