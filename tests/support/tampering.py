"""Runs of two parties, bank and shop, in which one of them sends other messages than it should."""

import threading
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from simulated_runs import fit_tables
from vfxgb.data.table import Table
from vfxgb.errors import VfxgbError
from vfxgb.params import TrainParams
from vfxgb.train import simulate
from vfxgb.transport.channel import Channel, memory_channels
from vfxgb.transport.messages import Message, encode

ROWS = 60
Change = Callable[[Message], Message | None]


def toy_run(
    protocol: str, params: dict[str, Any], parties: tuple[str, ...] = ("bank", "shop"), **settings: Any
) -> simulate.FitResult:
    """A small training; `settings`: training parameters."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 2 * len(parties))).astype(np.float32)
    y = (X[:, 0] + X[:, 2] > 0).astype(np.float64)
    tables = {
        party: Table.read(X[:, 2 * i : 2 * i + 2], names=[f"f{2 * i}", f"f{2 * i + 1}"], party=party)
        for i, party in enumerate(parties)
    }
    usual = {"objective": "binary:logistic", "n_estimators": 2, "max_depth": 3, "max_bin": 8, "n_jobs": 1}
    train = TrainParams(**(usual | settings))
    return fit_tables(tables, "bank", y, None, ROWS, train, protocol=protocol, protocol_params=params)


def replaced(kind: type[Message], when: Callable[[Any], bool] = lambda _: True, **changes: Any) -> Change:
    """Other fields in messages of a kind; a callable gets the old value."""

    def change(message: Message) -> Message | None:
        if not isinstance(message, kind) or not when(message):
            return None
        values = {name: new(getattr(message, name)) if callable(new) else new for name, new in changes.items()}
        return msgspec.structs.replace(message, **values)

    return change


def error_of(
    monkeypatch: pytest.MonkeyPatch, change: Change, at: str, protocol: str, params: dict[str, Any], **settings: Any
) -> VfxgbError:
    """The error of a toy_run in which `at` (a party, or the names of some) sends change(message) for message, if any.

    Nobody may hang, and no thread may be left.
    """

    def channels(active: str, passive: str, *arguments: Any, **named: Any) -> tuple[Channel, Channel]:
        ends = memory_channels(active, passive, *arguments, **named)
        if at != "bank" and passive not in at:
            return ends
        liar = ends[0] if at == "bank" else ends[1]
        send = liar.send_encoded

        def sending(message: Message, payload: bytes) -> None:
            other = change(message)
            send(other or message, encode(other) if other else payload)

        liar.send_encoded = sending  # type: ignore[method-assign]
        return ends

    monkeypatch.setattr(simulate, "memory_channels", channels)
    before = threading.active_count()
    with pytest.raises(VfxgbError) as caught:
        toy_run(protocol, params, **settings)
    assert threading.active_count() == before
    return caught.value
