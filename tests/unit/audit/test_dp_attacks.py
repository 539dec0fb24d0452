"""Attacks on releases under differential privacy: what they find, and that epsilon bounds it.

A bound is one of expectations: success may exceed it by luck, and counts as too much beyond 4 binomial standard errors
of the bound over the rows judged.
"""

import math
from typing import Any

import numpy as np
import pytest

from simulated_runs import fit_tables
from vfxgb.audit import audit
from vfxgb.audit.auditor import view_of
from vfxgb.audit.bounds import several_values, two_labels
from vfxgb.audit.claims import Finding
from vfxgb.audit.ldp import budget, log_likelihood, noise_of, parameters, releases, share_of_ones
from vfxgb.audit.truth import Truth
from vfxgb.data.table import Table
from vfxgb.dp import mechanism
from vfxgb.dp.pmf import pmf
from vfxgb.params import TrainParams
from vfxgb.train.callbacks import TrainingCallback, TrainingState

N = 2000
LDP = ["ldp-average", "ldp-likelihood"]


def run(protocol: str, given: dict[str, Any], n: int = N, rounds: int = 4, ones: float = 0.5, **train: Any) -> Any:
    """The transcript of a small run; labels depend on the features of both parties."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    score = X[:, 0] + X[:, 2] + 0.5 * rng.normal(size=n)
    y = (score > np.quantile(score, 1 - ones)).astype(np.float64)
    tables = {
        party: Table.read(X[:, 2 * i : 2 * i + 2], names=[f"f{2 * i}", f"f{2 * i + 1}"], party=party)
        for i, party in enumerate(("bank", "shop"))
    }
    settings = {"objective": "binary:logistic", "n_estimators": rounds, "max_depth": 2, "max_bin": 6, "n_jobs": 1}
    callbacks = train.pop("callbacks", None)
    params = TrainParams(**(settings | train))
    more = {"protocol_params": given, "callbacks": callbacks, "record": True}
    return fit_tables(tables, "bank", y, None, n, params, protocol=protocol, **more).transcript


def found(transcript: Any, attacks: list[str]) -> dict[str, Finding]:
    return {finding.attack: finding for finding in audit(transcript, attacks).summary}


def within(one: Finding) -> bool:
    assert one.bound is not None
    return one.success <= one.bound + 4 * math.sqrt(one.bound * (1 - one.bound) / one.count)


@pytest.mark.parametrize("ones", [0.5, 0.2])
@pytest.mark.parametrize(
    ("given", "total"),
    [
        ({"mechanism": "label_rr", "epsilon": 1.0}, 1.0),
        ({"mechanism": "laplace", "epsilon": 0.4}, 1.6),
        ({"mechanism": "duchi", "epsilon": 0.4}, 1.6),
        ({"mechanism": "piecewise", "epsilon": 0.5, "order": 1}, 2.0),
        ({"mechanism": "hybrid", "epsilon": 0.7}, 2.8),
        ({"mechanism": "laplace", "total_epsilon": 2.0}, 2.0),
        ({"mechanism": "duchi", "total_epsilon": 2.0, "hessians": "noisy"}, 2.0),
        ({"mechanism": "gaussian", "total_epsilon": 2.0, "delta": 1e-3}, 2.0),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_nobody_beats_epsilon_on_ldp(given: dict[str, Any], total: float, ones: float) -> None:
    results = found(run("ldp", given, ones=ones, subsample=0.9), LDP)
    assert set(results) == set(LDP)
    for result in results.values():
        wanted = two_labels(max(ones, 1 - ones), total, given.get("delta", 0.0))
        assert result.bound == pytest.approx(wanted, abs=0.02)  # the rows judged are a sample
        assert f"epsilon {total:g}" in result.detail
        assert "allows at most" in result.detail
        assert within(result)
    if ones == 0.5:  # else the share of ones, estimated through the noise as well, may mislead it
        likely = results["ldp-likelihood"]
        assert likely.success > likely.guess - 4 * math.sqrt(0.25 / N)


@pytest.mark.parametrize(("given", "each"), [({"total_epsilon": 6.0}, 0.5), ({"epsilon": 0.5}, 0.5)])
def test_noise_is_planned_for_the_rounds_of_the_run_however_early_it_stops(given: dict[str, Any], each: float) -> None:
    """Twelve rounds were planned and three grown: the noise is that of twelve, what was spent that of three."""

    class Stop(TrainingCallback):
        def after_iteration(self, state: TrainingState) -> bool:
            return state.iteration == 2

    transcript = run("ldp", {"mechanism": "laplace", **given}, n=300, rounds=12, callbacks=[Stop()])
    view = view_of(transcript, "shop", Truth(transcript))
    params = parameters(view)
    assert params is not None
    assert [release.round for release in releases(view)] == [0, 1, 2]
    noise = noise_of(view, params)
    assert noise.gradient.epsilon == each
    # The scale in the transcript: |noise| of a Laplace draw has its scale as mean.
    (first, *_) = releases(view)
    y = Truth(transcript).note("bank", "labels", -1, -1)
    scale = np.abs(first.g - (0.5 - y[first.rows])).mean()
    assert scale == pytest.approx(noise.gradient.scale * noise.gradient.step, rel=5 / math.sqrt(300))
    assert budget(view, params) == ((6.0, 0.0) if "total_epsilon" in given else (1.5, 0.0))


def test_a_delta_of_1_bounds_nothing() -> None:
    given = {"mechanism": "gaussian", "epsilon": 1.0, "delta": 0.4}
    transcript = run("ldp", given, n=300, rounds=3)
    view = view_of(transcript, "shop", Truth(transcript))
    params = parameters(view)
    assert params is not None
    assert budget(view, params) is None
    for finding in found(transcript, LDP).values():
        assert finding.bound is None


def test_the_bound_of_label_rr_is_reached() -> None:
    """It is the worst mechanism of its epsilon: the attack is as good as any can be, so the bound is not idle."""
    one = found(run("ldp", {"mechanism": "label_rr", "epsilon": 1.0}), LDP)["ldp-likelihood"]
    assert one.bound == pytest.approx(math.e / (1 + math.e), abs=1e-6)
    assert abs(one.success - one.bound) < 4 * math.sqrt(one.bound * (1 - one.bound) / N)
    assert one.better


def test_as_printed_gives_labels_away() -> None:
    """E51: 20 trees with two levels, epsilon 3 each time; no bound is claimed for it."""
    given = {"mechanism": "laplace", "epsilon": 3.0, "as_printed": True, "insecure": True}
    results = found(run("ldp", given, n=500, rounds=20, learning_rate=0.01), LDP)
    for result in results.values():
        assert result.bound is None
        assert result.success > 0.97
    few = found(run("ldp", given, n=500, rounds=1, max_depth=1), LDP)
    assert few["ldp-average"].success < 0.85


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("W", [1, 3])
def test_nobody_beats_epsilon_on_masked_with_active_noise(epsilon: float, W: int) -> None:
    """Masks come off in every round; the noise under them is the active party's, over all rounds within epsilon."""
    given = {"insecure": True, "sigma1": 3.0, "sigma2": 5.0, "C": 16.0, "W": W}
    noise = {"active_noise": "gaussian", "active_epsilon": epsilon, "active_delta": 1e-3}
    results = found(run("masked", given | noise), LDP)
    assert set(results) == set(LDP)
    for result in results.values():
        assert result.bound == pytest.approx(two_labels(0.5, epsilon, 1e-3))
        assert within(result)


