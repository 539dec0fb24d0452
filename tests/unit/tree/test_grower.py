"""Growth of a round's trees over two parties, against a slow twin that has all columns in one place."""

from typing import Any

import numpy as np
import pytest

from growing_runs import Run
from vfxgb.contract import Proposals
from vfxgb.contract.messages import Level, SplitRows, TreeRows
from vfxgb.errors import MessageError
from vfxgb.train.arrays import unpack_bits, unpack_list
from vfxgb.transport.messages import pack_array, pack_bytes
from vfxgb.tree.choice import best_by_gain
from vfxgb.tree.columns import Layout, pack_bits


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shop_first", [False, True])
@pytest.mark.parametrize("outputs", [1, 3])
def test_trees_against_a_naive_twin(seed, shop_first, outputs) -> None:
    run = Run(seed, outputs, shop_first)
    trees = run.grow()
    run.same(trees)
    assert run.role.ended == 1
    # Both parties own splits, and each split has a record of its owner.
    place = run.layout.active
    used = np.concatenate([tree.shape(1.0).party for tree in trees])
    assert (used == place).sum() == len(run.own.records) > 0
    assert (used == 1 - place).sum() == len(run.shop.records) > 0


def test_the_sample_and_gamma() -> None:
    sampled = np.flatnonzero(np.random.default_rng(9).random(110) < 0.6).astype(np.int32)
    run = Run(4, gamma=0.02)
    run.same(run.grow(sampled), sampled)
    few = Run(4, gamma=1e6)
    assert [tree.shape(1.0).party.tolist() for tree in few.grow(sampled)] == [[-1]]


def test_columns_by_tree() -> None:
    """The twin may use the columns that were drawn, and no others."""
    run = Run(5, colsample_bytree=0.6)
    trees = run.grow()
    drawn = run.columns._sampler.tree(0, 0).tolist()
    assert len(drawn) == 3
    run.same(trees, columns=lambda depth: drawn)


def test_columns_by_level() -> None:
    run = Run(6, colsample_bylevel=0.6)
    trees = run.grow()
    run.same(trees, columns=lambda depth: run.columns._sampler.level(0, 0, depth).tolist())
    assert all(len(level.trees[0].allowed) for level in run.shop.sent if isinstance(level, Level))


def test_a_round_alone_tells_nobody() -> None:
    run = Run(7)
    trees = run.grow(alone=True)
    run.same(trees, columns=lambda depth: range(2))
    assert run.shop.sent == []
    assert run.role.ended == 0


def test_only_the_smaller_child_is_built() -> None:
    run = Run(8)
    run.grow()
    levels = [message.trees[0] for message in run.shop.sent if isinstance(message, Level)]
    assert len(levels) == 3
    for tree in levels[1:]:
        nodes = unpack_list(tree.nodes, np.int32, "test")
        build = unpack_list(tree.build, np.int64, "test")
        assert (build // 2).tolist() == list(range(len(nodes) // 2))


def _other(**changes: Any) -> Any:
    def spoil(answer: SplitRows) -> SplitRows:
        given = {"round": answer.round, "depth": answer.depth, "trees": answer.trees}
        return SplitRows(**{**given, **{name: change(answer) for name, change in changes.items()}})

    return spoil


def _rows(**changes: Any) -> Any:
    def change(answer: SplitRows) -> list[TreeRows]:
        first = answer.trees[0]
        given = {name: getattr(first, name) for name in ("tree", "tokens", "records", "bits")}
        return [TreeRows(**{**given, **{name: make(first) for name, make in changes.items()}}), *answer.trees[1:]]

    return _other(trees=change)


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (_other(round=lambda answer: 1), "found round 1"),
        (_other(depth=lambda answer: answer.depth + 1), "wanted round 0, depth"),
        (_other(trees=lambda answer: []), "0 trees"),
        (_rows(tree=lambda rows: 5), "trees"),
        (_rows(bits=lambda rows: pack_bytes(bytes(rows.bits) + b"x")), "bytes of rows"),
        (_rows(records=lambda rows: pack_array(np.full(len(rows.records) // 4, -1, dtype=np.int32))), "bad record"),
        (_rows(tokens=lambda rows: pack_array(np.full(len(rows.tokens) // 8, 999))), "one of the best"),
        (_rows(tokens=lambda rows: pack_bytes(b"")), "reading the splits of shop"),
    ],
)
def test_answers_that_do_not_fit(spoil, match) -> None:
    with pytest.raises(MessageError, match=match):
        Run(0, spoil=spoil).grow()


def _gains(*gain: float) -> Proposals:
    none = np.zeros(0, dtype=np.int64)
    return Proposals(np.array(gain), none, none)


def test_a_party_that_proposes_nothing_keeps_nobody_from_splitting() -> None:
    _, won = best_by_gain({0: _gains(1.0, 2.0), 1: _gains(0.0, 3.0)}, gamma=0.0)
    assert {party: positions.tolist() for party, positions in won.items()} == {0: [0], 1: [1]}


def test_the_first_of_equal_parties_wins() -> None:
    gains = {0: _gains(1.0, 2.0, 0.0, 1e-7, 5.0), 1: _gains(1.0, 3.0, 0.0, 0.0, 4.0)}
    best, won = best_by_gain(gains, gamma=0.0)
    assert best.tolist() == [1.0, 3.0, 0.0, 1e-7, 5.0]
    assert {party: positions.tolist() for party, positions in won.items()} == {0: [0, 4], 1: [1]}
    _, won = best_by_gain(gains, gamma=3.0)
    assert {party: positions.tolist() for party, positions in won.items()} == {0: [4], 1: [1]}


def test_layout() -> None:
    layout = Layout(("a", "b", "c"), (0, 2, 5, 6), 1)
    features = np.array([0, 2, 4, 5], np.int32)
    assert [layout.local(party, features).tolist() for party in range(3)] == [[0], [0, 2], [0]]
    assert layout.n_features == 6


@pytest.mark.parametrize(("members", "count"), [([], 0), ([], 9), ([0, 8], 9), ([7], 8)])
def test_sets_as_bits(members, count) -> None:
    packed = pack_bits(np.array(members, dtype=np.int32), count)
    # None would mean all of them: an empty set has bytes.
    assert len(packed) == max(1, -(-count // 8))
    if count:
        assert np.flatnonzero(unpack_bits(packed, count, "test")).tolist() == members
