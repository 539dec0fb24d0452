"""The active party's side of `smm2`: it hides its gradients behind a random part of the received vectors.

Algorithm 3 of FedXGBoost. That this hides next to nothing is in the README.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import ActiveContext, ActiveLevel, Gradients, LevelNodes, Proposals, equations_of
from vfxgb.errors import MessageError, RefusedRootWarning
from vfxgb.protocols.open_sums.active import OpenedTree
from vfxgb.protocols.scored.active import ScoredActive, tree_totals
from vfxgb.protocols.scored.messages import ScoreLevel
from vfxgb.protocols.smm.chunks import Place, read_vectors
from vfxgb.protocols.smm.messages import Smm2Basis, Smm2Products, Smm2Sums
from vfxgb.protocols.smm.small import SmallNodes
from vfxgb.protocols.smm.vectors import Vectors, answerable, draw_basis, orthonormalise, remove
from vfxgb.protocols.smm2.params import Smm2Params
from vfxgb.transport.messages import pack_array

# Subsets that are drawn before a basis counts as one that cannot be answered.
MOST_DRAWS = 40


class Smm2Active(ScoredActive):
    """An ActiveRole."""

    def __init__(self, context: ActiveContext) -> None:
        super().__init__(context)
        self._params: Smm2Params = context.params
        self._gradients: Gradients | None = None
        self._warned: set[str] = set()
        # What is a small node depends on the party, so each has a key of its own.
        self._fallback = {
            party: SmallNodes(replace(context, channels={party: channel}), self._params)
            for party, channel in context.channels.items()
        }

    def _send_round(self, gradients: Gradients) -> None:
        self._gradients = gradients
        for fallback in self._fallback.values():
            fallback.begin_tree(gradients)

    def open_level(self, level: ActiveLevel) -> None:
        """See ActiveRole. Totals wait until it is known in which nodes a party takes part."""
        self._level = level

    def propose(self, level: ActiveLevel) -> Mapping[str, Sequence[Proposals]]:
        """See ActiveRole."""
        for party, channel in self._context.channels.items():
            refused = self._exchange(party, level)
            trees = []
            for nodes, positions in zip(level.trees, refused, strict=True):
                totals = nodes.totals.copy()
                totals[positions] = 0
                trees.append(tree_totals(nodes, totals))
            channel.send(ScoreLevel(round=level.round, depth=level.depth, trees=trees))
        return super().propose(level)

    def _exchange(self, party: str, level: ActiveLevel) -> list[NDArray[np.int64]]:
        """All vectors of a level are read before the first products go out: see smm1/active.py.

        Returns, per tree, the positions of the nodes in which the party takes no part.
        """
        answers: list[tuple[Place, Vectors]] = []
        refused: list[list[int]] = []
        for nodes in level.trees:
            refused.append([])
            for position in nodes.build.tolist():
                place = Place(level.round, level.depth, nodes.tree, int(nodes.nodes[position]))
                products = self._answer(party, place, nodes)
                if products.shape[1] == 0:
                    refused[-1].append(position)
                answers.append((place, products))
        for place, products in answers:
            self._context.channels[party].send(Smm2Products(*place, products=pack_array(products)))
        positions = [np.array(tree, dtype=np.int64) for tree in refused]
        if not self._fallback[party].skipped:
            self._fall_back(party, level, positions)
            return [tree[:0] for tree in positions]
        if level.depth == 0:
            self._warn(party, level, positions)
        return positions

    def _warn(self, party: str, level: ActiveLevel, refused: Sequence[NDArray[np.int64]]) -> None:
        """Once a run and party: a refused root keeps all rows of a tree from the party, and its columns with them."""
        roots = [nodes for nodes, positions in zip(level.trees, refused, strict=True) if len(positions)]
        if not roots or party in self._warned:
            return
        self._warned.add(party)
        params, rows = self._params, int(roots[0].in_memory.counts(roots[0].nodes)[0, 0])
        warnings.warn(
            RefusedRootWarning(
                f"smm2: {party} proposes no split at the root of tree {roots[0].tree} of round {level.round}: found "
                f"{rows} rows there, wanted more than its cuts + l1 + l2 + r = its cuts + "
                f"{params.l1 + params.l2 + params.r}, and every row hidden; use fewer bins, a smaller r, or "
                "small_nodes='batch_he'"
            ),
            stacklevel=2,
        )

    def _answer(self, party: str, place: Place, nodes: LevelNodes) -> Vectors:
        """W_g and W_h of a node, float64[2, n]; float64[2, 0] if its basis is none that may be answered."""
        context, params = self._context, self._params
        assert self._gradients is not None  # noqa: S101 - begin_tree came first
        pairs = self._gradients.arrays[nodes.tree][nodes.in_memory.rows(place.node)]
        what = f"reading vectors of {party}, tree {place.tree}, node {place.node}"
        received = read_vectors(context, context.channels[party], Smm2Basis, place, len(pairs), params.r, what)
        if len(received) not in (0, params.r):
            raise MessageError(f"{what}: found {len(received)} vectors, wanted {params.r}, or 0 for a small node")
        if len(received) == 0:
            return np.empty((2, 0))
        with context.timings.phase("products"):
            # Once, so that a bad set is told from a bad draw.
            if not orthonormalise(received, context.threads):
                raise MessageError(
                    f"{what}: found vectors that are not finite or not independent, wanted an orthonormal set; with "
                    "others the answer would give away the gradients"
                )
            basis = draw_answerable(received, context.threads)
            if basis is None:
                context.timings.count("refused nodes", 1)
                return np.empty((2, 0))
            return masked(pairs.T.astype(np.float64, order="C") * self._gradients.step, basis, context.threads)

    def _fall_back(self, party: str, level: ActiveLevel, small: Sequence[NDArray[np.int64]]) -> None:
        """The sums of small nodes through batch_he, returned to the passive party, which scores."""
        self._fallback[party].open_level(level, small)
        counted = self._context.opened_equations
        for tree, opened in self._fallback[party].receive(party).items():
            counted[party] = counted.get(party, 0) + equations_of(*opened.left.shape[:2])
            self._note_opened(party, level, tree, small, opened)
            self._context.channels[party].send(
                Smm2Sums(round=level.round, depth=level.depth, tree=tree, sums=pack_array(opened.left))
            )

    def _note_opened(
        self, party: str, level: ActiveLevel, tree: int, small: Sequence[NDArray[np.int64]], opened: OpenedTree
    ) -> None:
        """TranscriptSink the sums of small nodes in a recorded run; zero in nodes that were not opened."""
        if self._context.note is None:
            return
        (index,) = (place for place, nodes in enumerate(level.trees) if nodes.tree == tree)
        build = level.trees[index].build
        left = np.zeros((len(build), *opened.left.shape[1:]), dtype=np.int64)
        left[np.searchsorted(build, small[index])] = opened.left
        self._context.note(f"left-sums:{level.depth}:{party}", level.round, tree, left)

    def end_tree(self) -> None:
        """See ActiveRole."""
        super().end_tree()
        self._gradients = None
        for fallback in self._fallback.values():
            fallback.end_tree()

    def close(self) -> None:
        """See ActiveRole."""
        for fallback in self._fallback.values():
            fallback.close()


def draw_answerable(received: Vectors, threads: int) -> Vectors | None:
    """Z^T by algorithm 3: drawn again until it may be answered; None if that cannot be, or is not within MOST_DRAWS.

    A row that lies alone in a cell is zero in every vector: no subset hides its gradient.
    """
    if not answerable(received):
        return None
    for _ in range(MOST_DRAWS):
        basis = draw_basis(received, _native.rand.random_bytes, threads)
        if basis is not None and answerable(basis):
            return basis
    return None


def masked(pairs: Vectors, basis: Vectors, threads: int) -> Vectors:
    """The rows of [g h]^T (I - Z Z^T), float64[2, n], of pairs float64[2, n] and basis Z^T."""
    products = pairs.copy()
    remove(products, basis, threads)
    return products
