"""Messages of `ot_shares` that are not what they should be: each refused, with its own error."""

import re
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from tampering import Change, error_of, replaced, toy_run
from vfxgb.errors import CapacityError, MessageError, PeerError, TransferError, VfxgbError
from vfxgb.ot import OwnerSession, modp_group
from vfxgb.protocols.ot_shares.messages import (
    OtAnswer,
    OtGradients,
    OtOffer,
    OtReply,
    OtRequest,
    OtSlots,
    OtStart,
    OtSums,
)
from vfxgb.transport.messages import pack_array, pack_bytes

# Each column has a slot of its own.
QUICK = {"group_bits": 768, "insecure": True, "chunk_rows": 25, "setup_rows": 25, "joint_leaves": 1}
EMPTY = pack_bytes(b"")


@pytest.fixture
def tampered(monkeypatch) -> Callable[..., VfxgbError]:
    """tampered(change, at): see tampering.error_of."""

    def run(change: Change, at: str, **params: Any) -> VfxgbError:
        return error_of(monkeypatch, change, at, "ot_shares", {**QUICK, **params})

    return run


def cut(data: memoryview) -> memoryview:
    return data[:-1]


def more(data: memoryview) -> memoryview:
    return pack_bytes(bytes(data) + b"\0")


def spare_bit(data: memoryview) -> memoryview:
    return pack_bytes(bytes(data[:-1]) + bytes([data[-1] | 0x80]))


def flipped(place: int) -> Callable[[memoryview], memoryview]:
    """One bit of a byte turned."""

    def change(data: memoryview) -> memoryview:
        changed = bytearray(data)
        changed[place] ^= 1
        return pack_bytes(bytes(changed))

    return change


def first(**changes: Any) -> Callable[[list[Any]], list[Any]]:
    """A list of structs, the first of them changed; a callable gets the old value."""

    def change(trees: list[Any]) -> list[Any]:
        values = {name: new(getattr(trees[0], name)) if callable(new) else new for name, new in changes.items()}
        return [msgspec.structs.replace(trees[0], **values), *trees[1:]]

    return change


def second_round(message: Any) -> bool:
    return bool(message.round == 1)


def last_block(message: Any) -> bool:
    return bool(message.block == 2)


def other_session(data: memoryview) -> memoryview:
    """The session's tag in the header of a block of transfers."""
    return flipped(28)(data)


def suite(number: int) -> Callable[[memoryview], memoryview]:
    """Base transfers that say of themselves that they are of this suite."""

    def change(data: memoryview) -> memoryview:
        return pack_bytes(bytes(data[:5]) + bytes([number]) + bytes(data[6:]))

    return change


def zeros_from(place: int) -> Callable[[memoryview], memoryview]:
    """An element of zeros at a place."""

    def change(data: memoryview) -> memoryview:
        return pack_bytes(bytes(data[:place]) + bytes(96) + bytes(data[place + 96 :]))

    return change


OTHER_GREETING = OwnerSession("shop", modp_group(1024, insecure=True), 1).greeting


def test_an_honest_run_ends_well() -> None:
    assert toy_run("ot_shares", QUICK).active_share.n_rounds == 2


