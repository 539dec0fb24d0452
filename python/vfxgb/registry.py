"""Registration by presence: a folder with a spec.py, beside others of its kind, is known by being there.

The spec.py holds a `SPEC` with at least `name` and `params`, a msgspec.Struct class of settings.
"""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from vfxgb.errors import ProtocolParameterError, UnknownNameError


def registered(package_file: str) -> tuple[str, ...]:
    """The names of the folders with a spec.py beside the package's __init__.py, sorted."""
    return tuple(sorted(spec.parent.name for spec in Path(package_file).parent.glob("*/spec.py")))


def load_spec(package: str, kind: str, name: str, known: tuple[str, ...]) -> Any:
    """The SPEC of folder `name`. `kind`: such as "protocol". Raises UnknownNameError."""
    if name not in known:
        article = "an" if kind[0] in "aeiou" else "a"
        raise UnknownNameError(f"choosing {article} {kind}: found {name!r}, wanted one of {', '.join(known)}")
    spec = import_module(f"{package}.{name}.spec").SPEC
    if spec.name != name:
        raise UnknownNameError(f"loading {kind} {name!r}: its folder describes {spec.name!r}; rename one of them")
    return spec


def make_params(spec: Any, kind: str, given: Mapping[str, Any] | None) -> Any:
    """`given` as the class of settings of `spec`. Raises ProtocolParameterError, naming what does not fit."""
    try:
        return msgspec.convert(dict(given or {}), spec.params)
    except msgspec.ValidationError as error:
        known = ", ".join(spec.params.__struct_fields__) or "none"
        raise ProtocolParameterError(
            f"reading {kind}_params of {spec.name!r}: {error}; its parameters are: {known}"
        ) from None
