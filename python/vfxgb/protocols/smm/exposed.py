"""Rows whose gradient follows from the sums of a node, and the cuts that have to go so that none does.

Who knows M^T g knows c^T g for every c in the span of M's columns. Row i is exposed if its indicator e_i is one of
these: if it is alone in a cell, or if cells of several features differ by it alone. Every vector orthogonal to M is
then zero at i, so that no answer hides it. With B the indicators of the cells that span M and b_i the i-th row of B,
the squared length of e_i's projection on the span is the leverage

    h_i = b_i^T (B^T B)^- b_i,

which is 1 for an exposed row and less for any other. (B^T B)^- b_i, any generalised inverse will do, holds the
coefficients of e_i, so it names the cells that expose it.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.protocols.smm.cells import NodeMatrix, first_cells
from vfxgb.protocols.smm.kernel import basis_cells, independent_columns

# A leverage from here on counts as 1: what hides such a row is next to nothing.
EXPOSED = 1.0 - 1e-7
# Coefficients of e_i that are not rounding.
INVOLVED = 1e-6

Mask = NDArray[np.bool_]


def withheld_cuts(nodes: Sequence[NodeMatrix]) -> Mask:
    """bool[c]: the candidates that have to go for no row of any of the nodes to be exposed; none if no row is.

    The nodes have the same candidates. Where a row is exposed, the smallest of the cells that expose it is merged with
    the smaller of its neighbours, until no row is.
    """
    withheld = np.zeros(len(nodes[0].feature), dtype=np.bool_) if nodes else np.zeros(0, dtype=np.bool_)
    searching = True
    while searching:
        searching = False
        for node in nodes:
            exposing = _exposing(replace(node, shown=node.shown & ~withheld))
            if exposing is not None:
                withheld |= exposing
                searching = True
    return withheld


def exposed_rows(node: NodeMatrix) -> NDArray[np.int64]:
    """The exposed rows of a node, by position, ascending."""
    return _Cells(node).exposed


def _exposing(node: NodeMatrix) -> Mask | None:
    """bool[c]: candidates of one cut for each exposed row; None if there is no such row."""
    cells = _Cells(node)
    if len(cells.exposed) == 0:
        return None
    exposing = np.zeros(len(node.feature), dtype=np.bool_)
    for row in cells.exposed.tolist():
        exposing |= cells.cut_at(row)
    return exposing


class _Cells:
    """The cells between the cuts that a node shows, and which rows they expose."""

    def __init__(self, node: NodeMatrix) -> None:
        self._node = node
        bins, self._widths, apart = node.merged()
        self._first = first_cells(self._widths)
        # The cell of every row in every feature.
        self._at = bins.astype(np.int64) + self._first[:-1, None]
        together = _native.smm.cell_pairs(bins, self._widths, node.threads).astype(np.float64)
        self._sizes = np.diag(together)
        spanning = basis_cells(self._widths, apart)
        self._inverse = np.zeros_like(together)
        self._inverse[np.ix_(spanning, spanning)] = _inverse(together[np.ix_(spanning, spanning)], node.threads)
        self.exposed = np.flatnonzero(self._leverages() > EXPOSED)

    def _leverages(self) -> NDArray[np.float64]:
        leverages = np.zeros(self._node.rows)
        for feature, own in enumerate(self._at):
            leverages += self._inverse[own, own]
            for other in self._at[:feature]:
                leverages += 2.0 * self._inverse[own, other]
        return leverages

    def cut_at(self, row: int) -> Mask:
        """bool[c]: the candidates of a cut next to the smallest of the cells that expose a row and hold it."""
        node, mine = self._node, self._at[:, row]
        weights = self._inverse[mine][:, mine].sum(axis=1)
        involved = np.flatnonzero(np.abs(weights) > INVOLVED)
        feature = int(involved[np.argmin(self._sizes[mine[involved]])])
        own = node.shown & (node.feature == feature)
        cell, width = int(mine[feature] - self._first[feature]), int(self._widths[feature])
        if cell == width:
            # Missing values: no candidate sends them left any more, so that they are part of the last cell.
            apart: Mask = own & node.default_left
            return apart
        cuts = np.unique(node.bin[own])
        sizes = self._sizes[self._first[feature] : self._first[feature] + width]
        left = sizes[cell - 1] if cell > 0 else np.inf
        right = sizes[cell + 1] if cell + 1 < width else np.inf
        cuts_of_row: Mask = own & (node.bin == cuts[cell - 1 if left <= right else cell])
        return cuts_of_row


def _inverse(gram: NDArray[np.float64], threads: int) -> NDArray[np.float64]:
    """Invert the part of B^T B that belongs to independent columns, and leave zeros elsewhere."""
    basis = independent_columns(gram.copy(), threads)
    turned = np.ascontiguousarray(basis.inverse.T)
    inverse = np.zeros_like(gram)
    inverse[np.ix_(basis.chosen, basis.chosen)] = _native.smm.inner_products(turned, turned, threads)
    return inverse / basis.sizes[:, None] / basis.sizes[None, :]
