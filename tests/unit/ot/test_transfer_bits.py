"""What transfers cost by k, and the k for a machine and a line."""

import pytest

from vfxgb import _native
from vfxgb.ot import choose_k, measured_aes_speed
from vfxgb.ot.transfer_bits import aes_blocks, pieces

# Blocks a second of a processor with VAES, of one with AES-NI, and of none of both.
WIDE, NARROW, PORTABLE = 1.2e9, 0.45e9, 0.02e9
# A processor so fast that a line which nobody told would be taken for the narrow part.
FAST = 3e9


def test_costs() -> None:
    assert [pieces(k) for k in range(1, 9)] == [128, 64, 43, 32, 26, 22, 19, 16]
    assert [aes_blocks(k) for k in (1, 2, 4, 8)] == [2, 2, 4, 32]
    # Three does not divide 128: 42 pieces of 8 leaves and one of 4.
    assert aes_blocks(3) == (42 * 8 + 4) / 128


@pytest.mark.parametrize(
    ("speed", "mbit", "wanted"),
    [
        (None, None, 6),
        (None, 10, 6),
        (WIDE, None, 6),
        (FAST, None, 6),
        (FAST, 300, 8),
        (WIDE, 100, 8),
        (WIDE, 200, 7),
        (WIDE, 2_000, 4),
        (WIDE, 1e6, 2),
        (NARROW, 10, 8),
        (NARROW, 300, 5),
        (PORTABLE, None, 3),
        (PORTABLE, 1, 8),
    ],
)
def test_choices(speed: float | None, mbit: float | None, wanted: int) -> None:
    """Eight bits where the line is thin, fewer where it is wide or AES slow, never one."""
    assert choose_k(speed, mbit) == wanted


def test_choices_are_monotone() -> None:
    lines = [2.0**power for power in range(-4, 24)]
    for speed in (WIDE, NARROW, PORTABLE):
        chosen = [choose_k(speed, mbit) for mbit in lines]
        assert chosen == sorted(chosen, reverse=True)
        assert chosen[0] == 8
        assert chosen[-1] == 2


def test_the_speed_is_measured_once() -> None:
    assert measured_aes_speed() == measured_aes_speed() > 0
    assert _native.ot.leaf_sum_path() in {"portable", "neon", "aesni", "vaes", "vaes512"}
    assert 2 <= choose_k(measured_aes_speed()) <= 6
