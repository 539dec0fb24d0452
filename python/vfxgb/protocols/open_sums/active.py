"""The active role of every protocol that opens left sums to the active party.

Such a protocol brings a `SumSource`: how sums get asked for, protected and opened. What happens to opened sums, and how
splits are found in them, is here and is the same for all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import ActiveContext, ActiveLevel, ActiveSteps, ChosenSums, Gradients, Proposals, equations_of
from vfxgb.errors import MessageError
from vfxgb.protocols.open_sums.messages import CandidateCategories, CandidateWeights
from vfxgb.protocols.receive import receive, require
from vfxgb.transport.messages import unpack_array
from vfxgb.tree.category_cells import CategoryCells, read_partitions
from vfxgb.tree.proposal import CentredRule, SumTable
from vfxgb.tree.split_weights import LEAST_WEIGHT, MOST_WEIGHT


@dataclass(frozen=True)
class OpenedTree:
    """Sums of one party for one tree of a level.

    `left`: int64[len(build), c, 2], one row per node to build; `constraint`: int8[c], the monotone direction of each
    candidate, on the first level of a constrained run, else None. `skipped`: how many nodes to build have no sums
    because the party takes no part in them; their rows of `left` are zero.
    """

    left: NDArray[np.int64]
    constraint: NDArray[np.int8] | None
    skipped: int = 0


class SumSource(ActiveSteps, Protocol):
    """How a protocol gets the sums of a passive party's candidates."""

    def receive(self, party: str, level: ActiveLevel) -> Sequence[OpenedTree]:
        """The opened sums of `party`, one entry per tree of the level, shapes checked against it."""


