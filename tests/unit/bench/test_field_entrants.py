"""The entrants: every protocol of ours has its place and level, and SecureBoost's messages train a right model."""

import importlib
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from vfxgb.bench.datasets import generate
from vfxgb.bench.field.axes import LEVEL_NAMES, LINES, SHAPES, level_of
from vfxgb.bench.field.published import SYSTEMS, published
from vfxgb.bench.field.shaper import HOST
from vfxgb.metric import make_metric
from vfxgb.protocols import protocol_by_name, shipped_protocols

BENCH = Path(__file__).resolve().parents[3] / "bench"
ROWS, FEATURES, DEPTH, BINS, TREES = 600, (3, 2), 3, 8, 4


@pytest.fixture(scope="module")
def scripts() -> Iterator[None]:
    sys.path.append(str(BENCH))
    yield
    sys.path.remove(str(BENCH))


@pytest.mark.usefixtures("scripts")
def test_every_protocol_is_there_that_no_attack_breaks() -> None:
    ours = importlib.import_module("field.adapters.vfxgb")
    known = {name for name in shipped_protocols() if protocol_by_name(name).security != "broken"}
    assert {protocol for protocol, _ in ours.PROTOCOLS.values()} == known
    entrants = ours.PEER.entrants()
    assert {name: entrant.level for name, entrant in entrants.items()} == {
        "plain": "clear",
        "sealed": "splits",
        "ot_shares": "sums",
        "batch_he-ou": "sums",
        "batch_he-paillier": "sums",
        "secureboost": "sums",
        "ldp": "noise",
        "federboost": "noise",
    }
    # An exact protocol is compared bit for bit.
    exact = {name for name, (protocol, _) in ours.PROTOCOLS.items() if protocol_by_name(protocol).exact}
    assert {name for name, entrant in entrants.items() if entrant.twin is not None} == exact


def test_a_broken_protocol_protects_nothing() -> None:
    assert {level_of(protocol_by_name(name)) for name in ("masked", "smm1", "smm2")} == {"clear"}


def test_published_numbers_fit_the_axes() -> None:
    shapes, lines = {shape.name for shape in SHAPES}, {line.name for line in LINES}
    for system in SYSTEMS:
        assert system.level is None or system.level in LEVEL_NAMES
        for number in system.numbers:
            assert number.shape is None or number.shape in shapes
            assert number.beside in lines
            assert number.seconds > 0
    assert {system.name.partition(" ")[0] for system, _ in published("50k", "lan")} == {"Squirrel", "Pivot"}
    assert len(list(published(None))) == 2


@pytest.mark.usefixtures("scripts")
def test_trees_of_fedtree_are_heard_in_its_log() -> None:
    """Its log goes on to stderr meanwhile, and what is printed later is nobody's tree."""
    heard = importlib.import_module("field.adapters.fedtree")._log_heard
    reporter = Mock()
    with heard(reporter):
        os.write(sys.stdout.fileno(), b"INFO Training round 0 start\nINFO AUC = 0.98\nINFO Training round 1 st")
        os.write(sys.stdout.fileno(), b"art\nINFO AUC = 0.99\n")
    os.write(sys.stdout.fileno(), b"INFO AUC = 1\n")
    assert reporter.tree.call_count == 2


class Clear:
    """A library without encryption: ciphertexts are the integers."""

    def active(self) -> "Clear":
        return self

    def passive(self, public: bytes) -> "Clear":
        assert public == b"key"
        return self

    def public(self) -> bytes:
        return b"key"

    def encrypt(self, values: Any) -> bytes:
        return bytes(values.tobytes())

    def decrypt(self, sums: bytes) -> Any:
        return np.frombuffer(sums, dtype=np.int64)

    take = decrypt

    def sums(self, ciphertexts: Any, rows: Any, bins: Any, n_bins: int) -> bytes:
        sums = np.zeros((bins.shape[1], n_bins), dtype=np.int64)
        for feature in range(bins.shape[1]):
            np.add.at(sums[feature], bins[:, feature], ciphertexts[rows])
        return sums.tobytes()


class Told:
    """Events of a party, and the moment when both are ready."""

    def __init__(self, barrier: threading.Barrier) -> None:
        self._barrier = barrier
        self.trees: list[dict[str, float]] = []

    def ready(self) -> None:
        self._barrier.wait(60)

    def begin(self) -> None:
        """Nothing to note."""

    def tree(self, **counters: float) -> None:
        self.trees.append(counters)


def free_port() -> int:
    with socket.create_server((HOST, 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


@pytest.mark.usefixtures("scripts")
def test_secureboosts_messages_train_a_right_model(tmp_path: Path) -> None:
    adapter, loop = importlib.import_module("field.adapter"), importlib.import_module("field.loop")
    data = generate(ROWS, FEATURES)
    for party, columns in data.parties.items():
        np.save(tmp_path / f"{party}.npy", data.X[:, columns])
    np.save(tmp_path / "label.npy", data.y)
    ports = {"bank": 0, "shop": free_port()}
    barrier = threading.Barrier(2)
    told = {role: Told(barrier) for role in ("bank", "shop")}
    jobs = {
        role: adapter.Job("loop", role, str(tmp_path), ROWS, FEATURES, DEPTH, BINS, TREES, 1, 0.0, 0.0, ports, ports)
        for role in told
    }
    shop = threading.Thread(target=loop.play, args=(jobs["shop"], told["shop"], Clear()))
    shop.start()
    loop.play(jobs["bank"], told["bank"], Clear())
    shop.join(60)
    assert not shop.is_alive()
    assert len(told["bank"].trees) == TREES
    assert told["bank"].trees[0]["round_trips"] > DEPTH
    xgboost = pytest.importorskip("xgboost")
    pooled = xgboost.XGBClassifier(n_estimators=TREES, max_depth=DEPTH, max_bin=BINS).fit(data.X, data.y)
    auc, margins = make_metric("auc"), np.load(tmp_path / "predictions.npy")
    assert auc(data.y, margins) == pytest.approx(auc(data.y, pooled.predict_proba(data.X)[:, 1]), abs=0.01)


@pytest.mark.usefixtures("scripts")
@pytest.mark.parametrize("name", ["phe", "fate_utils", "heu"])
def test_libraries_below_the_messages_add_up(name: str) -> None:
    """Of those that are installed here: sums of signed integers, through the bytes that would travel."""
    pytest.importorskip(name)
    module = importlib.import_module(f"field.adapters.{name}")
    for library in module.LIBRARIES.values():
        keys = library.active()
        sums = library.passive(keys.public())
        values = np.array([5, -7, 1 << 24, -(1 << 24), 0, 3])
        rows, bins = np.array([0, 1, 2, 3, 5]), np.array([[0, 1], [0, 0], [2, 1], [2, 0], [1, 1]], dtype=np.int8)
        found = keys.decrypt(sums.sums(sums.take(keys.encrypt(values)), rows, bins, 3))
        assert np.asarray(found).tolist() == [-2, 3, 0, -16777223, 16777224, 0]
