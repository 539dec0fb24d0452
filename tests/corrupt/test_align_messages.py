"""A party that sends other messages than it should: the one that notices names peer, found and wanted; nobody hangs."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

import align_runs
from align_runs import TOY, Outcome, run_alignment
from vfxgb.align import AlignParams, make_ids
from vfxgb.align.messages import (
    AlignKeys,
    AlignReady,
    BaseGreeting,
    BaseOffer,
    BlindedIds,
    CodeChoices,
    CodeRows,
    CodeSeeds,
    CommonRows,
    CommonTags,
    Hint,
    OpenAlign,
    PassedCiphertexts,
    RowsAgreed,
    TwiceBlindedIds,
)
from vfxgb.errors import AlignmentError, MessageError, PeerError, TransferError, VfxgbError
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import Message, encode

ECDH = AlignParams(method="ecdh")
Change = Callable[[Any], Message]


def change_to(**fields: Any) -> Change:
    """Other fields; a callable gets the old value."""

    def change(message: Message) -> Message:
        new = {name: value(getattr(message, name)) if callable(value) else value for name, value in fields.items()}
        return msgspec.structs.replace(message, **new)

    return change


def shorter(data: Any) -> memoryview:
    return memoryview(bytes(data)[:-1])


def flipped(data: Any) -> memoryview:
    changed = bytearray(data)
    changed[0] ^= 1
    return memoryview(changed)


def one_more(data: Any) -> memoryview:
    return memoryview(bytes(data) + bytes(1088))


def group_alone(data: bytes) -> bytes:
    """Base transfers without ML-KEM, by what they say of themselves."""
    return data[:5] + b"\1" + data[6:]


def zeros(data: bytes) -> bytes:
    """The first element of an offer replaced."""
    return data[:43] + bytes(96) + data[139:]


def reversed_rows(data: Any) -> memoryview:
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, 16)[::-1].copy().reshape(-1).data


def repeated_row(data: Any) -> memoryview:
    rows = np.frombuffer(data, dtype=np.uint8).reshape(-1, 16).copy()
    rows[1] = rows[0]
    return rows.reshape(-1).data


def repeated_point(data: Any) -> memoryview:
    points = np.frombuffer(data, dtype=np.uint8).reshape(-1, 32).copy()
    points[1] = points[0]
    return points.reshape(-1).data


def lying_run(
    monkeypatch: pytest.MonkeyPatch,
    params: AlignParams,
    kind: type[Message],
    change: Change,
    peers: int = 1,
    not_to: str = "",
) -> Outcome:
    """An alignment in which the sender of the first message of a kind that is not to `not_to` sends another instead."""
    send, done = Channel.send_encoded, []

    def lie(channel: Channel, message: Message, payload: bytes) -> None:
        if isinstance(message, kind) and not done and channel.peer != not_to:
            done.append(message)
            message = change(message)
            payload = encode(message)
        send(channel, message, payload)

    monkeypatch.setattr(Channel, "send_encoded", lie)
    monkeypatch.setattr(align_runs, "DEADLINE", 10.0)
    outcome = run_alignment(
        [make_ids(range(40), "bank")], [make_ids(range(20, 50), f"shop {place}") for place in range(peers)], params
    )
    assert done
    return outcome


@pytest.mark.parametrize(
    ("kind", "change", "at", "error", "wanted"),
    [
        (OpenAlign, change_to(n_ids=0), "shop 0", MessageError, "found 0 ids and 1 passive"),
        (OpenAlign, change_to(n_ids=2**40), "shop 0", MessageError, "wanted 1 to 268435456"),
        (OpenAlign, change_to(n_passives=0), "shop 0", MessageError, "0 passive parties"),
        (OpenAlign, change_to(n_passives=10**6), "shop 0", MessageError, "1 to 1000"),
        (OpenAlign, change_to(steps=bytes(31)), "shop 0", MessageError, "found 31 bytes, wanted 32"),
        (OpenAlign, change_to(steps=bytes(32)), "shop 0", AlignmentError, "normalised by other steps"),
        (OpenAlign, change_to(method="other"), "shop 0", AlignmentError, "found method 'other'"),
        (OpenAlign, change_to(group_bits=3072), "shop 0", AlignmentError, "with 3072 bits there"),
        (AlignReady, change_to(n_ids=0), "bank", MessageError, "found 0 ids, wanted 1 to"),
        (AlignReady, change_to(n_ids=2**40), "bank", MessageError, "wanted 1 to 268435456"),
        (AlignReady, change_to(method="ecdh"), "bank", MessageError, "found method 'ecdh', wanted 'kkrt'"),
        (AlignReady, change_to(public=bytes(31)), "bank", MessageError, "public key: found 31 bytes, wanted 0"),
        (BaseGreeting, change_to(greeting=b""), "shop 0", TransferError, "comparing ids with bank: found 0 bytes"),
        (BaseGreeting, change_to(greeting=group_alone), "shop 0", TransferError, "transfers in the group alone"),
        (BaseOffer, change_to(offer=b""), "bank", TransferError, "comparing ids with shop 0: found 0 bytes"),
        (BaseOffer, change_to(offer=group_alone), "bank", TransferError, "transfers in the group alone"),
        (BaseOffer, change_to(offer=zeros), "bank", TransferError, "comparing ids with shop 0: element 0"),
        (AlignKeys, change_to(reply=b"x"), "shop 0", TransferError, "comparing ids with bank: found 1 bytes"),
        (AlignKeys, change_to(table_key=bytes(15)), "shop 0", MessageError, "found 15 bytes, wanted 16"),
        (AlignKeys, change_to(publics=[]), "shop 0", MessageError, "found 0 public keys"),
        (AlignKeys, change_to(place=1), "shop 0", MessageError, "and place 1"),
        (AlignKeys, change_to(publics=[bytes(32)]), "shop 0", MessageError, "another public key in this party's place"),
        (CodeChoices, change_to(u=shorter), "bank", TransferError, "shop 0, comparing ids at bank: found 7163 bytes"),
        (CodeChoices, change_to(ciphertexts=one_more), "bank", MessageError, "1088 bytes of ciphertexts, wanted 0"),
        (CodeSeeds, change_to(opening=shorter), "shop 0", MessageError, "found 24575 bytes that open the seeds"),
        (CodeRows, change_to(u=shorter), "shop 0", MessageError, "bytes of rows, wanted"),
        (CodeRows, change_to(first=1), "shop 0", MessageError, "found a block from 1 on, wanted 0"),
        (Hint, change_to(values=shorter), "bank", MessageError, "bytes, wanted"),
        (Hint, change_to(first=8), "bank", MessageError, "found a block from 8 on, wanted 0"),
        (Hint, change_to(seed=b""), "bank", MessageError, "seed of the store: found 0 bytes"),
        (Hint, change_to(seed=bytes(16)), "bank", AlignmentError, "found no id of the first group"),
        (CommonRows, change_to(key=b""), "shop 0", MessageError, "key of the tags: found 0 bytes"),
        (CommonRows, change_to(key=bytes(16)), "shop 0", AlignmentError, "common ids that are not here"),
        (CommonRows, change_to(sizes=[]), "shop 0", MessageError, "0 group"),
        (CommonRows, change_to(sizes=[31]), "shop 0", MessageError, "found 31 common ids"),
        (CommonRows, change_to(sizes=[-1, 21]), "shop 0", MessageError, "found 20 common ids in 2 group"),
        (CommonRows, change_to(sizes=[2**62]), "shop 0", MessageError, "wanted at most 30"),
        (CommonRows, change_to(digest=bytes(32)), "shop 0", AlignmentError, "another digest"),
        (CommonRows, change_to(digest=b""), "shop 0", MessageError, "digest of the rows: found 0 bytes"),
        (CommonTags, change_to(tags=shorter), "shop 0", MessageError, "found 319 bytes, wanted 320"),
        (CommonTags, change_to(first=1), "shop 0", MessageError, "found a block from 1 on"),
        (CommonTags, change_to(tags=reversed_rows), "shop 0", MessageError, "do not ascend"),
        (CommonTags, change_to(tags=repeated_row), "shop 0", MessageError, "a common id twice"),
        (CommonTags, change_to(tags=flipped), "shop 0", AlignmentError, "1 common ids that are not here"),
        (RowsAgreed, change_to(digest=bytes(32)), "bank", AlignmentError, "shop 0: found another digest"),
        (OpenAlign, lambda _: RowsAgreed(digest=b""), "shop 0", MessageError, "found message 'rows-agreed'"),
        (Hint, lambda _: RowsAgreed(digest=b""), "bank", MessageError, "found message 'rows-agreed'"),
    ],
)
def test_kkrt(
    monkeypatch: pytest.MonkeyPatch,
    kind: type[Message],
    change: Change,
    at: str,
    error: type[VfxgbError],
    wanted: str,
) -> None:
    outcome = lying_run(monkeypatch, TOY, kind, change)
    assert isinstance(outcome.errors[at], error)
    assert wanted in str(outcome.errors[at])
    assert at in str(outcome.errors[at])
    others = [error for party, error in outcome.errors.items() if party != at]
    assert all(isinstance(error, (PeerError, AlignmentError)) for error in others)


@pytest.mark.parametrize(
    ("kind", "change", "at", "wanted"),
    [
        (BlindedIds, change_to(points=shorter), "shop 0", "found 1279 bytes, wanted 1280"),
        (BlindedIds, change_to(first=1), "shop 0", "found a block from 1 on"),
        (BlindedIds, change_to(points=lambda data: memoryview(bytes(len(data)))), "shop 0", "point 0 does not lie"),
        (BlindedIds, change_to(points=repeated_point), "shop 0", "found a point twice, wanted each id once"),
        (BlindedIds, change_to(points=shorter), "bank", "found 959 bytes, wanted 960"),
        (TwiceBlindedIds, change_to(points=shorter), "shop 0", "found 959 bytes, wanted 960"),
        (TwiceBlindedIds, change_to(points=shorter), "bank", "found 1279 bytes, wanted 1280"),
        (TwiceBlindedIds, lambda _: RowsAgreed(digest=b""), "bank", "found message 'rows-agreed'"),
    ],
)
def test_ecdh(monkeypatch: pytest.MonkeyPatch, kind: type[Message], change: Change, at: str, wanted: str) -> None:
    outcome = lying_run(monkeypatch, ECDH, kind, change, not_to="shop 0" if at == "bank" else "bank")
    assert isinstance(outcome.errors[at], MessageError)
    assert wanted in str(outcome.errors[at])


@pytest.mark.parametrize(
    ("publics", "wanted"),
    [
        (lambda keys: [keys[0], keys[0]], "a public key twice"),
        (lambda keys: [keys[0], bytes(32)], "public key 1 is no key of X25519 and ML-KEM-768, wanted 1216 bytes"),
        (lambda keys: [keys[0], bytes(32) + keys[1][32:]], "public key 1 is no key of X25519 and ML-KEM-768"),
        (lambda keys: [keys[0], keys[1][:32] + b"\xff" * 1184], "public key 1 is no key of X25519 and ML-KEM-768"),
        (lambda keys: [keys[0], b""], "public key 1 is no key of X25519 and ML-KEM-768"),
        (lambda keys: keys[:1], "found 1 public keys"),
    ],
)
def test_relayed_keys(monkeypatch: pytest.MonkeyPatch, publics: Callable[[Any], Any], wanted: str) -> None:
    outcome = lying_run(monkeypatch, TOY, AlignKeys, change_to(publics=publics), peers=2)
    assert isinstance(outcome.errors["shop 0"], MessageError)
    assert wanted in str(outcome.errors["shop 0"])


def test_relayed_keys_of_earlier_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second party finds them when it opens what the first encapsulated."""
    lie = change_to(publics=lambda keys: [bytes(32) + keys[0][32:], keys[1]])
    outcome = lying_run(monkeypatch, TOY, AlignKeys, lie, peers=2, not_to="shop 0")
    assert isinstance(outcome.errors["shop 1"], MessageError)
    assert "shop 1 comparing ids with bank: public key 0 is no key of X25519" in str(outcome.errors["shop 1"])


