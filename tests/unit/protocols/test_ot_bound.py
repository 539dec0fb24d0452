"""The bound on guessing masks (cpp/ot/hash.h) in numbers, and the table that the README of ot_shares makes of it."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from vfxgb.errors import CapacityError
from vfxgb.protocols import make_protocol_params, protocol_by_name
from vfxgb.protocols.ot_shares import bound
from vfxgb.protocols.ot_shares.params import DEFAULT_SETUP_ROWS
from vfxgb.protocols.ot_shares.slots import Slots

README = Path(bound.__file__).parent / "README.md"


def slots_of(count: int, leaves: int) -> Slots:
    return Slots(np.full(count, leaves, np.int32), np.zeros(count, np.bool_))


def test_hidden_hashes_are_counted_one_by_one() -> None:
    """Of a tree of D levels D - 1 on the path, and a value a tree of boosting."""
    slots = Slots(np.array([2, 8, 8], np.int32), np.array([False, False, True]))  # 1, 3 and 4 levels
    counted = sum(1 for _ in range(10) for levels in (1, 3, 4) for _ in range(levels - 1 + 7))
    assert bound.hidden_hashes(slots, 10, 7) == counted
    assert bound.work_bits(slots, 10, 7) == pytest.approx(127 - math.log2(counted))
    assert bound.work_bits(slots_of(0, 2), 10, 7) == math.inf


@pytest.mark.parametrize(("count", "leaves", "rows"), [(1, 2, 1), (5, 33, 4096), (50, 64, 4096), (7, 9, 1000)])
def test_the_cap_is_the_last_tree_that_leaves_enough(count: int, leaves: int, rows: int) -> None:
    slots = slots_of(count, leaves)
    most = bound.most_trees(slots, rows)
    assert bound.work_bits(slots, rows, most) >= bound.LEAST_WORK_BITS
    assert bound.work_bits(slots, rows, most + 1) < bound.LEAST_WORK_BITS


def test_rows_of_a_block() -> None:
    spec = protocol_by_name("ot_shares")
    usual, given = make_protocol_params(spec, {}), make_protocol_params(spec, {"setup_rows": 4096})
    few, many = slots_of(5, 32), slots_of(500, 64)
    assert bound.choose_block_rows(usual, few, 10**6, 100, "test") == DEFAULT_SETUP_ROWS
    assert bound.choose_block_rows(usual, few, 1000, 100, "test") == 1000
    allowed = bound.choose_block_rows(usual, many, 10**6, 100, "test")
    assert allowed < DEFAULT_SETUP_ROWS
    assert bound.work_bits(many, allowed, 100) >= 100 > bound.work_bits(many, allowed + 1, 100)
    with pytest.raises(CapacityError, match=f"set setup_rows to at most {allowed:,}, or leave it out"):
        bound.choose_block_rows(given, many, 10**6, 100, "test")
    with pytest.raises(CapacityError, match="train fewer trees"):
        bound.choose_block_rows(usual, many, 10**6, 10**6, "test")


def test_the_table_of_the_readme() -> None:
    """| slots | leaves | trees | 2^bits | most trees |, blocks of 4,096 rows."""
    rows = re.findall(r"^\| ([\d,]+) \| (\d+) \| ([\d,]+) \| 2\^(\d+) \| ([\d,]+) \|$", README.read_text(), re.M)
    assert len(rows) >= 3
    for row in rows:
        count, leaves, trees, bits, most = (int(cell.replace(",", "")) for cell in row)
        slots = slots_of(count, leaves)
        assert math.floor(bound.work_bits(slots, DEFAULT_SETUP_ROWS, trees)) == bits
        assert bound.most_trees(slots, DEFAULT_SETUP_ROWS) == most
