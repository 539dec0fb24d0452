"""`report` of estimators: the same page, of simulated parties."""

import numpy as np
import pytest

from report_runs import Page
from vfxgb import FedXGBClassifier, VFXGBClassifier, VFXGBRegressor
from vfxgb.errors import UnfittedError

RNG = np.random.default_rng(1)
X = RNG.normal(size=(240, 4))
Y = (X[:, 0] + X[:, 2] > 0).astype(int)
SMALL = {"n_estimators": 2, "max_depth": 2, "max_bin": 8, "n_jobs": 1}
PARTIES = {"parties": {"bank": [0, 1], "shop": [2, 3]}, "active": "bank"}


def test_parties_with_an_audit(tmp_path) -> None:
    clf = VFXGBClassifier(protocol="plain", record=True, **SMALL, **PARTIES)
    clf.fit(X[:200], Y[:200], eval_set=[(X[200:], Y[200:])])
    clf.report(tmp_path / "r.html", clf.audit(["plain-sign"]))
    page = Page((tmp_path / "r.html").read_text())
    for section in ("head", "learning", "trees", "importance", "time", "traffic", "ledger", "protection", "audit"):
        assert page.shown(section), section
    for wanted in (
        "Simulated",
        "Training by plain, as Abank saw it with Bshop.",
        "This page shows what bank and shop may",
    ):
        assert wanted in page.text
    assert "are masked" not in page.text
    assert "Phases at Bshop" in page.text


def test_users(tmp_path) -> None:
    clf = FedXGBClassifier(**SMALL).fit([(X[i : i + 60], Y[i : i + 60]) for i in range(0, 240, 60)])
    clf.report(tmp_path / "r.html")
    page = Page((tmp_path / "r.html").read_text())
    assert "sums protected by masks" in page.text
    assert page.shown("ledger")


def test_what_ran_is_what_was_fitted(tmp_path) -> None:
    model = VFXGBRegressor(protocol="plain", **SMALL, **PARTIES).fit(X, X[:, 0])
    model.set_params(protocol="batch_he").report(tmp_path / "r.html")
    assert "Training by plain" in Page((tmp_path / "r.html").read_text()).text


def test_not_fitted(tmp_path) -> None:
    with pytest.raises(UnfittedError):
        VFXGBClassifier().report(tmp_path / "r.html")
