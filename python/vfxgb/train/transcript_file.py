"""A transcript as one file, version 1. All integers are unsigned and little-endian; nothing in it is ever executed.

offset    bytes  field
0         4      magic "VFXT"
4         2      version
6         8      length h of the index
14        h      index, MessagePack: settings, parties, and for each message and note its place among the blobs
14 + h           blobs, one after the other: payloads as they went over the wire, arrays in C order
end - 32  32     SHA-256 of everything before

A payload that several parties saw is stored once. The digest finds damage, not forgery: whoever can write the file can
write the digest.
"""

import hashlib
import math
import struct
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import numpy as np

from vfxgb.errors import FormatError, UnknownNameError
from vfxgb.files import write_atomically
from vfxgb.protocols import protocol_by_name
from vfxgb.train.transcript import PartyRecord, RecordedMessage, RecordedNote, Transcript

MAGIC = b"VFXT"
VERSION = 1
DIGEST_BYTES = 32
_HEAD = struct.Struct("<4sHQ")
# The only kinds of array a note may have.
DTYPES = ("bool", "int8", "int32", "int64", "uint8", "uint16", "float32", "float64")


class _Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    peer: str
    sent: bool
    tag: str
    blob: int


class _Note(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    name: str
    round: int
    tree: int
    dtype: str
    shape: list[int]
    blob: int


class _Party(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    party: str
    active: bool
    messages: list[_Message]
    notes: list[_Note]


class _Index(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    protocol: str
    protocol_params: dict[str, Any]
    params: dict[str, Any]
    parties: list[_Party]
    blobs: list[int]


def save_transcript(transcript: Transcript, path: Path) -> None:
    """Write `transcript`, atomically. Raises OSError."""
    blobs: list[bytes | memoryview] = []
    places: dict[int, int] = {}

    def place(data: bytes | memoryview) -> int:
        if id(data) not in places:
            places[id(data)] = len(blobs)
            blobs.append(data)
        return places[id(data)]

    parties = []
    for record in transcript.records.values():
        messages = [_Message(entry.peer, entry.sent, entry.tag, place(entry.payload)) for entry in record.messages]
        notes = []
        for note in record.notes:
            array = np.ascontiguousarray(note.array, dtype=note.array.dtype.newbyteorder("<"))
            # A new object each, kept in `blobs`: its id is no other's.
            data = memoryview(array.tobytes())
            notes.append(_Note(note.name, note.round, note.tree, array.dtype.name, list(array.shape), place(data)))
        parties.append(_Party(record.party, record.active, messages, notes))
    index = msgspec.msgpack.encode(
        _Index(
            transcript.protocol, transcript.protocol_params, transcript.params, parties, [len(blob) for blob in blobs]
        )
    )
    head = _HEAD.pack(MAGIC, VERSION, len(index)) + index
    digest = hashlib.sha256(head)
    for blob in blobs:
        digest.update(blob)
    write_atomically(path, head, *blobs, digest.digest())


def load_transcript(path: Path) -> Transcript:
    """Read a transcript. Raises FormatError, naming the file and what is wrong with it; OSError."""
    data = path.read_bytes()
    if len(data) < _HEAD.size + DIGEST_BYTES or data[:4] != MAGIC:
        _refuse(path, "it is no transcript; transcripts are written by Transcript.save after fit with record=True")
    _, version, size = _HEAD.unpack_from(data)
    if version != VERSION:
        _refuse(path, f"found version {version}, wanted {VERSION}; use the vfxgb that wrote it")
    if hashlib.sha256(memoryview(data)[:-DIGEST_BYTES]).digest() != data[-DIGEST_BYTES:]:
        _refuse(path, "its digest does not match: the file is damaged or incomplete; record the run again")
    if size > len(data) - _HEAD.size - DIGEST_BYTES:
        _refuse(path, f"found an index of {size} bytes in a file of {len(data)}")
    try:
        index = msgspec.msgpack.decode(memoryview(data)[_HEAD.size : _HEAD.size + size], type=_Index)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        _refuse(path, f"its index is malformed: {error}")
    try:
        protocol_by_name(index.protocol)
    except UnknownNameError as error:
        _refuse(path, str(error))
    names = [party.party for party in index.parties]
    active = sum(party.active for party in index.parties)
    if len(set(names)) != len(names) or active != 1:
        _refuse(path, f"found parties {names} of which {active} active, wanted 1")
    blobs = _blobs(path, memoryview(data)[_HEAD.size + size : -DIGEST_BYTES], index.blobs)
    records = {party.party: _party(path, party, blobs) for party in index.parties}
    return Transcript(index.protocol, index.protocol_params, index.params, records)


def _blobs(path: Path, data: memoryview, sizes: list[int]) -> list[memoryview]:
    if min(sizes, default=0) < 0 or sum(sizes) != len(data):
        _refuse(path, f"found {len(data)} bytes of messages and arrays, wanted the {sum(sizes)} of the index")
    ends = np.cumsum(sizes, dtype=np.int64).tolist()
    return [data[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def _party(path: Path, party: _Party, blobs: list[memoryview]) -> PartyRecord:
    record = PartyRecord(party.party, party.active)
    for place in [*(entry.blob for entry in party.messages), *(note.blob for note in party.notes)]:
        if not 0 <= place < len(blobs):
            _refuse(path, f"found blob {place} at {party.party}, wanted 0 to {len(blobs) - 1}")
    for message in party.messages:
        record.messages.append(RecordedMessage(message.peer, message.sent, message.tag, blobs[message.blob]))
    for note in party.notes:
        blob = blobs[note.blob]
        what = f"note {note.name!r} of {party.party}"
        if note.dtype not in DTYPES:
            _refuse(path, f"{what} is of type {note.dtype!r}, wanted one of {', '.join(DTYPES)}")
        dtype = np.dtype(note.dtype).newbyteorder("<")
        if min(note.shape, default=0) < 0 or math.prod(note.shape) * dtype.itemsize != len(blob):
            _refuse(path, f"{what} has {len(blob)} bytes, which is not shape {note.shape} of {note.dtype}")
        array = np.frombuffer(blob, dtype=dtype).reshape(note.shape)
        record.notes.append(RecordedNote(note.name, note.round, note.tree, array))
    return record


def _refuse(path: Path, why: str) -> NoReturn:
    raise FormatError(f"reading transcript {path}: {why}")
