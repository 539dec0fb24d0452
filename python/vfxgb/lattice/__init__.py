"""Sums over a passive party's encrypted columns, as shares of both parties (README.md has the argument).

holder = ColumnHolder("shop", rows)                    the active party
owner = ColumnOwner("bank", BitColumns(left, weights)) the passive party
seed = holder.accept(owner.offer(holder.open()))       None where both have kept the set-up
owner.accept(seed)
holder.add_zeros(owner.zeros())
for block in owner.blocks():
    holder.add(block)

nodes, shares = holder.sum(Level.of([(rows, weights), ...]))      once per level
y = owner.shares(nodes)
open_sums(shares.x + y, holder.params)                 what the shares add up to; protocols compute on shares instead
"""

from vfxgb.lattice.columns import BitColumns, ColumnSource
from vfxgb.lattice.held_rows import ColumnSetup, HeldRows, LevelSums
from vfxgb.lattice.holder import ColumnHolder, HolderSettings, LevelShares
from vfxgb.lattice.level import Level, LevelNorms, weight_scale
from vfxgb.lattice.messages import (
    LATTICE_MESSAGES,
    LatticeBlock,
    LatticeNodes,
    LatticeOffer,
    LatticeOpen,
    LatticeSeed,
    LatticeZeros,
)
from vfxgb.lattice.opening import open_noise, open_sums
from vfxgb.lattice.owner import ColumnOwner
from vfxgb.lattice.params import LatticeParams, Ring, RingChoice, choose_params
from vfxgb.lattice.security import Hardness, core_svp

__all__ = [
    "LATTICE_MESSAGES",
    "BitColumns",
    "ColumnHolder",
    "ColumnOwner",
    "ColumnSetup",
    "ColumnSource",
    "Hardness",
    "HeldRows",
    "HolderSettings",
    "LatticeBlock",
    "LatticeNodes",
    "LatticeOffer",
    "LatticeOpen",
    "LatticeParams",
    "LatticeSeed",
    "LatticeZeros",
    "Level",
    "LevelNorms",
    "LevelShares",
    "LevelSums",
    "Ring",
    "RingChoice",
    "choose_params",
    "core_svp",
    "open_noise",
    "open_sums",
    "weight_scale",
]
