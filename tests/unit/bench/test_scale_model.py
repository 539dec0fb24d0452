"""The cost model: it grows where it must, its units fit, and its additions are those that training counts."""

from dataclasses import replace

import numpy as np
import pytest

from vfxgb import _native
from vfxgb.bench.scale.model import (
    KeyCosts,
    Place,
    RowCosts,
    Shape,
    level_additions,
    memory,
    node_additions,
    received_bytes,
    returned,
    seconds_apart,
    seconds_together,
    sent_bytes,
    work,
)
from vfxgb.crypto import PrivateKey

KEY = KeyCosts("ou", 3072, 60e-6, 300e-6, 2e-6, 1.5e-6, 90e-6, 320e-6, 315e-6, 384, 392, 1022)
ROW = RowCosts(60e-9, 1e-9, 12e-9, 7e-9)
SHAPE = Shape(rows=1_000_000, own=10, other=10, bins=32, depth=5)
PLACE = Place(workers=2, cores=1, shards=2)
GIGABIT = 125e6


def tree(shape: Shape = SHAPE, place: Place = PLACE, key: KeyCosts = KEY, line: float = GIGABIT) -> float:
    return seconds_apart(work(shape, key, ROW, place, place), shape, key, place, place, line)


@pytest.mark.parametrize("field", ["rows", "own", "other", "bins", "depth", "passive"])
def test_more_of_anything_takes_more(field: str) -> None:
    larger = replace(SHAPE, **{field: 2 * getattr(SHAPE, field)})
    assert tree(larger, line=1e12) > tree(line=1e12) or field == "passive"
    before, after = (work(shape, KEY, ROW, PLACE, PLACE) for shape in (SHAPE, larger))
    assert seconds_together(after, larger, 2) > seconds_together(before, SHAPE, 2)
    assert sent_bytes(larger, KEY) >= sent_bytes(SHAPE, KEY)


def test_rows_alone_are_linear_where_joint_cells_are_not_in_play() -> None:
    single = Shape(rows=100_000, own=1, other=1, bins=32, depth=5)
    ten = replace(single, rows=1_000_000)
    needed = [work(shape, KEY, ROW, PLACE, PLACE) for shape in (single, ten)]
    for part in ("encrypt", "read", "gradients", "root", "deeper", "split", "once_active"):
        assert getattr(needed[1], part) == pytest.approx(10 * getattr(needed[0], part), rel=0.02), part
    # What answers take depends on nodes only.
    assert (needed[1].answer, needed[1].open) == (needed[0].answer, needed[0].open)


def test_cores_help_until_the_line_is_full() -> None:
    times = [tree(place=Place(workers, 8, 2 * workers)) for workers in (1, 10, 100, 1000)]
    assert times == sorted(times, reverse=True)
    line = SHAPE.rows * KEY.wire_bytes / GIGABIT
    assert times[0] > 2 * line
    assert times[3] >= line
    assert tree(place=Place(1000, 8, 2000), line=10 * GIGABIT) < times[3]
    # Without shards for them, workers have nothing to do.
    assert tree(place=Place(100, 8, 2)) == pytest.approx(tree(place=Place(2, 8, 2)))


def test_the_public_key_costs_more_and_only_encryption() -> None:
    withheld = replace(PLACE, holds_key=False)
    owner, public = (work(SHAPE, KEY, ROW, place, PLACE) for place in (PLACE, withheld))
    assert public.encrypt - owner.encrypt == pytest.approx(SHAPE.rows * (KEY.encrypt_public - KEY.encrypt))
    assert (public.passive, public.open) == (owner.passive, owner.open)


def test_bytes() -> None:
    assert SHAPE.all_nodes == 16
    assert SHAPE.built_rows == 3_000_000
    gradients = (SHAPE.rows + 16) * 384
    assert sent_bytes(SHAPE, KEY) == gradients + 5 * SHAPE.rows / 8
    assert sent_bytes(replace(SHAPE, passive=3), KEY) == 3 * sent_bytes(SHAPE, KEY)
    # A plaintext of 1022 bits holds several sums of about 110 bits.
    assert 16 * 310 / 10 < returned(SHAPE, KEY) < 16 * 310 / 5
    assert received_bytes(SHAPE, KEY) == returned(SHAPE, KEY) * 384


def test_memory_of_a_worker_is_its_share() -> None:
    two, four = (memory(SHAPE, KEY, Place(n, 1, n), Place(n, 1, n)) for n in (2, 4))
    assert four.passive_worker == two.passive_worker / 2
    assert two.passive_worker > SHAPE.rows / 2 * (392 + 10)
    assert two.files == four.files == SHAPE.rows * 384
    wide = memory(replace(SHAPE, bins=256), KEY, PLACE, PLACE)
    assert wide.passive_worker - two.passive_worker == SHAPE.rows / 2 * 10


def test_additions_of_nodes() -> None:
    assert node_additions(0, 10, 32, 1e9) == 0
    assert node_additions(1000, 1, 32, 1e9) == 1000
    # No room for joint cells: one addition per row and feature.
    assert node_additions(1000, 10, 32, 0) == 10_000
    rows = [node_additions(n, 10, 32, n / 4) / n for n in (10**4, 10**5, 10**6, 10**8)]
    assert rows == sorted(rows, reverse=True)
    assert 2 < rows[-1] < rows[0] < 10
    few, many = (sum(level_additions(SHAPE, shards, level) for level in range(5)) for shards in (1, 8))
    assert few < many < 1.5 * few


@pytest.mark.parametrize("rows", [12_000, 60_000])
def test_additions_are_those_of_the_kernel(rows: int, toy: PrivateKey) -> None:
    rng = np.random.default_rng(rows)
    features, bins = 8, 16
    binned = _native.gbdt.Bins(rows, [np.arange(1, bins, dtype=np.float64)] * features)
    for feature in range(features):
        binned.fill(feature, rng.integers(0, bins, rows).astype(np.float32), 0, 1)
    public = toy.public_key.native
    ciphers = _native.crypto.CipherRows(public, rows)
    assert ciphers.fill(0, toy.native.encrypt(np.ones(rows, dtype="<i8").tobytes(), 8, 1).to_wire(1), 1) == -1
    partition, root = _native.gbdt.RowPartition(rows, None), np.zeros(1, dtype=np.int32)
    used = np.arange(features, dtype=np.int32)
    counted = _native.he_sums.cipher_histogram(ciphers, None, binned, partition, root, None, used, True, 1).additions
    assert node_additions(rows, features, bins, max(1024, rows / 4)) == pytest.approx(counted, rel=0.15)