def test_masked_gives_gradients_to_1e_8() -> None:
    """Two messages of a recorded run, end to end: known answer 18."""
    from vfxgb.audit.masked import roots, unmasked

    transcript = run("masked", {"insecure": True, "sigma1": 30.0, "sigma2": 50.0, "C": 100.0, "W": 10}, n=300, rounds=2)
    truth = Truth(transcript)
    view = view_of(transcript, "shop", truth)
    seen = 0
    for root in roots(view, "bank"):
        pairs = truth.note("bank", "pairs", root.node.round, 0)[root.node.rows]
        step = truth.note("bank", "step", root.node.round)[0]
        for vector, recovered in enumerate(unmasked(root)):
            assert np.abs(recovered - pairs[:, vector] * step).max() < 1e-8
            seen += 1
    assert seen == 4
    findings = audit(transcript, ["masked-difference", *LDP])
    assert {(finding.target, finding.success) for finding in findings.findings} == {("gradients", 1.0), ("labels", 1.0)}
    assert {attack.attack for attack in findings.not_run} == set(LDP)


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 1000.0])
def test_buckets_of_federboost(epsilon: float) -> None:
    report = audit(run("federboost", {"epsilon": epsilon}), ["federboost-posterior"])
    assert {finding.node for finding in report.findings} == {0, 1}
    for finding in report.findings:
        assert within(finding)
        assert finding.bound == pytest.approx(several_values(np.full(6, 1 / 6), epsilon), abs=0.02)
        # Buckets of quantiles are equally common: the randomised one is the best guess, and right as often as the
        # response over all 8 buckets is, unless noise makes some seem more common than others. Two of them are empty
        # here, that of missing values and the one before it, so that the bound for 6 is not quite reached.
        if epsilon > 1:
            assert finding.success > 1.0 / (1.0 + 7.0 * math.exp(-epsilon)) - 4 * math.sqrt(0.25 / N)


