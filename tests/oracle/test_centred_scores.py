"""Scores of the rule `centred` and the best by them, against Python's integers and XGBoost's gain of single splits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import centred_twin as twin
from property_tests import examples
from vfxgb import _native

SEEDS = st.integers(0, 2**32 - 1)


@given(seed=SEEDS, size=st.sampled_from([3, 20, 52, 62]), threads=st.sampled_from([1, 3]))
@examples(60)
def test_scores_are_the_naive_ones(seed, size, threads) -> None:
    rng = np.random.default_rng(seed)
    m, c = int(rng.integers(5)), int(rng.integers(40))
    left = rng.integers(-(2**size), 2**size, size=(m, c, 2))
    totals = rng.integers(-(2 ** min(size, 56)), 2 ** min(size, 56), size=(m, 2))
    weights = rng.integers(0, 128, size=c).astype(np.uint8)
    found = _native.gbdt.centred_scores(left, totals, weights, threads)
    expected = [
        [twin.score(pair, total, int(w)) for pair, w in zip(row, weights, strict=True)]
        for row, total in zip(left.tolist(), totals.tolist(), strict=True)
    ]
    assert found.tolist() == expected


def test_the_widest_numbers() -> None:
    lowest = -(2**63)
    left = np.array([[[lowest, lowest], [lowest, 2**63 - 1], [2**63 - 1, lowest]]], dtype=np.int64)
    for total in ([2**56, 2**56], [-(2**56), 2**56], [2**56, -(2**56)]):
        found = _native.gbdt.centred_scores(left, np.array([total]), np.full(3, 127, dtype=np.uint8))
        assert found[0].tolist() == [twin.score(pair, total, 127) for pair in left[0].tolist()]


@given(seed=SEEDS, monotone=st.booleans(), threads=st.sampled_from([1, 2, 5]))
@examples(80)
def test_the_best_by_score_is_the_naive_one(seed, monotone, threads) -> None:
    rng = np.random.default_rng(seed)
    m, c = int(rng.integers(5)), int(rng.integers(25))
    # Few distinct small numbers: ties of scores and of gains, light children and negative gains all happen.
    left = rng.integers(-3, 6, size=(m, c, 2))
    totals = rng.integers(-3, 9, size=(m, 2))
    scores = rng.integers(0, 4, size=(m, c)).astype(np.float64)
    constraint = rng.integers(-1, 2, size=c).astype(np.int8) if monotone else None
    bounds = np.sort(rng.normal(size=(m, 2)), axis=1) if monotone else None
    rule = _native.gbdt.SplitRule(0.5, min_child_weight=0.5)
    gain, start, tied, score = _native.gbdt.best_by_score(rule, left, totals, scores, constraint, bounds, threads)
    assert start[0] == 0
    for k in range(m):
        keys = {}
        for j in range(c):
            limits = None if bounds is None else bounds[k : k + 1]
            direction = None if constraint is None else constraint[j : j + 1]
            one = np.ascontiguousarray(left[k : k + 1, j : j + 1])
            change = float(rule.score(one, totals[k : k + 1], None, direction, limits)[0][0])
            if scores[k, j] > 0:
                keys[j] = (scores[k, j], change)
        best = max(keys.values(), default=(0.0, 0.0))
        assert (score[k], gain[k]) == best
        assert tied[start[k] : start[k + 1]].tolist() == [j for j, key in keys.items() if key == best]


@given(seed=SEEDS, size=st.sampled_from([2, 30, 47, 48, 49, 55]), total=st.sampled_from([1, 20, 48, 56]))
@examples(80)
def test_rows_are_centred_as_integers_are(seed, size, total) -> None:
    """Also where a quotient is a half, and where doubles cannot hold it."""
    rng = np.random.default_rng(seed)
    n, m = 60, 4
    totals = np.stack([rng.integers(-(2**total), 2**total, m), rng.integers(1, 2**total + 1, m)], axis=1)
    place = rng.integers(-1, m, n).astype(np.int32)
    gh = rng.integers(-(2**size), 2**size, (n, 2))
    # Halves, exactly: h = 0 and g with g H odd over 2 H, or h = H / 2 and G odd.
    gh[::3, 1] = totals[place[::3], 1] // 2
    gh[::5, 0] = 0
    wanted = [
        0 if k < 0 else twin.centred(pair, totals[k].tolist()) for pair, k in zip(gh.tolist(), place, strict=True)
    ]
    if max(map(abs, wanted)) < 2**63:
        assert _native.gbdt.centre_rows(gh, place, totals, 2).tolist() == wanted


def test_signs_of_nodes_are_those_of_their_rows() -> None:
    rng = np.random.default_rng(3)
    centred, words = rng.integers(-(2**40), 2**40, 500), rng.integers(0, 2**64, 500, dtype=np.uint64)
    place = rng.integers(-1, 5, 500).astype(np.int32)
    shift, sign = rng.integers(0, 40, 5).astype(np.int32), np.array([1, -1, -1, 1, -1], dtype=np.int32)
    plain = _native.gbdt.round_rows(centred, place, shift, np.ones(5, dtype=np.int32), words)
    signed = _native.gbdt.round_rows(centred, place, shift, sign, words, 2)
    assert signed.tolist() == [0 if k < 0 else int(sign[k]) * v for k, v in zip(place, plain.tolist(), strict=True)]


def test_what_is_refused() -> None:
    native = _native.gbdt
    left, totals = np.zeros((1, 2, 2), dtype=np.int64), np.ones((1, 2), dtype=np.int64)
    weights, scores = np.full(2, 8, dtype=np.uint8), np.ones((1, 2))
    place, words = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.uint64)
    gh, shift = np.ones((1, 2), dtype=np.int64), np.zeros(1, dtype=np.int32)
    sign = np.ones(1, dtype=np.int32)
    cases = [
        (lambda: native.centred_scores(left, totals << 57, weights), "total is above"),
        (lambda: native.centred_scores(left, totals, weights[:1]), "weights must have shape"),
        (lambda: native.centred_scores(left, totals, weights << 4), "weight is above"),
        (lambda: native.best_by_score(native.SplitRule(1.0), left, totals, scores[:, :1]), "scores must have"),
        (lambda: native.best_by_score(native.SplitRule(1.0, first_order=True), left, totals, scores), "order"),
        (lambda: native.centre_rows(gh, place + 1, totals), "place is none of the nodes"),
        (lambda: native.centre_rows(gh << 57, place, totals), "pair is above"),
        (lambda: native.centre_rows(gh, place, totals << 57), "total is above"),
        (lambda: native.centre_rows(gh, place[:0], totals), "gh must have shape"),
        (lambda: native.round_rows(gh[:, 0] << 63, place, shift, sign, words), "above 2\\^62"),
        (lambda: native.round_rows(gh[:, 0].copy(), place, shift + 63, sign, words), "between 0 and 62"),
        (lambda: native.round_rows(gh[:, 0].copy(), place, shift, sign, words[:0]), "words must have shape"),
        (lambda: native.round_rows(gh[:, 0].copy(), place, shift, 0 * sign, words), "one sign"),
        (lambda: native.node_norms(gh[:, 0].copy(), place, 0), "place is none of the nodes"),
        (lambda: native.node_norms(gh[:, 0].copy(), place, -1), "must not be negative"),
    ]
    for call, words_of_error in cases:
        with pytest.raises(ValueError, match=words_of_error):
            call()
