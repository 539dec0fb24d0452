"""Parameters: hardness against published sets, the table of the README, room for noise, refusals that name a remedy."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.errors import CapacityError, LatticeError
from vfxgb.lattice.params import (
    DELTA_DEVIATIONS,
    MAX_ROWS,
    NARROW,
    WIDE,
    LatticeParams,
    choose_params,
    widths,
)
from vfxgb.lattice.security import core_svp

KYBER = math.log2(3329)
NEW_HOPE = math.log2(12289)
TERNARY = math.sqrt(2 / 3)


@pytest.mark.parametrize(
    ("dimension", "log_q", "noise", "samples", "classical", "quantum"),
    [
        (512, KYBER, math.sqrt(1.5), 768, 118, 107),  # Kyber, round 3, section 5.2
        (768, KYBER, 1.0, 1024, 182, 165),
        (1024, KYBER, 1.0, 1280, 256, 232),
        (512, NEW_HOPE, 2.0, 1024, 112, 101),  # New Hope, round 2, section 4.2
        (1024, NEW_HOPE, 2.0, 2048, 259, 235),
    ],
)
def test_published_sets(dimension: int, log_q: float, noise: float, samples: int, classical: int, quantum: int) -> None:
    hardness = core_svp(dimension, log_q, noise, noise, samples)
    assert abs(hardness.classical - classical) <= 1.1
    assert abs(hardness.quantum - quantum) <= 1.1


@pytest.mark.parametrize(("degree", "log_q", "classical"), [(2048, 54, 98), (4096, 109, 95), (1024, 27, 101)])
def test_the_usual_sets_of_homomorphic_encryption_come_out_below_128(degree: int, log_q: int, classical: int) -> None:
    assert round(core_svp(degree, log_q, 3.2, TERNARY).classical) == pytest.approx(classical, abs=1)


def test_our_rings() -> None:
    assert (round(NARROW.hardness.classical), round(NARROW.hardness.quantum)) == (118, 107)
    assert (round(WIDE.hardness.classical), round(WIDE.hardness.quantum)) == (202, 183)


def test_more_noise_and_dimension_are_harder_and_a_larger_modulus_is_easier() -> None:
    base = core_svp(1024, 27, 4, TERNARY).block_size
    assert core_svp(1024, 27, 8, TERNARY).block_size > base
    assert core_svp(1200, 27, 4, TERNARY).block_size > base
    assert core_svp(1024, 28, 4, TERNARY).block_size < base
    with pytest.raises(ValueError, match="does not cover"):
        core_svp(65536, 20, 1000, TERNARY)


@pytest.mark.parametrize(
    ("rows", "ring", "value_bits", "norm_bits", "column_bits", "node_bytes"),
    [
        (10**4, NARROW, 22, 15.4, 44, 9216),
        (10**5, NARROW, 22, 13.8, 42, 9216),
        (150_000, NARROW, 23, 14.4, 44, 9472),
        (10**6, NARROW, 25, 13.0, 48, 9984),
        (10**7, WIDE, 29, 17.8, 53, 22016),
        (10**8, WIDE, 32, 18.8, 57, 23552),
    ],
)
def test_the_table_of_the_readme(
    rows: int, ring: object, value_bits: int, norm_bits: float, column_bits: int, node_bytes: int
) -> None:
    params = choose_params(rows)
    found = (params.ring, params.value_bits, params.norm_bits, params.column_bits, params.node_bytes())
    assert found == (ring, value_bits, norm_bits, column_bits, node_bytes)


@given(rows=st.integers(1, 2 * 10**8), precision=st.none() | st.floats(0, 8), wide=st.booleans())
def test_whatever_is_chosen_keeps_noise_away(rows: int, precision: float | None, wide: bool) -> None:
    try:
        params = choose_params(rows, precision, "wide" if wide else "auto")
    except CapacityError:
        assert precision is not None
        assert widths(WIDE, rows, math.ceil(math.log2(math.sqrt(32) * rows) + precision)) is None
        return
    assert params.deviations >= DELTA_DEVIATIONS
    assert params.failure_bits > 600
    assert params.comparison_failure_bits > 80
    assert precision is None or params.precision_bits >= precision
    assert 2**params.norm_bits >= params.root_norm
    assert 1 <= params.column_bits <= params.ring.log_q
    assert 1 <= params.node_bits <= params.ring.log_q
    assert not wide or params.ring == WIDE
    # One bit less on the wire would not do for the same norms, or would cost small nodes their precision.
    fewer = LatticeParams(params.ring, rows, params.value_bits, 0, params.column_bits - 1, params.node_bits)
    room = (2.0**params.log_delta / DELTA_DEVIATIONS) ** 2 - fewer.noise_variance(0)
    assert room <= 0 or math.log2(room / fewer.column_variance) / 2 < math.log2(params.root_norm) + 2.1


def test_noise_that_could_reach_the_sums_names_the_largest_precision_that_fits() -> None:
    with pytest.raises(
        CapacityError, match=r"100,000,000 rows with precision_bits=1\d.* that fits is ([\d.]+)$"
    ) as error:
        choose_params(10**8, 12)
    largest = float(str(error.value).rsplit(" ", 1)[1])
    assert choose_params(10**8, largest).precision_bits >= largest
    with pytest.raises(CapacityError):
        choose_params(10**8, largest + 0.2)


def test_bad_input() -> None:
    for rows in (0, MAX_ROWS + 1):
        with pytest.raises(LatticeError, match=rf"found {rows} rows, wanted 1 to {MAX_ROWS}"):
            choose_params(rows)
    for precision in (math.nan, math.inf):
        with pytest.raises(LatticeError, match=f"found precision_bits={precision}, wanted a number"):
            choose_params(10, precision)
    with pytest.raises(LatticeError, match="ring='narrow', wanted one of"):
        choose_params(10, ring="narrow")  # type: ignore[arg-type]


def test_set_up_bytes() -> None:
    params = choose_params(150_000)
    assert 8 * params.setup_bytes(155) / 150_000 / 155 == pytest.approx(44 * (1 + 2048 / 150_000), rel=1e-3)
    assert 8 * choose_params(30_000).setup_bytes(3150) / 30_000 / 3150 < 54
    assert "core-SVP 118 bits classical, 107 quantum" in params.describe()