@pytest.mark.parametrize(
    ("kind", "not_to", "at", "wanted"),
    [
        (CodeChoices, "", "bank", "with shop 0: found 1087 bytes of ciphertexts, wanted 1088 for 1 other"),
        (PassedCiphertexts, "shop 0", "shop 1", "with bank: found 1087 bytes of ciphertexts, wanted 1088 for 1 other"),
    ],
)
def test_ciphertexts_cut(
    monkeypatch: pytest.MonkeyPatch, kind: type[Message], not_to: str, at: str, wanted: str
) -> None:
    outcome = lying_run(monkeypatch, TOY, kind, change_to(ciphertexts=shorter), peers=2, not_to=not_to)
    assert isinstance(outcome.errors[at], MessageError)
    assert wanted in str(outcome.errors[at])


def test_another_ciphertext_leaves_nothing_in_common(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares that no longer add up to zero: nothing is told that should not be."""
    outcome = lying_run(monkeypatch, TOY, PassedCiphertexts, change_to(ciphertexts=flipped), peers=2, not_to="shop 0")
    assert "found no id of the first group that all parties have" in str(outcome.errors["bank"])


def test_keys_of_several_passive_parties(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = lying_run(monkeypatch, TOY, AlignReady, change_to(public=b""), peers=2)
    assert "public key: found 0 bytes, wanted 1216" in str(outcome.errors["bank"])


def test_another_seed_in_a_later_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vfxgb.align.kkrt.STORE_BLOCK", 100)
    outcome = lying_run(monkeypatch, TOY, Hint, change_to(seed=bytes(16)))
    assert "another seed in a later block" in str(outcome.errors["bank"])
