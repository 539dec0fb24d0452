"""What the active party chooses for hidden routing, with and without a line that is known."""

import pytest

from vfxgb.ot import MAX_TRANSFER_BITS
from vfxgb.routing import RoutingSettings
from vfxgb.routing.setup import ROUTING_TRANSFER_BITS


def test_without_a_line() -> None:
    assert RoutingSettings.for_line("soft", None, 2) == RoutingSettings("soft", ROUTING_TRANSFER_BITS, 2)
    assert RoutingSettings() == RoutingSettings("soft", ROUTING_TRANSFER_BITS, None)


@pytest.mark.parametrize("kind", ["soft", "silent"])
def test_a_thin_line_takes_the_fewest_bytes_and_a_thick_one_less_computing(kind: str) -> None:
    thin, thick = (RoutingSettings.for_line(kind, mbit, None) for mbit in (0.1, 1e6))
    assert thin.transfer_bits == MAX_TRANSFER_BITS
    assert thick.transfer_bits < ROUTING_TRANSFER_BITS
    assert thin.kind == thick.kind == kind
