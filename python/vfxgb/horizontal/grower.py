"""Growth of a round's trees at the server (SecBoost and SecFind of FEDXGB, ERRATA E1 to E3).

A level of all trees is one call: the vector holds the sums of every open node, or of the smaller of two siblings, whose
brother's are the parent's minus its own. That is right only if the same users took part in both calls; where they did
not, the brother's sums are asked for in a further call. All sums of a node come from one call, its total with them, and
the weight of a leaf comes from the last call that covered it.

A user that leaves in the middle of a tree cannot be left out of the next level alone: its sums would be the difference
(calls.py). Where it cannot be hidden among others, the trees of the round end at the last level that is complete.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import OpenNodes
from vfxgb.errors import CohortError
from vfxgb.horizontal.calls import Calls
from vfxgb.horizontal.messages import LevelTask, TreeTask
from vfxgb.horizontal.sums import NodeSums
from vfxgb.numeric.fixed_point import FixedPoint
from vfxgb.params import TrainParams
from vfxgb.rows.memory import MemoryRows
from vfxgb.rows.sampling import ColumnSampler
from vfxgb.runtime.timings import Timings
from vfxgb.transport.messages import Bulk, pack_array, pack_bytes, pack_optional
from vfxgb.tree.candidates import CandidateList
from vfxgb.tree.choice import best_by_gain
from vfxgb.tree.columns import pack_bits
from vfxgb.tree.proposal import SumTable
from vfxgb.tree.skeleton import NONE, NodeSplits, TreeSkeleton

# A level whose vector is longer goes into several calls; no node is divided.
MAX_ENTRIES = 1 << 22
SERVER_PARTY = 0
_EMPTY = pack_bytes(b"")

Users = tuple[int, ...]


@dataclass(frozen=True)
class Columns:
    """What is public about the columns: cut points, which miss values, monotone directions (int8, or None)."""

    cuts: Sequence[NDArray[np.float32]]
    has_missing: NDArray[np.bool_]
    constraints: NDArray[np.int8] | None
    bins: _native.gbdt.Bins


class NodeAnswer(NamedTuple):
    """The sums of a node as a call brought them: left of its candidates, and its total; `users` are those in them."""

    left: NDArray[np.int64]
    total: NDArray[np.int64]
    users: Users


@dataclass
class Growing:
    """A tree of the round under way.

    `users` says who is in the sums of each open node of the level before. `answers` are the sums of nodes of the open
    level, by position, as calls bring them; `allowed` says which features these nodes may use, None for all.
    """

    tree: int
    features: NDArray[np.int32]
    skeleton: TreeSkeleton
    candidates: CandidateList
    table: SumTable
    layout: NodeSums
    levels: list[Bulk] = field(default_factory=list)
    users: list[Users] = field(default_factory=list)
    allowed: NDArray[np.bool_] | None = None
    answers: dict[int, NodeAnswer] = field(default_factory=dict)

    def allowed_at(self, positions: Sequence[int]) -> NDArray[np.bool_] | None:
        """Which features these nodes of the open level may use, None for all."""
        return None if self.allowed is None else self.allowed[list(positions)]

    def entries(self, positions: Sequence[int]) -> int:
        """Entries of these nodes of the open level in a vector."""
        return self.layout.entries(len(positions), self.allowed_at(positions))


class Grower:
    """Grows the trees of one round after the other; `records`: (feature, cut, default left) of every split so far.

    `ended_early`: rounds whose trees have fewer levels than they could, because a user had left.
    """

    def __init__(self, params: TrainParams, columns: Columns, calls: Calls, threads: int, timings: Timings) -> None:
        self._params = params
        self._columns = columns
        self._calls = calls
        self._threads = threads
        self._timings = timings
        self._sampler = ColumnSampler(len(columns.cuts), params)
        self._by_node = min(params.colsample_bylevel, params.colsample_bynode) < 1.0
        # Siblings may use different features then, so that neither follows from the other.
        self._asks_all = self._by_node
        self.records: list[tuple[int, float, bool]] = []
        self.ended_early = 0

    def grow(self, round_index: int, n_outputs: int, fixed: FixedPoint) -> list[Growing]:
        """The trees of a round, one per output. A round that fails leaves no records."""
        params = self._params
        rule = self.rule(fixed.step, self._least_weight(params.min_child_weight))
        n_records = len(self.records)
        trees = [self._begin(round_index, tree, rule, fixed.step) for tree in range(n_outputs)]
        try:
            for depth in range(params.max_depth):
                grown = [tree for tree in trees if len(tree.skeleton.nodes)]
                if not grown:
                    break
                self._calls.clock.depth = depth
                self._grow_level(round_index, depth, grown, rule, fixed)
        except CohortError as error:
            if self._calls.clock.depth == 0:
                del self.records[n_records:]
                raise
            # Nothing of the level was used: its nodes stay leaves, whose sums came with the splits above.
            self.ended_early += 1
            for user in sorted(error.missing):
                self._calls.note(user, f"left in {self._calls.clock}; the trees of this round end at this depth")
        except BaseException:
            del self.records[n_records:]
            raise
        return trees

    def rule(self, step: float, min_child_weight: float) -> _native.gbdt.SplitRule:
        """How splits and leaves are weighed."""
        params = self._params
        return _native.gbdt.SplitRule(step, params.reg_lambda, params.reg_alpha, min_child_weight, params.delta_step)

    def _least_weight(self, min_child_weight: float) -> float:
        """The least hessian sum of a child: that of the parameters, where sums are exact."""
        return min_child_weight

    def _begin(self, round_index: int, tree: int, rule: _native.gbdt.SplitRule, step: float) -> Growing:
        columns = self._columns
        features = self._sampler.tree(round_index, tree)
        candidates = CandidateList(
            MemoryRows(columns.bins), columns.has_missing, features, columns.constraints, None, self._threads
        )
        # The root's sums come with the first call.
        skeleton = TreeSkeleton(np.zeros((1, 2), dtype=np.int64), rule, step, columns.constraints is not None)
        layout = NodeSums(candidates.n_bins, candidates.has_missing)
        return Growing(tree, features, skeleton, candidates, SumTable(candidates.constraint, self._threads), layout)

    def _grow_level(
        self, round_index: int, depth: int, trees: list[Growing], rule: _native.gbdt.SplitRule, fixed: FixedPoint
    ) -> None:
        for tree in trees:
            tree.allowed, tree.answers = self._allowed(round_index, depth, tree), {}
        self._collect(round_index, depth, [(tree, self._smaller(tree)) for tree in trees], fixed)
        self._collect(round_index, depth, [(tree, _underivable(tree)) for tree in trees], fixed)
        with self._timings.phase("choose splits"):
            for tree in trees:
                self._split(tree, rule, depth + 1 == self._params.max_depth)

    def _smaller(self, tree: Growing) -> list[int]:
        """Positions of the nodes to ask for: of two siblings that of the smaller hessian sum, the left of equals."""
        m = len(tree.skeleton.nodes)
        if self._asks_all or m == 1:
            return list(range(m))
        hessians = tree.skeleton.totals[:, 1]
        smaller: list[int] = (np.arange(0, m, 2) + (hessians[0::2] > hessians[1::2])).tolist()
        return smaller

    def _collect(
        self, round_index: int, depth: int, wanted: Sequence[tuple[Growing, Sequence[int]]], fixed: FixedPoint
    ) -> None:
        """Ask for the sums of the nodes at these positions, in as few calls as their length allows."""
        exponent = int(np.frexp(fixed.scale)[1]) - 1
        for part in _parts(wanted):
            lengths = [tree.entries(positions) for tree, positions in part]
            task = LevelTask(
                round=round_index,
                depth=depth,
                exponent=exponent,
                bits=fixed.bits,
                n_entries=sum(lengths),
                trees=[_tree_task(tree, positions, len(self._columns.cuts)) for tree, positions in part],
            )
            answer = self._calls.sum(task, needed=depth == 0)
            with self._timings.phase("choose splits"):
                vectors = np.split(answer.sums, np.cumsum(lengths)[:-1])
                for (tree, positions), vector in zip(part, vectors, strict=True):
                    self._read(tree, positions, vector, answer.users)

    def _read(self, tree: Growing, positions: Sequence[int], vector: NDArray[np.int64], users: Users) -> None:
        sums, totals = tree.layout.unpack(vector, len(positions), tree.allowed_at(positions))
        n_bins, has_missing = tree.candidates.n_bins, tree.candidates.has_missing
        left = _native.gbdt.left_sums(sums, np.ascontiguousarray(totals), n_bins, has_missing, None, self._threads)
        for position, node_left, total in zip(positions, left, totals, strict=True):
            tree.answers[position] = NodeAnswer(node_left, total, users)

    def _split(self, tree: Growing, rule: _native.gbdt.SplitRule, last: bool) -> None:
        """Score the open level of a tree from its sums, and apply the best splits."""
        skeleton, answers = tree.skeleton, tree.answers
        m = len(skeleton.nodes)
        build = np.array(sorted(answers), dtype=np.int64)
        sibling = np.full(m, NONE, dtype=np.int64)
        derived = np.setdiff1d(np.arange(m), build)
        sibling[derived] = derived ^ 1
        # Those of a derived node are what is left of its parent's: the skeleton has them.
        totals = skeleton.totals.copy()
        totals[build] = [answers[position].total for position in build.tolist()]
        skeleton.revise(totals)
        level = OpenNodes(
            tree.tree, skeleton.nodes, skeleton.totals, skeleton.bounds, build, sibling, skeleton.parents, rule
        )
        proposals = tree.table.propose(level, np.stack([answers[position].left for position in build.tolist()]))
        gain, winners = best_by_gain({SERVER_PARTY: proposals}, self._params.gamma)
        positions = winners.get(SERVER_PARTY, np.zeros(0, dtype=np.int64))
        tree.users = [answers[position if position in answers else position ^ 1].users for position in range(m)]
        if len(positions) == 0:
            skeleton.split([], gain, last)
            return
        resolved = tree.candidates.resolve(*_native.gbdt.select_tokens(proposals.start, proposals.tokens, positions))
        chosen = tree.table.chosen(positions, resolved.tokens)
        first = len(self.records)
        for feature, cut, default_left in zip(
            resolved.feature.tolist(), resolved.bin.tolist(), resolved.default_left.tolist(), strict=True
        ):
            self.records.append((feature, float(self._columns.cuts[feature][cut]), default_left))
        records = np.arange(first, len(self.records), dtype=np.int32)
        nodes = np.ascontiguousarray(skeleton.nodes[positions])
        (left,) = skeleton.split(
            [NodeSplits(SERVER_PARTY, positions, chosen.left, chosen.constraint, records)], gain, last
        )
        splits = (nodes, left, resolved.feature, resolved.bin, resolved.default_left)
        tree.levels.append(pack_array(np.stack(splits, axis=1).astype(np.int32)))

    def _allowed(self, round_index: int, depth: int, tree: Growing) -> NDArray[np.bool_] | None:
        """bool[m, features of the tree]: those each node may use; None for all."""
        if not self._by_node:
            return None
        nodes = tree.skeleton.nodes.tolist()
        return np.array(
            [np.isin(tree.features, self._sampler.node(round_index, tree.tree, depth, node)) for node in nodes]
        ).reshape(len(nodes), len(tree.features))


def _underivable(tree: Growing) -> list[int]:
    """Nodes that were left out, and whose siblings' sums are not over the users of their parents'."""
    parents = tree.skeleton.parents
    return [
        position ^ 1
        for position, answer in tree.answers.items()
        if position ^ 1 < len(parents)
        and position ^ 1 not in tree.answers
        and answer.users != tree.users[int(parents[position])]
    ]


def _parts(wanted: Sequence[tuple[Growing, Sequence[int]]]) -> Iterator[list[tuple[Growing, list[int]]]]:
    """The nodes in lists of at most MAX_ENTRIES entries each, or of one node."""
    part: list[tuple[Growing, list[int]]] = []
    size = 0
    for tree, positions in wanted:
        for position in sorted(positions):
            entries = tree.entries([position])
            if size and size + entries > MAX_ENTRIES:
                yield part
                part, size = [], 0
            if not part or part[-1][0] is not tree:
                part.append((tree, []))
            part[-1][1].append(position)
            size += entries
    if part:
        yield part


def _tree_task(tree: Growing, positions: Sequence[int], n_features: int) -> TreeTask:
    allowed = tree.allowed_at(positions)
    return TreeTask(
        tree=tree.tree,
        levels=tree.levels,
        nodes=pack_array(tree.skeleton.nodes[list(positions)]),
        features=_EMPTY if len(tree.features) == n_features else pack_bits(tree.features, n_features),
        allowed=pack_optional(None if allowed is None else np.packbits(allowed, bitorder="little")),
    )
