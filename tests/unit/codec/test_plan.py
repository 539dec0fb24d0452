"""Slot plans: widths, lanes, and that what goes in comes out, against arithmetic on Python integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.codec.exact import ExactCode
from vfxgb.codec.plan import Lane, PairWidths, SlotPlan, plan_slots
from vfxgb.errors import CapacityError
from vfxgb.numeric.fixed_point import fraction_bits


def naive_plaintext(lane: Lane, row: list[tuple[int, int]]) -> int:
    """One row's plaintext: row[k] is (g, h) of output k."""
    z, offset = 0, 0
    for channel, bits in zip(lane.channels, lane.bits, strict=True):
        z += row[channel // 2][channel % 2] << offset
        offset += bits
    return z


def plaintexts(data: bytes, width: int) -> list[int]:
    return [int.from_bytes(data[i : i + width], "little", signed=True) for i in range(0, len(data), width)]


def exact_plan(rows: int, n_outputs: int, capacity: int, together: bool = True, pack: bool = True) -> SlotPlan:
    return plan_slots(ExactCode(rows, fraction_bits(rows)).widths, n_outputs, capacity, together, pack)


@pytest.mark.parametrize(
    ("rows", "fraction", "pair", "at_2048", "at_3072"),
    [(150_000, 34, 105, 19, 29), (2**20, 32, 107, 19, 28), (30_000, 37, 105, 19, 29), (1, 40, 83, 24, 37)],
)
def test_widths(rows: int, fraction: int, pair: int, at_2048: int, at_3072: int) -> None:
    assert fraction_bits(rows) == fraction
    assert ExactCode(rows, fraction).widths.pair_bits == pair
    for capacity, sums in ((2047, at_2048), (3071, at_3072)):
        (lane,) = exact_plan(rows, 1, capacity).lanes
        assert (lane.sums, lane.width, lane.n_pairs) == (sums, pair, 1)


@pytest.mark.parametrize(("outputs", "lanes"), [(1, 1), (3, 1), (19, 1), (20, 2), (38, 2), (39, 3)])
def test_pairs_share_as_few_lanes_as_fit(outputs: int, lanes: int) -> None:
    plan = exact_plan(150_000, outputs, 2047)
    assert len(plan.lanes) == lanes
    # Evenly, so that every lane leaves room for more sums.
    sizes = [lane.n_pairs for lane in plan.lanes]
    assert sum(sizes) == outputs
    assert max(sizes) - min(sizes) <= 1
    assert sorted(channel for lane in plan.lanes for channel in lane.channels) == list(range(2 * outputs))
    for output in range(outputs):
        (number,) = plan.lanes_of(output)
        assert {2 * output, 2 * output + 1} <= set(plan.lanes[number].channels)
        assert plan.pairs_shown(output) == plan.lanes[number].n_pairs


def test_fewer_pairs_in_a_lane_leave_room_for_more_sums() -> None:
    widths = ExactCode(150_000, 34).widths
    for most, sizes, sums in ((None, [10], 1), (10, [10], 1), (4, [4, 3, 3], 4), (1, [1] * 10, 19), (99, [10], 1)):
        lanes = plan_slots(widths, 10, 2047, together=True, most_pairs=most).lanes
        assert [lane.n_pairs for lane in lanes] == sizes
        assert lanes[0].sums == sums


def test_lanes_of_their_own() -> None:
    plan = exact_plan(1000, 3, 2047, together=False)
    assert [lane.channels for lane in plan.lanes] == [(0,), (1,), (2,), (3,), (4,), (5,)]
    assert plan.lanes_of(2) == (4, 5)
    assert plan.pairs_shown(2) == 1
    g, h = plan.lanes[:2]
    # h has no sign of its own, so its plaintexts need a bit more.
    assert (g.sums, h.sums) == (2047 // g.width, 2046 // h.width)


@pytest.mark.parametrize("together", [True, False])
def test_without_packing_one_sum_comes_back(together: bool) -> None:
    assert {lane.sums for lane in exact_plan(1000, 4, 2047, together, pack=False).lanes} == {1}


@pytest.mark.parametrize("together", [True, False])
def test_what_does_not_fit_is_refused(together: bool) -> None:
    widths = ExactCode(1000, 40).widths
    needed = widths.pair_bits if together else widths.h_bits + 1
    assert plan_slots(widths, 1, needed, together).lanes[-1].sums == 1
    with pytest.raises(CapacityError, match="use a larger key, or fewer precision_bits"):
        plan_slots(widths, 1, needed - 1, together)
    narrow = ExactCode(1000, 10).widths
    assert plan_slots(narrow, 1, needed - 1, together)


@given(data=st.data())
def test_sums_of_rows_come_back(data: st.DataObject) -> None:
    """Any rows, all-least and all-most: encode, add as integers, pack as integers, decode."""
    rows = data.draw(st.integers(1, 300))
    n_outputs = data.draw(st.integers(1, 5))
    together = data.draw(st.booleans())
    f = data.draw(st.integers(1, fraction_bits(rows)))
    code = ExactCode(rows, f)
    plan = plan_slots(code.widths, n_outputs, data.draw(st.integers(120, 900)), together, data.draw(st.booleans()))
    top = 1 << f
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    outputs = []
    for _ in range(n_outputs):
        pairs = np.stack([rng.integers(-top, top + 1, rows), rng.integers(0, top + 1, rows)], axis=1)
        kind = data.draw(st.sampled_from(["any", "least", "most", "zero"]))
        if kind != "any":
            pairs[:] = {"least": (-top, 0), "most": (top, top), "zero": (0, 0)}[kind]
        outputs.append(code.encode(pairs, 1.0))
    buckets = [np.arange(rows), np.arange(0), *(np.flatnonzero(rng.random(rows) < 0.4) for _ in range(5))]
    for lane in plan.lanes:
        z = plaintexts(lane.encode(outputs, slice(None)), lane.plaintext_bytes)
        assert z == [naive_plaintext(lane, [tuple(o[i].tolist()) for o in outputs]) for i in range(rows)]
        sums = [sum(z[i] for i in bucket) for bucket in buckets]
        width = 8 * (plan.capacity // 64 + 1)
        packed = []
        for first in range(0, len(sums), lane.sums):
            value = sum(s << (lane.width * j) for j, s in enumerate(sums[first : first + lane.sums]))
            assert -(1 << (plan.capacity - 1)) <= value < 1 << (plan.capacity - 1)
            packed.append(value.to_bytes(width, "little", signed=True))
        assert len(packed) == lane.returned(len(sums))
        found = lane.decode(b"".join(packed), width, len(sums))
        expected = [[int(outputs[c // 2][bucket, c % 2].sum()) for c in lane.channels] for bucket in buckets]
        assert found.tolist() == expected


def test_rows_may_be_chosen() -> None:
    (lane,) = exact_plan(10, 2, 400).lanes
    outputs = [np.arange(20, dtype=np.int64).reshape(10, 2), np.arange(20, 40, dtype=np.int64).reshape(10, 2)]
    every = plaintexts(lane.encode(outputs, slice(None)), lane.plaintext_bytes)
    some = plaintexts(lane.encode(outputs, np.array([1, 4, 9], dtype=np.int32)), lane.plaintext_bytes)
    assert some == [every[1], every[4], every[9]]


def test_more_than_the_slots_hold_is_an_error() -> None:
    lane = Lane((1, 0), (10, 11), (False, True), sums=2)
    most = (1023 << 10) + 1023
    fits = (most << lane.width) + most
    lane.decode(fits.to_bytes(8, "little", signed=True), 8, 2)
    with pytest.raises(CapacityError, match="left its slot"):
        lane.decode((fits + 1).to_bytes(8, "little", signed=True), 8, 2)


def test_spare_bits_are_kept_free() -> None:
    widths = PairWidths(g_bits=32, h_bits=32, g_signed=False, spare=15)
    (lane,) = plan_slots(widths, 1, 3 * 64 + 16, together=True).lanes
    assert (lane.sums, lane.overhead) == (3, 16)
    (lane,) = plan_slots(widths, 1, 3 * 64 + 15, together=True).lanes
    assert lane.sums == 2
    with pytest.raises(CapacityError, match="64 bits and 16 to spare"):
        plan_slots(widths, 1, 79, together=True)
