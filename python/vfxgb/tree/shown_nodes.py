"""Growth with passive parties that know which rows are in which node.

Every passive party keeps the partition of each tree. A level goes out with the splits since the last one and who went
left there; the winner of a node answers with the left bits of the node's rows, which all others then get.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import ActiveLevel, ActiveRole, Gradients, Proposals
from vfxgb.contract.messages import BeginRound, Choose, Level, SplitGroup, SplitRows, TreeChoice, TreeLevel, TreeRows
from vfxgb.errors import MessageError
from vfxgb.transport.messages import pack_array, unpack_array
from vfxgb.tree.columns import ALL, pack_allowed, pack_bits
from vfxgb.tree.growing import GrowingTree, OwnedSplits
from vfxgb.tree.passives import AllProposals, LevelSplits, PassiveLinks, Winners, won_by


class ShownNodes:
    """PassiveParties to whom nodes are shown; `role` is the protocol's."""

    def __init__(self, links: PassiveLinks, role: ActiveRole) -> None:
        self._links = links
        self._role = role

    def begin(self, gradients: Gradients) -> None:
        """See PassiveParties."""
        links, sampled = self._links, gradients.sampled
        rows = ALL if sampled is None else pack_bits(sampled, links.n_train)
        n_sampled = links.n_train if sampled is None else len(sampled)
        for party, channel in links.each():
            features = links.columns.packed(party)
            channel.send(BeginRound(round=gradients.round, n_sampled=n_sampled, sampled=rows, features=features))
        self._role.begin_tree(gradients)

    def open(self, level: ActiveLevel, trees: Sequence[GrowingTree]) -> None:
        """See PassiveParties."""
        for party, channel in self._links.each():
            told = [self._tree_level(party, level.depth, tree) for tree in trees]
            channel.send(Level(round=level.round, depth=level.depth, trees=told))
        self._role.open_level(level)

    def _tree_level(self, party: int, depth: int, tree: GrowingTree) -> TreeLevel:
        return TreeLevel(
            tree=tree.tree,
            splits=[
                SplitGroup(
                    nodes=pack_array(split.nodes),
                    left=pack_array(split.left),
                    right=pack_array(split.right),
                    bits=ALL if split.party == party else memoryview(split.bits),
                )
                for split in tree.applied
            ],
            nodes=pack_array(tree.level.nodes),
            build=pack_array(tree.level.build),
            allowed=pack_allowed(self._links.columns.allowed(party, depth, tree.level)),
        )

    def propose(self, level: ActiveLevel, own: Sequence[Proposals]) -> AllProposals:  # noqa: ARG002
        """See PassiveParties."""
        proposed = self._role.propose(level)
        return {party: proposed[channel.peer] for party, channel in self._links.each()}

    def ask(self, level: ActiveLevel, proposals: AllProposals, winners: Winners) -> None:
        """See PassiveParties."""
        for party, channel in self._links.each():
            choices = []
            for index, won in won_by(winners, party).items():
                offered, nodes = proposals[party][index], level.trees[index]
                start, tokens = _native.gbdt.select_tokens(offered.start, offered.tokens, won)
                choices.append(
                    TreeChoice(
                        tree=nodes.tree,
                        nodes=pack_array(nodes.nodes[won]),
                        start=pack_array(start),
                        tokens=pack_array(tokens),
                    )
                )
            if choices:
                channel.send(Choose(round=level.round, depth=level.depth, trees=choices))

    def answers(self, level: ActiveLevel, winners: Winners) -> LevelSplits:
        """See PassiveParties."""
        splits: list[list[OwnedSplits]] = [[] for _ in level.trees]
        for party, channel in self._links.each():
            asked = won_by(winners, party)
            if not asked:
                continue
            with self._links.timings.phase("wait"):
                answer = channel.recv(SplitRows)
            order = [level.trees[index].tree for index in asked]
            if (answer.round, answer.depth, [tree.tree for tree in answer.trees]) != (level.round, level.depth, order):
                raise MessageError(
                    f"reading the splits of {channel.peer}: found round {answer.round}, depth {answer.depth}, "
                    f"{len(answer.trees)} trees, wanted round {level.round}, depth {level.depth}, trees {order}"
                )
            for (index, positions), rows in zip(asked.items(), answer.trees, strict=True):
                splits[index].append(self._splits(level, index, party, positions, rows))
        return splits

    def _splits(
        self, level: ActiveLevel, index: int, party: int, positions: NDArray[np.int64], rows: TreeRows
    ) -> OwnedSplits:
        name = self._links.columns.layout.parties[party]
        what = f"reading the splits of {name}, tree {rows.tree}"
        tokens = unpack_array(rows.tokens, np.int64, (len(positions),), what)
        records = unpack_array(rows.records, np.int32, (len(positions),), what)
        wanted = level.trees[index].left_bits_size(positions)
        if len(rows.bits) != wanted or (records < 0).any():
            raise MessageError(f"{what}: found {len(rows.bits)} bytes of rows, wanted {wanted}, or a bad record")
        chosen = self._role.chosen(name, index, positions, tokens, rows.bits)
        return OwnedSplits(party, positions, chosen.left, chosen.constraint, records, rows.bits)

    def file(self, splits: LevelSplits) -> LevelSplits:
        """See PassiveParties: the next level says it, and the answers named the records."""
        return splits

    def end(self) -> None:
        """See PassiveParties."""
        self._role.end_tree()
