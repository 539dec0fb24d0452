"""Features of categories under every protocol that can have them: the model of `plain`, and refusals with a remedy."""

from typing import Any

import numpy as np
import pytest

from vfxgb import VFXGBClassifier
from vfxgb.errors import ParameterError
from vfxgb.protocols import protocol_by_name, shipped_protocols

pd = pytest.importorskip("pandas")

PARTIES = {"a": ["x", "c"], "b": ["d", "e"]}
OPENING = [name for name in shipped_protocols() if protocol_by_name(name).category_splits == "all"]
ONE_HOT = [name for name in shipped_protocols() if protocol_by_name(name).category_splits == "one-hot"]
NEITHER = [name for name in shipped_protocols() if protocol_by_name(name).category_splits == "none"]
MANY = {"max_cat_to_onehot": 20}

pytestmark = pytest.mark.filterwarnings("ignore::vfxgb.errors.InsecureProtocolWarning")


def table() -> tuple[Any, Any]:
    random = np.random.default_rng(3)
    rows = 240
    codes = {name: random.integers(0, count, rows) for name, count in (("c", 6), ("d", 3), ("e", 9))}
    y = (sum(random.normal(size=9)[code] for code in codes.values()) + random.normal(size=rows) > 0).astype(int)
    columns: dict[str, Any] = {"x": random.normal(size=rows).round(1)}
    for name, code in codes.items():
        code[:20] = -1
        columns[name] = pd.Categorical.from_codes(random.permutation(code), [f"{name}{i}" for i in range(9)])
    return pd.DataFrame(columns), y


def fitted(protocol: str, **params: Any) -> Any:
    X, y = table()
    own = {**protocol_by_name(protocol).quick_params, **params.pop("protocol_params", {})}
    model = VFXGBClassifier(
        parties=PARTIES, protocol=protocol, protocol_params=own, n_estimators=2, max_depth=3, max_bin=32, **params
    )
    return model.fit(X, y)


def splits(model: Any) -> list[Any]:
    return [codes.tolist() for _, codes in sorted(model.model_.pooled.right_codes.items())]


def test_there_are_protocols_of_each_kind() -> None:
    assert set(OPENING) == {"plain", "secureboost", "batch_he", "ot_shares"}
    assert "sealed" in ONE_HOT
    assert set(NEITHER) == {"ldp", "masked", "federboost"}


@pytest.mark.parametrize("kind", [name for name in OPENING if name != "plain"])
def test_opening_protocols_find_the_sets_of_plain(kind: str) -> None:
    X, _ = table()
    plain, model = fitted("plain"), fitted(kind)
    assert splits(model) == splits(plain)
    assert any(len(codes) > 1 for codes in splits(model))
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_array_equal(model.predict_proba(X, hidden=True), plain.predict_proba(X))


def test_one_category_at_a_time_is_open_to_protocols_that_show_nodes_and_to_those_that_hide_them() -> None:
    plain = fitted("plain", **MANY)
    assert splits(plain)
    assert splits(fitted("plain", protocol_params={"hide_nodes": True}, **MANY)) == splits(plain)
    assert splits(fitted("smm2", **MANY)) == splits(plain)
    assert all(len(codes) == 1 for codes in splits(plain))


def test_sealed_splits_one_category_at_a_time() -> None:
    X, _ = table()
    model = fitted("sealed", **MANY)
    assert splits(model)
    assert all(len(codes) == 1 for codes in splits(model))
    np.testing.assert_allclose(model.predict_proba(X, hidden=True), model.predict_proba(X))


@pytest.mark.parametrize("kind", ONE_HOT)
def test_sets_are_refused_where_nobody_can_sort_by_sums(kind: str) -> None:
    with pytest.raises(ParameterError, match=r"holds categories.*cannot sort by sums.*set max_cat_to_onehot=\d+"):
        fitted(kind)


@pytest.mark.parametrize("kind", NEITHER)
def test_protocols_that_pay_for_each_column_refuse_categories(kind: str) -> None:
    with pytest.raises(ParameterError, match=f"protocol '{kind}' releases every column by itself.*sealed"):
        fitted(kind)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"missing_strategy": "mean"}, "reckons with values.*'learned' or 'probabilistic'"),
        ({"missing_strategy": "conditional"}, "reckons with values"),
        ({"min_bucket_rows": 5}, "min_bucket_rows=5 would merge.*max_cat_to_onehot"),
        ({"split_rule": "centred"}, "split_rule='centred'.*max_cat_to_onehot"),
        ({"monotone_constraints": {"d": 1}}, "no prediction rises or falls.*monotone_constraints"),
        ({"memory_limit": "2GB"}, "rows in shards have numbers only"),
    ],
)
def test_what_categories_cannot_have_is_refused_by_name(params: dict[str, Any], reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        fitted("plain", **params)


@pytest.mark.parametrize(
    "params",
    [
        {"missing_strategy": "probabilistic"},
        {"min_bucket_rows": 5, **MANY},
        {"colsample_bynode": 0.5},
        {"subsample": 0.7},
    ],
    ids=["probabilistic", "merged", "by-node", "sampled"],
)
def test_other_settings_go_with_categories(params: dict[str, Any]) -> None:
    X, y = table()
    model = fitted("plain", **params)
    whole = VFXGBClassifier(n_estimators=2, max_depth=3, max_bin=32, **params).fit(X[["x", "c", "d", "e"]], y)
    assert splits(model) == splits(whole)
    # Rows that go both ways are added up in another order.
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-12)


def test_the_ledger_says_which_sums_were_those_of_categories() -> None:
    model = fitted("ot_shares")
    entries = [entry for entry in model.ledger_.entries if entry.message == "candidate-categories"]
    assert [entry.amount for entry in entries] == [2 * 9]
