"""Parameters as their definitions describe them: type, bounds, default and meaning of each.

A parameter is defined once, as `key_bits: Annotated[int, Meta(ge=64, le=4096, description="...")] = 3072`: a field of a
msgspec.Struct or of a dataclass, or an argument of a constructor. The docstrings of those classes, `vfxgb parameters`,
docs/parameters.md and the words of errors are made of that. `Meta(extra={"wanted": "..."})` says in words what a type
cannot say. Values are written as in Python, or as in TOML for keys of party.toml.
"""

import inspect
import json
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

T = TypeVar("T")

REQUIRED = "must be given"
ABSENT = "absent"
WIDTH = 100
_KINDS: dict[Any, str] = {int: "an integer", float: "a number", str: "text", Path: "a path", Any: "any value"}
_CONTAINERS: dict[Any, str] = {Mapping: "a mapping", Sequence: "a sequence", Callable: "a callable"}


@dataclass(frozen=True)
class Parameter:
    """A parameter. `hint`: its type with its bounds. `default`: inspect.Parameter.empty where it must be given."""

    name: str
    hint: Any
    default: Any
    meaning: str

    def wanted(self, toml: bool = False) -> str:
        """What it may be, in words."""
        return wanted(self.hint, toml)

    def shown(self, toml: bool = False) -> str:
        """Its default as a reader would write it; REQUIRED or ABSENT where there is nothing to write."""
        return shown(self.default, toml)


def parameters(kind: type[Any], *sources: type[Any]) -> tuple[Parameter, ...]:
    """The fields of a msgspec.Struct or a dataclass, inherited ones first; or the arguments of a constructor.

    A parameter without a meaning of its own has type and meaning of the first one of its name in `sources`.
    """
    if sources:
        known = {parameter.name: parameter for source in reversed(sources) for parameter in parameters(source)}
        return tuple(
            own if own.meaning else replace(known.get(own.name, own), default=own.default) for own in parameters(kind)
        )
    if issubclass(kind, msgspec.Struct):
        fields = msgspec.structs.fields(kind)
        return tuple(Parameter(field.name, field.type, _default(field), _meaning(field.type)) for field in fields)
    hints = get_type_hints(kind.__init__, include_extras=True)
    arguments = inspect.signature(kind).parameters.values()
    return tuple(
        Parameter(argument.name, hints[argument.name], argument.default, _meaning(hints[argument.name]))
        for argument in arguments
        if argument.kind is not argument.VAR_KEYWORD
    )


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is msgspec.NODEFAULT else field.default


def _metas(hint: Any) -> Iterator[msgspec.Meta]:
    """What is noted at a type and at the types that it joins, the outermost first."""
    if get_origin(hint) is Annotated:
        yield from (extra for extra in reversed(hint.__metadata__) if isinstance(extra, msgspec.Meta))
        hint = get_args(hint)[0]
    if get_origin(hint) in (Union, UnionType):
        for joined in get_args(hint):
            yield from _metas(joined)


def _meaning(hint: Any) -> str:
    return next((meta.description for meta in _metas(hint) if meta.description), "")


def in_words(hint: Any) -> str | None:
    """What `Meta(extra={"wanted": ...})` says of a type."""
    return next((meta.extra["wanted"] for meta in _metas(hint) if meta.extra and "wanted" in meta.extra), None)


def wanted(hint: Any, toml: bool = False) -> str:
    """A type in words, bounds included. TOML has no None: there a key is absent, which is the default's affair."""
    origin, arguments = get_origin(hint), get_args(hint)
    if (said := in_words(hint)) is not None:
        return said
    if hint is bool:
        return "true or false" if toml else "True or False"
    if origin is Annotated:
        return wanted(arguments[0], toml) + "".join(map(_bounds, hint.__metadata__))
    if origin in (Union, UnionType):
        text = " or ".join(wanted(argument, toml) for argument in arguments if argument is not NoneType)
        return f"{text}, or None" if NoneType in arguments and not toml else text
    if origin is Literal:
        return "one of " + ", ".join(shown(argument, toml) for argument in arguments)
    if origin is tuple:
        inner = [wanted(argument, toml) for argument in arguments if argument is not Ellipsis]
        return "[" + ", ".join(inner) + (", ...]" if Ellipsis in arguments else "]")
    if origin is dict or (inspect.isclass(hint) and issubclass(hint, msgspec.Struct)):
        return "a table" if toml else "a mapping"
    return _CONTAINERS.get(origin) or _KINDS.get(hint, str(hint))


