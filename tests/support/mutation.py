"""Messages of any class with random contents, and bytes that differ from them in what a fuzzer would try."""

import importlib
import pkgutil
import random
import re
from typing import Any

import msgspec

import vfxgb
from vfxgb.transport.messages import Message

# First bytes of MessagePack values that announce much: arrays, maps, binaries, texts, extensions, large numbers.
_ANNOUNCING = bytes((0xC1, 0xC4, 0xC6, 0xC7, 0xC9, 0xCB, 0xCF, 0xD3, 0xD9, 0xDB, 0xDC, 0xDD, 0xDE, 0xDF, 0x9F, 0x8F))
_MAX_DEPTH = 4


def message_classes() -> list[type[Message]]:
    """Every message class of the package, by tag and module."""
    for module in pkgutil.walk_packages(vfxgb.__path__, "vfxgb."):
        if not module.name.endswith(("_native", "__main__")):
            importlib.import_module(module.name)
    found: list[type[Message]] = []
    waiting = [Message]
    while waiting:
        kind = waiting.pop()
        waiting.extend(kind.__subclasses__())
        if kind.TAG and kind.__module__.startswith("vfxgb."):
            found.append(kind)
    return sorted(found, key=lambda kind: (kind.TAG, kind.__module__))


def make_message(kind: type[Message], rng: random.Random) -> Message:
    """A message with contents of the right types and no other sense."""
    info = msgspec.inspect.type_info(kind)
    assert isinstance(info, msgspec.inspect.StructType)
    return kind(**{field.name: _value(field.type, rng, 0) for field in info.fields})


def _value(info: Any, rng: random.Random, depth: int) -> Any:
    inspect = msgspec.inspect
    few = rng.randrange(3) if depth < _MAX_DEPTH else 0
    match info:
        case inspect.IntType():
            return _bounded(info, (0, 1, -1, 7, 255, 65536, 2**31, 2**63 - 1, -(2**63), rng.getrandbits(16)), rng)
        case inspect.FloatType():
            return _bounded(info, (0.0, -1.5, 1e308, float("nan"), float("inf"), rng.random()), rng)
        case inspect.BoolType():
            return rng.random() < 0.5
        case inspect.NoneType():
            return None
        case inspect.StrType():
            texts = ("", "shop", "é" * 5, "x" * 40, "0a" * 16)
            text = rng.choice([one for one in texts if not info.pattern or re.search(info.pattern, one)])
            return text[: info.max_length].ljust(info.min_length or 0, "y")
        case inspect.BytesType():
            return rng.randbytes(min(rng.choice((0, 1, 16, 32, 100)), info.max_length or 100)).ljust(
                info.min_length or 0, b"y"
            )
        case inspect.MemoryViewType():
            return memoryview(rng.randbytes(rng.choice((0, 1, 8, 24, 200))))
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType() | inspect.FrozenSetType():
            few = max(few, info.min_length or 0)
            return [_value(info.item_type, rng, depth + 1) for _ in range(few)]
        case inspect.TupleType():
            return tuple(_value(item, rng, depth + 1) for item in info.item_types)
        case inspect.DictType():
            return {_value(info.key_type, rng, depth + 1): _value(info.value_type, rng, depth + 1) for _ in range(few)}
        case inspect.UnionType():
            return _value(rng.choice(info.types), rng, depth)
        case inspect.LiteralType():
            return rng.choice(info.values)
        case inspect.StructType():
            return info.cls(**{field.name: _value(field.type, rng, depth + 1) for field in info.fields})
        case inspect.AnyType() | inspect.RawType():
            return rng.choice((0, "x", [1], {"a": 1}))
    raise NotImplementedError(f"a field of type {info}")


def _bounded(info: Any, candidates: tuple[Any, ...], rng: random.Random) -> Any:
    """One of the numbers within the bounds of a field, a bound itself among them."""
    low = info.ge if info.ge is not None else info.gt
    high = info.le if info.le is not None else info.lt
    ends = tuple(end for end in (info.ge, info.le) if end is not None)
    within = [one for one in candidates + ends if (low is None or one >= low) and (high is None or one <= high)]
    within = [one for one in within if one not in (info.gt, info.lt)]
    return rng.choice(within)


def mutated(data: bytes, rng: random.Random) -> bytes:
    """`data` after one to three changes."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(changed) + 1)
        match rng.randrange(9):
            case 0 if changed:
                changed[at % len(changed)] ^= 1 << rng.randrange(8)
            case 1 if changed:
                changed[at % len(changed)] = rng.randrange(256)
            case 2 if changed:
                changed[at % len(changed)] = rng.choice(_ANNOUNCING)
            case 3:
                del changed[at:]
            case 4:
                del changed[at : at + rng.randrange(1, 9)]
            case 5:
                changed[at:at] = rng.randbytes(rng.randrange(1, 9))
            case 6:
                changed[at:at] = changed[at : at + rng.randrange(1, 65)]
            case 7:
                changed[at : at + 5] = bytes((rng.choice(_ANNOUNCING),)) + rng.choice(
                    (b"\xff" * 4, b"\x00\x0f\xff\xff")
                )
            case 8 if rng.random() < 0.02:
                # Nested too deeply.
                changed[at:at] = rng.choice((b"\x91", b"\x81\xa1a")) * 3000
    return bytes(changed)
