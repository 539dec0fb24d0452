"""Differential privacy: exact mechanisms, and an accountant of what their releases cost (README.md)."""

from vfxgb.dp.accountant import Accountant, Event, Total, budget
from vfxgb.dp.distributed import Column, SharedGaussian, largest_mu, zcdp_epsilon
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
    "Column",
    "Duchi",
    "Event",
    "Gaussian",
    "Hybrid",
    "Laplace",
    "Lattice",
    "Mechanism",
    "Piecewise",
    "RandomisedResponse",
    "SharedGaussian",
    "Total",
    "budget",
    "common_fixed_point",
    "encode",
    "largest_mu",
    "mechanism",
    "zcdp_epsilon",
]
