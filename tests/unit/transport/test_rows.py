"""The digest that guards alignment."""

import numpy as np
import pytest

from vfxgb.errors import AlignmentError
from vfxgb.transport.rows import check_rows, rows_digest


def digest(*parts: object) -> bytes:
    return rows_digest([np.array(part) for part in parts])


def test_digest_depends_on_ids_and_order() -> None:
    ids = ["a", "b", "c"]
    assert digest(ids) == digest(ids[:1], ids[1:])
    assert digest([1, 2, 3]) == rows_digest([np.array([1, 2, 3], dtype=np.int8)])
    different = [
        b"",
        digest(ids),
        digest(ids[::-1]),
        digest([1, 2, 3]),
        digest(["1", "2", "3"]),
        digest([1.0, 2.0, 3.0]),
    ]
    assert len(set(different)) == 6
    # Where one id ends and the next begins is part of it.
    assert digest(["ab", "c"]) != digest(["a", "bc"])
    assert digest([1, 23]) != digest([12, 3])


def test_rows_without_ids_have_no_digest() -> None:
    assert rows_digest(None) == b""


def test_check_rows() -> None:
    own = (3, digest("abc"))
    check_rows("shop", "bank", own, own)
    check_rows("shop", "bank", own, (3, b""))
    check_rows("shop", "bank", (3, b""), own)
    with pytest.raises(AlignmentError, match="shop comparing rows with bank: found 4 rows there and 3 here"):
        check_rows("shop", "bank", own, (4, digest("abc")))
    with pytest.raises(AlignmentError, match="row ids or their order differ"):
        check_rows("shop", "bank", own, (3, digest("acb")))
