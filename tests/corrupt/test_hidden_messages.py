"""Messages of runs with hidden nodes that are of another place or size than they should be: each has its own error."""

import re
from typing import Any

import msgspec
import numpy as np
import pytest

from tampering import error_of, replaced
from vfxgb.contract.messages import BeginHiddenRound, BeginRound, EndRound, OpenSlots, PlaceSplits, WonSlots
from vfxgb.errors import MessageError
from vfxgb.protocols.plain.messages import PlainLeft, PlainSlot, PlainSums
from vfxgb.transport.messages import Message, pack_array, pack_bytes


def first_tree(kind: type[Message], depth: int = 0, **changes: Any) -> Any:
    """Other fields in the first tree of a message, from `depth` on; a callable gets the old value."""

    def change(trees: Any) -> Any:
        values = {name: new(getattr(trees[0], name)) if callable(new) else new for name, new in changes.items()}
        return [msgspec.structs.replace(trees[0], **values), *trees[1:]]

    return replaced(kind, lambda message: message.depth >= depth, trees=change)


def instead(kind: type[Message], other: Any) -> Any:
    """Another message in the place of one of a kind; `other` makes it."""
    return lambda message: other(message) if isinstance(message, kind) else None


def ints(*values: int, dtype: Any = np.int32) -> Any:
    return pack_array(np.array(values, dtype=dtype))


TOLD: list[tuple[Any, str]] = [
    (replaced(BeginHiddenRound, round=3), "beginning a round: found round 3"),
    (replaced(BeginHiddenRound, features=[]), "with 0 trees, wanted round 0 with 1"),
    (replaced(BeginHiddenRound, features=[pack_bytes(b"12")]), "found 2 bytes"),
    (
        instead(BeginHiddenRound, lambda message: BeginRound(message.round, 60, pack_bytes(b""), message.features)),
        "found message 'begin-round', wanted",
    ),
    (replaced(OpenSlots, round=2), "opening a level: found round 2"),
    (replaced(OpenSlots, depth=1), "found round 0, depth 1, wanted round 0, depth 0"),
    (replaced(OpenSlots, trees=lambda trees: [*trees, *trees]), r"found trees \[0, 0\], wanted them ascending"),
    (first_tree(OpenSlots, tree=1), "found tree 1, wanted 0 to 0"),
    (first_tree(OpenSlots, n_slots=2), "of tree 0: found 2 open nodes, wanted 1 to 1"),
    (first_tree(OpenSlots, n_slots=0), "found 0 open nodes"),
    (first_tree(OpenSlots, depth=1, n_slots=3), "found 3 open nodes, wanted 1 to 2"),
    (first_tree(OpenSlots, allowed=pack_bytes(b"123")), "found 3 bytes"),
    (replaced(PlainSlot, slot=1), r"reading gradients: found round, depth, tree and slot \(0, 0, 0, 1\)"),
    (replaced(PlainSlot, pairs=pack_bytes(b"")), "reading gradients: found 0 bytes"),
    (replaced(WonSlots, depth=5), "choosing splits: found round 0, depth 5"),
    (replaced(WonSlots, trees=[]), r"found trees \[\], wanted some"),
    (first_tree(WonSlots, tree=4), r"of tree 4: found slots \[0\], wanted ascending ones below 0"),
    (first_tree(WonSlots, slots=ints()), "wanted at least 1|bytes, wanted"),
    (first_tree(WonSlots, slots=ints(7)), "wanted ascending ones below"),
    (first_tree(WonSlots, start=ints(0, dtype=np.int64)), "bytes, wanted 16"),
    (first_tree(WonSlots, tokens=ints(10**6, dtype=np.int64)), "token outside|not divided"),
    (instead(PlaceSplits, lambda message: EndRound(message.round, bytes(32))), "splits that won have not been placed"),
    (
        instead(PlaceSplits, lambda message: OpenSlots(message.round, message.depth + 1, [])),
        "opening a level: the splits that won have not been placed",
    ),
    (instead(PlaceSplits, lambda message: WonSlots(message.round, message.depth, [])), "asked twice"),
    (replaced(PlaceSplits, round=1), "placing splits: found round 1|found round 1"),
    (replaced(PlaceSplits, trees=[]), r"placing splits: found trees \[\], wanted \[0\]"),
    (first_tree(PlaceSplits, kept=ints(5)), "wanted ascending ones below"),
    (first_tree(PlaceSplits, kept=ints(1, 0)), "wanted ascending ones below"),
    (first_tree(PlaceSplits, above=ints()), "found 0 bytes"),
    (first_tree(PlaceSplits, above=ints(0)), "found splits below"),
    (first_tree(PlaceSplits, above=lambda above: ints(*[9999] * (len(above) // 4))), "found splits below"),
]


@pytest.mark.parametrize(("change", "match"), TOLD)
def test_a_lying_active_party_is_refused(change, match, monkeypatch) -> None:
    error = error_of(monkeypatch, change, "bank", "plain", {"hide_nodes": True})
    assert isinstance(error, MessageError)
    assert re.search(match, str(error))


ANSWERED: list[tuple[Any, str]] = [
    (replaced(PlainLeft, round=1), r"reading the splits of shop: found round, depth and trees \(1, "),
    (replaced(PlainLeft, trees=[]), "wanted round 0"),
    (first_tree(PlainLeft, tokens=pack_bytes(b"")), "reading the splits of shop, tree 0: found 0 bytes"),
    (first_tree(PlainLeft, tokens=lambda tokens: ints(*[10**6] * (len(tokens) // 8), dtype=np.int64)), "found token"),
    (first_tree(PlainLeft, bits=lambda bits: pack_bytes(bytes(bits) + b"x")), "bits of all rows: found"),
    (first_tree(PlainLeft, bits=lambda bits: pack_bytes(b"\xff" * len(bits))), "a spare bit is set"),
    (first_tree(PlainSums, sums=pack_bytes(b"1")), "reading sums of shop, tree 0: found 1 bytes"),
]


@pytest.mark.parametrize(("change", "match"), ANSWERED)
def test_a_lying_passive_party_is_caught(change, match, monkeypatch) -> None:
    error = error_of(monkeypatch, change, "shop", "plain", {"hide_nodes": True})
    assert isinstance(error, MessageError)
    assert re.search(match, str(error))
