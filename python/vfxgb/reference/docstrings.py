"""What the code says about a parameter: its meaning from the docstring, its form from the type, its default.

A class of settings describes its fields in its docstring as "`name`: meaning.", one after the other. A meaning ends
where the next one begins or at an empty line. Modules of estimators have a table instead, of a name and its meaning per
line. Values are written as in Python, or as in TOML for keys of party.toml.
"""

import inspect
import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

# One or more names, what they stand for in brackets perhaps, a colon. Before it: the beginning, or a sentence's end.
_ENTRY = re.compile(r"(?:^|(?<=[.;] ))((?:`\w+`(?:, )?)+)(?: \([^)]*\))?: ")
_ROW = re.compile(r"    (\w+) +(\S.*)")
_MORE = re.compile(r" {8,}(\S.*)")
_KINDS: dict[Any, str] = {int: "an integer", float: "a number", str: "text", Path: "a path"}
REQUIRED = "must be given"
ABSENT = "absent"


def meanings(kind: type[Any]) -> dict[str, str]:
    """Field -> meaning, from the docstrings of a class and of those it derives from."""
    said_of: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        for paragraph in inspect.cleandoc(base.__doc__ or "").split("\n\n"):
            text = " ".join(paragraph.split())
            end = len(text)
            for entry in reversed(list(_ENTRY.finditer(text))):
                said = text[entry.end() : end].strip().rstrip(".;")
                end = entry.start()
                said_of.update(dict.fromkeys(re.findall(r"`(\w+)`", entry.group(1)), said))
    return said_of


def table_meanings(docstring: str | None) -> dict[str, str]:
    """Name -> meaning, from the table in a module's docstring."""
    said_of: dict[str, str] = {}
    name = ""
    for line in (docstring or "").splitlines():
        if row := _ROW.fullmatch(line):
            name = row.group(1)
            said_of[name] = row.group(2)
        elif name and (more := _MORE.fullmatch(line)):
            said_of[name] += " " + more.group(1)
        else:
            name = ""
    return said_of


def forms(kind: type[Any], toml: bool) -> dict[str, str]:
    """Field -> what it may be, in words, from the types of a class."""
    return {name: form(hint, toml) for name, hint in get_type_hints(kind, include_extras=True).items()}


def form(hint: Any, toml: bool) -> str:
    """A type in words, bounds included. TOML has no None: there a key is absent, which is the default's affair."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is bool:
        return "true or false" if toml else "True or False"
    if origin is Annotated:
        return _bounded(form(arguments[0], toml), arguments[1:])
    if origin in (Union, UnionType):
        text = " or ".join(form(argument, toml) for argument in arguments if argument is not NoneType)
        return f"{text}, or None" if NoneType in arguments and not toml else text
    if origin is Literal:
        return ", ".join(shown(argument, toml) for argument in arguments)
    if origin is tuple:
        inner = [form(argument, toml) for argument in arguments if argument is not Ellipsis]
        return "[" + ", ".join(inner) + (", ...]" if Ellipsis in arguments else "]")
    if origin is dict or (inspect.isclass(hint) and issubclass(hint, msgspec.Struct)):
        return "a table" if toml else "a mapping"
    return _KINDS.get(hint, str(hint))


def _bounded(text: str, extras: tuple[Any, ...]) -> str:
    for meta in extras:
        if not isinstance(meta, msgspec.Meta):
            continue
        if meta.gt is not None:
            text += f" above {_number(meta.gt)}"
        if meta.ge is not None and meta.le is not None:
            text += f" from {_number(meta.ge)} to {_number(meta.le)}"
        elif meta.ge is not None:
            text += f" of at least {_number(meta.ge)}"
        elif meta.le is not None:
            text += f"{' and' if meta.gt is not None else ' of'} at most {_number(meta.le)}"
        if meta.multiple_of is not None:
            text += f", a multiple of {_number(meta.multiple_of)}"
    return text


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"


def defaults(kind: type[Any]) -> dict[str, Any]:
    """Field -> default, inspect.Parameter.empty where it must be given."""
    if is_dataclass(kind):
        given = {field.name: field.default for field in fields(kind)}
        return {name: inspect.Parameter.empty if value is MISSING else value for name, value in given.items()}
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        if field.default is not msgspec.NODEFAULT:
            values[field.name] = field.default
        elif field.default_factory is not msgspec.NODEFAULT:
            values[field.name] = field.default_factory()
        else:
            values[field.name] = inspect.Parameter.empty
    return values


def shown(value: Any, toml: bool = False) -> str:
    """A default as a reader would write it; REQUIRED or ABSENT where there is nothing to write."""
    if value is inspect.Parameter.empty:
        return REQUIRED
    if value is None:
        return ABSENT if toml else "None"
    if isinstance(value, msgspec.Struct) or (isinstance(value, Mapping) and not value):
        return "{}"
    if isinstance(value, tuple):
        return repr(list(value))
    return json.dumps(value) if toml and isinstance(value, str | bool) else repr(value)
