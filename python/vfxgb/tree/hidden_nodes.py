"""Growth with passive parties from which nodes are hidden: the active party alone keeps the partition of rows.

A passive party is told how many nodes are open, which of its splits have won, and below which of its own splits each of
them stands; never rows, sizes of nodes, or splits of others. Open nodes are slots to it, in an order that is drawn in
secret for each level of a tree. Left bits come to the active party through the protocol's roles (contract/roles.py).

The order of slots is a function of the run's secret, so that a round that is grown again after the run broke off shows
nothing new. With colsample_bynode each slot comes with the features that random_state draws for its node: whoever knows
random_state can then tell which open node is which slot.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import ActiveLevel, Gradients, HiddenActiveRole, LeftRows, LevelNodes, Proposals, WonNodes
from vfxgb.contract.messages import BeginHiddenRound, OpenSlots, PlaceSplits, TreePlaces, TreeSlots, TreeWins, WonSlots
from vfxgb.errors import MessageError
from vfxgb.transport.messages import pack_array
from vfxgb.tree.columns import pack_allowed
from vfxgb.tree.growing import GrowingTree, OwnedSplits
from vfxgb.tree.passives import AllProposals, LevelSplits, PassiveLinks, Winners, won_by
from vfxgb.tree.path_codes import PathCodes

UNNUMBERED = -1


class HiddenNodes:
    """PassiveParties from which nodes are hidden; `role` is the protocol's.

    `secret`: the active party's own bytes, the same in all sessions of a run. `filed`: passive party -> how many splits
    it has in the trees that were grown before.
    """

    def __init__(self, links: PassiveLinks, role: HiddenActiveRole, secret: bytes, filed: Mapping[str, int]) -> None:
        self._links = links
        self._role = role
        self._secret = secret
        self._filed = dict(filed)
        # By position in party order: where the party's splits stand in the trees of the round.
        self._codes: dict[int, PathCodes] = {}
        self._level = ActiveLevel(-1, -1, ())
        # By position in party order: what the party was told that it has won.
        self._told: dict[int, list[WonNodes]] = {}

    def begin(self, gradients: Gradients) -> None:
        """See PassiveParties."""
        self._codes = {party: PathCodes() for party, _ in self._links.each()}
        for party, channel in self._links.each():
            channel.send(BeginHiddenRound(round=gradients.round, features=self._links.columns.packed(party)))
        self._role.begin_tree(gradients)

    def open(self, level: ActiveLevel, trees: Sequence[GrowingTree]) -> None:
        """See PassiveParties."""
        for tree in trees:
            self._note_splits(tree)
        ordered = [
            replace(nodes, order=slot_order(self._secret, (level.round, nodes.tree, level.depth), len(nodes.nodes)))
            for nodes in level.trees
        ]
        self._level = replace(level, trees=ordered)
        for party, channel in self._links.each():
            told = [self._tree_slots(party, nodes) for nodes in ordered]
            channel.send(OpenSlots(round=level.round, depth=level.depth, trees=told))
        self._role.open_level(self._level)

    def _note_splits(self, tree: GrowingTree) -> None:
        for split in tree.applied:
            for party, codes in self._codes.items():
                own = split.records.tolist() if split.party == party else None
                codes.grow(tree.tree, split.nodes.tolist(), split.left.tolist(), split.right.tolist(), own)

    def _tree_slots(self, party: int, nodes: LevelNodes) -> TreeSlots:
        allowed = self._links.columns.allowed(party, self._level.depth, nodes)
        by_slot = None if allowed is None else allowed[nodes.order]
        return TreeSlots(tree=nodes.tree, n_slots=len(nodes.nodes), allowed=pack_allowed(by_slot))

    def propose(self, level: ActiveLevel, own: Sequence[Proposals]) -> AllProposals:  # noqa: ARG002
        """See PassiveParties."""
        proposed = self._role.propose(self._level, own)
        return {party: proposed[channel.peer] for party, channel in self._links.each()}

    def ask(self, level: ActiveLevel, proposals: AllProposals, winners: Winners) -> None:
        """See PassiveParties."""
        self._told = {}
        for party, channel in self._links.each():
            wins, told = [], []
            for index, positions in won_by(winners, party).items():
                nodes, offered = self._level.trees[index], proposals[party][index]
                slots = np.flatnonzero(np.isin(nodes.order, positions)).astype(np.int32)
                told.append(WonNodes(index, nodes.order[slots]))
                start, tokens = _native.gbdt.select_tokens(offered.start, offered.tokens, told[-1].positions)
                wins.append(
                    TreeWins(
                        tree=nodes.tree, slots=pack_array(slots), start=pack_array(start), tokens=pack_array(tokens)
                    )
                )
            if told:
                self._told[party] = told
                channel.send(WonSlots(round=level.round, depth=level.depth, trees=wins))

    def answers(self, level: ActiveLevel, winners: Winners) -> LevelSplits:  # noqa: ARG002
        """See PassiveParties. The splits have no records yet."""
        splits: list[list[OwnedSplits]] = [[] for _ in level.trees]
        for party, told in self._told.items():
            name = self._links.columns.layout.parties[party]
            for won, left in zip(told, self._role.learn_left(name, self._level, told), strict=True):
                splits[won.index].append(self._owned(party, name, won, left))
        return splits

    def _owned(self, party: int, name: str, won: WonNodes, left: LeftRows) -> OwnedSplits:
        wanted = self._level.trees[won.index].left_bits_size(won.positions)
        if len(left.bits) != wanted:
            raise MessageError(f"reading the splits of {name}: found {len(left.bits)} bytes of rows, wanted {wanted}")
        records = np.full(len(won.positions), UNNUMBERED, dtype=np.int32)
        return OwnedSplits(party, won.positions, left.left, left.constraint, records, left.bits, left.gain)

    def file(self, splits: LevelSplits) -> LevelSplits:
        """See PassiveParties."""
        filed: list[list[OwnedSplits]] = [[] for _ in splits]
        for party, told in self._told.items():
            name = self._links.columns.layout.parties[party]
            places = []
            for won in told:
                nodes = self._level.trees[won.index]
                kept = np.zeros(0, dtype=np.int32)
                for split in splits[won.index]:
                    if split.party == party and len(split.positions):
                        first = self._filed[name]
                        self._filed[name] += len(split.positions)
                        records = np.arange(first, self._filed[name], dtype=np.int32)
                        filed[won.index].append(replace(split, records=records))
                        kept = np.flatnonzero(np.isin(won.positions, split.positions)).astype(np.int32)
                above = self._codes[party].above(nodes.tree, nodes.nodes[won.positions[kept]].tolist())
                places.append(
                    TreePlaces(
                        tree=nodes.tree, kept=pack_array(kept), above=pack_array(np.array(above, dtype=np.int32))
                    )
                )
            message = PlaceSplits(round=self._level.round, depth=self._level.depth, trees=places)
            self._links.channels[name].send(message)
        return filed

    def end(self) -> None:
        """See PassiveParties."""
        self._role.end_tree()


def slot_order(secret: bytes, place: tuple[int, int, int], count: int) -> NDArray[np.int64]:
    """A permutation of 0 .. count - 1 that nobody can tell without the secret: that of (round, tree, depth)."""
    text = b"vfxgb slots " + secret + np.array(place, dtype="<i4").tobytes()
    words = np.frombuffer(hashlib.shake_256(text).digest(8 * count), dtype="<u8")
    return np.argsort(words, kind="stable")
