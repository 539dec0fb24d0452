"""Which way rows with a missing value lean, against a slow twin."""

import math

import numpy as np
import pytest

from prediction_runs import PARTIES, N, trained
from vfxgb.data.column_regressions import fit_regressions
from vfxgb.model.leanings import EVIDENCE, LEAN_STEPS, MAX_LEAN, STRATA, left_shares
from vfxgb.model.paths import paths_in_trees
from vfxgb.model.shares import SplitPaths, SplitRecords
from vfxgb.train.leanings import PRIOR_ROWS


def naive_leans(records: SplitRecords, paths: SplitPaths, X: np.ndarray, record: int) -> list[int]:
    """Row by row."""
    leanings = records.leanings
    feature, cut = records.feature[record], np.float32(records.cut[record])
    scores = leanings.regressions.scores(int(feature), lambda other: X[:, other], len(X))
    edges = leanings.edges.reshape(-1, STRATA - 1)[feature]
    counts = [[0, 0] for _ in range(STRATA)]
    for row, values in enumerate(X):
        here, above = not np.isnan(values[feature]), int(paths.above[record])
        while above >= 0:
            own = values[records.feature[above // 2]]
            right = own >= np.float32(records.cut[above // 2])
            here = here and (np.isnan(own) or bool(right) == bool(above % 2))
            above = int(paths.above[above // 2])
        if here:
            stratum = sum(score <= scores[row] for score in edges)
            counts[stratum][0] += 1
            counts[stratum][1] += bool(values[feature] < cut)
    rows, lefts = (sum(count[k] for count in counts) for k in (0, 1))
    if lefts in (0, rows):
        return [0] * STRATA
    share = lefts / rows
    odds = math.log(share / (1 - share))
    leans = []
    for count, left in counts:
        own = (left + PRIOR_ROWS * share) / (count + PRIOR_ROWS)
        lean = EVIDENCE * (math.log(own / (1 - own)) - odds)
        leans.append(min(max(round(LEAN_STEPS * lean), -MAX_LEAN), MAX_LEAN))
    return leans


def test_leans_are_those_of_the_slow_twin_at_every_party() -> None:
    result, _, X = trained("conditional")
    active, told = result.active_share, 0
    for place, party in enumerate(PARTIES):
        records = active.records if party == "bank" else result.passive_shares[party].records
        paths = paths_in_trees(active.trees, place, "conditional")
        if party != "bank":
            own = result.passive_shares[party].paths
            assert np.array_equal(own.above, paths.above)
        for record in range(len(records)):
            found = records.leanings.leans.reshape(-1, STRATA)[record].tolist()
            assert found == naive_leans(records, paths, X[:, 2 * place : 2 * place + 2], record)
            told += any(found)
    assert told > 10
    assert len(X) == N


def test_the_regressions_of_a_share_are_those_of_its_training_rows() -> None:
    result, tables, _ = trained("conditional")
    own, again = result.passive_shares["shop"].records.leanings.regressions, fit_regressions(tables["shop"], N)
    assert np.array_equal(own.weights, again.weights)
    assert np.array_equal(own.slope, again.slope)


@pytest.mark.parametrize(
    ("left", "right", "lean", "share"),
    [
        (3.0, 1.0, 0, 0.75),
        (3.0, 1.0, LEAN_STEPS, 3 * math.e / (3 * math.e + 1)),
        (1.0, 1.0, -2 * LEAN_STEPS, 1 / (1 + math.e**2)),
        (0.0, 2.0, 5, 0.0),
        (2.0, 0.0, -5, 1.0),
        (0.0, 0.0, 7, 0.5),
    ],
)
def test_shares_of_the_left_branch(left: float, right: float, lean: int, share: float) -> None:
    assert left_shares(left, right, np.array([lean], np.int8)).tolist() == [pytest.approx(share, rel=1e-15)]
