"""Events, composition, totals, budgets."""

import json
import math
import sys

import pytest

from vfxgb.dp import Accountant, Duchi, Event, Gaussian, Laplace, RandomisedResponse, budget
from vfxgb.dp.composition import COMPOSITIONS, advanced, compose, pld, rdp
from vfxgb.dp.gaussian import epsilon_of, gaussian_delta
from vfxgb.errors import DpError, MissingPackageError, NoGuaranteeError, UnknownNameError

ROW = "the gradient of one row"


def test_trees_add_up_and_one_response_does_not():
    """Known answer 21: T trees cost T epsilon, label_rr costs epsilon."""
    accountant = Accountant()
    for tree in range(30):
        accountant.add(Duchi(0.5).event("shop", ROW, tree))
    accountant.add(RandomisedResponse(2.0).event("bank"))
    assert accountant.total("shop")[:3] == (0.5, 30, 15.0)
    assert accountant.total("bank")[:3] == (2.0, 1, 2.0)
    assert accountant.total("nobody")[:3] == (0.0, 0, 0.0)
    assert [event.round_ for event in accountant.seen_by("shop")] == list(range(30))
    assert accountant.groups == (("shop", ROW), ("bank", "the label of one row"))


def test_gaussian_composition_is_the_closed_form():
    """k releases with sigma are one with sigma / sqrt(k): exact for pld, an upper bound for rdp."""
    one = Gaussian(1.0, delta=1e-5, releases=20)
    events = [one.event("shop", ROW, tree) for tree in range(20)]
    exact = epsilon_of(one.sigma, 1e-5, 2 * one.lattice.bound, 20)
    assert exact == pytest.approx(1.0, rel=1e-5)
    assert pld(events, 1e-5) == pytest.approx(exact, rel=2e-3)
    assert pld(events, 1e-5) >= exact
    assert exact < rdp(events, 1e-5) < 1.3
    alpha = range(2, 200)
    renyi = [20 * a / (2 * one.noise_multiplier**2) for a in alpha]
    wanted = min(r + math.log1p(-1 / a) - math.log(1e-5 * a) / (a - 1) for a, r in zip(alpha, renyi, strict=True))
    assert rdp(events, 1e-5) == pytest.approx(wanted, rel=1e-2)


def test_single_releases_cost_their_epsilon():
    for event in (Duchi(1.0).event("shop", ROW), Laplace(1.0).event("shop", ROW)):
        for composition in COMPOSITIONS:
            epsilon, _ = compose([event], composition, 1e-9)
            assert epsilon <= 1.0
            assert epsilon == pytest.approx(1.0, rel=1e-3)


