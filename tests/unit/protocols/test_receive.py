"""How roles refuse messages that are about something else: all of it is compared, and the words name both sides."""

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vfxgb.contract import PassiveLevel, PassiveNodes
from vfxgb.errors import MessageError
from vfxgb.protocols.he.messages import HeTotals, TreeTotals
from vfxgb.protocols.receive import receive, receive_level, require, require_fields
from vfxgb.runtime.timings import Timings
from vfxgb.transport.channel import Channel, memory_channels
from vfxgb.transport.messages import Catalogue

KEY = bytes(range(32))
WHAT = "shop reading totals"


def totals(**changes: Any) -> HeTotals:
    """Totals of tree 0 in round 3, depth 1."""
    fields: dict[str, Any] = {"round": 3, "depth": 1, "key": KEY, "count": 0, "trees": [TreeTotals(tree=0, lanes=[])]}
    return HeTotals(**(fields | changes))


def sent(message: HeTotals) -> tuple[Any, Channel]:
    """A context to wait in, and a channel on which the message has arrived."""
    bank, shop = memory_channels("bank", "shop", Catalogue([HeTotals]), bytes(16))
    bank.send(message)
    return SimpleNamespace(timings=Timings()), shop


def level(*trees: int) -> PassiveLevel:
    """Depth 1 of round 3, with these trees."""
    nodes = np.array([1, 2], dtype=np.int32)
    parents = np.zeros(2, dtype=np.int32)
    build = np.array([0], dtype=np.int64)
    return PassiveLevel(3, 1, [PassiveNodes(tree, nodes, parents, build, None) for tree in trees])


def test_a_message_as_wanted_comes_back_and_the_wait_is_counted() -> None:
    context, channel = sent(totals())
    assert receive(context, channel, HeTotals, WHAT, round=3, depth=1, key=KEY) == totals()
    assert context.timings.seconds["wait"] >= 0.0


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"round": 4}, "found round 4, depth 1, key 0001020304050607, wanted round 3, depth 1, key 0001020304050607"),
        ({"depth": 0}, "found round 3, depth 0"),
        ({"key": b""}, "key , wanted"),
        # The words show the first eight bytes, in which these two keys agree.
        ({"key": KEY[:31] + b"\0"}, "found round 3, depth 1, key 0001020304050607, wanted"),
        ({"key": KEY[:8]}, "found round 3, depth 1, key 0001020304050607, wanted"),
    ],
)
def test_a_field_that_differs_is_refused(changes: dict[str, Any], text: str) -> None:
    context, channel = sent(totals(**changes))
    with pytest.raises(MessageError, match=f"^{WHAT}: .*{text}"):
        receive(context, channel, HeTotals, WHAT, round=3, depth=1, key=KEY)
    with pytest.raises(MessageError, match=WHAT):
        require_fields(totals(**changes), WHAT, round=3, depth=1, key=KEY)


def test_a_message_about_a_level_names_its_trees_in_order() -> None:
    context, channel = sent(totals())
    assert receive_level(context, channel, HeTotals, WHAT, level(0)) == totals()
    for trees in ((), (1,), (0, 1)):
        context, channel = sent(totals())
        with pytest.raises(MessageError, match=r"trees \[0\], wanted round 3, depth 1, trees \["):
            receive_level(context, channel, HeTotals, WHAT, level(*trees))


def test_descriptions_are_compared_as_they_are() -> None:
    require(WHAT, "3 lanes", "3 lanes")
    with pytest.raises(MessageError, match=f"{WHAT}: found 3 lanes, wanted 2 lanes"):
        require(WHAT, "3 lanes", "2 lanes")


def test_the_wait_ends_when_the_message_comes() -> None:
    bank, shop = memory_channels("bank", "shop", Catalogue([HeTotals]), bytes(16))
    context: Any = SimpleNamespace(timings=Timings())
    sender = threading.Timer(0.05, bank.send, [totals()])
    sender.start()
    assert receive(context, shop, HeTotals, WHAT) == totals()
    sender.join()
    assert context.timings.seconds["wait"] > 0.0
