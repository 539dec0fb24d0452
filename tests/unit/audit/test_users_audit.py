"""Attacks of a server on its users: what they find without noise, that noise stops them, and the audit of one run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vfxgb import FedXGBClassifier
from vfxgb.audit.one_run import audit_one_run, chance, least_epsilon
from vfxgb.audit.users import ServerView, attack_names, audit_users
from vfxgb.audit.users.attacks.row_reconstruction import dealt
from vfxgb.audit.users.judge import UsersTruth
from vfxgb.audit.users.view import Step, path_of
from vfxgb.cli import main
from vfxgb.errors import DpError, FormatError, UnfittedError, UnknownNameError
from vfxgb.horizontal.transcript import UsersTranscript, is_users_transcript
from vfxgb.transport.messages import pack_array

RNG = np.random.default_rng(7)
N = 400
X = np.round(RNG.normal(size=(N, 3)), 2).astype(np.float32)
X[RNG.random(N) < 0.1, 2] = np.nan
Y = (X[:, 0] + X[:, 1] + 1.5 * RNG.normal(size=N) > 0).astype(int)
USERS = np.arange(N) % 20
CUTS = {f"f{column}": np.linspace(-2, 2, 15) for column in range(3)}


def recorded(**settings: Any) -> FedXGBClassifier:
    usual = {"aggregator": "plain", "n_estimators": 2, "max_depth": 6, "min_child_weight": 0.0, "record": True}
    return FedXGBClassifier(**(usual | settings)).fit(X, Y, users=USERS, cuts=CUTS)


@pytest.fixture(scope="module")
def exact() -> FedXGBClassifier:
    return recorded()


def test_the_view_has_the_sums_of_every_node(exact: FedXGBClassifier) -> None:
    """Counts of the view's nodes, derived ones too, against loops over the true rows."""
    transcript = exact.transcript_
    view = ServerView(transcript.opened, transcript.plan, None)
    truth = UsersTruth(transcript.rows, view.cuts)
    p = 1 / (1 + np.exp(-view.start[0]))
    first = [cells for (round_, _, _), cells in view.nodes.items() if round_ == 0]
    assert any(not cells.asked for cells in first)
    assert len(first) > 20
    for cells in first:
        there = truth.on(cells.path)
        assert cells.total[1] / (p * (1 - p)) == pytest.approx(there.sum(), abs=1e-3)
        for feature, sums in enumerate(cells.cells):
            column = truth.bins[there, feature]
            counts = [(column == place).sum() for place in (*range(len(view.cuts[feature]) + 1), -1)]
            np.testing.assert_allclose(sums[:, 1] / (p * (1 - p)), counts, atol=1e-3)


def test_without_noise_rows_are_found(exact: FedXGBClassifier) -> None:
    report = exact.audit()
    assert "server on users" in report.text()
    found = {(one.attack, one.target): one for one in report.findings}
    lone = found["lone-cells", "lone rows"]
    assert lone.success > 0.15 > lone.guess
    assert "claims are right" in lone.detail
    right, said = (int(word.replace(",", "")) for word in lone.detail.split()[:3:2])
    assert right == said  # an exact sum of one row is that row
    rows, values = found["row-reconstruction", "rows"], found["row-reconstruction", "values"]
    assert rows.success > 0.15 > rows.guess
    assert values.success > 0.5 > values.guess
    assert [entry.attack for entry in report.not_run] == ["sum-differences"]


@pytest.mark.parametrize("splits", ["histogram", "random"])
def test_with_noise_they_are_not(splits: str) -> None:
    report = recorded(epsilon=1.0, dp_splits=splits).audit()
    assert "with epsilon 1 at delta 1e-05 for a row" in report.text()
    for one in report.findings:
        if one.target in ("lone rows", "rows"):
            assert one.success <= one.guess + one.margin + 0.02, one
    if splits == "random":
        assert not report.findings  # no bucket is ever summed


def test_users_that_leave_are_found_where_sets_are_not_compared() -> None:
    leave = {"dropout": {"rate": 0.05, "every": 1}, "threshold": 0.6}
    found = [recorded(hide_among=1, random_state=seed, **leave).audit().of("sum-differences") for seed in range(6)]
    one = next(findings[0] for findings in found if findings)
    assert one.success == 1.0
    assert "of 1 users together at least" in one.detail
    hidden = [recorded(hide_among=5, random_state=seed, **leave).audit().of("sum-differences") for seed in range(6)]
    for findings in filter(None, hidden):
        assert int(findings[0].detail.split()[1]) >= 5


def test_values_are_dealt_as_counted() -> None:
    assert dealt(np.array([2.0, 0.0, 1.0, 1.0]), 4).tolist() == [0, 0, 2, -1]
    assert dealt(np.array([2.0, -3.0, 1.0, 0.0]), 3).tolist() == [0, 0, 2]
    assert len(dealt(np.array([0.4, 9.3, -1.0]), 5)) == 5
    assert dealt(np.zeros(3), 2).tolist() == [0, 0]


