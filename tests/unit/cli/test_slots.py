import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.cli.slots import SlotPlan
from vfxgb.errors import CapacityError

BOUND = 2**2000


def test_known_answer_10() -> None:
    """ERRATA section 4, number 10."""
    plan = SlotPlan(rows=2, fraction_bits=8, g_bits=12, h_bits=20)
    z = plan.pack(plan.quantise(np.array([-0.5, 0.25])), plan.quantise(np.array([0.25, 0.1875])))
    assert z == [-134217664, 67108912]
    assert sum(z) == -67108752
    assert plan.unpack(sum(z)) == (-64, 112)


@pytest.mark.parametrize(("rows", "fraction", "total"), [(150_000, 34, 103), (2**20, 32, 105), (1, 40, None)])
def test_widths(rows: int, fraction: int, total: int | None) -> None:
    plan = SlotPlan.for_logistic(rows, BOUND)
    assert plan.fraction_bits == fraction
    if total is not None:
        assert plan.g_bits + plan.h_bits == total


@given(rows=st.integers(1, 2**40), data=st.data())
def test_extreme_sums_come_back(rows: int, data: st.DataObject) -> None:
    plan = SlotPlan.for_logistic(rows, BOUND)
    one, quarter = 1 << plan.fraction_bits, 1 << (plan.fraction_bits - 2)
    g = data.draw(st.integers(-rows * one, rows * one))
    h = data.draw(st.integers(0, rows * quarter))
    for pair in ((g, h), (-rows * one, 0), (-rows * one, rows * quarter), (rows * one, rows * quarter)):
        packed = (pair[0] << plan.h_bits) + pair[1]
        assert plan.unpack(packed) == pair
        assert packed.bit_length() < plan.g_bits + plan.h_bits


def test_capacity() -> None:
    plan = SlotPlan.for_logistic(1000, BOUND)
    needed = plan.g_bits + plan.h_bits
    SlotPlan.for_logistic(1000, 2**needed - 1)
    with pytest.raises(CapacityError, match="use a larger key"):
        SlotPlan.for_logistic(1000, 2 ** (needed - 1) - 1)
    with pytest.raises(CapacityError, match="fractional bits"):
        SlotPlan.for_logistic(2**51, BOUND)
