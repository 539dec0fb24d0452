"""Messages of `sealed` that are of another place or size than they should be: each has its own error."""

import re
from typing import Any

import msgspec
import pytest

from protocol_variants import params_of
from tampering import error_of, replaced
from vfxgb.errors import LatticeError, MessageError, TransferError, VfxgbError
from vfxgb.lattice import LatticeBlock, LatticeNodes, LatticeOffer, LatticeOpen
from vfxgb.protocols.sealed.messages import (
    SealedCodes,
    SealedColumns,
    SealedEarlier,
    SealedGreeting,
    SealedOffer,
    SealedPart,
    SealedPieces,
    SealedReply,
    SealedReverse,
    SealedWinners,
    SealedWins,
)
from vfxgb.routing.messages import HiddenRoute, HiddenRouted, TransferStock
from vfxgb.transport.messages import pack_bytes
from vfxgb.two_party.messages import ArgmaxCorrections, ArgmaxFlight, ArgmaxPieces, ArgmaxWinners


def shorter(data: memoryview) -> memoryview:
    return data[:-1]


def flipped(data: memoryview) -> memoryview:
    changed = bytearray(data)
    changed[len(changed) // 2] ^= 1
    return pack_bytes(bytes(changed))


def first_tree(**changes: Any) -> Any:
    def change(trees: Any) -> Any:
        values = {name: new(getattr(trees[0], name)) if callable(new) else new for name, new in changes.items()}
        return [msgspec.structs.replace(trees[0], **values), *trees[1:]]

    return replaced(SealedColumns, trees=change)


FROM_ACTIVE: list[tuple[Any, type[VfxgbError], str]] = [
    (replaced(SealedOffer, offer=shorter), TransferError, "base transfers with bank"),
    (replaced(SealedOffer, transfer_bits=9), MessageError, "found transfers of 9 bits, wanted 1 to 8"),
    (replaced(SealedOffer, flight_bytes=-1), MessageError, "found -1 bytes a flight"),
    (replaced(SealedOffer, place=1), MessageError, "found 1 public keys and place 1"),
    (replaced(SealedOffer, publics=lambda keys: [keys[0][::-1]]), MessageError, "this party's own in its place"),
    (replaced(SealedReverse, request=flipped), TransferError, "bank"),
    (replaced(SealedReverse, ciphertexts=[b"1"]), MessageError, "found 1 keys of others, wanted 0"),
    (replaced(SealedPieces, tables=-1), MessageError, "found Demand.*-1.* wanted at most .* for two rounds"),
    (replaced(SealedPieces, tables=1 << 40), MessageError, "wanted at most .* for two rounds"),
    (
        replaced(SealedPieces, muxes=lambda muxes: 2 * muxes + 1),
        MessageError,
        "wanted at most .* for two rounds",
    ),
    (replaced(SealedPieces, request=shorter), TransferError, "making pieces of an argmax with bank"),
    (replaced(LatticeOpen, rows=61), LatticeError, "the active party has 61 rows, wanted our 60"),
    (replaced(LatticeOpen, precision_bits=2.5), MessageError, "found sums of .* bits, wanted .* as score_bits says"),
    (replaced(LatticeNodes, nodes=3), MessageError, "shop reading nodes: found nodes 3, wanted nodes 1"),
    (replaced(LatticeNodes, level=7), LatticeError, "level 7: wanted level 0"),
    (replaced(LatticeNodes, words=shorter), LatticeError, "bytes of w for 1 nodes"),
    (replaced(ArgmaxFlight, data=flipped), TransferError, "argmax 0 with bank: flight"),
    (replaced(ArgmaxWinners, data=shorter), TransferError, "argmax 0 with bank: flight"),
    (replaced(HiddenRoute, first=8), MessageError, "shop routing rows: found depth 0, first 8"),
    (replaced(HiddenRoute, count=8), MessageError, "shop routing rows: found depth 0, first 0, count 8"),
    (replaced(HiddenRoute, corrections=shorter), TransferError, "bytes of choices, wanted"),
    (replaced(TransferStock, transfers=flipped), TransferError, "transfers with bank"),
    (replaced(TransferStock, batch=7), TransferError, "found batch 7"),
    (replaced(TransferStock, count=0), MessageError, "shop making transfers for routing: found 0 more"),
    (replaced(TransferStock, count=1 << 40), MessageError, "shop making transfers for routing: found 1099511627776"),
]

FROM_PASSIVE: list[tuple[Any, type[VfxgbError], str]] = [
    (replaced(SealedGreeting, greeting=shorter), TransferError, "base transfers with shop"),
    (replaced(SealedReply, reply=shorter), TransferError, "base transfers with shop"),
    (replaced(SealedReply, ciphertexts=[b"1"]), MessageError, "found keys for 1 other passive parties, wanted 0"),
    (replaced(LatticeOffer, columns=0), LatticeError, "found 0 columns"),
    (replaced(LatticeBlock, first=1), LatticeError, "rows arrive once, in order"),
    (replaced(LatticeBlock, words=shorter), LatticeError, "lattice set-up with shop"),
    (replaced(ArgmaxPieces, request=flipped), TransferError, "shop"),
    (replaced(ArgmaxFlight, data=flipped), TransferError, "argmax 0 with shop: flight"),
    (replaced(HiddenRouted, count=8), MessageError, "routing by shop: found"),
    (replaced(HiddenRouted, sent=shorter), TransferError, "bytes of masked bits, wanted"),
]

# Of three parties: shop plays first, and mart, the last, hands out the winners.
AMONG_THREE: list[tuple[Any, str, type[VfxgbError], str]] = [
    (replaced(SealedOffer, when=lambda offer: offer.place == 1, place=0), "bank", MessageError, "own in its place"),
    (
        replaced(SealedReverse, when=lambda sent: len(sent.ciphertexts), ciphertexts=lambda keys: [keys[0][:-1]]),
        "bank",
        MessageError,
        "the key of passive party 0 is none",
    ),
    (replaced(SealedReply, ciphertexts=[]), "shop", MessageError, "keys for 0 other passive parties, wanted 1"),
    (replaced(SealedEarlier, widths=[]), "bank", MessageError, r"found codes of \[\] bits, wanted those of 1 parties"),
    (replaced(SealedEarlier, widths=[65]), "bank", MessageError, r"found codes of \[65\] bits"),
    (replaced(SealedEarlier, shares=shorter), "bank", MessageError, "passive party 0 has not sealed as its message 0"),
    (replaced(SealedPart, rho=shorter), "shop", TransferError, "shop"),
    (replaced(SealedPart, rest=flipped), "shop", MessageError, "passive party 0 has not sealed as its message 0"),
    (replaced(SealedCodes, parties=[]), "mart", MessageError, "found those of 0 parties, wanted 1"),
    (
        replaced(SealedCodes, parties=lambda sealed: [flipped(sealed[0])]),
        "mart",
        MessageError,
        "passive party 1 has not",
    ),
    (replaced(SealedWinners, nodes=2), "bank", MessageError, "shop reading its winners: found nodes 2"),
    (replaced(SealedWinners, share=shorter), "bank", MessageError, "shop reading its winners: found 7 bytes"),
    (
        replaced(SealedWinners, share=lambda share: pack_bytes(bytes([share[0], share[1] ^ 0xFF, *share[2:]]))),
        "bank",
        MessageError,
        "found a winner that is none of",
    ),
    (replaced(SealedWins, nodes=9), "mart", MessageError, "slots that mart has won: found nodes 9"),
    (replaced(SealedWins, bits=pack_bytes(b"12")), "shop", MessageError, "slots that shop has won: found 2 bytes"),
]

PICKS: list[tuple[Any, str]] = [
    (first_tree(tree=1), r"columns of shop: found trees \[1\], wanted \[0\]"),
    (first_tree(used=shorter), "columns of shop: found .* bytes, wanted"),
    (first_tree(withheld=pack_bytes(b"123456789")), "columns of shop: found 9 bytes, wanted"),
]


def said(monkeypatch: Any, change: Any, at: str, **settings: Any) -> VfxgbError:
    return error_of(monkeypatch, change, at, "sealed", params_of("sealed"), n_estimators=1, **settings)


@pytest.mark.parametrize(("change", "kind", "words"), FROM_ACTIVE, ids=[words for _, _, words in FROM_ACTIVE])
def test_what_the_active_party_sends(monkeypatch: pytest.MonkeyPatch, change: Any, kind: Any, words: str) -> None:
    error = said(monkeypatch, change, "bank")
    assert isinstance(error, kind)
    assert re.search(words, str(error)), str(error)


@pytest.mark.parametrize(("change", "kind", "words"), FROM_PASSIVE, ids=[words for _, _, words in FROM_PASSIVE])
def test_what_a_passive_party_sends(monkeypatch: pytest.MonkeyPatch, change: Any, kind: Any, words: str) -> None:
    error = said(monkeypatch, change, "shop")
    assert isinstance(error, kind)
    assert re.search(words, str(error)), str(error)


@pytest.mark.parametrize(
    ("change", "at", "words"),
    [
        (replaced(ArgmaxCorrections, corrections=flipped), "bank", "digest of corrections"),
        (replaced(ArgmaxCorrections, corrections=shorter), "bank", "bytes of corrections, wanted"),
        (replaced(ArgmaxPieces, corrections=flipped), "shop", "digest of corrections"),
    ],
)
def test_corrections(monkeypatch: pytest.MonkeyPatch, change: Any, at: str, words: str) -> None:
    """Numbers of so many bits are compared by ANDs of three bits, which need them."""
    error = said(monkeypatch, change, at, score_bits=29)
    assert isinstance(error, TransferError)
    assert re.search(words, str(error)), str(error)


@pytest.mark.parametrize(
    ("change", "at", "kind", "words"), AMONG_THREE, ids=[f"{at}: {words}" for _, at, _, words in AMONG_THREE]
)
def test_what_passes_between_passive_parties(
    monkeypatch: pytest.MonkeyPatch, change: Any, at: str, kind: Any, words: str
) -> None:
    error = said(monkeypatch, change, at, parties=("bank", "shop", "mart"))
    assert isinstance(error, kind)
    assert re.search(words, str(error)), str(error)


def test_two_parties_that_claim_one_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    claimed = replaced(SealedWins, bits=lambda bits: pack_bytes(b"\xff" * len(bits)))
    error = said(monkeypatch, claimed, "shop and mart", parties=("bank", "shop", "mart"))
    assert isinstance(error, MessageError)
    assert "two passive parties say that they have won the same slot" in str(error)


@pytest.mark.parametrize(("change", "words"), PICKS)
def test_columns_that_take_part(monkeypatch: pytest.MonkeyPatch, change: Any, words: str) -> None:
    error = said(monkeypatch, change, "shop", colsample_bytree=0.5)
    assert isinstance(error, MessageError)
    assert re.search(words, str(error)), str(error)
