"""What the two sides tell each other in gRPC metadata when a stream opens.

The dialling side: wire version, its name, the session, whether it continues one, and its terms. The listening side
answers with version, terms and the group by which the keys of the connection were agreed on, or refuses with a status
and a text that the other side shows to its user.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vfxgb.errors import FrameError
from vfxgb.printable import printable
from vfxgb.transport.frame import RUN_BYTES
from vfxgb.transport.network.limits import CHUNK_BYTES
from vfxgb.transport.network.link import Terms
from vfxgb.transport.network.wire import WIRE_VERSION

_PREFIX = "vfxgb-"
_MAX_VALUE = 200
# How often a peer may want a sign of life: what the bounds of Limits allow it to ask for.
_LEAST_BEAT_MS, _MOST_BEAT_MS = 20, 3_600_000
Metadata = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Call:
    """What a dialling side says of itself. `again`: the session exists and lost its connection."""

    party: str
    session: bytes
    again: bool
    terms: Terms


def write_call(said: Call) -> Metadata:
    """The metadata of a dialling side."""
    own = {"party": said.party, "session": said.session.hex(), "again": str(int(said.again))}
    return _write({"version": str(WIRE_VERSION), **own, **_terms(said.terms)})


def write_answer(terms: Terms, key_exchange: str) -> Metadata:
    """The metadata of a listening side that agrees."""
    return _write({"version": str(WIRE_VERSION), "key-exchange": key_exchange, **_terms(terms)})


def read_version(metadata: Iterable[tuple[str, object]]) -> str:
    """The other side's wire version, or "none"."""
    return _read(metadata).get("version", "none")


def read_party(metadata: Iterable[tuple[str, object]]) -> str:
    """The name that a dialling side gives itself, unchecked, or ""."""
    return _read(metadata).get("party", "")


def read_call(metadata: Iterable[tuple[str, object]]) -> Call:
    """What the dialling side said. Raises FrameError."""
    fields = _read(metadata)
    try:
        session = bytes.fromhex(fields["session"])
        said = Call(fields["party"], session, _number(fields, "again", 1) == 1, _read_terms(fields))
    except (KeyError, ValueError) as error:
        raise FrameError(f"the metadata of the connection is malformed: {error}") from None
    if len(session) != RUN_BYTES:
        raise FrameError(f"found a session of {len(session)} bytes, wanted {RUN_BYTES}")
    return said


def read_answer(metadata: Iterable[tuple[str, object]]) -> tuple[Terms, str]:
    """The terms in the answer of the listening side, and the group of the keys. Raises FrameError."""
    fields = _read(metadata)
    try:
        return _read_terms(fields), printable(fields["key-exchange"])
    except (KeyError, ValueError) as error:
        raise FrameError(f"the metadata of the connection is malformed: {error}") from None


def _write(fields: Mapping[str, str]) -> Metadata:
    return tuple((_PREFIX + name, value) for name, value in fields.items())


def _read(metadata: Iterable[tuple[str, object]]) -> dict[str, str]:
    return {
        key[len(_PREFIX) :]: value
        for key, value in metadata
        if key.startswith(_PREFIX) and isinstance(value, str) and len(value) <= _MAX_VALUE
    }


def _terms(terms: Terms) -> dict[str, str]:
    return {
        "received": str(terms.received),
        "window": str(terms.window),
        "zstd": str(int(terms.zstd)),
        "beat": str(math.ceil(1000 * terms.beat)),
    }


def _read_terms(fields: Mapping[str, str]) -> Terms:
    window = _number(fields, "window", 1 << 40)
    if window < CHUNK_BYTES:
        raise ValueError(f"a window of {window} bytes, wanted at least {CHUNK_BYTES}")
    beat = _number(fields, "beat", _MOST_BEAT_MS)
    if beat < _LEAST_BEAT_MS:
        raise ValueError(f"a sign of life every {beat} milliseconds, wanted at least {_LEAST_BEAT_MS}")
    return Terms(_number(fields, "received", 1 << 62), window, _number(fields, "zstd", 1) == 1, beat / 1000)


def _number(fields: Mapping[str, str], name: str, largest: int) -> int:
    text = fields[name]
    if not text.isascii() or not text.isdigit() or len(text) > 20 or int(text) > largest:
        raise ValueError(f"{name} is {text[:30]!r}")
    return int(text)
