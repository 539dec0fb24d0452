"""min_bucket_rows in whole runs: what an active party that follows the protocol can subtract from what it was shown.

The twin knows the truth: for every two nodes of a tree, one above the other, and every two candidates of a feature that
both showed, it counts the rows of the difference.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from simulated_runs import fit_tables
from vfxgb.audit.truth import Truth
from vfxgb.audit.view import AttackerView
from vfxgb.data.table import Table
from vfxgb.params import TrainParams
from vfxgb.protocols import protocol_by_name
from vfxgb.train import simulate
from vfxgb.tree.local_features import OwnFeatures

FLOOR = 12
LAYOUTS = {
    "plain": {},
    "missing": {"missing": 0.3},
    "by tree": {"colsample_bytree": 0.5},
    "by level": {"colsample_bylevel": 0.5, "missing": 0.2},
    "by node": {"colsample_bynode": 0.5},
    "classes": {"objective": "multi:softprob", "num_class": 3},
    "told goss": {"sampling_method": "goss", "top_rate": 0.4, "other_rate": 0.3, "told_sample": True},
    "subsample": {"subsample": 0.6},
    "monotone": {"monotone_constraints": {"p0": 1}},
}


def _run(protocol: str = "plain", n: int = 300, missing: float = 0.0, seed: int = 1, **changes):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    score = X @ rng.normal(size=5) + X[:, 0] * X[:, 2]
    objective = changes.get("objective", "binary:logistic")
    y = np.digitize(score, np.quantile(score, [0.3, 0.7])) if objective == "multi:softprob" else score > 0
    X[rng.random(X.shape) < missing] = np.nan
    tables = {
        "bank": Table.read(X[:, :2], names=["a0", "a1"], party="bank"),
        "shop": Table.read(X[:, 2:], names=["p0", "p1", "p2"], party="shop"),
    }
    given = {
        "objective": objective,
        "n_estimators": 2,
        "max_depth": 4,
        "max_bin": 16,
        "n_jobs": 1,
        "min_child_weight": 0.1,
        "min_bucket_rows": FLOOR,
    }
    return fit_tables(
        tables,
        "bank",
        y.astype(np.float64),
        None,
        n,
        TrainParams(**(given | changes)),
        protocol=protocol,
        protocol_params=protocol_by_name(protocol).quick_params,
        record=True,
    )


def _shown(result: simulate.FitResult) -> dict:
    """(round, tree) -> node -> (rows, which candidates the active party has a sum of that is not zero)."""
    transcript = result.transcript
    view = AttackerView(transcript.records["bank"], transcript.catalogue, transcript.protocol, None)
    levels: dict = {}
    for node in view.nodes("shop"):
        if node.built:
            levels.setdefault((node.round, node.tree, node.depth), []).append(node)
    found: dict = {}
    for (round_index, tree, depth), nodes in levels.items():
        sums = view.note(f"left-sums:{depth}:shop", round_index, tree)
        for node, left in zip(nodes, sums, strict=True):
            found.setdefault((round_index, tree), {})[node.node] = (node.rows, (left != 0).any(axis=1))
    return found


def small_differences(result: simulate.FitResult, floor: int) -> tuple[int, int]:
    """Differences of shown sums that are sums over 1 to floor - 1 rows, and all differences that were looked at."""
    truth = Truth(result.transcript)
    small = seen = 0
    for (round_index, tree), nodes in _shown(result).items():
        columns = truth.columns("shop", round_index, tree)
        feature, _, _ = columns.candidates
        chains = [(rows, shown) for rows, shown in nodes.values()]
        for (rows, shown), (inner, also) in combinations(chains, 2):
            if np.isin(inner, rows).all():
                chains.append((np.setdiff1d(rows, inner), shown & also))
        for rows, shown in chains:
            left = columns.matrix(rows)
            for one in np.unique(feature):
                sides = [left[token] for token in np.flatnonzero(shown & (feature == one))]
                if not sides:
                    continue
                sides += [np.zeros(len(rows), dtype=np.bool_), np.ones(len(rows), dtype=np.bool_)]
                for first, second in combinations(sides, 2):
                    # Only of nested sets is the difference of sums the sum over a set.
                    if (first <= second).all() or (second <= first).all():
                        rows_between = int((first != second).sum())
                        seen += rows_between > 0
                        small += 0 < rows_between < floor
    return small, seen


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_difference_is_over_fewer_rows(layout) -> None:
    result = _run(**LAYOUTS[layout])
    small, seen = small_differences(result, FLOOR)
    assert small == 0
    assert seen > 100
    assert any((tree.party == 1).any() for tree in result.active_share.trees)


@pytest.mark.parametrize("name", ["ot_shares", "batch_he"])
def test_other_protocols_show_the_same(name) -> None:
    floor = 20
    result = _run(name, min_bucket_rows=floor)
    small, seen = small_differences(result, floor)
    assert small == 0
    assert seen > 50
    assert result.ledger.small_sums == {"shop": 0}


def test_without_a_floor_the_twin_finds_them_and_the_ledger_says_so() -> None:
    result = _run(min_bucket_rows=1)
    assert small_differences(result, FLOOR)[0] > 100
    assert result.ledger.small_sums["shop"] > 100


def test_an_active_party_that_parts_single_rows_learns_nothing_of_them(monkeypatch) -> None:
    """Its own splits keep to no floor; where they make a child too small, neither child shows anything."""
    make = OwnFeatures.__init__

    def without_floor(self, binned, constraints, params, threads) -> None:
        make(self, binned, constraints, replace(params, min_bucket_rows=1), threads)

    monkeypatch.setattr(OwnFeatures, "__init__", without_floor)
    result = _run(objective="reg:squarederror", min_child_weight=0.0, max_depth=5, n=200)
    sizes = [len(rows) for nodes in _shown(result).values() for rows, _ in nodes.values()]
    assert min(sizes) < FLOOR
    assert small_differences(result, FLOOR)[0] == 0
