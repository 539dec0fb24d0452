"""Where a passive party's splits stand in the trees, as it notes them while the trees grow."""

from typing import Any

import numpy as np
import pytest

from simulated_runs import fit_tables
from vfxgb.data.table import Table
from vfxgb.errors import CheckpointError
from vfxgb.model.shares import ActiveShare
from vfxgb.params import TrainParams
from vfxgb.train.checkpoint import KeptRecords, keep_records
from vfxgb.train.split_log import SplitLog

PARTIES = ("bank", "shop", "mart")


def trained(**changes: Any) -> Any:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 6)).round(2)
    tables = {
        party: Table.read(X[:, 2 * place : 2 * place + 2], names=[f"{party}{i}" for i in range(2)], party=party)
        for place, party in enumerate(PARTIES)
    }
    y = np.digitize(X.sum(axis=1) + X[:, 0] * X[:, 2], [-1, 1]).astype(float)
    params = {"objective": "multi:softprob", "num_class": 3, "n_estimators": 3, "max_depth": 5, "n_jobs": 1}
    hide_nodes = changes.pop("hide_nodes", False)
    chosen = TrainParams.from_dict(params | changes)
    return fit_tables(tables, "bank", y, None, len(y), chosen, protocol_params={"hide_nodes": hide_nodes})


def places(share: ActiveShare, party: str) -> dict[int, tuple[int, int, int]]:
    """record -> (tree, depth, split above) of a party, walked from the roots of the active party's trees."""
    own = share.parties.index(party)
    found = {}
    for number, tree in enumerate(share.trees):
        ahead = [(0, 0, -1)]
        while ahead:
            node, depth, above = ahead.pop()
            if tree.party[node] < 0:
                continue
            sides = (above, above)
            if tree.party[node] == own:
                record = int(tree.record[node])
                found[record] = (number, depth, above)
                sides = (2 * record, 2 * record + 1)
            ahead += [(int(tree.left[node]), depth + 1, sides[0]), (int(tree.right[node]), depth + 1, sides[1])]
    return found


@pytest.mark.parametrize("hide_nodes", [False, True])
@pytest.mark.parametrize("changes", [{}, {"reduced_leakage": True}, {"subsample": 0.7, "colsample_bynode": 0.5}])
def test_the_paths_are_those_of_the_active_partys_trees(changes: dict[str, Any], hide_nodes: bool) -> None:
    result = trained(**changes, hide_nodes=hide_nodes)
    for party, share in result.passive_shares.items():
        assert share.paths is not None
        wanted = places(result.active_share, party)
        assert len(wanted) == len(share.records) > 10
        held = zip(share.paths.tree.tolist(), share.paths.depth.tolist(), share.paths.above.tolist(), strict=True)
        assert dict(enumerate(held)) == wanted
        assert share.paths.missing_strategy == "learned"
        assert any(above % 2 and above > 0 for _, _, above in wanted.values())


def log_of_two() -> SplitLog:
    log = SplitLog()
    assert log.choose(6, 0, log.codes.above(0, [0]), [(1, 0.5, True)]).tolist() == [0]
    log.codes.grow(0, [0], [1], [2], [0])
    log.codes.grow(0, [2], [3], [4], None)
    assert log.choose(6, 2, log.codes.above(0, [4]), [(0, 0.25, False)]).tolist() == [1]
    return log


@pytest.mark.parametrize(
    ("number", "depth", "above", "fits"),
    [
        (6, 3, [-1, 0, 3], True),
        (6, 2, [1], True),
        (6, 2, [2], False),
        (6, 0, [0], False),
        (7, 3, [0], False),
        (6, 3, [4], False),
        (6, 3, [-2], False),
    ],
)
def test_splits_stand_below_splits_of_their_own_tree(number: int, depth: int, above: list[int], fits: bool) -> None:
    assert log_of_two().fits(number, depth, above) == fits


def test_a_checkpoint_keeps_them() -> None:
    log = log_of_two()
    kept = log.keep(0, len(log))
    again = SplitLog.restore(kept, 2, 2)
    assert (again.keep(0, 2), len(again)) == (kept, 2)
    assert again.paths("learned").above.tolist() == [-1, 1]
    first = SplitLog.restore(kept, 1, 2)
    assert (len(first), first.paths("learned").depth.tolist()) == (1, [0])


@pytest.mark.parametrize(
    ("spoilt", "match"),
    [
        (keep_records([(1, 0.5, True)]), "0 bytes, wanted 3 entries"),
        (keep_records([(1, 0.5, True)], [(0, 0, 0)]), "do not lie in trees"),
        (keep_records([(1, 0.5, True)] * 2, [(0, 1, -1), (0, 1, 1)]), "do not lie in trees"),
        (keep_records([(1, 0.5, True)] * 2, [(0, 0, -1), (1, 1, 1)]), "do not lie in trees"),
        (keep_records([(1, 0.5, True)], [(-1, 0, -1)]), "do not lie in trees"),
    ],
)
def test_places_that_are_none(spoilt: KeptRecords, match: str) -> None:
    with pytest.raises(CheckpointError, match=match):
        SplitLog.restore(spoilt, len(spoilt.feature) // 4, 2)
