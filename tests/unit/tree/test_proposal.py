"""From left sums to proposals, against a slow twin that knows every node's sums and formulas in double."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb import _native
from vfxgb.contract import OpenNodes
from vfxgb.errors import MessageError
from vfxgb.tree.proposal import SumTable

SCALE, LAMBDA = 2.0**-10, 1.0


def _level(nodes, totals, build, sibling, parent, rule=None) -> OpenNodes:
    places = [np.array(place, dtype=np.int64) for place in (build, sibling, parent)]
    rule = _native.gbdt.SplitRule(1.0) if rule is None else rule
    return OpenNodes(0, np.array(nodes, np.int32), np.array(totals), None, *places, rule)


def _naive_best(left: np.ndarray, total: np.ndarray, least: float) -> tuple[float, list[int]]:
    """The best gain of one node and the candidates that reach it, one after the other."""

    def score(pair) -> float:
        g, h = pair[0] * SCALE, pair[1] * SCALE
        return g * g / (h + LAMBDA)

    gains = []
    for one in left:
        rest = total - one
        enough = min(one[1], rest[1]) > 0 and min(one[1], rest[1]) * SCALE >= least
        gains.append(score(one) + score(rest) - score(total) if enough else 0.0)
    best = max([*gains, 0.0])
    # Only equal sums, or those of the other child, are a tie for certain; random ones are none by accident.
    return best, [token for token, gain in enumerate(gains) if gain > 0 and np.isclose(gain, best, rtol=1e-12, atol=0)]


@given(seed=st.integers(0, 2**32 - 1), least=st.sampled_from([0.0, 0.05]), threads=st.integers(1, 2))
def test_proposals_against_a_naive_twin(seed, least, threads) -> None:
    """Three levels, of which the second and third have sums for one of two siblings only."""
    rng = np.random.default_rng(seed)
    n, c = int(rng.integers(8, 60)), int(rng.integers(1, 12))
    pairs = np.stack([rng.integers(-4000, 4000, n), rng.integers(1, 500, n)], axis=1)
    goes = rng.random((c, n)) < 0.5
    # A candidate that is another one with a second name.
    goes[-1] = goes[0]
    rule = _native.gbdt.SplitRule(SCALE, LAMBDA, 0.0, least, 0.0, False)
    table = SumTable(None, threads)
    members, parents = [np.arange(n)], [-1]
    for depth in range(3):
        sums = np.array([[pairs[rows[side[rows]]].sum(axis=0) for side in goes] for rows in members])
        totals = np.array([pairs[rows].sum(axis=0) for rows in members])
        m = len(members)
        build = np.arange(m) if depth == 0 else np.arange(0, m, 2) + rng.integers(0, 2, m // 2)
        sibling = np.full(m, -1)
        if depth:
            sibling[build ^ 1] = build
        found = table.propose(_level(range(m), totals, build, sibling, parents, rule), sums[build])
        assert table.n_candidates == c
        for node in range(m):
            gain, tokens = _naive_best(sums[node], totals[node], least)
            assert found.gain[node] == pytest.approx(gain, rel=1e-9, abs=1e-12)
            mine = found.tokens[found.start[node] : found.start[node + 1]].tolist()
            # The kernel calls equal what is equal to the last bit; the twin is a little more generous.
            assert set(mine) <= set(tokens)
            assert bool(mine) == bool(tokens)
            if mine and (0 in mine or c - 1 in mine):
                assert {0, c - 1} <= set(mine)
            for token in mine:
                chosen = table.chosen(np.array([node]), np.array([token]))
                assert chosen.left.tolist() == [sums[node, token].tolist()]
                assert chosen.constraint.tolist() == [0]
        halves = [rng.random(len(rows)) < 0.5 for rows in members]
        parents = [place for place in range(m) for _ in range(2)]
        members = [rows[side] for rows, half in zip(members, halves, strict=True) for side in (half, ~half)]


def test_a_party_without_candidates_proposes_nothing() -> None:
    table = SumTable(None, 1)
    found = table.propose(_level([0], [[3, 20]], [0], [-1], [-1]), np.zeros((1, 0, 2), dtype=np.int64))
    assert (found.gain.tolist(), found.start.tolist(), found.tokens.tolist()) == ([0.0], [0, 0], [])


def test_monotone_directions_come_with_the_chosen_sums() -> None:
    table = SumTable(np.array([1, -1], dtype=np.int8), 1)
    rule = _native.gbdt.SplitRule(1.0)
    sums = np.array([[[-9, 10], [-9, 10]]])
    level = OpenNodes(
        0,
        np.zeros(1, np.int32),
        np.array([[0, 20]]),
        np.array([[-np.inf, np.inf]]),
        np.array([0]),
        np.array([-1]),
        np.array([-1]),
        rule,
    )
    # Rows that go left want the higher weight: a rising feature may not have that, a falling one may.
    assert table.propose(level, sums).tokens.tolist() == [1]
    assert table.chosen(np.array([0]), np.array([1])).constraint.tolist() == [-1]


def test_a_token_that_was_not_offered_is_refused() -> None:
    table = SumTable(None, 1)
    sums = np.array([[[5, 10], [-9, 10], [1, 10]]])
    found = table.propose(_level([0], [[0, 20]], [0], [-1], [-1]), sums)
    assert found.tokens.tolist() == [1]
    assert table.chosen(np.array([0]), np.array([1])).left.tolist() == [[-9, 10]]
    for token in (0, 2, 3, -1):
        with pytest.raises(MessageError, match="wanted one of the best"):
            table.chosen(np.array([0]), np.array([token]))


def test_select_picks_the_tokens_of_some_nodes() -> None:
    table = SumTable(None, 1)
    sums = np.array([[[5, 10], [5, 10]], [[4, 10], [1, 10]], [[3, 10], [3, 10]]])
    found = table.propose(_level([0, 1, 2], [[0, 20]] * 3, [0, 1, 2], [-1] * 3, [-1] * 3), sums)
    start, tokens = _native.gbdt.select_tokens(found.start, found.tokens, np.array([0, 2]))
    assert (start.tolist(), tokens.tolist()) == ([0, 2, 4], [0, 1, 0, 1])
