"""Own columns alone against together: values after the best rounds, eval sets before training rows."""

import msgspec

from report_runs import Page, record
from vfxgb.report.document import make_document
from vfxgb.report.page import render
from vfxgb.report.sections.worth import compared

ALONE = {
    "features": 2,
    "evals": {"train": {"auc": [0.8, 0.9]}, "valid": {"auc": [0.5, 0.55, 0.5], "logloss": [0.8, 0.7, 0.6]}},
    "best_iteration": 1,
    "maximised": ["auc"],
}


def test_each_model_is_judged_after_its_own_best_round() -> None:
    rows = compared(msgspec.to_builtins(record(best_iteration=2)), ALONE)
    assert rows == [
        ("auc on valid", "0.55", "0.6", "+0.05", "together better"),
        ("logloss on valid", "0.7", "0.5", "-0.2", "together better"),
    ]


def test_without_stopping_the_last_round_counts_and_worse_is_said() -> None:
    run = msgspec.to_builtins(record(best_iteration=None, evals={"valid": {"auc": [0.9, 0.4], "ks": [None]}}))
    alone = ALONE | {"best_iteration": None, "evals": {"valid": {"auc": [0.5, 0.5], "ks": [0.1]}}}
    assert compared(run, alone) == [("auc on valid", "0.5", "0.4", "-0.1", "alone better")]
    assert compared(run, alone | {"evals": {}}) == []


def test_the_page_says_it_and_warns_of_training_rows() -> None:
    page = Page(render(make_document(record(), None, None, alone=ALONE)))
    assert page.shown("worth")
    assert "nothing was sent" in page.text
    assert "say little of other rows" not in page.text
    trained = make_document(record(evals={"train": {"auc": [0.9]}}, best_iteration=None), None, None, alone=ALONE)
    assert "say little of other rows" in Page(render(trained)).text
    assert not Page(render(make_document(record(), None, None))).shown("worth")