def _bounds(meta: Any) -> str:
    if not isinstance(meta, msgspec.Meta):
        return ""
    text = "" if meta.gt is None else f" above {_number(meta.gt)}"
    if meta.ge is not None and meta.le is not None:
        text += f" from {_number(meta.ge)} to {_number(meta.le)}"
    elif meta.ge is not None:
        text += f" of at least {_number(meta.ge)}"
    elif meta.le is not None:
        text += f"{' and' if text else ' of'} at most {_number(meta.le)}"
    if meta.lt is not None:
        text += f"{' and' if text else ''} below {_number(meta.lt)}"
    return text if meta.multiple_of is None else f"{text}, a multiple of {_number(meta.multiple_of)}"


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"


def shown(value: Any, toml: bool = False) -> str:
    """A value as a reader would write it; REQUIRED or ABSENT where there is nothing to write."""
    if value is inspect.Parameter.empty:
        return REQUIRED
    if value is None:
        return ABSENT if toml else "None"
    if isinstance(value, msgspec.Struct) or (isinstance(value, Mapping) and not value):
        return "{}"
    if isinstance(value, tuple):
        return repr(list(value))
    return json.dumps(value) if toml and isinstance(value, str | bool) else repr(value)


def allows(hint: Any, value: object) -> bool:
    """Whether a value is of a type and keeps its bounds. Numbers must be finite, and may be NumPy's."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return allows(arguments[0], value) and all(_within(meta, value) for meta in arguments[1:])
    if origin in (Union, UnionType):
        return any(allows(argument, value) for argument in arguments)
    if origin is Literal:
        return any(isinstance(value, type(argument)) and value == argument for argument in arguments)
    if hint in (int, float):
        is_number = isinstance(value, Integral if hint is int else Real) and not isinstance(value, bool)
        return is_number and (isinstance(value, Integral) or math.isfinite(value))  # type: ignore[arg-type] # a Real
    return hint is Any or isinstance(value, origin or hint)


def _within(meta: Any, value: Any) -> bool:
    return not isinstance(meta, msgspec.Meta) or (
        (meta.ge is None or value >= meta.ge)
        and (meta.gt is None or value > meta.gt)
        and (meta.le is None or value <= meta.le)
        and (meta.lt is None or value < meta.lt)
    )


def mistake(error: Exception, given: Mapping[str, Any], kind: type[Any], toml: bool = False) -> str:
    """What msgspec found wrong with the settings `given` for `kind`: key, value and what is wanted instead.

    Where it is no single value that is wrong, these are msgspec's own words.
    """
    said, _, path = str(error).rstrip("`").partition(" - at `$.")
    value: Any = given
    hint: Any = kind
    for name in path.split("."):
        inner = get_args(hint)[0] if get_origin(hint) is Annotated else hint
        known = {parameter.name: parameter.hint for parameter in parameters(inner)} if inspect.isclass(inner) else {}
        if name not in known or not isinstance(value, Mapping) or name not in value:
            return str(error)
        value, hint = value[name], known[name]
    if not said.startswith(("Expected", "Invalid enum value")):
        return str(error)
    return f"{path} = {shown(value, toml)}, wanted {wanted(hint, toml)}"


def documented(*sources: type[Any]) -> Callable[[type[T]], type[T]]:
    """A decorator of classes: the docstring lists all parameters of the constructor, and the signature is short.

    `sources`: see `parameters`. The signature shows types without bounds and texts, and no catch-all for unknown names,
    which is there for its message only.
    """

    def document(kind: type[T]) -> type[T]:
        listed = (parameter for parameter in parameters(kind, *sources) if parameter.meaning)
        if entries := "\n".join(map(_entry, listed)):
            kind.__doc__ = f"{inspect.cleandoc(kind.__doc__ or '')}\n\nParameters\n----------\n{entries}\n"
        if not issubclass(kind, msgspec.Struct):
            _shorten_signature(kind.__init__)
        return kind

    return document


def _entry(parameter: Parameter) -> str:
    head = f"{parameter.name} : {parameter.wanted()}; default {parameter.shown()}"
    return head + "\n" + textwrap.fill(parameter.meaning, WIDTH, initial_indent="    ", subsequent_indent="    ")


def _shorten_signature(constructor: Callable[..., None]) -> None:
    hints = get_type_hints(constructor)
    full = inspect.signature(constructor)
    short = [
        argument.replace(annotation=hints.get(argument.name, argument.annotation))
        for argument in full.parameters.values()
        if argument.kind is not argument.VAR_KEYWORD
    ]
    setattr(constructor, "__signature__", full.replace(parameters=short))  # noqa: B010 - mypy knows no such attribute
