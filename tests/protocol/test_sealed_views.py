"""What a passive party receives under `sealed`: the same but for winners, whatever labels and samples are."""

from typing import Any

import numpy as np
import pytest

from protocol_variants import params_of
from simulated_runs import fit_tables
from vfxgb.data.table import Table
from vfxgb.params import TrainParams
from vfxgb.train import simulate
from vfxgb.transport.channel import memory_channels

ROWS = 200
# Messages about splits that have won: there are as many as levels at which the party has won something. How many
# transfers are made ahead follows from how many of those before its own wins have used.
OF_WINNERS = {"won-slots", "place-splits", "hidden-route", "hidden-routed", "transfer-stock"}


def view(monkeypatch: pytest.MonkeyPatch, y: np.ndarray, **changes: Any) -> list[tuple[str, int]]:
    """(message, bytes of its payload) of all that the passive party receives, of a tree of one level."""
    seen: list[tuple[str, int]] = []

    def channels(*given: Any, **named: Any) -> Any:
        def tap(peer: str, sent: bool, tag: str, payload: bytes) -> None:
            if not sent:
                seen.append((tag, len(payload)))

        return memory_channels(*given, **{**named, "taps": (None, tap)})

    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(ROWS, 4)), 1).astype(np.float32)
    tables = {
        party: Table.read(X[:, 2 * i : 2 * i + 2], names=[f"f{2 * i}", f"f{2 * i + 1}"], party=party)
        for i, party in enumerate(("bank", "shop"))
    }
    usual = {"objective": "binary:logistic", "n_estimators": 2, "max_depth": 1, "max_bin": 16, "n_jobs": 1}
    with monkeypatch.context() as patched:
        patched.setattr(simulate, "memory_channels", channels)
        params = TrainParams(**(usual | changes))
        fit_tables(tables, "bank", y, None, ROWS, params, protocol="sealed", protocol_params=params_of("sealed"))
    return [message for message in seen if message[0] not in OF_WINNERS]


def test_a_passive_party_receives_the_same_messages_whatever_the_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    y = (rng.random(ROWS) < 0.3).astype(float)
    calm = view(monkeypatch, y)
    assert {tag for tag, _ in calm} >= {"lattice-nodes", "argmax-flight", "argmax-winners", "sealed-pieces"}
    for _ in range(3):
        assert view(monkeypatch, rng.permutation(y)) == calm


@pytest.mark.parametrize(
    "changes", [{"subsample": 0.3}, {"sampling_method": "goss", "top_rate": 0.2, "other_rate": 0.1}]
)
def test_it_does_not_see_samples(changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    y = (np.random.default_rng(1).random(ROWS) < 0.3).astype(float)
    assert view(monkeypatch, y, **changes) == view(monkeypatch, y)
