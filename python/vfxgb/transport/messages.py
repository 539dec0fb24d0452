"""What a message is: a frozen, typed, named, size-capped struct that says what it reveals.

A message class derives from `Message` and states four things: `TAG`, its name on the wire; `MAX_BYTES`, the largest
payload a receiver decodes; `REVEALS`, what its receiver learns from it in plain words, for the ledger; and `amount`,
how much of that. Large arrays are fields of type memoryview: decoded without a copy, checked by `unpack_array`.

A `Catalogue` holds the classes that may pass a channel. Anything else is refused by name.
"""

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import FrameError, MessageError
from vfxgb.printable import printable

CONTROL_BYTES = 1 << 16
TABLE_BYTES = 1 << 26
BULK_BYTES = 1 << 30
# Fixed sizes of what messages name: identifiers and reasons are short, whatever the data.
MAX_REASON = 4000

Bulk: TypeAlias = memoryview
BIG_ENDIAN = sys.byteorder == "big"


@dataclass(frozen=True)
class Reveals:
    """What the receiver of a message learns: `what` in plain words, `unit` the things that `amount()` counts."""

    what: str
    unit: str = ""


NOTHING = Reveals("nothing about the data")


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of all messages."""

    TAG: ClassVar[str] = ""
    MAX_BYTES: ClassVar[int] = CONTROL_BYTES
    REVEALS: ClassVar[Reveals] = NOTHING

    def amount(self) -> int:
        """Count how many of `REVEALS.unit` this message reveals."""
        return 0


class Abort(Message, frozen=True, forbid_unknown_fields=True):
    """The sender has stopped the run. `reason`: a sentence for people, without any value of the data or local path
    (last_words.py); `kind`: the class of the error.
    """

    TAG = "abort"
    REVEALS = Reveals("that the sender stopped, and why, in general words")

    reason: str
    kind: str = ""


class Catalogue:
    """The message classes of a channel, by tag. `Abort` is always one of them."""

    def __init__(self, types: Iterable[type[Message]]) -> None:
        self._types: dict[str, type[Message]] = {}
        known: tuple[type[Message], ...] = (Abort, *types)
        for kind in known:
            if not kind.TAG or self._types.get(kind.TAG, kind) is not kind:
                raise ValueError(f"message class {kind.__name__}: its tag {kind.TAG!r} is empty or already taken")
            self._types[kind.TAG] = kind

    @property
    def types(self) -> tuple[type[Message], ...]:
        """All classes, `Abort` first."""
        return tuple(self._types.values())

    @cached_property
    def _decoders(self) -> dict[str, msgspec.msgpack.Decoder[Any]]:
        return {tag: msgspec.msgpack.Decoder(kind) for tag, kind in self._types.items()}

    def type_of(self, tag: str, peer: str) -> type[Message]:
        """The class of a tag. Raises FrameError for a tag that is not in the catalogue."""
        kind = self._types.get(tag)
        if kind is None:
            raise FrameError(
                f"receiving from {peer}: found a message of unknown type {tag!r}, wanted one of "
                f"{', '.join(sorted(self._types))}; do both sides run the same protocol and version?"
            )
        return kind

    def check_size(self, tag: str, size: int, peer: str) -> None:
        """Raise FrameError for a tag that is not in the catalogue and for more bytes than its class allows."""
        kind = self.type_of(tag, peer)
        if size > kind.MAX_BYTES:
            raise FrameError(
                f"receiving from {peer}: message {tag!r} has {size} bytes, wanted at most {kind.MAX_BYTES}"
            )

    def decode(self, tag: str, payload: bytes | memoryview, peer: str) -> Message:
        """The message in `payload`. Raises FrameError when it is too large or not of the type's shape."""
        self.check_size(tag, len(payload), peer)
        try:
            message = self._decoders[tag].decode(payload)
        except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
            # ValueError: text that is no UTF-8.
            raise FrameError(f"receiving from {peer}: message {tag!r} is malformed: {printable(str(error))}") from None
        assert isinstance(message, Message)  # noqa: S101 - the decoder was made for a subclass
        return message


_ENCODER = msgspec.msgpack.Encoder()


def encode(message: Message) -> bytes:
    """The payload of a message. Raises MessageError when it is larger than its class allows."""
    payload = _ENCODER.encode(message)
    if len(payload) > message.MAX_BYTES:
        raise MessageError(
            f"sending message {message.TAG!r}: it has {len(payload)} bytes, wanted at most {message.MAX_BYTES}; "
            "train on fewer rows, features or bins"
        )
    return payload


def pack_array(array: NDArray[Any]) -> memoryview:
    """The bytes of an array, little-endian and C-ordered, without a copy where it already is that."""
    if BIG_ENDIAN or not array.flags.c_contiguous:
        array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return array.reshape(-1).view(np.uint8).data


def pack_optional(array: NDArray[Any] | None) -> memoryview:
    """The bytes of an array, none for None."""
    return memoryview(b"") if array is None else pack_array(array)


def pack_bytes(data: bytes | memoryview) -> memoryview:
    """Bytes as a bulk field."""
    return memoryview(data)


def unpack_array(data: memoryview, dtype: type[np.generic], shape: tuple[int, ...], what: str) -> NDArray[Any]:
    """The array of `shape` in `data`, read-only and without a copy.

    Raises MessageError, naming `what`, when the number of bytes is not exactly that of the shape.
    """
    wanted = math.prod(shape) * np.dtype(dtype).itemsize
    if len(data) != wanted:
        raise MessageError(f"{what}: found {len(data)} bytes, wanted {wanted} for shape {shape}")
    if BIG_ENDIAN:
        return np.frombuffer(data, dtype=np.dtype(dtype).newbyteorder("<")).reshape(shape).astype(dtype)
    return np.frombuffer(data, dtype=dtype).reshape(shape)
