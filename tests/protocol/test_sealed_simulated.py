"""Whole runs of `sealed` on toy sizes: what either party receives, next to what a simulator makes of its output alone.

The simulator of both parties draws every field of bytes uniform, of the size that it has; the READMEs of the parts and
of the protocol say why. Two statistics must not tell it from the real fields: how often each byte comes, and how often
two runs have the same bit at the same place, with equal labels and with others. Where masks are switched off both runs
have much in common, and the same statistic finds it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from protocol_variants import params_of
from simulated_runs import fit_tables
from vfxgb import _native
from vfxgb.data.table import Table
from vfxgb.lattice.masks import MaskStock
from vfxgb.params import TrainParams
from vfxgb.routing import receiver
from vfxgb.two_party.wire import DIGEST_BYTES, OVERHEAD_BYTES

ROWS = 400
Bytes = NDArray[np.uint8]
# Tag of a message -> its field of bytes, and how much of it says what it is about.
HEADER = OVERHEAD_BYTES - DIGEST_BYTES
TO_PASSIVE = {"lattice-nodes": ("words", 0, 1), "argmax-flight": ("data", HEADER, DIGEST_BYTES + 1)}
TO_PASSIVE["hidden-route"] = ("corrections", 0, 1)
TO_ACTIVE = {"lattice-zeros": ("words", 0, 1), "lattice-block": ("words", 0, 1), "hidden-routed": ("sent", 0, 1)}
TO_ACTIVE["argmax-flight"] = ("data", HEADER, DIGEST_BYTES + 1)
# Beyond so many standard deviations it is no chance: some dozens of comparisons are made.
MOST = 5.0


def received(
    party: str, fields: dict[str, tuple[str, int, int]], y: Any, shown: Any = None, **own: Any
) -> dict[str, Bytes]:
    """The bytes that a party receives in trees of one level.

    A column of the shop follows `shown`, by default the labels; then the shop wins every root.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 4)).astype(np.float32)
    X[:, 2] = (y if shown is None else shown) + 0.3 * X[:, 2]
    tables = {
        "bank": Table.read(X[:, :2], names=["f0", "f1"], party="bank"),
        "shop": Table.read(X[:, 2:], names=["f2", "f3"], party="shop"),
    }
    params = TrainParams(objective="binary:logistic", n_estimators=3, max_depth=1, max_bin=16, n_jobs=1)
    given = {**params_of("sealed"), **own}
    result = fit_tables(tables, "bank", y, None, ROWS, params, protocol="sealed", protocol_params=given, record=True)
    transcript = result.transcript
    assert transcript is not None
    parts: dict[str, list[Bytes]] = {tag: [] for tag in fields}
    for entry in transcript.records[party].messages:
        if not entry.sent and entry.tag in fields:
            name, first, last = fields[entry.tag]
            message = transcript.catalogue.decode(entry.tag, entry.payload, entry.peer)
            data = np.frombuffer(getattr(message, name), dtype=np.uint8)
            parts[entry.tag].append(data[first : max(first, len(data) - last)])
    return {tag: np.concatenate(data) for tag, data in parts.items() if data}


def simulated(view: dict[str, Bytes], seed: int) -> dict[str, Bytes]:
    """The same sizes, and nothing else of the view."""
    rng = np.random.default_rng(seed)
    return {tag: rng.integers(0, 256, len(data), dtype=np.uint8) for tag, data in view.items()}


def unlike(first: Bytes, second: Bytes) -> float:
    """By how many deviations the two differ in how often each byte comes."""
    counts = np.stack([np.bincount(data, minlength=256) for data in (first, second)]).astype(float)
    pooled = counts.sum(axis=0) / counts.sum()
    wanted = counts.sum(axis=1, keepdims=True) * pooled
    used = pooled > 0
    statistic = float(((counts - wanted)[:, used] ** 2 / wanted[:, used]).sum())
    free = int(used.sum()) - 1
    return (statistic - free) / np.sqrt(2.0 * free) if free else 0.0


def alike(first: Bytes, second: Bytes) -> float:
    """By how many deviations more bits are equal, place by place, than in two draws of coins."""
    n = 8 * len(first)
    equal = n - int(np.bitwise_count(first ^ second).sum())
    return float((equal - n / 2) / np.sqrt(n / 4))


def labels(seed: int) -> NDArray[np.float64]:
    """The same number of ones, at other rows."""
    drawn: NDArray[np.float64] = np.random.default_rng(seed).permutation(np.arange(ROWS) < 0.3 * ROWS).astype(float)
    return drawn


@pytest.mark.parametrize(("party", "fields"), [("shop", TO_PASSIVE), ("bank", TO_ACTIVE)])
def test_a_simulator_that_sees_sizes_alone_makes_the_same_view(party: str, fields: Any) -> None:
    first, second, other = (received(party, fields, labels(seed)) for seed in (1, 1, 2))
    assert set(first) == set(fields)
    assert all(len(data) >= 100 for data in first.values())
    for real in (first, second, other):
        for tag, data in simulated(real, 7).items():
            assert unlike(real[tag], data) < MOST, tag
            assert abs(alike(real[tag], data)) < MOST, tag
    for tag, data in first.items():
        # Neither equal nor other labels make two runs alike.
        assert len(data) == len(second[tag]) == len(other[tag])
        assert abs(alike(data, second[tag])) < MOST, tag
        assert abs(alike(data, other[tag])) < MOST, tag


@pytest.fixture
def nodes_unmasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masks of nodes are zeros: every sum stays what it is, and w is the node's integers times known polynomials."""
    real = MaskStock.take

    def take(self: MaskStock, count: int) -> Any:
        return tuple(np.zeros_like(part) for part in real(self, count))

    monkeypatch.setattr(MaskStock, "take", take)


@pytest.fixture
def choices_unmasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random choices are zeros: what is sent are the entries that rows want."""
    real: Callable[..., Any] = _native.routing.choose_bits

    def choose(*given: Any) -> Any:
        _, masks = real(*given)
        zeros = np.zeros_like(given[7])
        corrections, _ = real(*given[:7], zeros, *given[8:])
        return corrections, masks

    patched = type("routing", (), {"choose_bits": staticmethod(choose), "read_bits": _native.routing.read_bits})
    monkeypatch.setattr(receiver, "_native", type("native", (), {"routing": patched}))


def test_nodes_without_masks_are_found(nodes_unmasked: None, tmp_path: Path) -> None:
    """Over one kept set-up equal labels give equal words, and other labels others."""
    first, second, other = (
        received("shop", TO_PASSIVE, labels(seed), labels(1), setup_dir=str(tmp_path))["lattice-nodes"]
        for seed in (1, 1, 2)
    )
    assert np.array_equal(first, second)
    assert alike(first, second) > 10 * MOST
    assert abs(alike(first, other)) < MOST


def test_nodes_with_masks_are_not(tmp_path: Path) -> None:
    first, second = (
        received("shop", TO_PASSIVE, labels(1), setup_dir=str(tmp_path))["lattice-nodes"] for _ in range(2)
    )
    assert abs(alike(first, second)) < MOST


def test_choices_without_masks_are_found(choices_unmasked: None) -> None:
    """At a root every row wants the one split there is."""
    seen = received("shop", TO_PASSIVE, labels(1))["hidden-route"]
    assert unlike(seen, simulated({"": seen}, 7)[""]) > 2 * MOST
    assert alike(seen, received("shop", TO_PASSIVE, labels(2))["hidden-route"]) > MOST
