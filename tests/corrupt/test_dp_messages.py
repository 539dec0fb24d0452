"""Messages of `ldp` and `federboost` that are not what they should be: each refused, with its own error."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from tampering import error_of, replaced
from vfxgb.errors import MessageError
from vfxgb.protocols.federboost.messages import Buckets, Usable
from vfxgb.protocols.ldp.messages import LdpGradients, LdpPrinted
from vfxgb.transport.messages import Message, pack_array

N = 60
LABELS = {"epsilon": 1.0}
PRINTED = {"epsilon": 1.0, "mechanism": "laplace", "as_printed": True, "insecure": True}


@pytest.fixture
def tampered(monkeypatch) -> Callable[..., str]:
    """tampered(protocol, params, kind, **changes): what a run says in which messages of a kind have other fields."""

    def run(protocol: str, params: dict[str, Any], kind: type[Message], **changes: Any) -> str:
        liar = "bank" if protocol == "ldp" else "shop"
        error = error_of(monkeypatch, replaced(kind, **changes), liar, protocol, params, colsample_bynode=0.8)
        assert isinstance(error, MessageError)
        return str(error)

    return run


def cut(data: memoryview) -> memoryview:
    return data[:-1]


def longer(data: memoryview) -> memoryview:
    return memoryview(bytes(data) + b"x")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"round": 7}, "found round 7"),
        ({"tree": 1}, "tree 1"),
        ({"n_rows": 59}, "n_rows 59"),
        ({"values": cut}, "bytes"),
        ({"values": lambda data: data[:-16]}, "bytes"),
    ],
)
def test_gradients(tampered, changes, text) -> None:
    said = tampered("ldp", LABELS, LdpGradients, **changes)
    assert "shop reading gradients" in said
    assert text in said


@pytest.mark.parametrize(
    ("changes", "text"),
    [({"round": 7}, "found round 7"), ({"depth": 5}, "depth 5"), ({"tree": 1}, "tree 1"), ({"values": cut}, "bytes")],
)
def test_fresh_gradients(tampered, changes, text) -> None:
    said = tampered("ldp", PRINTED, LdpPrinted, **changes)
    assert "shop reading noisy gradients" in said
    assert text in said


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"feature": 1}, "found feature 1 of 2, wanted feature 0 of 2"),
        ({"n_features": 0}, "wanted feature 0 of 1"),
        ({"n_features": lambda _: -1}, "wanted feature 0 of 1"),
        ({"n_bins": 0}, "found 0 buckets"),
        ({"n_bins": 2**40}, "buckets"),
        ({"constraint": 2}, "direction 2"),
        ({"buckets": cut}, "bytes"),
        ({"buckets": pack_array(np.full(N, 60000, dtype=np.uint16))}, "found bucket 60000"),
    ],
)
def test_buckets(tampered, changes, text) -> None:
    said = tampered("federboost", LABELS, Buckets, **changes)
    assert "of shop" in said
    assert text in said


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"round": 7}, "found round 7"),
        ({"depth": 5}, "depth 5"),
        ({"trees": []}, "trees []"),
        ({"trees": lambda trees: [msgspec.structs.replace(trees[0], features=longer(trees[0].features))]}, "bytes"),
    ],
)
def test_usable_features(tampered, changes, text) -> None:
    said = tampered("federboost", LABELS, Usable, **changes)
    assert "usable features of shop" in said
    assert text in said
