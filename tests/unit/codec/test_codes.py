"""What single codes do to a pair: the exact one nothing, the papers' ones something."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.codec.batchcrypt import BatchCryptCode
from vfxgb.codec.exact import ExactCode
from vfxgb.codec.plan import plan_slots
from vfxgb.codec.shift import ShiftCode, choose_alpha_max
from vfxgb.errors import CapacityError


def pairs_of(g, h, step: float) -> np.ndarray:
    return np.rint(np.stack([g, h], axis=1) / step).astype(np.int64)


def test_exact_changes_nothing() -> None:
    code = ExactCode(rows=3, fraction_bits=8)
    pairs = np.array([[-256, 0], [256, 256], [3, 5]])
    assert code.encode(pairs, 0.5) is pairs
    assert code.decode(pairs, None, 0.5) is pairs
    assert not code.counts


@pytest.mark.parametrize("pair", [(257, 0), (-257, 0), (0, 257), (0, -1)])
def test_exact_refuses_what_was_not_planned(pair) -> None:
    with pytest.raises(CapacityError, match=r"magnitudes up to 2\*\*8, and hessians from 0 to 256"):
        ExactCode(rows=1, fraction_bits=8).encode(np.array([pair]), 1.0)


@pytest.mark.parametrize(
    ("rows", "bits", "shift"), [(1, 8, 2), (7, 8, 2), (8, 8, 1), (1000, 40, 2), (5, 1, 2), (5, 0, 2)]
)
def test_exact_slots_hold_the_largest_sums_and_no_more(rows: int, bits: int, shift: int) -> None:
    """Of hessians that are `shift` bits smaller; one whose bound is below 1 is rounded to 0 or 1."""
    code = ExactCode(rows, bits, shift)
    most = max(1, 2**bits // 2**shift)
    assert code.widths.h_bits == (rows * most).bit_length()
    assert code.widths.g_bits == ExactCode(rows, bits).widths.g_bits
    code.encode(np.full((rows, 2), [2**bits, most]), 1.0)
    with pytest.raises(CapacityError, match=f"hessians from 0 to {most}"):
        code.encode(np.array([[0, most + 1]]), 1.0)


def test_exact_refuses_one_row_more() -> None:
    code = ExactCode(rows=5, fraction_bits=4)
    most = np.full((6, 2), 16)
    code.encode(most[:5], 1.0)
    with pytest.raises(CapacityError, match="found 6 rows, wanted at most the 5"):
        code.encode(most, 1.0)


def naive_quantise(v: float, code: ShiftCode) -> int:
    u = min(max(v - code.s, 0.0), code.alpha)
    return round((2**code.r - 1) * u / code.alpha_max)


@given(values=st.lists(st.floats(-30, 30), min_size=1, max_size=20), r=st.integers(4, 40))
def test_shift_quantises_as_the_paper_corrected(values: list[float], r: int) -> None:
    code = ShiftCode(rows=100, r=r, alpha_max=2000.0)
    step = 2.0**-20
    pairs = pairs_of(values, values, step)
    found = code.encode(pairs, step)
    assert found.min() >= 0
    assert found.max() < 2**r
    for (g, _), (quantised, _) in zip(pairs.tolist(), found.tolist(), strict=True):
        assert abs(quantised - naive_quantise(g * step, code)) <= 1


def test_shift_maps_the_end_of_the_range_into_r_bits() -> None:
    """E23: with 2**r instead of 2**r - 1 the largest value would need a bit more."""
    code = ShiftCode(rows=1, s=0.0, alpha=127.0, alpha_max=127.0, r=8)
    assert code.encode(np.array([[127, 500]]), 1.0).tolist() == [[255, 255]]
    assert code.encode(np.array([[-3, 0]]), 1.0).tolist() == [[0, 0]]


def test_shift_comes_back_within_its_resolution() -> None:
    rng = np.random.default_rng(0)
    n, step = 5000, 2.0**-30
    g, h = rng.uniform(-1, 1, n), rng.uniform(0, 0.25, n)
    code = ShiftCode(rows=n)
    assert code.counts
    slots = code.encode(pairs_of(g, h, step), step)
    code.check_total(slots.sum(axis=0))
    for count in (0, 1, 100, n):
        sums = slots[:count].sum(axis=0)[None]
        found = code.decode(sums, np.array([count]), step)[0] * step
        # Equation (17): half a step of the quantisation for each row.
        bound = count * code.resolution / 2 + step
        assert np.abs(found - [g[:count].sum(), h[:count].sum()]).max() <= bound


def test_shift_of_its_own_for_hessians() -> None:
    """With s = -1 for g and 0 for h, and alpha 2, the step is a tenth of that of the paper's numbers."""
    rng = np.random.default_rng(1)
    n, step = 3000, 2.0**-30
    g, h = rng.uniform(-1, 1, n), rng.uniform(0, 0.25, n)
    code = ShiftCode(rows=n, s=-1.0, s_h=0.0, alpha=2.0, alpha_max=choose_alpha_max(n, 2.0))
    assert code.shifts == (-1.0, 0.0)
    assert ShiftCode(rows=n, s=-3.0).shifts == (-3.0, -3.0)
    slots = code.encode(pairs_of(g, h, step), step)
    alone = [ShiftCode(rows=n, s=s, alpha=2.0, alpha_max=code.alpha_max) for s in code.shifts]
    for which, own in enumerate(alone):
        assert np.array_equal(slots[:, which], own.encode(pairs_of(g, h, step), step)[:, which])
    found = code.decode(slots[:700].sum(axis=0)[None], np.array([700]), step)[0] * step
    bound = 700 * code.resolution / 2 + step
    assert np.abs(found - [g[:700].sum(), h[:700].sum()]).max() <= bound
    paper = ShiftCode(rows=n, alpha_max=choose_alpha_max(n, 20.0))
    assert paper.resolution == pytest.approx(10 * code.resolution)


