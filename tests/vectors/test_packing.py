"""Known answers of ERRATA section 4: 10 and 11 (packing), 22 (purity)."""

import numpy as np
import pytest

from vfxgb.codec.exact import ExactCode
from vfxgb.codec.plan import PairWidths, plan_slots
from vfxgb.errors import CapacityError
from vfxgb.numeric.fixed_point import FixedPoint
from vfxgb.tree.purity import positive_share

WIDTH = 8


def plaintexts(data: bytes, width: int) -> list[int]:
    return [int.from_bytes(data[i : i + width], "little", signed=True) for i in range(0, len(data), width)]


def test_10_packing() -> None:
    fixed = FixedPoint(bits=8, scale=1.0)
    pairs = fixed.encode_pairs(np.array([-0.5, 0.25]), np.array([0.25, 0.1875]))
    (lane,) = plan_slots(PairWidths(g_bits=12, h_bits=20), 1, 100, together=True).lanes
    z = plaintexts(lane.encode([pairs], slice(None)), lane.plaintext_bytes)
    assert z == [-134217664, 67108912]
    assert sum(z) == -67108752
    decoded = lane.decode(sum(z).to_bytes(WIDTH, "little", signed=True), WIDTH, 1)
    assert dict(zip(lane.channels, decoded[0].tolist(), strict=True)) == {1: 112, 0: -64}


def test_10_packing_encrypted(make_key) -> None:
    key = make_key("paillier")
    (lane,) = plan_slots(PairWidths(g_bits=12, h_bits=20), 1, 32, together=True).lanes
    total = key.encrypt([-134217664, 67108912]).sum()
    (opened,) = key.decrypt(total)
    assert lane.decode(opened.to_bytes(WIDTH, "little", signed=True), WIDTH, 1).tolist() == [[112, -64]]


@pytest.mark.parametrize("n", [1, 2, 7, 1000, 150_000])
@pytest.mark.parametrize("extreme", [(-1, 0), (-1, 1), (1, 1), (1, 0)])
def test_11_extremes_of_all_rows(n: int, extreme: tuple[int, int]) -> None:
    """The widths depend on rows and bits alone, and hold n rows of the largest values, and not one more."""
    f = 20
    code = ExactCode(n, f)
    (lane,) = plan_slots(code.widths, 1, 2047, together=True).lanes
    g, h = (n * (sign << f) for sign in extreme)
    z = (g << code.widths.h_bits) + h
    found = lane.decode(z.to_bytes(264, "little", signed=True), 264, 1)
    assert found.tolist() == [[h, g]]
    with pytest.raises(CapacityError):
        code.encode(np.full((n + 1, 2), 1 << f), 1.0)


def test_22_purity() -> None:
    rate, reg_lambda, n, positives = 0.3, 1.0, 50, 20
    weight = -(n * rate - positives) / (n * rate * (1 - rate) + reg_lambda)
    theta = positive_share(np.array([weight]), np.array([float(n)]), rate, reg_lambda)
    assert theta[0] == pytest.approx(0.4, abs=1e-15)