def test_bounds() -> None:
    assert two_labels(0.5, 1.0) == pytest.approx(0.7310585786)
    assert two_labels(0.9, 1.0) == 0.9
    assert two_labels(0.5, 1.0, 0.01) == pytest.approx(0.01 + 0.99 * 0.7310585786)
    assert several_values(np.full(4, 0.25), math.log(3)) == pytest.approx(0.5)
    assert several_values(np.array([0.5, 0.5]), 1.0) == pytest.approx(two_labels(0.5, 1.0))
    # Randomised response with any prior, by enumeration: never above either bound.
    for share in (0.5, 0.6, 0.8, 0.95):
        p = math.e / (1 + math.e)
        best = max(share * p, (1 - share) * (1 - p)) + max(share * (1 - p), (1 - share) * p)
        assert best == pytest.approx(two_labels(share, 1.0))
        assert best <= several_values(np.array([share, 1 - share]), 1.0) + 1e-12


@pytest.mark.parametrize("name", ["laplace", "duchi", "piecewise", "hybrid", "gaussian"])
def test_likelihoods_are_those_of_the_mechanisms(name: str) -> None:
    """Log odds of two inputs against exact probabilities, on outputs that are not at the edge of an interval."""
    more = {"delta": 1e-3} if name == "gaussian" else {}
    noise = mechanism(name, 1.0, grid_bits=5, **more)
    high, low = (pmf(noise, j) for j in (20, -12))
    outputs = np.array([one for one in high if abs(one) < noise.reach])[::7]
    true = [np.full(len(outputs), j * noise.step) for j in (20, -12)]
    odds = np.subtract(*(log_likelihood(noise, outputs * noise.step, one) for one in true))
    wanted = [math.log(high[one]) - math.log(low[one]) for one in outputs.tolist()]
    close = np.isclose(odds, wanted, atol=1e-6)
    assert close.all() if name not in ("piecewise", "hybrid") else close.mean() > 0.9


def test_share_of_ones() -> None:
    rng = np.random.default_rng(0)
    label = rng.random(20_000) < 0.3
    odds = np.where(label == (rng.random(20_000) < 0.8), 1.0, -1.0) * math.log(4)
    assert share_of_ones(odds) == pytest.approx(0.3, abs=0.02)