@pytest.mark.parametrize(
    ("change", "kind", "match"),
    [
        (replaced(OtStart, run=-1), MessageError, "shop setting up: found run -1"),
        (replaced(OtStart, run=1 << 63), MessageError, "wanted a number of 63 bits"),
        (
            replaced(OtStart, transfer_bits=9),
            MessageError,
            "shop setting up: found transfer_bits=9, wanted 1 to 8; both",
        ),
        (replaced(OtStart, transfer_bits=0), MessageError, "found transfer_bits=0, wanted 1 to 8"),
        (replaced(OtStart, lanes=32), MessageError, "found lanes of 32 bits, wanted 64, which follow from .* rows and"),
        (replaced(OtStart, trees=0), MessageError, "found a run of 0 trees, wanted at least 1"),
        (replaced(OtStart, trees=1), MessageError, "found 2 trees, wanted at most the 1 that were announced"),
        (replaced(OtReply, reply=cut), TransferError, "base transfers with bank: found .* bytes, wanted"),
        (replaced(OtReply, reply=zeros_from(11)), TransferError, "bank: element 0 does not lie in the group"),
        (replaced(OtReply, reply=suite(1)), TransferError, "with bank: .* offers transfers in the group alone"),
        (replaced(OtStart, greeting=EMPTY), TransferError, "base transfers with bank: found 0 bytes"),
        (replaced(OtStart, greeting=cut), TransferError, "base transfers with bank: found .* bytes, wanted"),
        (replaced(OtStart, greeting=suite(1)), TransferError, "with bank: .* offers transfers in the group alone"),
        (replaced(OtStart, greeting=zeros_from(43)), TransferError, "bank: element 0 does not lie in the group"),
        (
            replaced(OtStart, greeting=pack_bytes(OTHER_GREETING)),
            TransferError,
            "both parties must use the same group",
        ),
        (replaced(OtAnswer, block=1), MessageError, "shop setting up: found block 1, wanted 0"),
        (replaced(OtAnswer, last_block, block=1), MessageError, "found block 1, wanted 2"),
        (replaced(OtAnswer, answer=cut), TransferError, "transfers with bank: found .* bytes for block 0"),
        (replaced(OtAnswer, answer=EMPTY), TransferError, "found 0 bytes that are no block of transfers"),
        (replaced(OtAnswer, answer=flipped(60)), TransferError, "the digest of block 0 of domain 1 does not match"),
        (replaced(OtAnswer, last_block, answer=flipped(-1)), TransferError, "the digest of block 2 of domain 1"),
        (replaced(OtAnswer, answer=other_session), TransferError, "found a block of session .*, wanted session"),
        (replaced(OtAnswer, answer=flipped(12)), TransferError, "found block 1 of domain 1"),
        (replaced(OtGradients, round=7), MessageError, "reading gradients: found round 7, tree 0 of 2 slots"),
        (replaced(OtGradients, second_round, round=0), MessageError, "found round 0, .* wanted round 1"),
        (replaced(OtGradients, tree=1), MessageError, "found round 0, tree 1 of 2 slots"),
        (replaced(OtGradients, n_slots=1), MessageError, "tree 0 of 1 slots"),
        (replaced(OtGradients, first=25), MessageError, "from row 25 on 25 rows, wanted .* from row 0 on 25 rows"),
        (replaced(OtGradients, count=24), MessageError, "on 24 rows"),
        (
            replaced(OtGradients, second_round, counter=0),
            MessageError,
            "found masks number 0, wanted 1: that number has been used; masks are used once",
        ),
        (replaced(OtGradients, counter=5), MessageError, "found masks number 5, wanted 0: that number is not the next"),
        (replaced(OtGradients, pairs=cut), MessageError, "bytes, wanted .* for 50 pairs of 38 [+] 35 bits"),
        (replaced(OtGradients, pairs=more), MessageError, "for 50 pairs"),
        (replaced(OtGradients, lambda m: m.first == 50, pairs=spare_bit), MessageError, "bits beyond the last pair"),
    ],
)
def test_a_passive_party_refuses(change, kind, match, tampered) -> None:
    error = tampered(change, "bank")
    assert isinstance(error, kind)
    assert re.search(match, str(error))
    # The active party was told that, in general words, and nothing else.
    assert isinstance(error.__cause__, PeerError)
    assert error.__cause__.kind == kind.__name__
    assert str(error) not in str(error.__cause__)
    assert "stopped the run: shop " in str(error.__cause__)


