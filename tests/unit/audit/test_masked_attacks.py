"""The attacks on `masked`: what they recover, and that noise of the active party's own stops them."""

import numpy as np
import pytest

from simulated_runs import fit_tables
from vfxgb.audit import audit
from vfxgb.audit.claims import Finding
from vfxgb.data.table import Table
from vfxgb.params import TrainParams

N = 240
PASSIVE = ["masked-difference", "masked-signs", "masked-regression", "masked-network"]
ACTIVE = ["masked-minimal-sum", "masked-likelihood"]


def findings(attacks, n=N, rounds=2, depth=2, subsample=1.0, **params) -> dict[tuple[str, str], Finding]:
    """(attack, target) -> its finding in the first round judged."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    y = (X[:, 0] + X[:, 2] + 0.5 * rng.normal(size=n) > 0).astype(np.float64)
    tables = {
        party: Table.read(X[:, 2 * i : 2 * i + 2], names=[f"f{2 * i}", f"f{2 * i + 1}"], party=party)
        for i, party in enumerate(("bank", "shop"))
    }
    settings = TrainParams(
        objective="binary:logistic",
        n_estimators=rounds,
        max_depth=depth,
        max_bin=6,
        n_jobs=1,
        base_score=0.5,
        subsample=subsample,
    )
    given = {"insecure": True, "sigma1": 3.0, "sigma2": 5.0, "C": 16.0, **params}
    result = fit_tables(tables, "bank", y, None, n, settings, protocol="masked", protocol_params=given, record=True)
    found: dict[tuple[str, str], Finding] = {}
    for finding in audit(result.transcript, attacks).findings:
        found.setdefault((finding.attack, finding.target), finding)
    return found


@pytest.mark.parametrize("W", [1, 10])
def test_a_passive_party_recovers_gradients_and_labels(W) -> None:
    found = findings(PASSIVE, W=W)
    assert found["masked-difference", "gradients"].success == 1.0
    assert found["masked-difference", "labels"].success == 1.0
    assert found["masked-regression", "labels"].success > 0.95
    assert ("masked-signs", "gradients") in found if W == 1 else ("masked-signs", "gradients") not in found
    if W == 1:
        assert found["masked-signs", "gradients"].success == 1.0


def test_signs_know_how_long_factors_are_at_a_root_of_sampled_rows() -> None:
    """Half of the rows have half of C when noise is adapted, which the passive party can compute."""
    for scale in ("node", "root"):
        found = findings(["masked-signs"], C=1e8, noise_scale=scale, subsample=0.5)
        assert found["masked-signs", "gradients"].success == 1.0


def test_the_network_converges_and_finds_labels_under_noise_that_it_can_resolve() -> None:
    """Noise of deviation 5 on gradients below 1; under noise of deviation 7000 it finds nothing, where others do."""
    found = findings(["masked-network"], rounds=1, sigma1=0.9, sigma2=5.0, C=1.0)["masked-network", "labels"]
    assert found.success > 0.9
    assert "converged after" in found.detail
    assert "not converged" not in found.detail
    lost = findings(["masked-network", "masked-signs"], rounds=1, sigma1=1300.0, sigma2=7000.0, C=1.0)
    assert lost["masked-network", "labels"].success < 0.7
    assert lost["masked-signs", "labels"].success == 1.0


def test_own_noise_of_the_active_party_stops_them() -> None:
    """At epsilon 0.2 nobody tells a label apart with more than e^0.2 : 1, 55 %; the labels here are about half ones."""
    own = {"active_noise": "gaussian", "active_epsilon": 0.2, "active_delta": 1e-6}
    found = findings(PASSIVE, n=1000, rounds=1, **own)
    assert found["masked-difference", "gradients"].success < 0.01
    for attack in ("masked-difference", "masked-regression", "masked-network"):
        one = found[attack, "labels"]
        assert one.success < np.exp(0.2) / (1 + np.exp(0.2)) + one.margin


def test_an_active_party_finds_splits_in_the_noise_of_many_trees() -> None:
    found = findings(ACTIVE, n=60, rounds=30, depth=1, sigma1=5.0, sigma2=1.0)
    likely, small = (found[attack, "split matrix"] for attack in ("masked-likelihood", "masked-minimal-sum"))
    assert likely.success > 0.9
    assert small.success < 0.7


def test_little_noise_that_cancels_hides_splits() -> None:
    """rho 0.033, what theorem 3 allows at epsilon 1."""
    found = findings(ACTIVE, n=60, rounds=4, depth=1, sigma1=0.18, sigma2=1.0)
    assert found["masked-likelihood", "split matrix"].success < 0.7
