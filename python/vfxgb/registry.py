"""Registration of protocols, aggregators, objectives and attacks: by presence, by entry point, or by hand.

Those that vfxgb ships lie beside others of their kind and are known by being there: protocols and aggregators are
folders with a spec.py, objectives and attacks are files. Another package adds one by an entry point of the kind's
group, which every process finds that has the package installed:

    [project.entry-points."vfxgb.protocols"]
    rounded = "rounded.spec:SPEC"

`register` adds one to this process alone. A `SPEC` has at least a `name`; those of protocols and aggregators also have
`params`, a msgspec.Struct class of their settings.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import msgspec

from vfxgb.described import mistake
from vfxgb.errors import ProtocolParameterError, RegistrationError, UnknownNameError


@dataclass
class Registry:
    """All of one kind.

    - `package`: the dotted name of their package; `file`: that of its __init__.py.
    - `kind`: what one of them is called, such as "protocol".
    - `spec_class`: the class of what they register, which stands in the module `home`.
    - `modules`: name -> module of each that is shipped; None takes every folder with a spec.py.
    - `group`: the group of entry points. `attribute`: the name under which a module offers what it registers.
    - `spelling`: what names look like, as a regular expression and in words.
    """

    package: str
    file: str
    kind: str
    spec_class: str
    home: str = ""
    modules: Mapping[str, str] | None = None
    group: str = ""
    attribute: str = "SPEC"
    spelling: tuple[str, str] = (r"[^\W\d]\w*", "letters, digits and underscores")

    def __post_init__(self) -> None:
        self._specs: dict[str, Any] = {}
        self._plugins: dict[str, EntryPoint] | None = None
        if self.modules is None:
            folders = [spec.parent.name for spec in Path(self.file).parent.glob("*/spec.py")]
            self.modules = {name: f"{self.package}.{name}.spec" for name in folders}
        self._modules = dict(self.modules)
        self.shipped = tuple(sorted(self._modules))

    def names(self) -> tuple[str, ...]:
        """The names of all, sorted."""
        return tuple(sorted({*self.shipped, *self._specs, *self._entry_points()}))

    def __contains__(self, name: str) -> bool:
        return name in self._specs or name in self.shipped or name in self._entry_points()

    def load(self, name: str) -> Any:
        """The SPEC of that name. Raises UnknownNameError, RegistrationError for one that cannot be loaded."""
        if name in self._specs:
            return self._specs[name]
        if name in self.shipped:
            spec = getattr(import_module(self._modules[name]), self.attribute)
        elif name in self._entry_points():
            spec = self._plugin(name)
        else:
            raise UnknownNameError(
                f"choosing {_article(self.kind)} {self.kind}: found {name!r}, wanted one of {', '.join(self.names())}"
            )
        self._check(spec, f"loading {self.kind} {name!r}")
        if spec.name != name:
            raise RegistrationError(
                f"loading {self.kind} {name!r}: its {self.attribute} describes {spec.name!r}; rename one of them"
            )
        self._specs[name] = spec
        return spec

    def register(self, spec: Any) -> None:
        """Add a SPEC to this process. Raises RegistrationError for something else and for a name that is taken."""
        what = f"registering {self.kind}"
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
            for point in entry_points(group=self.group or self.package):
                if point.name in self.shipped or point.name in self._plugins:
                    raise RegistrationError(
                        f"looking for {self.kind}s: the entry point {point.name!r} = {point.value!r} has a name that "
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
                f"loading {self.kind} {name!r}: its entry point {point.value!r} cannot be imported: {error}; "
                "repair or uninstall that package"
            ) from error

    def _check(self, spec: Any, what: str) -> None:
        pattern, words = self.spelling
        if type(spec).__name__ != self.spec_class or not re.fullmatch(pattern, str(spec.name)):
            wanted = f"{_article(self.spec_class)} {self.spec_class} of {self.home or self.package + '.base'}"
            raise RegistrationError(f"{what}: found {spec!r}, wanted {wanted} with a name of {words}")


def _article(word: str) -> str:
    return "an" if word[0] in "aeiouAEIOU" else "a"


def make_params(spec: Any, kind: str, given: Mapping[str, Any] | None) -> Any:
    """`given` as the class of settings of `spec`. Raises ProtocolParameterError, naming what does not fit."""
    values = dict(given or {})
    try:
        return msgspec.convert(values, spec.params)
    except msgspec.ValidationError as error:
        known = ", ".join(spec.params.__struct_fields__) or "none"
        wrong = mistake(error, values, spec.params)
        raise ProtocolParameterError(
            f"reading {kind}_params of {spec.name!r}: {wrong}; its parameters are: {known}"
        ) from None