@pytest.mark.parametrize(
    ("change", "kind", "match"),
    [
        (replaced(OtOffer, n_bins=cut), MessageError, "setting up with shop, bins: found 7 bytes, wanted 8"),
        (replaced(OtOffer, missing=cut), MessageError, "setting up with shop, bins: found 8 bytes, wanted 4"),
        (replaced(OtOffer, missing=pack_bytes(b"\2\0")), MessageError, "a feature without cuts or with more than"),
        (replaced(OtOffer, n_bins=pack_array(np.array([1, 8], np.int32))), MessageError, "a feature without cuts"),
        (replaced(OtOffer, n_bins=pack_array(np.array([1 << 20, 8], np.int32))), MessageError, "more than 65534 bins"),
        (replaced(OtOffer, stored=True), MessageError, "it has kept a set-up that was not named"),
        (replaced(OtOffer, offer=cut), TransferError, "base transfers with shop: found .* bytes, wanted"),
        (replaced(OtOffer, offer=suite(1)), TransferError, "with shop: .* offers transfers in the group alone"),
        (replaced(OtOffer, offer=zeros_from(43)), TransferError, "shop: element 0 does not lie in the group"),
        # Other bins than the trees that are then asked for.
        (
            replaced(OtOffer, n_bins=pack_array(np.array([40, 8], np.int32))),
            TransferError,
            "the parties disagree on the number of rows, leaves or transfers",
        ),
        (replaced(OtRequest, block=1), MessageError, "setting up with shop: found block 1, wanted 0"),
        (replaced(OtRequest, request=cut), TransferError, "transfers with shop: found .* bytes for block 0"),
        (replaced(OtRequest, request=flipped(100)), TransferError, "the digest of block 0 of domain 1 does not match"),
        (replaced(OtRequest, last_block, request=EMPTY), TransferError, "no block of transfers of version 4"),
        (replaced(OtRequest, request=other_session), TransferError, "found a block of session .*, wanted session"),
        (replaced(OtSums, round=3), MessageError, "reading sums of shop: found 1 trees of round 3"),
        (
            replaced(OtSums, second_round, round=0),
            MessageError,
            "found 1 trees of round 0, depth 0, wanted 1 of round 1",
        ),
        (replaced(OtSums, depth=1), MessageError, "depth 1, wanted 1 of round 0, depth 0"),
        (replaced(OtSums, trees=[]), MessageError, "found 0 trees"),
        (
            replaced(OtSums, trees=first(n_candidates=13)),
            MessageError,
            "found 13 candidates in 1 nodes, wanted 14 in 1",
        ),
        (replaced(OtSums, trees=first(n_nodes=2)), MessageError, "in 2 nodes"),
        (replaced(OtSums, trees=first(sums=cut)), MessageError, "reading sums of shop, tree 0: found"),
        (replaced(OtSums, trees=first(sums=more)), MessageError, "reading sums of shop, tree 0: found"),
        (
            replaced(OtSums, trees=first(withheld=pack_bytes(b"\0\0"))),
            MessageError,
            "found sums that are withheld, wanted all 14: columns are not sampled by level or node, and min_bucket",
        ),
        (replaced(OtSums, trees=first(constraint=pack_bytes(b"1"))), MessageError, "found 1 bytes, wanted 0"),
    ],
)
def test_an_active_party_refuses(change, kind, match, tampered) -> None:
    error = tampered(change, "shop")
    assert isinstance(error, kind)
    assert re.search(match, str(error))


@pytest.mark.parametrize(
    ("bits", "match"), [(b"\0", "found 1 bytes, wanted 2"), (b"\0\xff", "found bits beyond the 14 sums")]
)
@pytest.mark.parametrize("settings", [{"colsample_bylevel": 0.9}, {"colsample_bynode": 0.9}, {"min_bucket_rows": 2}])
def test_what_is_withheld_is_checked_where_something_may_be(bits, match, settings, monkeypatch) -> None:
    change = replaced(OtSums, trees=first(withheld=pack_bytes(bits)))
    error = error_of(monkeypatch, change, "shop", "ot_shares", QUICK, **settings)
    assert isinstance(error, MessageError)
    assert re.search(match, str(error))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"round": 1}, "reading the features of shop's trees: found 1 trees of round 1, wanted 1 of round 0"),
        ({"trees": []}, "found 0 trees of round 0"),
        ({"trees": [pack_bytes(b"\4")]}, "tree 0: found a feature beyond the 2 that have cuts"),
        ({"trees": [pack_bytes(b"\1\0")]}, "found 2 bytes, wanted 1"),
    ],
)
def test_slots_of_trees(changes, match, monkeypatch) -> None:
    error = error_of(monkeypatch, replaced(OtSlots, **changes), "shop", "ot_shares", QUICK, colsample_bytree=0.5)
    assert isinstance(error, MessageError)
    assert re.search(match, str(error))


def test_columns_left_out_without_a_word(monkeypatch) -> None:
    change = replaced(OtStart, some_columns=False)
    error = error_of(monkeypatch, change, "bank", "ot_shares", QUICK, colsample_bytree=0.5)
    assert isinstance(error, MessageError)
    assert "found a tree that may not use all 2 columns, wanted all: no column sampling was announced" in str(error)


def test_sums_that_no_rows_have(tampered) -> None:
    """An answer made of other masks opens to anything, most of it beyond what rows can add up to."""

    def noise(data: memoryview) -> memoryview:
        changed = np.random.default_rng(1).integers(0, 256, len(data), dtype=np.uint8)
        changed[-1] = 0
        return pack_array(changed)

    error = tampered(replaced(OtSums, trees=first(sums=noise)), "shop")
    assert isinstance(error, CapacityError)
    assert "reading sums of shop, tree 0: found a sum beyond what 60 rows can have" in str(error)


def test_requests_without_the_proof_that_was_agreed_on(tampered) -> None:
    error = tampered(replaced(OtRequest, request=flipped(2000)), "shop", checked=True)
    assert isinstance(error, TransferError)


def test_other_transfer_bits_than_agreed(tampered) -> None:
    error = tampered(replaced(OtStart, transfer_bits=5), "bank", transfer_bits=4)
    assert isinstance(error, MessageError)
    assert re.search("shop setting up: found transfer_bits=5, wanted 4; both parties must use the same", str(error))
