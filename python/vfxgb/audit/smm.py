"""The exchanges of smm1 and smm2, node by node, and the linear algebra that attacks on them share.

Who sent U and got W = A (I - Z Z^T) back, Z being a part of U, can tell which part: W u = 0 for every u in Z, and for
no other (ERRATA 1.4). So each row a of A is known up to Z c with r' unknown numbers c. Vectors are rows here, as on the
wire: U is float64[r, n], W float64[k, n].
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.nodes import NodeSet
from vfxgb.audit.view import AttackerView

Matrix = NDArray[np.float64]

# What counts as zero among numbers of size 1.
ZERO = 1e-7


@dataclass(frozen=True, eq=False)
class Exchange:
    """One node: the vectors that were sent, and the answer, which has no rows where there was none."""

    node: NodeSet
    basis: Matrix
    products: Matrix

    @property
    def n(self) -> int:
        """Rows of the node."""
        return len(self.node.rows)

    def mask(self) -> Matrix:
        """Z^T: those of the sent vectors that hide the answer, float64[r', n]; of nodes with an answer."""
        size = np.linalg.norm(self.products) or 1.0
        vectors: Matrix = self.basis[np.linalg.norm(self.products @ self.basis.T, axis=0) < ZERO * size]
        return vectors

    @property
    def hidden(self) -> float:
        """r'/n: the part of the space that the mask takes up."""
        return len(self.mask()) / self.n


def exchanges(view: AttackerView, peer: str, basis_tag: str, products_tag: str) -> Iterator[Exchange]:
    """All nodes with a basis, in order of growth. An answer that is empty (refused by the protocol) counts as none."""
    bases = _stacks(view, peer, basis_tag, "vectors")
    products = _stacks(view, peer, products_tag, "products")
    for node in view.nodes(peer):
        place = (node.round, node.tree, node.node)
        if place in bases and len(node.rows):
            n = len(node.rows)
            yield Exchange(node, _rows(bases[place], n), _rows(products.get(place, []), n))


def answered(view: AttackerView, peer: str, tags: tuple[str, str], most_rows: float = math.inf) -> list[Exchange]:
    """The nodes of at most so many rows with an answer, in order of growth."""
    return [exchange for exchange in exchanges(view, peer, *tags) if len(exchange.products) and exchange.n <= most_rows]


def by_tree(nodes: Iterable[Exchange]) -> list[list[Exchange]]:
    """The same nodes, tree by tree."""
    trees: dict[tuple[int, int], list[Exchange]] = {}
    for exchange in nodes:
        trees.setdefault((exchange.node.round, exchange.node.tree), []).append(exchange)
    return list(trees.values())


def _stacks(view: AttackerView, peer: str, tag: str, name: str) -> dict[tuple[int, int, int], list[memoryview]]:
    """(round, tree, node) -> the pieces of one array, in order; nothing is copied before it is asked for."""
    parts: dict[tuple[int, int, int], list[memoryview]] = {}
    for message in view.tagged(peer, tag):
        parts.setdefault((message.round, message.tree, message.node), []).append(getattr(message, name))
    return parts


def _rows(pieces: list[memoryview], n: int) -> Matrix:
    return np.frombuffer(b"".join(pieces), dtype="<f8").reshape(-1, n)


@dataclass
class Accumulated:
    """Equations P x = w about the same unknown rows x float64[k, n], from several nodes, added up.

    Each node tells x on its rows up to the span of its mask; what several nodes leave open is only what is in all of
    their spans. `matrix` is the sum of the projectors, `right` of the projected answers.
    """

    rows: NDArray[np.int32]
    matrix: Matrix
    right: Matrix

    @classmethod
    def over(cls, rows: NDArray[np.int32], k: int) -> "Accumulated":
        """No equations yet about k unknown vectors over these rows."""
        n = len(rows)
        return cls(rows, np.zeros((n, n)), np.zeros((k, n)))

    def add(self, rows: NDArray[np.int32], mask: Matrix, products: Matrix) -> None:
        """The answer of one node: x on `rows`, times I - Z Z^T."""
        place = np.searchsorted(self.rows, rows)
        self.matrix[np.ix_(place, place)] += np.eye(len(rows)) - mask.T @ mask
        self.right[:, place] += products

    def solve(self) -> tuple[Matrix, NDArray[np.bool_], Matrix]:
        """The shortest solution float64[k, n], which rows are determined, and the null space float64[d, n]."""
        values, vectors = np.linalg.eigh(self.matrix)
        good = values > ZERO
        inverse = vectors[:, good] / values[good]
        solution = (self.right @ inverse) @ vectors[:, good].T
        null = vectors[:, ~good].T
        known: NDArray[np.bool_] = np.linalg.norm(null, axis=0) < np.sqrt(ZERO)
        return solution, known, null


def in_subtree(top: Exchange, tree: list[Exchange]) -> list[Exchange]:
    """The nodes of a tree, in order of growth, at and below `top`."""
    inside = {top.node.node}
    below = []
    for exchange in tree:
        if exchange.node.node in inside or exchange.node.parent in inside:
            inside.add(exchange.node.node)
            below.append(exchange)
    return below


def best_top(tree: list[Exchange]) -> Exchange:
    """The largest node of a tree among those with others below it, whose equations add up; else the largest."""
    parents = {exchange.node.parent for exchange in tree}
    return max(tree, key=lambda exchange: (exchange.node.node in parents, exchange.n))