def optimal(epsilon, releases, delta):
    """Kairouz, Oh and Viswanath 2015, theorem 3.3: the exact composition of randomised responses."""
    best = releases * epsilon
    for i in range(releases // 2 + 1):
        total = (releases - 2 * i) * epsilon
        spent = (
            sum(
                math.comb(releases, k) * (math.exp((releases - k) * epsilon) - math.exp(total + k * epsilon))
                for k in range(i)
            )
            / (1 + math.exp(epsilon)) ** releases
        )
        if spent <= delta:
            best = total
    return best


@pytest.mark.parametrize(("epsilon", "releases"), [(0.1, 60), (0.25, 30), (1.0, 10)])
def test_pure_releases_against_the_optimal_composition(epsilon, releases):
    events = [Duchi(epsilon).event("shop", ROW, i) for i in range(releases)]
    least = optimal(epsilon, releases, 1e-6)
    found = pld(events, 1e-6)
    # the theorem's epsilons come in steps of 2 epsilon; in between, pld finds less
    assert least - 2 * epsilon <= found <= least + 1e-3 * releases
    assert found <= rdp(events, 1e-6) <= advanced(events, 1e-6) + 1e-9 <= releases * epsilon + 1e-9


def test_mixed_mechanisms():
    accountant = Accountant(delta=1e-5)
    gaussian = Gaussian(1.0, delta=1e-6)
    accountant.add(Duchi(0.5).event("shop", ROW), Laplace(0.25).event("shop", ROW), gaussian.event("shop", ROW))
    total = accountant.total("shop")
    assert total.epsilon_total == pytest.approx(1.75, rel=1e-6)
    assert total.delta == 1e-6
    assert total.releases == 3
    for composition in ("advanced", "pld", "rdp"):
        assert accountant.total("shop", composition=composition).epsilon_total <= 1.75 * (1 + 1e-6)


def test_large_epsilons_are_added():
    """Beyond the precision of e^epsilon the numerical compositions give the sum, and no less."""
    many = [Duchi(1000.0).event("shop", ROW, tree) for tree in range(60)]
    for composition in COMPOSITIONS:
        assert compose(many, composition, 1e-6)[0] == 60_000.0
    small = [Duchi(0.1).event("shop", ROW, tree) for tree in range(60)]
    assert pld(many + small, 1e-6) == pytest.approx(60_000.0 + pld(small, 1e-6))


def test_advanced_needs_some_delta():
    events = [Gaussian(1.0, delta=1e-6).event("shop", ROW)] * 2
    with pytest.raises(DpError, match="sum up to 2e-06"):
        compose(events, "advanced", 1e-6)
    with pytest.raises(DpError, match="not Gaussian"):
        compose([Event("other", 1.0, "shop", ROW, delta=1e-9)], "rdp", 1e-6)
    assert pld([Event("other", 1.0, "shop", ROW, delta=1e-9)], 1e-6) == pytest.approx(1.0, rel=1e-3)
    with pytest.raises(UnknownNameError, match="basic"):
        compose(events, "magic", 1e-6)


def test_no_number_without_a_guarantee():
    accountant = Accountant()
    accountant.add(Duchi(1.0).event("shop", ROW))
    accountant.add(Event("masked", 1.0, "shop", ROW, holds=False, reason="the receiver made the noise itself"))
    accountant.add(Duchi(1.0).event("bank", ROW))
    for composition in COMPOSITIONS:
        with pytest.raises(NoGuaranteeError, match="the receiver made the noise itself"):
            accountant.total("shop", composition=composition)
    shop, bank = accountant.summary().splitlines()
    assert shop.endswith("no guarantee: the receiver made the noise itself")
    assert "epsilon" not in shop
    assert bank.endswith("epsilon 1 in total")
    group = accountant.as_dict()["totals"][0]
    assert group["holds"] is False
    assert "compositions" not in group
    with pytest.raises(DpError, match="reason"):
        Event("masked", 1.0, "shop", ROW, holds=False)


@pytest.mark.parametrize("noise", [Gaussian(1.0, delta=0.02), Gaussian(1.0, delta=0.2)], ids=["1.2", "12"])
def test_a_delta_of_1_is_no_guarantee(noise):
    """Sixty trees with a delta of .02 each: (epsilon, 1.2) is met by handing the data over."""
    accountant = Accountant()
    accountant.add(*(noise.event("shop", ROW, tree) for tree in range(60)))
    for composition in (*COMPOSITIONS, "gaussian"):
        with pytest.raises(NoGuaranteeError, match="delta of 1 allows anything"):
            accountant.total("shop", composition=composition)
    assert accountant.totals("shop", ROW) == ()
    (line,) = accountant.summary().splitlines()
    assert f"no guarantee: the deltas of 60 releases add up to {60 * noise.delta:.3g}" in line
    assert "epsilon" not in line
    (group,) = accountant.as_dict()["totals"]
    assert group["holds"] is False
    assert "add up to" in group["reasons"][0]
    assert "compositions" not in group


def test_a_target_below_1_helps_where_the_sum_of_deltas_does_not():
    accountant = Accountant(delta=1e-3)
    accountant.add(*(Gaussian(1.0, delta=0.02).event("shop", ROW, tree) for tree in range(60)))
    with pytest.raises(NoGuaranteeError, match=r"add up to 1\.2"):
        accountant.total("shop")
    assert accountant.total("shop", composition="gaussian").delta == 1e-3
    (line,) = accountant.summary().splitlines()
    assert "at delta 0.001 in total (by " in line
    assert line.endswith(
        "no guarantee by adding up: the deltas of 60 releases add up to 1.2, and a delta of 1 allows anything"
    )
    (group,) = accountant.as_dict()["totals"]
    assert group["holds"] is True
    assert "basic" not in group["compositions"]


def test_kinds_of_item_do_not_add_up():
    accountant = Accountant()
    accountant.add(Duchi(1.0).event("shop", ROW), RandomisedResponse(2.0).event("shop"))
    with pytest.raises(DpError, match="2 kinds"):
        accountant.total("shop")
    assert accountant.total("shop", ROW).epsilon_total == 1.0
    assert len(accountant.summary().splitlines()) == 2


def test_summary_and_file():
    accountant = Accountant()
    assert accountant.summary() == "nothing was released under differential privacy"
    accountant.add(*(Duchi(0.1).event("shop", ROW, tree) for tree in range(60)))
    (line,) = accountant.summary().splitlines()
    assert line.startswith(f"shop saw 60 releases (duchi) about {ROW}: epsilon ")
    assert line.endswith("at delta 1e-06 in total (by pld composition), epsilon 6 by adding up, 0.1 each")
    (group,) = json.loads(json.dumps(accountant.as_dict()))["totals"]
    assert group["compositions"]["basic"] == {
        "epsilon_per_release": 0.1,
        "epsilon_total": pytest.approx(6.0),
        "delta": 0.0,
    }
    assert set(group["compositions"]) == set(COMPOSITIONS)


def test_without_dp_accounting(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    accountant = Accountant(delta=2e-6)
    accountant.add(*(Duchi(0.1).event("shop", ROW, tree) for tree in range(60)))
    for composition in ("pld", "rdp"):
        with pytest.raises(MissingPackageError, match=r"vfxgb\[dp\]"):
            accountant.total("shop", composition=composition)
    line, missing = accountant.summary().splitlines()
    assert "at delta 2e-06 in total (by advanced composition), epsilon 6 by adding up" in line
    assert "vfxgb[dp]" in missing
    assert set(accountant.as_dict()["totals"][0]["compositions"]) == {"basic", "advanced"}


@pytest.mark.parametrize("numerical", [True, False])
def test_the_total_that_was_asked_for_is_what_the_line_leads_with(numerical, monkeypatch):
    """epsilon 4 at delta 1e-3 over 30 releases: it holds, and the sum of the parts, which is more, comes second."""
    if not numerical:
        monkeypatch.setitem(sys.modules, "dp_accounting", None)
    accountant = Accountant()
    noise = Gaussian(4.0, delta=1e-3, releases=30)
    accountant.add(*(noise.event("shop", ROW, tree) for tree in range(30)))
    totals = {total.composition: total for total in accountant.totals("shop", ROW)}
    exact = totals["gaussian"]
    assert exact.delta == pytest.approx(1e-3)
    assert 3.99 < exact.epsilon_total <= 4.0
    assert totals["basic"].epsilon_total > 10.0
    # No composition is tighter than the exact one, up to the grid of pld.
    assert min(total.epsilon_total for total in totals.values()) > exact.epsilon_total - 1e-3
    line = accountant.summary().splitlines()[0]
    assert ": epsilon 4 at delta 0.001 in total (by " in line or ": epsilon 3.99" in line
    assert line.index("in total") < line.index("by adding up")


def test_the_delta_of_a_total():
    """That which was asked for; else that of the releases together; else 1e-6."""
    pure = Duchi(0.1).event("shop", ROW)
    asked = Duchi(0.1).event("shop", ROW, total_delta=1e-4)
    assert Accountant().target([pure] * 3) == 1e-6
    assert Accountant().target([pure, asked]) == 1e-4
    assert Accountant(1e-7).target([asked]) == 1e-7
    per_tree = Gaussian(1.0, delta=1e-5).event("shop", ROW)
    assert Accountant().target([per_tree] * 3) == pytest.approx(3e-5)
    assert Accountant().target([]) == 1e-6
    with pytest.raises(DpError, match="not Gaussian"):
        compose([per_tree, pure], "gaussian", 1e-4)


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_budget_inverts_the_composition(composition):
    found = budget(2.0, 50, composition)
    assert found.releases == 50
    assert found.epsilon_total <= 2.0
    assert found.epsilon_total == pytest.approx(2.0, rel=2e-3)
    spent, _ = compose([Event("any", found.epsilon_per_release, "", "")] * 50, composition, 1e-6)
    assert spent == pytest.approx(found.epsilon_total)
    assert found.epsilon_per_release >= 2.0 / 50
    if composition != "basic":
        assert found.epsilon_per_release > 1.2 * 2.0 / 50
    assert budget(3.0, 1, composition).epsilon_per_release == pytest.approx(3.0, rel=1e-3)


def test_bad_parameters():
    for epsilon in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(DpError, match="epsilon"):
            Event("any", epsilon, "shop", ROW)
        with pytest.raises(DpError, match="epsilon"):
            budget(epsilon, 3)
    for delta in (-1.0, 1.0, math.nan):
        with pytest.raises(DpError, match="delta"):
            Event("any", 1.0, "shop", ROW, delta=delta)
        with pytest.raises(DpError, match="delta"):
            Accountant(delta)
        for composition in ("advanced", "pld", "rdp"):
            with pytest.raises(DpError, match="delta"):
                compose([Event("any", 1.0, "shop", ROW)], composition, delta)
    for releases in (0, -1, 1.5, True):
        with pytest.raises(DpError, match="releases"):
            budget(1.0, releases)
    with pytest.raises(DpError, match="noise_multiplier"):
        Event("any", 1.0, "shop", ROW, noise_multiplier=0.0)
    for slack in (-1e-9, math.nan, math.inf):
        with pytest.raises(DpError, match="slack"):
            Event("any", 1.0, "shop", ROW, slack=slack)
    with pytest.raises(DpError, match="wanted an Event"):
        Accountant().add("event")


def test_gaussian_delta_is_stable():
    """Against the formula as it stands, and far out where e^epsilon would overflow."""

    def phi(x):
        return 0.5 * math.erfc(-x / math.sqrt(2))

    for mu in (0.05, 0.3, 1.0, 3.0):
        for epsilon in (0.01, 0.5, 1.0, 4.0):
            wanted = phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)
            assert gaussian_delta(epsilon, mu) == pytest.approx(wanted, rel=1e-6, abs=1e-15)
    assert 0 <= gaussian_delta(1000.0, 40.0) < 1
    assert gaussian_delta(1000.0, 1.0) == 0.0
