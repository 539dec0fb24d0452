"""Points of ids: on the curve, never on the twist; secrets commute; bad points are refused."""

import gmpy2
import numpy as np
import pytest

from vfxgb.align import make_ids
from vfxgb.align.points import Blinder, id_point
from vfxgb.errors import MessageError

P = 2**255 - 19
# x-coordinates of points of order 1, 2, 4 and 8 on the curve or its twist (RFC 7748's implementations refuse these).
SMALL_ORDER = [
    0,
    1,
    P - 1,
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
]


def curve_value(x: int) -> int:
    return (x * x * x + 486662 * x * x + x) % P


def as_points(*numbers: int) -> np.ndarray:
    return np.frombuffer(b"".join(x.to_bytes(32, "little") for x in numbers), dtype=np.uint8).reshape(-1, 32)


def test_ids_lie_on_the_curve() -> None:
    points = [id_point(row.tobytes()) for row in make_ids(range(200)).digests]
    assert len(set(points)) == 200
    for point in points:
        x = int.from_bytes(point, "little")
        # A square root that squares back, for p = 5 modulo 8.
        y = pow(curve_value(x), (P + 3) // 8, P)
        if y * y % P != curve_value(x):
            y = y * pow(2, (P - 1) // 4, P) % P
        assert y * y % P == curve_value(x)


def test_secrets_commute() -> None:
    digests = make_ids(range(5)).digests
    one, two = Blinder(), Blinder()
    first = two.blind_points(one.blind_ids(digests), "test")
    second = one.blind_points(two.blind_ids(digests), "test")
    assert (first == second).all()
    assert len(np.unique(first, axis=0)) == 5
    assert "secret" not in repr(one).lower()


@pytest.mark.parametrize("x", [*SMALL_ORDER, P, P + 1, 2**255 - 1, 2**256 - 1], ids=lambda x: f"{x % 10**6:d}")
def test_bad_points(x: int) -> None:
    good = Blinder().blind_ids(make_ids(["a"]).digests)
    with pytest.raises(MessageError, match=r"does not lie on Curve25519|small order"):
        Blinder().blind_points(np.concatenate([good, as_points(x)]), "test")


def test_points_of_the_twist() -> None:
    x = next(x for x in range(2, 100) if gmpy2.jacobi(curve_value(x), P) == -1)
    with pytest.raises(MessageError, match="point 0 does not lie on Curve25519"):
        Blinder().blind_points(as_points(x), "test")