class OpenedSums:
    """An ActiveRole over a SumSource."""

    def __init__(self, context: ActiveContext, source: SumSource) -> None:
        self._context = context
        self._source = source
        self._tables: dict[tuple[str, int], SumTable] = {}
        # (party, tree) -> the weights of the candidates under split_rule='centred'.
        self._weights: dict[tuple[str, int], NDArray[np.uint8]] = {}
        # (party, tree) -> its features that are split by sets of categories.
        self._partitions: dict[tuple[str, int], tuple[CategoryCells, ...]] = {}
        self._level: ActiveLevel | None = None

    def begin_tree(self, gradients: Gradients) -> None:
        """See ActiveRole."""
        self._tables = {}
        self._source.begin_tree(gradients)

    def open_level(self, level: ActiveLevel) -> None:
        """See ActiveRole."""
        self._level = level
        self._source.open_level(level)

    def propose(self, level: ActiveLevel, own: Sequence[Proposals] = ()) -> Mapping[str, Sequence[Proposals]]:  # noqa: ARG002
        """See ActiveRole and HiddenActiveRole: the sums tell all that there is to know."""
        proposals: dict[str, Sequence[Proposals]] = {}
        for party in self._context.channels:
            if level.depth == 0 and party in self._context.partitioned:
                self._read_categories(party, level)
            if level.depth == 0 and self._context.train.rule == "centred":
                self._read_weights(party, level)
            opened = self._source.receive(party, level)
            self._count(party, level, opened)
            if self._context.note is not None:
                for nodes, tree in zip(level.trees, opened, strict=True):
                    self._context.note(f"left-sums:{level.depth}:{party}", level.round, nodes.tree, tree.left)
            with self._context.timings.phase("score"):
                proposals[party] = [
                    self._table(party, nodes.tree, tree, level.depth).propose(nodes, tree.left)
                    for nodes, tree in zip(level.trees, opened, strict=True)
                ]
        return proposals

    def _read_weights(self, party: str, level: ActiveLevel) -> None:
        what = f"reading weights of {party}"
        channel = self._context.channels[party]
        message = receive(self._context, channel, CandidateWeights, what, round=level.round)
        require(what, f"{len(message.trees)} trees", f"{len(level.trees)} trees")
        for nodes, tree in zip(level.trees, message.trees, strict=True):
            weights = unpack_array(tree, np.uint8, (len(tree),), f"{what}, tree {nodes.tree}")
            if len(weights) and not LEAST_WEIGHT <= int(weights.min()) <= int(weights.max()) <= MOST_WEIGHT:
                raise MessageError(
                    f"{what}, tree {nodes.tree}: found weights of {int(weights.min())} to {int(weights.max())}, wanted "
                    f"{LEAST_WEIGHT} to {MOST_WEIGHT}"
                )
            self._weights[party, nodes.tree] = weights

    def _read_categories(self, party: str, level: ActiveLevel) -> None:
        what = f"reading categories of {party}"
        channel = self._context.channels[party]
        message = receive(self._context, channel, CandidateCategories, what, round=level.round)
        require(what, f"{len(message.trees)} trees", f"{len(level.trees)} trees")
        for nodes, tree in zip(level.trees, message.trees, strict=True):
            numbers = unpack_array(tree, np.int64, (len(tree) // 8,), f"{what}, tree {nodes.tree}")
            self._partitions[party, nodes.tree] = read_partitions(numbers, f"{what}, tree {nodes.tree}")

    def _cells(self, party: str, tree: int, n_candidates: int) -> tuple[CategoryCells, ...]:
        """The features of a tree that are split by sets of categories."""
        partitions = self._partitions.get((party, tree), ())
        highest = max((int(place.max(initial=-1)) for p in partitions for place in (p.forward, p.backward)), default=-1)
        if highest >= n_candidates:
            raise MessageError(
                f"opening sums of {party}, tree {tree}: found sum {highest} among those of categories, wanted one of "
                f"the {n_candidates} candidates"
            )
        return partitions

    def _rule(self, party: str, tree: int, n_candidates: int) -> CentredRule | None:
        """How the candidates of a tree are scored; None for by gain."""
        weights = self._weights.get((party, tree))
        if weights is None:
            return None
        if len(weights) != n_candidates:
            raise MessageError(
                f"opening sums of {party}, tree {tree}: found {len(weights)} weights, wanted those of the "
                f"{n_candidates} candidates"
            )
        return CentredRule(weights)

    def chosen(
        self,
        party: str,
        index: int,
        positions: NDArray[np.int64],
        tokens: NDArray[np.int64],
        bits: memoryview,  # noqa: ARG002 - the sums are known already
    ) -> ChosenSums:
        """See ActiveRole."""
        assert self._level is not None  # noqa: S101 - a level was proposed before
        return self._tables[party, self._level.trees[index].tree].chosen(positions, tokens)

    def end_tree(self) -> None:
        """See ActiveRole."""
        self._tables, self._weights, self._partitions = {}, {}, {}
        self._level = None
        self._source.end_tree()

    def close(self) -> None:
        """See ActiveRole."""
        self._source.close()

    def _count(self, party: str, level: ActiveLevel, opened: Sequence[OpenedTree]) -> None:
        """Count the equations that a level's sums are; a node whose sums could not be had gives none."""
        counted = self._context.opened_equations
        for nodes, tree in zip(level.trees, opened, strict=True):
            opened_nodes = len(nodes.build) - tree.skipped
            counted[party] = counted.get(party, 0) + equations_of(opened_nodes, tree.left.shape[1])

    def _table(self, party: str, tree: int, opened: OpenedTree, depth: int) -> SumTable:
        if depth == 0:
            constrained = self._level is not None and any(nodes.bounds is not None for nodes in self._level.trees)
            if constrained != (opened.constraint is not None):
                raise MessageError(
                    f"opening sums of {party}: monotone directions found where none were wanted, or the reverse"
                )
            rule = self._rule(party, tree, opened.left.shape[1])
            cells = self._cells(party, tree, opened.left.shape[1])
            most = self._context.train.max_cat_threshold
            self._tables[party, tree] = SumTable(opened.constraint, self._context.threads, rule, cells, most)
        table = self._tables[party, tree]
        if table.n_candidates not in (None, opened.left.shape[1]):
            raise MessageError(
                f"opening sums of {party}: found {opened.left.shape[1]} candidates, wanted {table.n_candidates} as on "
                "the level before"
            )
        return table