def test_shift_needs_the_count_of_the_bucket() -> None:
    """E27: with the count of all rows a bucket of 100 comes out wrong by n s."""
    n, count, step = 18_300, 100, 2.0**-30
    code = ShiftCode(rows=n)
    slots = code.encode(pairs_of(np.zeros(n), np.zeros(n), step), step)
    sums = slots[:count].sum(axis=0)[None]
    right, wrong = (code.decode(sums, np.array([c]), step)[0, 0] * step for c in (count, n))
    assert abs(right) < 1
    assert wrong == pytest.approx(-182_000, abs=1)


@given(
    st.integers(1, 1 << 22),
    st.floats(1e-3, 1e6),
    st.integers(8, 40),
    st.integers(1, 4),
)
def test_alpha_max_by_14_is_the_least_that_never_sets_all_padding_bits(
    rows: int, alpha: float, r: int, padding: int
) -> None:
    most = (2**padding - 1) * 2**r
    if rows / 2 >= most:
        with pytest.raises(CapacityError, match="rounding alone adds up to"):
            choose_alpha_max(rows, alpha, r, padding)
        return
    chosen = choose_alpha_max(rows, alpha, r, padding)
    assert chosen >= alpha
    code = ShiftCode(rows=rows, s=0.0, alpha=alpha, alpha_max=chosen, r=r, padding=padding)
    largest = code.encode(np.array([[1, 1]]), alpha)[0, 0]
    code.check_padding(np.array([rows * int(largest)]))

    def holds(alpha_max: float) -> bool:
        return rows * ((2**r - 1) * alpha / alpha_max + 0.5) < most

    assert holds(chosen)
    assert chosen == alpha or not holds(chosen * (1 - 1e-9))


def test_alpha_max_of_the_papers_tables() -> None:
    """The paper's 10^6 for 18,300 rows and 10^7 for 91,500 are eight and sixteen times what (14) asks for."""
    assert choose_alpha_max(18_300, 20.0, condition="15") == pytest.approx(366_000)
    assert choose_alpha_max(18_300, 20.0, r=30) == pytest.approx(122_000, rel=1e-5)
    assert choose_alpha_max(91_500, 20.0, r=40) == pytest.approx(610_000, rel=1e-5)
    # (15) leaves the padding bits at zero, but for rounding.
    code = ShiftCode(rows=18_300, s=0.0, alpha_max=choose_alpha_max(18_300, 20.0, condition="15"))
    most = 18_300 * int(code.encode(np.array([[20, 20]]), 1.0)[0, 0])
    assert most < 2**code.r + 18_300 / 2


def test_shift_flags_padding_of_ones_only() -> None:
    code = ShiftCode(rows=100, r=8, padding=2)
    ones = np.array([1])
    code.decode(np.array([[3 * 2**8 - 1, 0]]), ones, 1.0)
    # Exact, and flagged all the same (E25).
    with pytest.raises(CapacityError, match="overflow bits of 1 of 2 sums read 11"):
        code.decode(np.array([[3 * 2**8, 0]]), ones, 1.0)


