"""Differential privacy: exact mechanisms, and an accountant of what their releases cost (README.md)."""

from vfxgb.dp.accountant import Accountant, Event, Total, budget
from vfxgb.dp.lattice import GRID_BITS, Lattice, common_fixed_point, encode
from vfxgb.dp.mechanisms import (
    MECHANISMS,
    Duchi,
    Gaussian,
    Hybrid,
    Laplace,
    Mechanism,
    Piecewise,
    mechanism,
)
from vfxgb.dp.response import RandomisedResponse

__all__ = [
    "GRID_BITS",
    "MECHANISMS",
    "Accountant",
    "Duchi",
    "Event",
    "Gaussian",
    "Hybrid",
    "Laplace",
    "Lattice",
    "Mechanism",
    "Piecewise",
    "RandomisedResponse",
    "Total",
    "budget",
    "common_fixed_point",
    "encode",
    "mechanism",
]
