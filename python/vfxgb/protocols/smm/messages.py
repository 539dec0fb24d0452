"""What the two protocols add to the messages of training.

n_node: the sampled rows of the node, ascending. All arrays are float64, little-endian, in units of real gradients. An
array larger than a chunk travels as several messages, `first` being the first row of each.
"""

from vfxgb.transport.messages import BULK_BYTES, Bulk, Message, Reveals


class Smm1Basis(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, for each node to build: rows first, first + 1, ... of U^T, float64[k, n_node].

    `rank`: vectors in all, orthonormal, and orthogonal to the gradients and hessians of the node's rows.
    """

    TAG = "smm1-basis"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals(
        "vectors orthogonal to the gradients: with a few hundred rows, all labels can be computed from them", "vectors"
    )

    round: int
    depth: int
    tree: int
    node: int
    rank: int
    first: int
    vectors: Bulk

    def amount(self) -> int:
        """Count the vectors, with the first message of each node."""
        return self.rank if self.first == 0 else 0


class Smm1Products(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, for each node to build: rows first, first + 1, ... of W = M^T (I - Z Z^T), float64[k, n_node].

    `n_candidates`: rows of W in all, in the secret order of the tree. `constraint`: int8[n_candidates], the monotone
    directions, in the first message about a tree if the run has constraints.
    """

    TAG = "smm1-products"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals(
        "which rows lie left of each candidate split, found by rounding, and the gradient sums left of it", "columns"
    )

    round: int
    depth: int
    tree: int
    node: int
    n_candidates: int
    first: int
    products: Bulk
    constraint: Bulk

    def amount(self) -> int:
        """Count the columns of the splitting matrix, with the first message of each node."""
        return self.n_candidates if self.first == 0 else 0


class Smm2Basis(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, for each node to build: rows first, first + 1, ... of U^T, float64[k, n_node].

    `rank`: vectors in all, orthonormal, and orthogonal to all columns of [M M' Y]; 0 for a node that is too small.
    """

    TAG = "smm2-basis"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals(
        "vectors orthogonal to the splitting matrix: with a hundred rows, most of its columns can be computed from "
        "them",
        "vectors",
    )

    round: int
    depth: int
    tree: int
    node: int
    rank: int
    first: int
    vectors: Bulk

    def amount(self) -> int:
        """Count the vectors, with the first message of each node."""
        return self.rank if self.first == 0 else 0


class Smm2Products(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, for each node to build: W_g and W_h, the rows of [g h]^T (I - Z Z^T), float64[2, n_node].

    Empty where the basis was none that may be answered (rows with fewer than two non-zeros, ERRATA E33).
    """

    TAG = "smm2-products"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals("the gradients of single rows up to a small error: their signs are the labels", "gradient pairs")

    round: int
    depth: int
    tree: int
    node: int
    products: Bulk

    def amount(self) -> int:
        """Count the pairs."""
        return len(self.products) // 16


class Smm2Sums(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: left sums int64[nodes, n_candidates, 2] of the small nodes of a tree, opened by `batch_he`.

    In the order in which the passive party sent them; it scores them as it scores its own.
    """

    TAG = "smm2-sums"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals("gradient sums left of the receiver's candidate splits in small nodes", "sums")

    round: int
    depth: int
    tree: int
    sums: Bulk

    def amount(self) -> int:
        """Count the sums of pairs."""
        return len(self.sums) // 16
