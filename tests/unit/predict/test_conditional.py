"""Rows that go both ways, weighted by what each party observes of them: results, messages, refusals, files."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from hidden_runs import hidden_margins
from prediction_runs import N, over_channels, trained
from simulated_runs import fit_tables
from vfxgb.data.table import Table
from vfxgb.errors import ExportError, FormatError, MessageError, ParameterError, PeerError, ShareMismatchError
from vfxgb.model.file import load_share, save_share
from vfxgb.model.leanings import LEAN_STEPS, STRATA
from vfxgb.model.pooled import PooledModel
from vfxgb.model.xgboost_json import xgboost_json
from vfxgb.params import TrainParams
from vfxgb.predict import active
from vfxgb.predict.hidden_answers import HiddenSide, announced_splits
from vfxgb.predict.joint import predict_leaves, predict_margin
from vfxgb.predict.messages import HiddenGroups, Leaned
from vfxgb.predict.passive import PassivePredictor
from vfxgb.predict.paths import most_comparisons
from vfxgb.predict.split_evaluator import split_tester
from vfxgb.runtime.ledger import Ledger
from vfxgb.transport.messages import pack_array, pack_bytes


@pytest.fixture(scope="module")
def conditional() -> Any:
    return trained("conditional")


def naive_margins(result: Any, X: np.ndarray) -> list[float]:
    """Row by row and node by node, with the weights by the formula."""
    pooled = PooledModel(result.active_share, result.passive_shares)
    shares = {"bank": result.active_share, **result.passive_shares}
    expected: dict[tuple[str, int], np.ndarray] = {}

    def lean(i: int, record: int, row: int) -> int:
        party, first = pooled.parties[pooled.party[i]], 2 * int(pooled.party[i])
        own, feature = shares[party].records.leanings, int(pooled.feature[i]) - first
        if (party, feature) not in expected:
            scores = own.regressions.scores(feature, lambda other: X[:, first + other], len(X))
            expected[party, feature] = own.strata(feature, scores)
        return int(own.leans.reshape(-1, STRATA)[record, expected[party, feature][row]])

    def walk(tree: int, node: int, row: int) -> float:
        first = int(pooled.tree_start[tree])
        i = first + node
        if pooled.feature[i] < 0:
            return float(pooled.value[i])
        x, left, right = X[row, pooled.feature[i]], int(pooled.left[i]), int(pooled.right[i])
        if not np.isnan(x):
            return walk(tree, left if x < np.float32(pooled.threshold[i]) else right, row)
        record = int(result.active_share.trees[tree].record[node])
        a = float(pooled.cover[first + left]) * math.exp(lean(i, record, row) / LEAN_STEPS)
        b = float(pooled.cover[first + right])
        return (a * walk(tree, left, row) + b * walk(tree, right, row)) / (a + b)

    base = float(pooled.base_margin[0])
    return [base + sum(walk(tree, 0, row) for tree in range(pooled.n_trees)) for row in range(len(X))]


def test_margins_are_those_of_the_slow_twin_in_one_block_and_in_many(
    conditional: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, tables, X = conditional
    margins, _, _ = over_channels(result, tables)
    assert np.allclose(margins[:, 0], naive_margins(result, X), rtol=0, atol=1e-12)
    monkeypatch.setattr(active, "BLOCK_PAIRS", 7 * 5)
    assert np.array_equal(over_channels(result, tables)[0], margins)


def test_it_differs_from_cover_alone_only_where_a_value_is_missing(conditional: Any) -> None:
    result, tables, X = conditional
    by_cover, _, _ = trained("probabilistic")
    mine = predict_margin(result.active_share, result.passive_shares, tables)[:, 0]
    theirs = predict_margin(by_cover.active_share, by_cover.passive_shares, tables)[:, 0]
    complete = ~np.isnan(X).any(axis=1)
    assert np.array_equal(mine[complete], theirs[complete])
    assert (mine[~complete] != theirs[~complete]).mean() > 0.5


def test_leaves_are_those_of_the_largest_weight(conditional: Any) -> None:
    result, tables, _ = conditional
    leaves = predict_leaves(result.active_share, result.passive_shares, tables)
    assert leaves.shape == (N, len(result.active_share.trees))
    for tree, shape in enumerate(result.active_share.trees):
        assert (shape.party[leaves[:, tree]] == -1).all()


def test_the_ledger_counts_the_missing_values_that_were_told(conditional: Any) -> None:
    result, tables, _ = conditional
    ledger, counted = Ledger(), Ledger()
    over_channels(result, tables, ledger=ledger)
    by_cover, _, _ = trained("probabilistic")
    over_channels(by_cover, tables, ledger=counted)
    for party, share in result.passive_shares.items():
        told = {entry.message: entry for entry in ledger.entries if entry.sender == party}
        assert 0 < told["leaned"].amount < told["routed"].amount
        assert "16 classes" in told["leaned"].reveals
        assert told["leaned"].messages == told["routed"].messages
        assert told["leaned"].amount + told["routed"].amount <= most_comparisons(share.paths) * N
        assert most_comparisons(share.paths) == 2 * len(share.records)
    assert "leaned" not in {entry.message for entry in counted.entries}


def test_regressions_give_the_margins_of_training_and_of_the_pooled_model() -> None:
    result, tables, X = trained("regression")
    expected = predict_margin(result.active_share, result.passive_shares, tables)
    assert np.array_equal(expected, PooledModel(result.active_share, result.passive_shares).margins(X))
    assert np.abs(expected - result.margins).max() < 1e-6


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"depth": 3}, "leans of level 3, wanted"),
        ({"n_values": 1}, "found 1 leans of level 0, wanted"),
        ({"leans": pack_bytes(b"")}, "found 0 bytes, wanted"),
        ({"leans": -128}, "found a lean of more than 127 steps"),
    ],
)
def test_leans_that_do_not_fit(
    conditional: Any, change: dict[str, Any], match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, tables, _ = conditional
    honest = PassivePredictor._leaned

    def lying(self: PassivePredictor, route: Any) -> Leaned:
        true = honest(self, route)
        values = {name: getattr(true, name) for name in true.__struct_fields__} | change
        if isinstance(values["leans"], int):
            values["leans"] = pack_array(np.full(true.n_values, values["leans"], np.int8))
        return Leaned(**values)

    monkeypatch.setattr(PassivePredictor, "_leaned", lying)
    with pytest.raises(MessageError, match=match):
        over_channels(result, tables)


def test_hidden_predictions_are_refused_by_name_at_both_sides(conditional: Any) -> None:
    result, tables, _ = conditional
    with pytest.raises(ParameterError, match=r"bank predicting: found a hidden prediction .*'conditional'.*openly"):
        predict_margin(result.active_share, result.passive_shares, tables, hidden=True)
    with pytest.raises((ParameterError, PeerError), match="'conditional'"):
        hidden_margins(result, tables)
    share = result.passive_shares["shop"]
    announced = HiddenGroups(5, 0, pack_array(np.zeros((0, 3), np.int32)))
    side: Any = HiddenSide(sender=None)  # type: ignore[arg-type] - it is refused before anything is sent
    with pytest.raises(ShareMismatchError, match=r"shop: found a hidden prediction.*wanted an open one"):
        announced_splits(side, share, announced, "shop")


@pytest.mark.parametrize(("strategy", "words"), [("conditional", "both branches"), ("regression", "guesses")])
def test_xgboost_cannot_express_it(strategy: str, words: str) -> None:
    result, _, _ = trained(strategy)
    with pytest.raises(ExportError, match=f"'{strategy}', which .*{words}"):
        xgboost_json(PooledModel(result.active_share, result.passive_shares))


def test_a_share_without_leanings_of_an_active_party_that_wants_them(conditional: Any) -> None:
    result, tables, _ = conditional
    shop = result.passive_shares["shop"]
    bare = replace(shop, records=trained("probabilistic")[0].passive_shares["shop"].records)
    broken = replace(result, passive_shares={**result.passive_shares, "shop": bare})
    with pytest.raises((MessageError, PeerError)):
        over_channels(broken, tables)


def _spoil(document: dict[str, Any], path: str, value: Any) -> None:
    *above, last = path.split(".")
    for name in above:
        document = document[name]
    old = document[last]
    document[last] = value(old) if callable(value) else value


@pytest.mark.parametrize("strategy", ["regression", "conditional"])
def test_shares_are_the_same_when_read_again(strategy: str, tmp_path: Path) -> None:
    result, tables, _ = trained(strategy)
    for share in (result.active_share, *result.passive_shares.values()):
        save_share(share, tmp_path / f"{share.party}.json")
    read = {party: load_share(tmp_path / f"{party}.json") for party in tables}
    passive = {party: share for party, share in read.items() if party != "bank"}
    expected = predict_margin(result.active_share, result.passive_shares, tables)
    assert np.array_equal(predict_margin(read["bank"], passive, tables), expected)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("strategy", "path", "value", "match"),
    [
        ("regression", "regressions.weights", lambda w: w[:-1], "its regressions are not those of 2 features"),
        ("regression", "regressions.weights", lambda w: [1, *w[1:]], "its regressions are not those"),
        ("regression", "regressions.weights", lambda w: [0, 1 << 20, *w[2:]], "its regressions are not those"),
        ("regression", "regressions.spread", lambda s: [-1.0, *s[1:]], "its regressions are not those"),
        ("regression", "regressions.slope", lambda s: [1e300, *s[1:]], "its regressions are not those"),
        ("regression", "regressions.low", lambda s: [1e300, *s[1:]], "its regressions are not those"),
        ("regression", "regressions.known", lambda s: [*s, True], "its regressions are not those"),
        ("regression", "regressions.median", ["x", "y"], "Expected `float`"),
        ("regression", "regressions", None, "do not go together"),
        ("regression", "regressions.offset", lambda s: [0.25, *s[1:]], "do not match its digest"),
        ("conditional", "leanings", None, "do not go together"),
        ("conditional", "leanings.leans", lambda w: w[:-1], "its leanings are not those"),
        ("conditional", "leanings.leans", lambda w: [200, *w[1:]], "its leanings are not those"),
        ("conditional", "leanings.edges", lambda w: [*w[1:], w[0]], "its leanings are not those"),
        ("conditional", "leanings.edges", lambda w: w[:-1], "its leanings are not those"),
        ("conditional", "leanings.regressions.known", [True], "its regressions are not those"),
        ("conditional", "leanings.leans", lambda w: [(w[0] + 1) % 100, *w[1:]], "do not match its digest"),
    ],
)
def test_files_that_are_none_or_altered(strategy: str, path: str, value: Any, match: str, tmp_path: Path) -> None:
    result, _, _ = trained(strategy)
    for share in (result.active_share, result.passive_shares["shop"]):
        file = tmp_path / "share.json"
        save_share(share, file)
        document = json.loads(file.read_text())
        _spoil(document["records"], path, value)
        file.write_text(json.dumps(document))
        with pytest.raises((FormatError, ShareMismatchError), match=match):
            load_share(file)


def test_records_of_another_way_are_refused(tmp_path: Path) -> None:
    learned, regression = trained()[0].passive_shares["shop"], trained("regression")[0].passive_shares["shop"]
    records = msgspec.structs.replace(learned.records, regressions=regression.records.regressions)
    save_share(replace(learned, records=records), tmp_path / "share.json")
    with pytest.raises(FormatError, match="records and missing_strategy='learned' do not go together"):
        load_share(tmp_path / "share.json")


def test_a_party_of_one_column_leans_no_way() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)).astype(np.float32)
    y = X.sum(axis=1)
    X[rng.random(X.shape) < 0.2] = np.nan
    tables = {party: Table.read(X[:, [i]], names=[party], party=party) for i, party in enumerate(("bank", "shop"))}
    params = TrainParams(n_estimators=3, max_depth=3, n_jobs=1, missing_strategy="conditional")
    with pytest.warns(UserWarning, match="no other column of this party"):
        result = fit_tables(tables, "bank", y, None, 200, params)
    assert not result.passive_shares["shop"].records.leanings.leans.any()
    found = predict_margin(result.active_share, result.passive_shares, tables)
    by_cover = fit_tables(tables, "bank", y, None, 200, replace(params, missing_strategy="probabilistic"))
    assert np.allclose(found, predict_margin(by_cover.active_share, by_cover.passive_shares, tables), atol=1e-12)


def test_leans_of_some_rows_are_those_of_all() -> None:
    result, tables, _ = trained("conditional")
    share = result.passive_shares["shop"]
    with split_tester(share.records, tables["shop"], None) as tester:
        everyone = np.arange(50, dtype=np.int32)
        (whole,) = tester.leans([0], [everyone], 100, 50)
        (some,) = tester.leans([0], [everyone[::7]], 100, 50)
        assert np.array_equal(some, whole[::7])
        (other,) = tester.leans([0], [everyone], 0, 50)
    assert not np.array_equal(other, whole)
