"""save_model and load_model: one file with all shares, intact or refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vfxgb import FedXGBClassifier, VFXGBClassifier, VFXGBRegressor
from vfxgb.checksum import FIELD, checksum
from vfxgb.errors import ExportError, FormatError, ShareMismatchError, UnfittedError
from vfxgb.model.file import save_share


def test_a_loaded_model_is_the_one_that_was_saved(make: Any, problem: Any, tmp_path: Path) -> None:
    X, y = problem
    names = np.array(["no", "yes"])[y.astype(int)]
    model = make(early_stopping_rounds=2, eval_metric=["auc", "logloss"], monotone_constraints={"f0": 1})
    model.fit(X, names, eval_set=[(X, names)])
    model.save_model(tmp_path / "model.json")
    other = VFXGBClassifier()
    other.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert other.classes_.dtype == model.classes_.dtype
    assert (other.parties, other.monotone_constraints) == (model.parties, {"f0": 1})
    assert repr(other) == repr(model)
    assert other.evals_result() == model.evals_result()
    assert (other.best_iteration, other.best_score) == (model.best_iteration, model.best_score)
    np.testing.assert_array_equal(other.feature_importances_, model.feature_importances_)
    again = tmp_path / "again.json"
    other.save_model(again)
    assert json.loads(again.read_text()) == json.loads((tmp_path / "model.json").read_text())


def test_numbers_and_users_are_saved_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    numbers = VFXGBRegressor(n_estimators=3, missing=-1.0, callbacks=[]).fit(X, X[:, 0])
    users = FedXGBClassifier(n_estimators=2, max_depth=2).fit(X, X[:, 0] > 0, users=np.arange(120) % 4)
    for model in (numbers, users):
        model.save_model(tmp_path / "model.json")
        other = type(model)()
        other.load_model(tmp_path / "model.json")
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        assert other.get_params() == model.get_params() or repr(other) == repr(model)
        with pytest.raises(UnfittedError, match="no ledger"):
            other.report(tmp_path / "report.html")


def test_callables_stay_with_the_estimator_that_loads(tmp_path: Path) -> None:
    def squared(labels: Any, margins: Any) -> Any:
        return margins - labels, np.ones_like(margins)

    X = np.arange(40.0)[:, None]
    model = VFXGBRegressor(n_estimators=2, objective=squared).fit(X, X[:, 0])
    model.save_model(tmp_path / "model.json")
    other = VFXGBRegressor()
    other.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert other.objective is None


@pytest.fixture
def saved(make: Any, problem: Any, tmp_path: Path) -> tuple[Any, Path]:
    model, path = make().fit(*problem), tmp_path / "model.json"
    model.save_model(path)
    return model, path


def change(path: Path, place: list[Any], value: Any, sign: bool) -> None:
    """Put a value into the file; `sign`: with a checksum that fits."""
    document = json.loads(path.read_text())
    inner = document
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    if sign:
        document[FIELD] = checksum(document)
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("place", "value", "sign", "error", "match"),
    [
        (["about", "layout", "active"], "shop", False, ShareMismatchError, "checksum"),
        (["shares", 0, "model", "base_margin"], [5.0], True, ShareMismatchError, "digest|checksum"),
        (["shares", 1, "records", "cut", 0], 1e9, True, ShareMismatchError, "digest|checksum"),
        (["version"], 2, True, FormatError, "version 2"),
        (["format"], "other", True, FormatError, "save_model"),
        (["shares"], [], True, FormatError, "active party"),
        (["shares"], None, True, FormatError, "missing"),
        (["about", "estimator"], "VFXGBRegressor", True, FormatError, "VFXGBRegressor"),
        (["about", "layout", "named"], "perhaps", True, FormatError, "bool"),
        (["about", "classes", "dtype"], "nonsense", True, FormatError, "classes"),
        (["about", "best_score"], {"float": []}, True, FormatError, "float"),
    ],
)
def test_files_that_are_none(
    saved: tuple[Any, Path], place: list[Any], value: Any, sign: bool, error: type[Exception], match: str
) -> None:
    change(saved[1], place, value, sign)
    other = VFXGBClassifier(n_estimators=77)
    with pytest.raises(error, match=match):
        other.load_model(saved[1])
    assert not hasattr(other, "model_")
    assert other.n_estimators == 77


def test_files_of_something_else(saved: tuple[Any, Path], tmp_path: Path) -> None:
    model, _ = saved
    path = tmp_path / "other.json"
    save_share(model.model_.active_share, path)
    with pytest.raises(FormatError, match="share of one party"):
        VFXGBClassifier().load_model(path)
    model.export_xgboost(path)
    with pytest.raises(FormatError, match="xgboost reads its own"):
        VFXGBClassifier().load_model(path)
    path.write_bytes(b"\xff")
    with pytest.raises(FormatError, match="JSON"):
        VFXGBClassifier().load_model(path)
    with pytest.raises(OSError, match="absent"):
        VFXGBClassifier().load_model(tmp_path / "absent.json")


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(UnfittedError):
        VFXGBClassifier().save_model(tmp_path / "model.json")
    days = np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]")[np.arange(30) % 2]
    model = VFXGBClassifier(n_estimators=1).fit(np.arange(30.0)[:, None], days)
    with pytest.raises(ExportError, match="datetime64"):
        model.save_model(tmp_path / "model.json")
    assert not (tmp_path / "model.json").exists()
