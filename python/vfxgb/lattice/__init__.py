"""Sums over a passive party's encrypted columns, as shares of both parties (README.md has the argument)."""

from vfxgb.lattice.params import LatticeParams, Ring, RingChoice, choose_params
from vfxgb.lattice.security import Hardness, core_svp

__all__ = ["Hardness", "LatticeParams", "Ring", "RingChoice", "choose_params", "core_svp"]
