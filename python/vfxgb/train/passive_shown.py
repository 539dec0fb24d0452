"""Rounds at a passive party that knows the rows of all nodes.

It keeps the partition of each tree, which the active party's Level messages bring up to date, and answers Choose with
the left bits of the rows of each node that it won.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import PassiveLevel, PassiveNodes, PassiveRole, PassiveTree
from vfxgb.contract.messages import BeginRound, Choose, Level, SplitRows, TreeChoice, TreeLevel, TreeRows
from vfxgb.errors import MessageError
from vfxgb.rows.parts import Partition
from vfxgb.rows.shown_cuts import ShownCuts
from vfxgb.train.arrays import unpack_bits, unpack_list, valid_positions
from vfxgb.train.passive_rounds import PassiveRounds, PassiveRun
from vfxgb.transport.messages import Bulk, pack_array, pack_bytes, unpack_array

NO_NODES = np.zeros(0, dtype=np.int32)


class ShownRounds(PassiveRounds):
    """The rounds of a run whose nodes are shown to this party."""

    def __init__(self, run: PassiveRun, role: PassiveRole) -> None:
        super().__init__(run)
        self._role = role
        self._trees: list[PassiveTree] = []
        # Splits of this party that the active party has not yet confirmed: per tree their nodes, who goes left, and the
        # numbers of their records.
        self._pending: dict[int, tuple[NDArray[np.int32], bytes, NDArray[np.int32]]] = {}
        # Per tree the nodes that were opened last.
        self._opened: dict[int, NDArray[np.int32]] = {}
        self.handlers = {BeginRound: self._begin_round, Level: self._level, Choose: self._choose}

    def end(self) -> None:
        """See PassiveRounds."""
        super().end()
        self._trees, self._pending = [], {}

    def _begin_round(self, message: BeginRound) -> None:
        sampled = self._sampled(message)
        self._begin(message.round, message.features)
        rows, least = self._run.binned.rows, self._run.setup.min_bucket_rows
        self._trees = [
            PassiveTree(tree, features, rows.partition(sampled), message.round, ShownCuts(rows, features, least))
            for tree, features in enumerate(self._features)
        ]
        self._opened = {}
        self._role.begin_tree(message.round, sampled, self._trees)

    def _sampled(self, message: BeginRound) -> NDArray[np.int32] | None:
        n_train, what = self._run.setup.n_train, f"{self._party} beginning round {message.round}"
        chosen = unpack_bits(message.sampled, n_train, what)
        rows = None if chosen is None else np.flatnonzero(chosen).astype(np.int32)
        count = n_train if rows is None else len(rows)
        if count != message.n_sampled or count == 0:
            raise MessageError(
                f"{what}: found {count} sampled rows, wanted the {message.n_sampled} announced, and at least 1"
            )
        return rows

    def _level(self, message: Level) -> None:
        self._open(message.round, message.depth, message.trees)
        trees = [self._tree_level(tree) for tree in message.trees]
        self._pending = {}
        self._role.open_level(PassiveLevel(message.round, message.depth, trees))

    def _tree_level(self, message: TreeLevel) -> PassiveNodes:
        tree = self._trees[message.tree]
        what = f"{self._party} opening level {self._depth} of tree {message.tree}"
        parent_of = self._apply(message, tree.partition, what)
        nodes = unpack_list(message.nodes, np.int32, what)
        build = unpack_list(message.build, np.int64, what)
        open_nodes = tree.partition.has(nodes) and (nodes[1:] > nodes[:-1]).all()
        if not open_nodes or not valid_positions(build, len(nodes)):
            raise MessageError(f"{what}: found nodes that are not open in the tree, or positions that are none")
        allowed = self._allowed(message.allowed, message.tree, len(nodes), what)
        parents, places = self._parents(message.tree, nodes, parent_of, what)
        with self._run.timings.phase("cuts"):
            if tree.cuts is not None:
                tree.cuts.open(tree.partition, nodes, places)
        self._opened[message.tree] = nodes
        return PassiveNodes(message.tree, nodes, parents, build, allowed)

    def _apply(self, message: TreeLevel, partition: Partition, what: str) -> dict[int, int]:
        """Apply the splits of the level before; returns the node that each new child is a child of."""
        parent_of: dict[int, int] = {}
        with self._run.timings.phase("partition"):
            for group in message.splits:
                nodes, left, right = (
                    unpack_list(part, np.int32, what) for part in (group.nodes, group.left, group.right)
                )
                bits: bytes | Bulk = group.bits
                records: NDArray[np.int32] | None = None
                if len(group.bits) == 0:
                    own, bits, records = self._pending.get(message.tree, (NO_NODES, b"", NO_NODES))
                    if not np.array_equal(own, nodes):
                        raise MessageError(f"{what}: found splits without rows that this party was not asked for")
                # The call checks nodes, children and the number of bits, and changes nothing when it refuses.
                try:
                    partition.split(nodes, left, right, bits)
                except (ValueError, IndexError) as error:
                    raise MessageError(f"{what}: the splits do not fit the tree: {error}") from None
                own_records = None if records is None else records.tolist()
                split, lefts, rights = nodes.tolist(), left.tolist(), right.tolist()
                self._run.splits.codes.grow(message.tree, split, lefts, rights, own_records)
                parent_of.update(zip(lefts, split, strict=True))
                parent_of.update(zip(rights, split, strict=True))
        return parent_of

    def _parents(
        self, tree: int, nodes: NDArray[np.int32], parent_of: dict[int, int], what: str
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The parents of nodes, and where they stand among the nodes opened before; -1 for the root.

        Raises MessageError. A tree begins with its root; after that a level is all children of nodes of the level
        before. Which sums may be shown (rows/shown_cuts.py) depends on a node's ancestors and sibling, so there is no
        other way to open one.
        """
        before, opened = self._opened.get(tree), nodes.tolist()
        if before is None:
            if opened != [0] or parent_of:
                raise MessageError(f"{what}: found nodes {opened[:8]}, wanted the root alone, before any split")
            return np.full(1, -1, dtype=np.int32), np.full(1, -1, dtype=np.int64)
        place_of = {node: place for place, node in enumerate(before.tolist())}
        if sorted(parent_of) != opened or not place_of.keys() >= set(parent_of.values()):
            raise MessageError(
                f"{what}: found nodes {opened[:8]}, wanted all children of the splits of the level before and no others"
            )
        parents = [parent_of[node] for node in opened]
        places = [place_of[parent] for parent in parents]
        return np.array(parents, dtype=np.int32), np.array(places, dtype=np.int64)

    def _choose(self, message: Choose) -> None:
        self._check_place(message.round, message.depth, self._depth, "choosing splits")
        if self._pending:
            raise MessageError(
                f"{self._party} choosing splits: asked twice for round {message.round}, depth {message.depth}"
            )
        answers = [self._tree_choice(choice) for choice in message.trees]
        self._run.channel.send(SplitRows(round=message.round, depth=message.depth, trees=answers))

    def _tree_choice(self, choice: TreeChoice) -> TreeRows:
        self._check_tree(choice.tree)
        partition = self._trees[choice.tree].partition
        what = f"{self._party} choosing splits of tree {choice.tree}"
        nodes = unpack_list(choice.nodes, np.int32, what)
        start = unpack_array(choice.start, np.int64, (len(nodes) + 1,), what)
        tokens = unpack_list(choice.tokens, np.int64, what)
        if len(nodes) == 0 or not partition.has(nodes) or choice.tree in self._pending:
            raise MessageError(f"{what}: found no nodes, nodes that are not open, or a tree that was already answered")
        resolved = self._role.resolve(choice.tree, nodes, start, tokens)
        with self._run.timings.phase("partition"):
            bits = resolved.left_bits(self._run.binned.rows, partition, nodes)
        splits = self._run.splits
        above = splits.codes.above(choice.tree, nodes.tolist())
        records = splits.choose(self._number(choice.tree), self._depth, above, self._records(resolved))
        self._pending[choice.tree] = (nodes, bits, records)
        return TreeRows(
            tree=choice.tree, tokens=pack_array(resolved.tokens), records=pack_array(records), bits=pack_bytes(bits)
        )
