"""Growth with a passive party from which nodes are hidden, against the naive twin of growing_runs.py."""

from typing import Any

import numpy as np
import pytest

from growing_runs import Run
from vfxgb.binning.binned import BinnedTable
from vfxgb.contract import ActiveLevel, EngineOptions, LeftRows, Proposals, WonNodes
from vfxgb.contract.messages import BeginHiddenRound, OpenSlots, PlaceSplits, WonSlots
from vfxgb.errors import MessageError
from vfxgb.rows.gradients import Gradients
from vfxgb.runtime.timings import Timings
from vfxgb.train.arrays import unpack_bits, unpack_list
from vfxgb.tree.candidates import CandidateList
from vfxgb.tree.grower import Grower, Growth
from vfxgb.tree.hidden_nodes import HiddenNodes, slot_order
from vfxgb.tree.passives import PassiveLinks
from vfxgb.tree.path_codes import NOTHING_ABOVE, PathCodes
from vfxgb.tree.proposal import SumTable


class HiddenShop:
    """A passive party that reads its messages and keeps no rows: its channel, and what it knows in the end."""

    peer = "shop"

    def __init__(self, binned: BinnedTable) -> None:
        self.binned = binned
        self.sent: list[Any] = []
        self.records: list[tuple[int, float, bool]] = []
        self.above: list[int] = []
        # tree -> the splits that have won in this level, in the order of slots.
        self.won: dict[int, Any] = {}

    def send(self, message: Any) -> None:
        self.sent.append(message)
        if isinstance(message, BeginHiddenRound):
            every = np.arange(self.binned.n_features, dtype=np.int32)
            chosen = [unpack_bits(bits, len(every), "test") for bits in message.features]
            self.lists = [
                CandidateList(
                    self.binned.rows, self.binned.has_missing, every if bits is None else every[bits], None, None, 1
                )
                for bits in chosen
            ]
        elif isinstance(message, OpenSlots):
            assert not self.won
            self.allowed = {}
            for tree in message.trees:
                width = len(self.lists[tree.tree].features)
                allowed = unpack_bits(tree.allowed, tree.n_slots * width, "test")
                self.allowed[tree.tree] = None if allowed is None else allowed.reshape(tree.n_slots, width)
        elif isinstance(message, WonSlots):
            for tree in message.trees:
                start, tokens = (unpack_list(part, np.int64, "test") for part in (tree.start, tree.tokens))
                self.won[tree.tree] = self.lists[tree.tree].resolve(start, tokens)
        elif isinstance(message, PlaceSplits):
            assert [tree.tree for tree in message.trees] == list(self.won)
            for tree in message.trees:
                taken = self.won.pop(tree.tree)
                for place in unpack_list(tree.kept, np.int32, "test").tolist():
                    cut = float(self.binned.cuts[taken.feature[place]][taken.bin[place]])
                    self.records.append((int(taken.feature[place]), cut, bool(taken.default_left[place])))
                self.above += unpack_list(tree.above, np.int32, "test").tolist()
        else:
            raise AssertionError(type(message))


class Boastful:
    """A HiddenActiveRole that sees sums in clear. With `blind` it says who won and tells gains only with the rows.

    It then claims every node for the shop that the shop can split at all, as a protocol might that compares scores by
    another rule: the active party has to refuse what its own splits beat.
    """

    def __init__(self, shop: HiddenShop, blind: bool = False, short: bool = False) -> None:
        self.shop, self.blind, self.short = shop, blind, short
        self.ended = 0
        self.refused = 0

    def begin_tree(self, gradients: Gradients) -> None:
        self.gradients = gradients
        self.tables = [SumTable(None, 1) for _ in gradients.pairs]

    def open_level(self, level: ActiveLevel) -> None:
        for nodes in level.trees:
            assert sorted(nodes.order.tolist()) == list(range(len(nodes.nodes)))
            assert nodes.build.tolist() == list(range(len(nodes.nodes)))

    def propose(self, level: ActiveLevel, own: Any) -> dict[str, list[Proposals]]:
        assert [len(mine.gain) for mine in own] == [len(nodes.nodes) for nodes in level.trees]
        self.proposed = []
        for nodes in level.trees:
            candidates, by_slot = self.shop.lists[nodes.tree], self.shop.allowed[nodes.tree]
            allowed = None if by_slot is None else by_slot[np.argsort(nodes.order)]
            # Rows of the shop, found by the active party's partition: no message has told of them.
            left = candidates.left_sums(nodes.partition, nodes.nodes, self.gradients.pairs[nodes.tree], allowed)
            self.proposed.append(self.tables[nodes.tree].propose(nodes, left))
        if not self.blind:
            return {"shop": self.proposed}
        return {
            "shop": [Proposals(np.where(best.gain > 0, np.inf, 0.0), best.start, best.tokens) for best in self.proposed]
        }

    def learn_left(self, party: str, level: ActiveLevel, won: list[WonNodes]) -> list[LeftRows]:
        assert party == "shop"
        answers = []
        for each in won:
            nodes = level.trees[each.index]
            taken = self.shop.won[nodes.tree]
            everyone = self.shop.binned.rows.row_bits(taken.feature, taken.bin, taken.default_left)
            bits = nodes.gather_bits(each.positions, everyone)
            chosen = self.tables[nodes.tree].chosen(each.positions, taken.tokens)
            gain = self.proposed[each.index].gain[each.positions] if self.blind else None
            answers.append(LeftRows(chosen.left, chosen.constraint, bits[:-1] if self.short else bits, gain))
        return answers

    def end_tree(self) -> None:
        self.ended += 1

    def close(self) -> None:
        """Nothing to end."""


