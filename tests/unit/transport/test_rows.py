"""The digest that guards alignment."""

import pytest

from vfxgb.errors import AlignmentError
from vfxgb.transport.rows import check_rows, rows_digest


def test_digest_depends_on_ids_and_order() -> None:
    ids = ["a", "b", "c"]
    assert rows_digest(3, ids) == rows_digest(3, list(ids))
    different = [rows_digest(3), rows_digest(3, ids[::-1]), rows_digest(3, [1, 2, 3]), rows_digest(3, ["1", "2", "3"])]
    assert len({rows_digest(3, ids), *different}) == 5
    # Where one id ends and the next begins is part of it.
    assert rows_digest(2, ["ab", "c"]) != rows_digest(2, ["a", "bc"])


def test_ids_must_cover_the_rows() -> None:
    with pytest.raises(AlignmentError, match="found 2 ids for 3 rows"):
        rows_digest(3, ["a", "b"])


def test_check_rows() -> None:
    own = (3, rows_digest(3))
    check_rows("shop", "bank", own, own)
    with pytest.raises(AlignmentError, match="shop comparing rows with bank: found 4 rows there and 3 here"):
        check_rows("shop", "bank", own, (4, rows_digest(4)))
    with pytest.raises(AlignmentError, match="row ids or their order differ"):
        check_rows("shop", "bank", own, (3, rows_digest(3, "abc")))
