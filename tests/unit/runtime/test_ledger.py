"""The ledger in words."""

import pytest

from vfxgb.runtime.ledger import counted


@pytest.mark.parametrize(
    ("amount", "unit", "text"),
    [
        (1, "numbers", "1 number"),
        (2, "numbers", "2 numbers"),
        (2031, "ids", "2,031 ids"),
        # More words than one may be anything.
        (1, "row memberships", "1 row memberships"),
    ],
)
def test_amounts_as_people_read_them(amount: int, unit: str, text: str) -> None:
    assert counted(amount, unit) == text
