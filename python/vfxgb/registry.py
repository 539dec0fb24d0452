"""Registration of protocols and aggregators: by presence in the package, by entry point, or by hand.

Those that vfxgb ships are folders with a spec.py beside others of their kind and known by being there. Another package
adds one by an entry point of the kind's group, which every process finds that has the package installed:

    [project.entry-points."vfxgb.protocols"]
    rounded = "rounded.spec:SPEC"

`register` adds one to this process alone. A `SPEC` has at least `name` and `params`, a msgspec.Struct class of its
settings.
"""

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import msgspec

from vfxgb.errors import ProtocolParameterError, RegistrationError, UnknownNameError


class Registry:
    """All of one kind. `package`: its dotted name; `file`: that of its __init__.py; `kind`: such as "protocol"."""

    def __init__(self, package: str, file: str, kind: str, spec_class: str) -> None:
        self._package = package
        self._kind = kind
        self._spec_class = spec_class
        self._specs: dict[str, Any] = {}
        self._plugins: dict[str, EntryPoint] | None = None
        self.shipped = tuple(sorted(spec.parent.name for spec in Path(file).parent.glob("*/spec.py")))

    def names(self) -> tuple[str, ...]:
        """The names of all, sorted."""
        return tuple(sorted({*self.shipped, *self._specs, *self._entry_points()}))

    def load(self, name: str) -> Any:
        """The SPEC of that name. Raises UnknownNameError, RegistrationError for one that cannot be loaded."""
        if name in self._specs:
            return self._specs[name]
        if name in self.shipped:
            spec = import_module(f"{self._package}.{name}.spec").SPEC
        elif name in self._entry_points():
            spec = self._plugin(name)
        else:
            article = "an" if self._kind[0] in "aeiou" else "a"
            raise UnknownNameError(
                f"choosing {article} {self._kind}: found {name!r}, wanted one of {', '.join(self.names())}"
            )
        self._check(spec, f"loading {self._kind} {name!r}")
        if spec.name != name:
            raise RegistrationError(
                f"loading {self._kind} {name!r}: its SPEC describes {spec.name!r}; rename one of them"
            )
        self._specs[name] = spec
        return spec

    def register(self, spec: Any) -> None:
        """Add a SPEC to this process. Raises RegistrationError for something else and for a name that is taken."""
        what = f"registering {self._kind}"
        self._check(spec, what)
        if self._specs.get(spec.name) is spec:
            return
        if spec.name in self.names():
            raise RegistrationError(f"{what} {spec.name!r}: there is another one of that name; give it a new name")
        self._specs[spec.name] = spec

    def _entry_points(self) -> dict[str, EntryPoint]:
        """Those of installed packages, by name; what is shipped cannot be replaced from outside."""
        if self._plugins is None:
            self._plugins = {}
            for point in entry_points(group=self._package):
                if point.name in self.shipped or point.name in self._plugins:
                    raise RegistrationError(
                        f"looking for {self._kind}s: the entry point {point.name!r} = {point.value!r} has a name that "
                        "is taken; uninstall that package or rename its entry point"
                    )
                self._plugins[point.name] = point
        return self._plugins

    def _plugin(self, name: str) -> Any:
        point = self._entry_points()[name]
        try:
            return point.load()
        except (ImportError, AttributeError) as error:
            raise RegistrationError(
                f"loading {self._kind} {name!r}: its entry point {point.value!r} cannot be imported: {error}; "
                "repair or uninstall that package"
            ) from error

    def _check(self, spec: Any, what: str) -> None:
        if type(spec).__name__ != self._spec_class or not str(spec.name).isidentifier():
            raise RegistrationError(
                f"{what}: found {spec!r}, wanted a {self._spec_class} of {self._package}.base with a name of letters, "
                "digits and underscores"
            )


def make_params(spec: Any, kind: str, given: Mapping[str, Any] | None) -> Any:
    """`given` as the class of settings of `spec`. Raises ProtocolParameterError, naming what does not fit."""
    try:
        return msgspec.convert(dict(given or {}), spec.params)
    except msgspec.ValidationError as error:
        known = ", ".join(spec.params.__struct_fields__) or "none"
        raise ProtocolParameterError(
            f"reading {kind}_params of {spec.name!r}: {error}; its parameters are: {known}"
        ) from None
