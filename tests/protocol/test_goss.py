"""GOSS: who is told which rows a round uses, and that the model does not depend on it."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from protocol_variants import spec_of
from simulated_runs import fit_tables
from vfxgb.audit.view import AttackerView
from vfxgb.data.table import Table
from vfxgb.params import TrainParams
from vfxgb.protocols import protocol_by_name
from vfxgb.train import simulate
from vfxgb.train.sides import SAMPLE_HIDDEN

N = 600
OPENING = ("plain", "ot_shares", "batch_he", "secureboost")


def _run(protocol: str, **changes) -> tuple[simulate.FitResult, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5)).astype(np.float32)
    score = X.sum(axis=1) + rng.normal(size=N)
    y = (score > np.quantile(score, 0.9)).astype(np.float64)
    tables = {
        "bank": Table.read(X[:, :2], names=["a0", "a1"], party="bank"),
        "shop": Table.read(X[:, 2:], names=["p0", "p1", "p2"], party="shop"),
    }
    given = {
        "objective": "binary:logistic",
        "n_estimators": 4,
        "max_depth": 3,
        "max_bin": 8,
        "n_jobs": 1,
        "sampling_method": "goss",
    }
    params = TrainParams(**(given | changes))
    return fit_tables(
        tables,
        "bank",
        y,
        None,
        N,
        params,
        protocol=protocol,
        protocol_params=protocol_by_name(protocol).quick_params,
        record=True,
    ), y


def _seen_in_roots(result: simulate.FitResult) -> np.ndarray:
    """How often each training row was in a root, as the shop knows it."""
    transcript = result.transcript
    view = AttackerView(transcript.records["shop"], transcript.catalogue, transcript.protocol, None)
    seen = np.zeros(N)
    for node in view.nodes("bank"):
        if node.node == 0:
            seen[node.rows] += 1
    return seen


def _sampled(result: simulate.FitResult) -> int:
    (entry,) = [one for one in result.ledger.learned_by("shop") if one.message == "begin-round"]
    assert "under GOSS this is sent only with told_sample" in entry.reveals
    return entry.amount


@pytest.mark.parametrize("name", OPENING)
def test_roots_tell_nothing_about_labels(name) -> None:
    result, y = _run(name)
    seen = _seen_in_roots(result)
    assert (seen == 4).all()
    assert roc_auc_score(y, seen) == 0.5
    assert _sampled(result) == 0
    assert SAMPLE_HIDDEN in result.ledger.text()


@pytest.mark.parametrize("name", OPENING)
def test_a_told_sample_tells_and_the_ledger_says_so(name) -> None:
    result, y = _run(name, told_sample=True)
    seen = _seen_in_roots(result)
    assert roc_auc_score(y, seen) > 0.8
    assert _sampled(result) == int(seen.sum()) < 4 * N
    assert SAMPLE_HIDDEN not in result.ledger.text()


@pytest.mark.parametrize("n_parties", [2, 3])
def test_the_model_is_the_same_told_or_not(exact_protocol, n_parties, make_problem, train, model_of) -> None:
    told = make_problem("goss", told_sample=True)
    hidden = make_problem("goss")
    expected = model_of(train(hidden, "plain", 1, like=exact_protocol))
    assert model_of(train(hidden, exact_protocol, n_parties)) == expected
    if spec_of(exact_protocol).shows_nodes:
        assert model_of(train(told, exact_protocol, n_parties)) == expected


def test_as_many_gradients_are_sent_as_there_are_rows() -> None:
    hidden, told = _run("ot_shares")[0], _run("ot_shares", told_sample=True)[0]

    def sent(result: simulate.FitResult) -> int:
        return sum(one.amount for one in result.ledger.learned_by("shop") if one.message == "ot-gradients")

    assert sent(hidden) * _sampled(told) == sent(told) * 4 * N
