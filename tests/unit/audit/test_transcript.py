"""Recording, and the file of a transcript."""

import hashlib
import struct
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from vfxgb import VFXGBClassifier
from vfxgb.errors import FormatError, ParameterError, UnfittedError
from vfxgb.train.transcript import Transcript

HEAD = struct.Struct("<4sHQ")


def test_nothing_is_recorded_unless_asked() -> None:
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    clf = VFXGBClassifier(n_estimators=1).fit(X, y)
    assert not hasattr(clf, "transcript_")
    with pytest.raises(UnfittedError, match="record=True"):
        clf.audit()
    clf.set_params(record=True).fit(X, y)
    assert [len(record.messages) for record in clf.transcript_.records.values()] == [0]
    assert "no attack applies" in clf.audit().text()
    clf.set_params(record=False).fit(X, y)
    assert not hasattr(clf, "transcript_")
    with pytest.raises(ParameterError, match="record=1, wanted True or False"):
        clf.set_params(record=1).fit(X, y)


def test_both_ends_see_the_same_bytes(recorded: Any) -> None:
    records = recorded().transcript_.records
    assert [(name, record.active) for name, record in records.items()] == [
        ("bank", True),
        ("shop", False),
        ("club", False),
    ]
    for party in ("shop", "club"):
        for sent in (True, False):
            there = [message for message in records["bank"].messages if message.peer == party and message.sent is sent]
            here = [message for message in records[party].messages if message.sent is not sent]
            assert [message.tag for message in there] == [message.tag for message in here]
            # The very same objects: recording copies nothing.
            assert all(message.payload is other.payload for message, other in zip(there, here, strict=True))
        assert {message.peer for message in records[party].messages} == {"bank"}


def test_recording_does_not_change_the_model(recorded: Any) -> None:
    clf = recorded()
    X = np.random.default_rng(1).normal(size=(50, 5))
    params = {**clf.get_params(), "record": False}
    from .conftest import problem

    again = VFXGBClassifier(**params).fit(*problem(120))
    np.testing.assert_array_equal(clf.predict_proba(X), again.predict_proba(X))
    assert clf.traffic_["shop"].sent_bytes == again.traffic_["shop"].sent_bytes


def test_notes(recorded: Any) -> None:
    records = recorded().transcript_.records
    names = {party: {note.name for note in record.notes} for party, record in records.items()}
    assert names["shop"] == {"bins", "n-bins", "has-missing", "order"}
    assert {"labels", "base-margin", "pairs", "step", "left-sums:0:shop"} <= names["bank"]


def test_a_file_gives_back_the_transcript(recorded: Any, tmp_path: Path) -> None:
    transcript = recorded().transcript_
    transcript.save(tmp_path / "run.vfxt")
    again = Transcript.load(tmp_path / "run.vfxt")
    assert (again.protocol, again.protocol_params, again.params) == (
        transcript.protocol,
        transcript.protocol_params,
        transcript.params,
    )
    assert repr(again) == repr(transcript)
    for party, record in transcript.records.items():
        other = again.records[party]
        assert [(message.peer, message.sent, message.tag, bytes(message.payload)) for message in record.messages] == [
            (message.peer, message.sent, message.tag, bytes(message.payload)) for message in other.messages
        ]
        for one, copy in zip(record.notes, other.notes, strict=True):
            assert (one.name, one.round, one.tree, one.array.dtype) == (
                copy.name,
                copy.round,
                copy.tree,
                copy.array.dtype,
            )
            np.testing.assert_array_equal(one.array, copy.array)
    # Every payload once, whoever saw it.
    assert (tmp_path / "run.vfxt").stat().st_size < 1.5 * transcript.nbytes
    transcript.save(tmp_path / "again.vfxt")
    assert (tmp_path / "again.vfxt").read_bytes() == (tmp_path / "run.vfxt").read_bytes()


@pytest.fixture
def saved(recorded: Any, tmp_path: Path) -> bytes:
    recorded().transcript_.save(tmp_path / "run.vfxt")
    return (tmp_path / "run.vfxt").read_bytes()


def refused(path: Path, data: bytes, match: str) -> None:
    path.write_bytes(data)
    with pytest.raises(FormatError, match=match):
        Transcript.load(path)


def test_other_files_are_refused(saved: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bad.vfxt"
    refused(path, b"", "it is no transcript")
    refused(path, b'{"format": "vfxgb share"}' * 10, "it is no transcript")
    refused(path, saved[:-1], "digest does not match")
    refused(path, saved[: len(saved) // 2], "digest does not match")
    for place in (20, len(saved) // 2, len(saved) - 5):
        refused(path, saved[:place] + bytes([saved[place] ^ 1]) + saved[place + 1 :], "digest does not match")
    refused(path, saved[:4] + b"\x02\x00" + saved[6:], "found version 2, wanted 1")
    with pytest.raises(FileNotFoundError):
        Transcript.load(tmp_path / "absent.vfxt")


def rewritten(saved: bytes, change: Any) -> bytes:
    """The file with its index changed and a digest that fits."""
    _, version, size = HEAD.unpack_from(saved)
    index = msgspec.msgpack.decode(saved[HEAD.size : HEAD.size + size])
    change(index)
    encoded = msgspec.msgpack.encode(index)
    data = HEAD.pack(b"VFXT", version, len(encoded)) + encoded + saved[HEAD.size + size : -32]
    return data + hashlib.sha256(data).digest()


CHANGES = {
    "wanted one of batch_he": lambda index: index.update(protocol="none such"),
    "found blob 99999": lambda index: index["parties"][0]["messages"][0].__setitem__(3, 99999),
    "wanted the": lambda index: index["blobs"].append(5),
    "which is not shape": lambda index: index["parties"][0]["notes"][0].__setitem__(4, [3, 3]),
    "of type 'object'": lambda index: index["parties"][0]["notes"][0].__setitem__(3, "object"),
    "of which 0 active": lambda index: index["parties"][0].update(active=False),
    "index is malformed": lambda index: index.update(extra=1),
    "wanted 1": lambda index: index["parties"][1].update(party="bank"),
}


@pytest.mark.parametrize("match", CHANGES)
def test_a_wrong_index_is_refused(saved: bytes, tmp_path: Path, match: str) -> None:
    refused(tmp_path / "bad.vfxt", rewritten(saved, CHANGES[match]), match)


def test_an_index_longer_than_the_file(saved: bytes, tmp_path: Path) -> None:
    data = saved[:6] + (10**9).to_bytes(8, "little") + saved[14:-32]
    refused(tmp_path / "bad.vfxt", data + hashlib.sha256(data).digest(), "an index of 1000000000 bytes")