def test_paths() -> None:
    levels = [pack_array(np.array(rows, np.int32)) for rows in ([[0, 1, 4, 2, 1]], [[2, 3, 0, 7, 0]])]
    assert path_of(levels, 0) == ()
    assert path_of(levels, 4) == (Step(4, 2, True, False), Step(0, 7, False, False))
    assert path_of(levels, 1) == (Step(4, 2, True, True),)


def test_files_and_the_command(exact: FedXGBClassifier, tmp_path: Path, capsys) -> None:
    path = tmp_path / "run.vfxt"
    exact.transcript_.save(path)
    assert is_users_transcript(path)
    again = UsersTranscript.load(path)
    assert audit_users(again).findings == exact.audit().findings
    assert main(["audit", str(path), "--attack", "lone-cells"]) == 0
    assert "lone-cells" in capsys.readouterr().out
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(FormatError, match=r"run\.vfxt"):
        UsersTranscript.load(path)
    path.write_bytes(b"something else")
    assert not is_users_transcript(path)
    with pytest.raises(FormatError, match="not one of a run with users"):
        UsersTranscript.load(path)


def test_mistakes(exact: FedXGBClassifier) -> None:
    with pytest.raises(UnfittedError, match="record=True"):
        recorded(record=False).audit()
    with pytest.raises(UnknownNameError, match="guesswork"):
        exact.audit(["guesswork"])
    empty = UsersTranscript("plain", ("a",), None, None, [])
    with pytest.raises(FormatError, match="before cut points"):
        audit_users(empty)
    assert attack_names() == ("lone-cells", "row-reconstruction", "sum-differences")


def test_chances_against_exact_sums() -> None:
    """The naive twin, for delta 0: the upper tail of a binomial distribution by fractions."""
    from fractions import Fraction
    from math import comb

    q = Fraction(3, 4)  # epsilon = log 3
    exact = sum(Fraction(comb(20, k)) * q**k * (1 - q) ** (20 - k) for k in range(17, 21))
    assert chance(40, 20, 17, float(np.log(3)), 1e-300) == pytest.approx(float(exact))
    assert chance(40, 20, 17, float(np.log(3)), 1e-3) > float(exact)
    assert chance(40, 20, 0, 1.0, 1e-5) == pytest.approx(1.0)


def test_bounds_of_one_run() -> None:
    assert least_epsilon(1000, 500, 250, 1e-5) == 0.0
    assert 4.0 < least_epsilon(1000, 500, 500, 1e-5) < 6.0
    assert least_epsilon(1000, 500, 400, 1e-5) < np.log(4)  # 80 % right are at most log 4
    assert least_epsilon(1000, 500, 400, 1e-5, 0.99) < least_epsilon(1000, 500, 400, 1e-5)
    with pytest.raises(DpError, match="found 5 right of 4 guesses"):
        least_epsilon(10, 4, 5, 1e-5)


def test_one_run_of_randomised_response_is_below_its_epsilon() -> None:
    """Canaries answered by randomised response, the worst there is: in 40 audits about two may exceed the claim."""
    rng = np.random.default_rng(3)
    exceeded = 0
    for _ in range(40):
        inside = rng.random(1000) < 0.5
        scores = np.where(rng.random(1000) < np.e / (1 + np.e), inside, ~inside) + 0.01 * rng.random(1000)
        found = audit_one_run(scores, inside, 0.9, 1e-5)
        assert found.epsilon > 0.5
        exceeded += found.epsilon > 1.0
    assert exceeded <= 6


def test_one_run_with_noise_never_exceeds_the_claim() -> None:
    """1,000 canaries in bins of their own, recorded and guessed by the server; exact sums show them all."""
    canaries = 1000
    for epsilon, most in ((None, 10.0), (1.0, 1.0), (6.0, 6.0)):
        rng = np.random.default_rng(11)
        inside = rng.random(canaries) < 0.5
        values = np.concatenate([np.arange(canaries)[inside], np.full(400, np.nan)]).astype(np.float32)
        labels = np.concatenate([np.ones(int(inside.sum())), rng.integers(0, 2, 400)]).astype(int)
        noise = {} if epsilon is None else {"epsilon": epsilon}
        model = FedXGBClassifier(
            aggregator="plain", n_estimators=1, max_depth=1, base_score=0.5, record=True, threshold=1.0, **noise
        ).fit(
            values[:, None],
            labels,
            users=np.arange(len(labels)) % 10,
            cuts={"f0": np.arange(canaries - 1, dtype=np.float32) + 0.5},
        )
        view = ServerView(model.transcript_.opened, model.transcript_.plan, None)
        cells = view.nodes[0, 0, 0].cells[0][:canaries]
        found = audit_one_run(-0.5 * cells[:, 0] + 4.0 * cells[:, 1], inside, 0.5, 1e-5)
        assert found.epsilon <= most
        assert (found.right == found.guesses) == (epsilon is None)