def overflown(code, slots: np.ndarray, rng: np.random.Generator, trials: int) -> tuple[int, int]:
    """Of random sums that leave their g slot, how many; and how many of these the padding shows.

    Slots are read as the protocol reads them: out of a plaintext, by the lane.
    """
    (lane,) = plan_slots(code.widths, 1, 500, together=True, pack=False).lanes
    width, bound = 64, 1 << code.widths.g_bits
    z = lane.encode([slots], slice(None))
    size = lane.plaintext_bytes
    numbers = [int.from_bytes(z[i : i + size], "little", signed=True) for i in range(0, len(z), size)]
    wrong = shown = 0
    for _ in range(trials):
        rows = np.flatnonzero(rng.random(len(slots)) < rng.uniform(0.05, 1))
        if (slots[rows].sum(axis=0) < bound).all():
            continue
        wrong += 1
        total = sum(numbers[i] for i in rows)
        try:
            found = lane.decode(total.to_bytes(width, "little", signed=True), width, 1)
            code.decode(found[:, ::-1], np.array([len(rows)]), 1.0)
        except CapacityError as error:
            # What remains above the topmost slot shows, too, but the paper's check is the padding.
            shown += "read 11" in str(error)
    return wrong, shown


def test_the_check_for_ones_misses_most_overflows() -> None:
    """E25: of the sums that have left their slots, three of four have padding that says otherwise."""
    rng = np.random.default_rng(1)
    code = ShiftCode(rows=400, s=0.0, alpha=1.0, alpha_max=1.0, r=8, padding=2)
    slots = np.zeros((400, 2), dtype=np.int64)
    # h alone overflows, into g above it: nothing is left above the topmost slot.
    slots[:, 1] = rng.integers(0, 256, 400)
    wrong, shown = overflown(code, slots, rng, 400)
    assert wrong > 300
    assert shown < 0.4 * wrong
    # Whoever encodes sees all of them beforehand.
    with pytest.raises(CapacityError, match="the sum over all rows needs"):
        code.check_total(slots.sum(axis=0))


def slot_of(code: BatchCryptCode, values: list[float]) -> int:
    """The g slot, padding included, of a sum of values, carries into it and all."""
    slots = code.encode(np.array([[v, 0] for v in values], dtype=np.int64), 1.0)
    return int(slots[:, 0].sum())


def test_batchcrypt_carries_with_every_negative_value() -> None:
    """Fig. 2 of papers/004, and E24: -1 - 6 is -7, four negatives read 11, and the fifth wraps."""
    code = BatchCryptCode(rows=100, alpha=63, alpha_max=63.0, r=8, padding=2)
    assert slot_of(code, [-1]) == 0b00_1111_1111
    two = slot_of(code, [-1, -6])
    assert (two >> 8, two & 255) == (0b01, 256 - 7)
    assert code.decode(np.array([[two, 0]]), None, 1.0).tolist() == [[-7, 0]]
    four = slot_of(code, [-1] * 4)
    assert four >> 8 == 0b11
    with pytest.raises(CapacityError, match="read 11"):
        code.decode(np.array([[four, 0]]), None, 1.0)
    five = slot_of(code, [-1] * 5)
    assert (five >> 8) & 3 == 0b00
    assert five >> 10 == 1, "one more in the slot above"


def test_batchcrypt_overflows_where_exact_slots_do_not() -> None:
    """Gradients of logistic loss: nearly every sum over a few rows is wrong or refused."""
    rng = np.random.default_rng(2)
    step = 2.0**-20
    code = BatchCryptCode(rows=200, alpha=1.0, alpha_max=1000.0, r=24)
    pairs = pairs_of(rng.uniform(-1, 1, 200), rng.uniform(0, 0.25, 200), step)
    pairs[:, 1] = 0
    wrong, shown = overflown(code, code.encode(pairs, step), rng, 200)
    assert wrong > 150
    assert shown < 0.5 * wrong


def test_batchcrypt_without_negatives_is_sound() -> None:
    code = BatchCryptCode(rows=50, alpha=1.0, alpha_max=100.0, r=30)
    assert not code.counts
    step = 2.0**-20
    pairs = pairs_of(np.full(50, 0.75), np.full(50, 0.125), step)
    sums = code.encode(pairs, step).sum(axis=0)[None]
    assert np.abs(code.decode(sums, None, step) * step - [37.5, 6.25]).max() < 50 * code.resolution
    code.check_total(sums)
