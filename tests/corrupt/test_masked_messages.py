"""Messages of `masked` that are not what they should be: each refused, with its own error."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tampering
from tampering import ROWS, replaced, toy_run
from vfxgb.errors import MessageError, PeerError, VfxgbError
from vfxgb.protocols.masked.messages import MaskedAdded, MaskedGradients, MaskedNoise, MaskedStart
from vfxgb.transport.messages import Message, pack_array

GIVEN = {"insecure": True, "sigma1": 1.0, "sigma2": 0.5, "chunk_bytes": 5 * 8 * ROWS}
SETTINGS = {"n_estimators": 1, "max_depth": 2}


def error_of(monkeypatch: pytest.MonkeyPatch, kind: type[Message], at: str, W: int = 1, **changes: Any) -> VfxgbError:
    """The error of a run in which `at` changes fields of messages of a kind; a callable gets the old value."""
    return tampering.error_of(monkeypatch, replaced(kind, **changes), at, "masked", {**GIVEN, "W": W}, **SETTINGS)


def with_value(value: float) -> Callable[[memoryview], memoryview]:
    def change(data: memoryview) -> memoryview:
        numbers = np.frombuffer(data, dtype=np.float64).copy()
        numbers[3] = value
        return pack_array(numbers)

    return change


def test_an_honest_run() -> None:
    assert toy_run("masked", GIVEN, **SETTINGS).active_share.n_rounds == 1


@pytest.mark.parametrize(
    ("kind", "at", "changes", "words"),
    [
        (MaskedStart, "shop", {"round": 5}, "round 5"),
        (MaskedStart, "shop", {"depth": 7}, "depth 7"),
        (MaskedStart, "shop", {"tree": 1}, "tree 1"),
        (MaskedStart, "shop", {"candidates": -1}, "found -1"),
        (MaskedStart, "shop", {"candidates": 4}, "first 0, candidates 5, vector 0, wanted round 0, depth 0, tree 0"),
        (MaskedNoise, "shop", {"round": 3}, "round 3, depth 0, tree 0, first 0, candidates 5"),
        (MaskedNoise, "shop", {"depth": 2}, "round 0, depth 2, tree 0, first 0, candidates 5"),
        (MaskedNoise, "shop", {"tree": 2}, "round 0, depth 0, tree 2, first 0, candidates 5"),
        (MaskedNoise, "shop", {"first": 4}, "round 0, depth 0, tree 0, first 4, candidates 5"),
        (MaskedNoise, "shop", {"first": 0}, "wanted round 0, depth 0, tree 0, first 5, candidates 5"),
        (MaskedNoise, "shop", {"candidates": 6}, "round 0, depth 0, tree 0, first 0, candidates 6"),
        (MaskedNoise, "shop", {"candidates": 0}, "round 0, depth 0, tree 0, first 0, candidates 0"),
        (MaskedNoise, "shop", {"W": 3, "vector": 0}, "depth 0, tree 0, first 0, candidates 1, vector 1"),
        (MaskedNoise, "shop", {"noise": lambda data: data[:-8]}, f"wanted {5 * 8 * ROWS} for shape"),
        (MaskedNoise, "shop", {"noise": lambda data: data[: 8 * ROWS]}, f"wanted {5 * 8 * ROWS} for shape"),
        (MaskedNoise, "shop", {"noise": with_value(np.nan)}, "not finite"),
        (MaskedNoise, "shop", {"noise": with_value(np.inf)}, "not finite"),
        (MaskedAdded, "bank", {"W": 3, "vector": 5}, "vector 5"),
        (MaskedAdded, "bank", {"W": 3, "first": 5}, "round 0, depth 0, tree 0, first 5, candidates 1"),
        (MaskedAdded, "bank", {"W": 3, "candidates": 4}, "round 0, depth 0, tree 0, first 0, candidates 4"),
        (MaskedGradients, "bank", {"round": 1}, "round 1, depth 0, tree 0, first 0, candidates 5"),
        (MaskedGradients, "bank", {"depth": 9}, "round 0, depth 9, tree 0, first 0, candidates 5"),
        (MaskedGradients, "bank", {"tree": 1}, "round 0, depth 0, tree 1, first 0, candidates 5"),
        (MaskedGradients, "bank", {"first": 1}, "wanted round 0, depth 0, tree 0, first 0, candidates 5"),
        (MaskedGradients, "bank", {"candidates": 1}, "round 0, depth 0, tree 0, first 0, candidates 1"),
        (MaskedGradients, "bank", {"values": lambda data: data[8:]}, f"wanted {5 * 16 * ROWS} for shape"),
    ],
)
def test_refused(kind, at, changes, words, monkeypatch) -> None:
    error = error_of(monkeypatch, kind, at, **changes)
    # The session raises the error of whoever found it; the other side was told.
    assert isinstance(error, (MessageError, PeerError))
    assert words in str(error)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e300])
def test_sums_out_of_range(value, monkeypatch) -> None:
    def every(data: memoryview) -> memoryview:
        return pack_array(np.full(len(data) // 8, value))

    assert "not finite or beyond" in str(error_of(monkeypatch, MaskedGradients, "bank", values=every))
