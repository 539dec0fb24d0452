"""Mistakes of all kinds through the estimator: a clear error that names party and column, and no model."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vfxgb import VFXGBClassifier, VFXGBRegressor
from vfxgb.errors import (
    AlignmentError,
    ColumnNameError,
    ColumnTypeError,
    ColumnValueError,
    CutsError,
    LabelError,
    LengthMismatchError,
    ParameterError,
    PartiesError,
    ShareMismatchError,
    TableError,
    UnknownNameError,
    VfxgbError,
    WeightError,
)


def refuses(model: Any, error: type[VfxgbError], match: str, X: Any, y: Any, **rest: Any) -> None:
    with pytest.raises(error, match=match):
        model.fit(X, y, **rest)
    assert not hasattr(model, "model_")


def test_ragged_columns(make: Any, problem: Any) -> None:
    _, y = problem
    refuses(make(), TableError, "length", [[1.0, 2.0], [3.0]], y[:2])
    ragged = {"bank": {"f0": np.ones(3), "f1": np.ones(2)}, "shop": {"f2": np.ones(3), "f3": np.ones(3)}}
    refuses(make(), TableError, "'bank'.*'f1'", ragged, y[:3])


def test_rows_in_another_order(make: Any, problem: Any) -> None:
    pd = pytest.importorskip("pandas")
    X, y = problem
    names = [f"person {i}" for i in range(len(X))]
    bank = pd.DataFrame(X[:, :2], columns=["f0", "f1"], index=names)
    shop = pd.DataFrame(X[:, 2:], columns=["f2", "f3"], index=names)
    model = make().fit({"bank": bank, "shop": shop}, y)
    refuses(make(), AlignmentError, "shop.*row ids or their order differ", {"bank": bank, "shop": shop[::-1]}, y)
    with pytest.raises(AlignmentError, match="row ids or their order differ"):
        model.predict({"bank": bank[::-1], "shop": shop})
    # Rows without ids are taken as they come, and so is an index that only counts.
    plain = {"bank": bank.reset_index(drop=True), "shop": X[:, 2:]}
    assert (model.predict(plain) == model.predict({"bank": bank, "shop": shop})).all()
    some = {"bank": bank[10:50], "shop": shop[10:50]}
    eval_set = [(some, y[10:50])]
    assert make().fit({"bank": bank, "shop": shop}, y, eval_set=eval_set).evals_result_
    crossed = [({"bank": bank[10:50], "shop": shop[11:51]}, y[10:50])]
    refuses(make(), AlignmentError, "row ids", {"bank": bank, "shop": shop}, y, eval_set=crossed)


def test_duplicated_columns(make: Any, problem: Any) -> None:
    pd = pytest.importorskip("pandas")
    X, y = problem
    refuses(make(), ColumnNameError, "'f1'", pd.DataFrame(X, columns=["f0", "f1", "f1", "f3"]), y)


def test_a_column_in_two_parties(make: Any, problem: Any) -> None:
    X, y = problem
    parties = {"bank": ["f0", "f1"], "shop": ["f1", "f2", "f3"]}
    refuses(make(parties=parties), ColumnNameError, "'f1'.*'bank'.*'shop'", X, y)
    both = {"bank": {"age": X[:, 0]}, "shop": {"age": X[:, 1]}}
    refuses(make(parties=None), ColumnNameError, "'age'.*'bank'.*'shop'", both, y)
    twice = {"bank": ["f0", "f0", "f1"], "shop": ["f2", "f3"]}
    refuses(make(parties=twice), ColumnNameError, "'bank'.*'f0'", X, y)


def test_a_column_in_no_party(make: Any, problem: Any) -> None:
    X, y = problem
    refuses(make(parties={"bank": ["f0", "f1"], "shop": ["f2"]}), ColumnNameError, "'f3'", X, y)


def test_a_party_with_an_absent_column(make: Any, problem: Any) -> None:
    X, y = problem
    refuses(make(parties={"bank": ["f0", "f1"], "shop": ["f2", "f9"]}), ColumnNameError, "'shop'.*'f9'", X, y)
    refuses(make(parties={"bank": [0, 1], "shop": [2, 3, 4]}), ColumnNameError, "'shop'.*4", X, y)


def test_parties_that_are_none(make: Any, problem: Any) -> None:
    X, y = problem
    refuses(make(parties={}), PartiesError, "empty", X, y)
    refuses(make(active="mint"), TableError, "'mint'", X, y)
    refuses(make(), PartiesError, "'mint'", {"bank": X[:, :2], "mint": X[:, 2:]}, y)
    refuses(make(parties=None), PartiesError, "empty", {}, y)


def test_several_parties_need_a_protocol(make: Any, problem: Any) -> None:
    refuses(make(protocol=None), PartiesError, "bank, shop.*plain", *problem)


def test_labels_out_of_range(make: Any, problem: Any) -> None:
    X, y = problem
    refuses(make(), LabelError, "'bank'.*1 class", X, np.zeros(300))
    refuses(make(), LabelError, "eval set 0.*'bank'.*row 2.*7", X, y, eval_set=[(X[:3], [0, 1, 7])])
    refuses(make(), LabelError, "'bank'.*continuous", X, X[:, 0])
    model = VFXGBRegressor(objective="count:poisson")
    refuses(model, LabelError, "-1", X, np.where(np.arange(300) == 5, -1, 1))


def test_labels_that_are_missing_or_infinite(make: Any, problem: Any) -> None:
    X, y = problem
    holes = y.astype(float)
    holes[4] = np.nan
    refuses(make(), LabelError, "'bank'.*row 4", X, holes)
    refuses(VFXGBRegressor(), LabelError, "row 4", X, holes)
    holes[4] = np.inf
    refuses(VFXGBRegressor(), LabelError, "row 4.*inf", X, holes)
    refuses(make(), LabelError, "row 0", X, np.array([None, *y[1:]], dtype=object))
    refuses(make(), LabelError, "None", X, None)


def test_labels_of_another_length_or_shape(make: Any, problem: Any) -> None:
    X, y = problem
    refuses(make(), LabelError, "299", X, y[:-1])
    refuses(make(), LabelError, r"\(300, 2\)", X, np.stack([y, y], axis=1))


def test_infinite_features(make: Any, problem: Any) -> None:
    X, y = problem
    for value in (np.inf, -np.inf):
        bad = X.copy()
        bad[7, 3] = value
        # One table: it has not been divided when it is read, but the column says whose it is.
        refuses(make(), ColumnValueError, "'f3'.*row 7", bad, y)
        refuses(make(), ColumnValueError, "'f3'.*'shop'.*row 7", {"bank": X[:, :2], "shop": named(bad[:, 2:])}, y)
    too_large = X.astype(np.float64)
    too_large[0, 0] = 1e300
    refuses(make(), ColumnValueError, "'f0'.*float32", too_large, y)


def named(values: Any) -> dict[str, Any]:
    return {"f2": values[:, 0], "f3": values[:, 1]}


def test_features_that_are_no_numbers(make: Any, problem: Any) -> None:
    pd = pytest.importorskip("pandas")
    X, y = problem
    frame = pd.DataFrame(X, columns=["f0", "f1", "f2", "f3"])
    frame["f2"] = "text"
    refuses(make(), ColumnTypeError, "'f2'", frame, y)


def test_parties_of_different_length(make: Any, problem: Any) -> None:
    X, y = problem
    refuses(make(), LengthMismatchError, "'shop'.*299.*'bank'.*300", {"bank": X[:, :2], "shop": X[:-1, 2:]}, y)


def test_unknown_names(make: Any, problem: Any) -> None:
    refuses(make(protocol="magic"), UnknownNameError, "'magic'.*plain", *problem)
    refuses(make(objective="binary:logistik"), UnknownNameError, "binary:logistic", *problem)
    refuses(make(eval_metric="aucc"), UnknownNameError, "'auc'", *problem)
    refuses(make(protocol_params={"bits": 3}), VfxgbError, "bits", *problem)
    refuses(make(sampling_method="gos"), ParameterError, "goss", *problem)
    with pytest.raises(UnknownNameError, match=r"importance.*'gains'.*gain"):
        _ = make(importance_type="gains").fit(*problem).feature_importances_


def test_objectives_of_the_other_estimator(make: Any, problem: Any) -> None:
    X, y = problem
    refuses(make(objective="reg:squarederror"), ParameterError, "VFXGBRegressor", X, y)
    refuses(make(objective="binary:logistic"), ParameterError, "3 classes", X, np.arange(300) % 3)
    refuses(VFXGBRegressor(objective="multi:softprob"), ParameterError, "num_class", X, y)


def test_parameters_out_of_range(make: Any, problem: Any) -> None:
    for name, value in (("max_depth", 0), ("learning_rate", -1.0), ("subsample", 0.0), ("max_bin", 1)):
        refuses(make(**{name: value}), ParameterError, name, *problem)


def test_a_privacy_dir_that_is_no_folder(make: Any, problem: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for value in (3, tmp_path / "file"):
        refuses(make(privacy_dir=value), ParameterError, "privacy_dir=.*wanted a folder", *problem)


def test_an_eval_set_with_other_columns(make: Any, problem: Any) -> None:
    pd = pytest.importorskip("pandas")
    X, y = problem
    frame = pd.DataFrame(X, columns=["f0", "f1", "f2", "f3"])
    refuses(make(), ColumnNameError, "eval set 0.*'f3'", frame, y, eval_set=[(frame.drop(columns="f3"), y)])
    refuses(make(), ColumnNameError, "eval set 1.*'new'", frame, y, eval_set=[(frame, y), (frame.assign(new=1.0), y)])
    refuses(make(), ColumnNameError, "eval set 0.*3 features", X, y, eval_set=[(X[:, :3], y)])
    divided = {"bank": X[:, :2], "shop": X[:, 2:3]}
    refuses(make(), ColumnNameError, "eval set 0.*'shop'", X, y, eval_set=[(divided, y)])
    refuses(make(), PartiesError, "eval set 0", X, y, eval_set=[({"bank": X}, y)])
    refuses(make(), PartiesError, "eval set 0.*pair", X, y, eval_set=[X])
    refuses(make(), LabelError, "299", X, y, eval_set=[(X, y[:-1])])


def test_weights(make: Any, problem: Any) -> None:
    X, y = problem
    refuses(make(), WeightError, "299", X, y, sample_weight=np.ones(299))
    refuses(make(), WeightError, "row 3.*-1", X, y, sample_weight=np.where(np.arange(300) == 3, -1.0, 1.0))
    refuses(make(), WeightError, "nan", X, y, sample_weight=np.full(300, np.nan))
    refuses(make(), WeightError, "zero", X, y, sample_weight=np.zeros(300))
    refuses(make(), LengthMismatchError, "one per eval set", X, y, eval_set=[(X, y)], sample_weight_eval_set=[])


def test_cuts_that_cannot_be(make: Any, problem: Any) -> None:
    X, y = problem
    for cuts in ({"f0": [2.0, 1.0]}, {"f0": [np.nan]}, {"f9": [1.0]}):
        refuses(make(), CutsError, next(iter(cuts)), X, y, cuts=cuts)
    refuses(make(), CutsError, "list", X, y, cuts=[1.0])
    refuses(make(), CutsError, "1 features", X, y, cuts=([0, 2], [1.0, 2.0]))


def test_prediction_with_other_columns(make: Any, problem: Any) -> None:
    X, y = problem
    model = make().fit(X, y)
    with pytest.raises(ColumnNameError, match=r"prediction.*3 features.*expecting 4"):
        model.predict(X[:, :3])
    with pytest.raises(PartiesError, match=r"prediction.*bank"):
        model.predict({"bank": X[:, :2]})
    with pytest.raises(LengthMismatchError, match="'shop'"):
        model.predict({"bank": X[:, :2], "shop": X[1:, 2:]})
    with pytest.raises(ColumnValueError, match="'f2'"):
        model.predict(np.full((1, 4), [0, 0, np.inf, 0]))


def test_a_share_of_another_run(make: Any, problem: Any) -> None:
    X, y = problem
    one, two = make().fit(X, y), make(max_depth=2).fit(X, y)
    one.model_.passive_shares["shop"] = two.model_.passive_shares["shop"]
    with pytest.raises(ShareMismatchError, match="shop"):
        one.predict(X)
    with pytest.raises(ShareMismatchError, match="shop"):
        _ = one.model_.pooled
    del one.model_.passive_shares["shop"]
    with pytest.raises(ShareMismatchError, match="shop"):
        one.predict(X)


def test_empty_data() -> None:
    for X in (np.empty((0, 3)), np.empty((3, 0))):
        with pytest.raises(TableError, match="minimum of 1"):
            VFXGBClassifier().fit(X, np.arange(len(X)))