class HiddenRun(Run):
    """The run of growing_runs.py with nodes that are hidden from the shop."""

    def __init__(self, seed: int, blind: bool = False, short: bool = False, **given: Any) -> None:
        super().__init__(seed, **given)
        self.shop = HiddenShop(self.shop.binned)
        self.role = Boastful(self.shop, blind, short)
        channels: Any = {"shop": self.shop}
        timings = Timings()
        passives = HiddenNodes(
            PassiveLinks(channels, self.columns, self.n_train, timings), self.role, b"secret", {"shop": 0}
        )
        options = EngineOptions(subtract=False)
        self.grower = Grower(Growth(self.params, options, False, timings), self.columns, self.own, passives)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shop_first", [False, True])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("blind", [False, True])
def test_trees_against_a_naive_twin(seed, shop_first, outputs, blind) -> None:
    """Also of a protocol that tells gains only with the rows: what the active party's splits beat is refused."""
    run = HiddenRun(seed, blind, outputs=outputs, shop_first=shop_first)
    trees = run.grow()
    run.same(trees)
    assert run.role.ended == 1
    place = run.layout.active
    used = np.concatenate([tree.shape(1.0).party for tree in trees])
    assert (used == place).sum() == len(run.own.records) > 0
    assert (used == 1 - place).sum() == len(run.shop.records) > 0
    asked = sum(message.amount() for message in run.shop.sent if isinstance(message, WonSlots))
    assert asked > len(run.shop.records) if blind else asked == len(run.shop.records)
    shown = Run(seed, outputs, shop_first)
    for hidden, tree in zip(trees, shown.grow(), strict=True):
        for name in ("party", "left", "right", "parent", "value", "gain", "cover"):
            assert getattr(hidden.shape(1.0), name).tolist() == getattr(tree.shape(1.0), name).tolist()


@pytest.mark.parametrize("blind", [False, True])
def test_the_sample_gamma_and_columns(blind) -> None:
    sampled = np.flatnonzero(np.random.default_rng(9).random(110) < 0.6).astype(np.int32)
    run = HiddenRun(4, blind, gamma=0.02)
    run.same(run.grow(sampled), sampled)
    few = HiddenRun(4, blind, gamma=1e6)
    assert [tree.shape(1.0).party.tolist() for tree in few.grow(sampled)] == [[-1]]
    assert few.shop.records == []
    by_level = HiddenRun(6, blind, colsample_bylevel=0.6)
    trees = by_level.grow()
    by_level.same(trees, columns=lambda depth: by_level.columns._sampler.level(0, 0, depth).tolist())


def test_the_shop_is_told_where_its_splits_stand() -> None:
    """The split of the shop above each of its splits, against a walk from the roots of the finished trees."""
    run = HiddenRun(2, blind=True, outputs=3)
    wanted: dict[int, int] = {}
    for tree in run.grow():
        shape = tree.shape(1.0)
        ahead = [(0, NOTHING_ABOVE)]
        while ahead:
            node, above = ahead.pop()
            if shape.party[node] < 0:
                continue
            sides = (above, above)
            if shape.party[node] == 1:
                record = int(shape.record[node])
                wanted[record] = above
                sides = (2 * record, 2 * record + 1)
            ahead += [(int(shape.left[node]), sides[0]), (int(shape.right[node]), sides[1])]
    assert wanted == dict(enumerate(run.shop.above))
    assert max(wanted.values()) > 0


def test_a_level_tells_how_many_nodes_are_open_and_no_more() -> None:
    run = HiddenRun(1, outputs=2)
    run.grow()
    for message in run.shop.sent:
        if isinstance(message, BeginHiddenRound):
            assert (message.round, [bytes(bits) for bits in message.features]) == (0, [b"", b""])
        elif isinstance(message, OpenSlots):
            assert all(1 <= tree.n_slots <= 2**message.depth and len(tree.allowed) == 0 for tree in message.trees)


def test_slots_are_in_an_order_of_their_own() -> None:
    orders = [slot_order(b"secret", (0, 0, depth), 16).tolist() for depth in range(4)]
    assert all(sorted(order) == list(range(16)) for order in orders)
    assert len({tuple(order) for order in orders}) == 4
    assert slot_order(b"secret", (0, 0, 3), 16).tolist() == orders[3]
    assert slot_order(b"another", (0, 0, 3), 16).tolist() != orders[3]
    assert slot_order(b"secret", (0, 0, 3), 0).tolist() == []


def test_bits_of_another_size() -> None:
    with pytest.raises(MessageError, match=r"reading the splits of shop: found \d+ bytes of rows, wanted"):
        HiddenRun(0, short=True).grow()


def test_records_go_on_where_the_run_stood() -> None:
    run = HiddenRun(3)
    run.grower._passives._filed["shop"] = 40
    records = [record for tree in run.grow() for record in tree.shape(1.0).record[tree.shape(1.0).party == 1]]
    assert sorted(records) == list(range(40, 40 + len(run.shop.records)))


def test_codes_of_paths() -> None:
    codes = PathCodes()
    codes.grow(0, [0], [1], [2], None)
    codes.grow(0, [1, 2], [3, 5], [4, 6], [7, 8])
    codes.grow(0, [4], [7], [8], None)
    assert codes.above(0, [0, 1, 2, 3, 4, 5, 6, 7, 8]) == [-1, -1, -1, 14, 15, 16, 17, 15, 15]
    assert codes.above(1, [3]) == [NOTHING_ABOVE]
