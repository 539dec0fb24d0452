"""Messages of `ldp` and `federboost` that are not what they should be: each refused, with its own error."""

import threading
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from vfxgb.data.table import Table
from vfxgb.errors import MessageError
from vfxgb.params import TrainParams
from vfxgb.protocols.federboost.messages import Buckets, Usable
from vfxgb.protocols.ldp.messages import LdpGradients, LdpPrinted
from vfxgb.train import session
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import Message, encode, pack_array

N = 60
LABELS = {"epsilon": 1.0}
PRINTED = {"epsilon": 1.0, "mechanism": "laplace", "as_printed": True, "insecure": True}


@pytest.fixture
def tampered(monkeypatch) -> Callable[..., str]:
    """tampered(protocol, params, kind, **changes): what a run says in which messages of a kind have other fields.

    A callable gets the old value. Nobody may hang, and no thread may be left.
    """

    def run(protocol: str, params: dict[str, Any], kind: type[Message], **changes: Any) -> str:
        send = Channel.send_encoded

        def sending(self: Channel, message: Message, payload: bytes) -> None:
            if isinstance(message, kind):
                new = {name: to(getattr(message, name)) if callable(to) else to for name, to in changes.items()}
                message = msgspec.structs.replace(message, **new)
                payload = encode(message)
            send(self, message, payload)

        monkeypatch.setattr(Channel, "send_encoded", sending)
        rng = np.random.default_rng(0)
        X = rng.normal(size=(N, 4)).astype(np.float32)
        y = (X[:, 0] + X[:, 2] > 0).astype(np.float64)
        tables = {
            party: Table.read(X[:, 2 * i : 2 * i + 2], names=[f"f{2 * i}", f"f{2 * i + 1}"], party=party)
            for i, party in enumerate(("bank", "shop"))
        }
        train = TrainParams(
            objective="binary:logistic", n_estimators=2, max_depth=3, max_bin=8, n_jobs=1, colsample_bynode=0.8
        )
        before = threading.active_count()
        with pytest.raises(MessageError) as caught:
            session.fit(tables, "bank", y, None, N, train, protocol=protocol, protocol_params=params)
        assert threading.active_count() == before
        return str(caught.value)

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
        ({"n_rows": 59}, "59 rows"),
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
