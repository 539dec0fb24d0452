"""`sealed` in whole runs: the models of `plain` with the same rule, integers and seeds; refusals; what is learnt."""

import re
from typing import Any

import numpy as np
import pytest

from network_runs import NetworkChannels, Town
from protocol_variants import allows, params_of
from simulated_runs import fit_tables
from vfxgb.errors import CapacityError, MessageError, ParameterError, ProtocolParameterError
from vfxgb.params import TrainParams
from vfxgb.protocols import protocol_by_name
from vfxgb.protocols.sealed.messages import SealedPieces
from vfxgb.routing.messages import HiddenRoute, TransferStock
from vfxgb.train import simulate
from vfxgb.train.plan import RunPlan
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import Message

HIDDEN = "plain, nodes hidden"
CASES = ["binary", "multiclass", "weights", "missing", "missing multiclass", "imputed", "probabilistic", "subsample"]
CASES += ["goss", "colsample bytree", "colsample bylevel", "colsample bynode", "deep"]
BITS = 16


def both(make_problem: Any, train: Any, name: str, n_parties: int, active: str = "p0", **changes: Any) -> list[Any]:
    """The run of `sealed`, and that of its twin."""
    changes = {"score_bits": BITS, "n_estimators": 3, "split_rule": "centred", **changes}
    problem = make_problem(name, **changes)
    return [train(problem, protocol, n_parties, active) for protocol in ("sealed", HIDDEN)]


@pytest.mark.parametrize("n_passive", [1, 2, 3])
@pytest.mark.parametrize("name", [name for name in CASES if allows("sealed", name)])
def test_models_are_those_of_the_twin(name, n_passive, make_problem, train, model_of) -> None:
    active = "p1" if n_passive > 1 else "p0"
    sealed, twin = both(make_problem, train, name, 1 + n_passive, active, seed=n_passive)
    assert model_of(sealed) == model_of(twin)
    parties = np.concatenate([tree.party for tree in sealed.active_share.trees])
    assert len(set(parties.tolist()) - {-1}) >= 2


@pytest.mark.parametrize("n_passive", [1, 3])
def test_winners_are_checked_by_the_active_party(n_passive, make_problem, train, model_of) -> None:
    changes = {"gamma": 0.5, "min_child_weight": 4.0, "reg_lambda": 2.0, "reduced_leakage": True}
    sealed, twin = both(make_problem, train, "missing", 1 + n_passive, **changes)
    assert model_of(sealed) == model_of(twin)


@pytest.mark.parametrize("bits", [12, 22, 30, None])
def test_any_precision(bits, make_problem, train, model_of) -> None:
    spec = protocol_by_name("sealed")
    default = spec.score_bits(spec.params(**params_of("sealed")), 220)
    problem = make_problem("deep", score_bits=bits)
    twin = make_problem("deep", score_bits=bits or default, split_rule="centred")
    assert model_of(train(problem, "sealed")) == model_of(train(twin, HIDDEN))


def test_early_stopping_stops_at_the_same_round(make_problem, train, model_of) -> None:
    changes = {"n_estimators": 30, "early_stopping_rounds": 2, "learning_rate": 1.0}
    sealed, twin = both(make_problem, train, "binary", 2, **changes)
    assert sealed.best_iteration == twin.best_iteration
    assert model_of(sealed) == model_of(twin)
    assert len(sealed.active_share.trees) < 30


def half_squares(y: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A loss of the user's: gradients twice, and hessians three times, those of half the squared error."""
    return 2 * (raw - y), np.full_like(raw, 3.0)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("binary", {"base_score": 0.3}),
        ("imputed", {"objective": half_squares, "base_score": 0.0}),
        ("binary", {"objective": "count:poisson", "max_delta_step": 0.0}),
        ("imputed", {"learning_rate": 0.7, "reg_lambda": 0.0}),
        ("weights", {"subsample": 0.5, "colsample_bytree": 0.7, "colsample_bylevel": 0.7, "colsample_bynode": 0.8}),
        ("goss multiclass", {"colsample_bynode": 0.5}),
        ("stump", {"max_bin": 2}),
        ("missing", {"eval_metric": ["auc", "logloss"], "early_stopping_rounds": 1, "n_estimators": 8}),
    ],
)
def test_other_settings_of_training(name, changes, make_problem, train, model_of) -> None:
    sealed, twin = both(make_problem, train, name, 3, **changes)
    assert model_of(sealed) == model_of(twin)


@pytest.mark.parametrize("n_passive", [1, 2])
@pytest.mark.parametrize("least", [1, 128, 4096])
def test_what_is_made_ahead_does_not_show_in_models(
    least, n_passive, make_problem, train, model_of, monkeypatch
) -> None:
    """Transfers and pieces behind every flight, or all behind one: several rounds, which use what those before made."""
    monkeypatch.setattr("vfxgb.protocols.sealed.ahead.LEAST_TRANSFERS", least)
    sent: list[type] = []
    send = Channel.send

    def noted(self: Channel, message: Message) -> None:
        sent.append(type(message))
        send(self, message)

    monkeypatch.setattr(Channel, "send", noted)
    sealed, twin = both(make_problem, train, "deep", 1 + n_passive, n_estimators=4)
    assert model_of(sealed) == model_of(twin)
    stocks, pieces = sent.count(TransferStock), sent.count(SealedPieces)
    assert stocks > 0
    # At the beginning of each round, and behind flights.
    assert pieces > 4 * n_passive
    if least == 1:
        assert stocks > 4 * 4 * n_passive
        assert sent.count(HiddenRoute) > 4 * n_passive


@pytest.mark.parametrize("settings", [{"transfer_bits": 2}, {"flight_bytes": 0}, {"ring": "wide"}, {"ring": "pairs"}])
def test_settings_do_not_show_in_models(settings, make_problem, train, model_of) -> None:
    problem = make_problem("missing", score_bits=BITS, n_estimators=2)
    params = {**params_of("sealed"), **settings}
    found = fit_tables(
        problem.tables(3),
        "p0",
        problem.y,
        None,
        220,
        problem.params,
        protocol="sealed",
        protocol_params=params,
        evals=[("valid", slice(220, 300))],
    )
    assert model_of(found) == model_of(train(problem, "sealed", 3))


@pytest.mark.parametrize(("ring", "bits"), [("pairs", 24), ("pairs", 31)])
def test_scores_that_noise_could_reach_are_refused_before_the_set_up(ring, bits, make_problem, monkeypatch) -> None:
    """The most that fits is named, and it does fit."""
    sent: list[str] = []
    send = Channel.send

    def noted(self: Channel, message: Message) -> None:
        sent.append(type(message).__name__)
        send(self, message)

    monkeypatch.setattr(Channel, "send", noted)

    def fit(score_bits: int) -> None:
        problem = make_problem("missing", score_bits=score_bits, n_estimators=1)
        params = {**params_of("sealed"), "ring": ring}
        fit_tables(problem.tables(2), "p0", problem.y, None, 220, problem.params, "sealed", protocol_params=params)

    with pytest.raises(CapacityError) as caught:
        fit(bits)
    found = re.search(
        rf"found score_bits={bits} with ring='pairs' and 220 .*, wanted at most (\d+);", str(caught.value)
    )
    assert found is not None
    assert set(sent) <= {"Setup", "Ready", "Abort"}
    fit(int(found[1]))
    assert "LatticeBlock" in sent


def test_threads_do_not_show_in_models(make_problem, train, model_of) -> None:
    one, two = (train(make_problem("missing multiclass", n_jobs=jobs), "sealed", 3) for jobs in (1, 2))
    assert model_of(one) == model_of(two)


@pytest.mark.parametrize("under_way", [0, 1, 100])
def test_rows_that_are_routed_in_parts_take_the_same_way(under_way, make_problem, train, model_of, monkeypatch) -> None:
    """Many questions a level, one at a time, some or all of them at once. Nothing is sent ahead of them."""
    monkeypatch.setattr("vfxgb.protocols.sealed.ahead.MOST_OF_A_ROW", 0)
    problem = make_problem("missing multiclass", n_estimators=2)
    whole = train(problem, "sealed", 3)
    monkeypatch.setattr("vfxgb.protocols.sealed.routed.PART_TRANSFERS", 100)
    monkeypatch.setattr("vfxgb.protocols.sealed.routed.PARTS_UNDER_WAY", under_way)
    parts = train(problem, "sealed", 3)
    assert model_of(parts) == model_of(whole)
    asked, at_once = (
        sum(entry.messages for entry in run.ledger.totals() if entry.message == "hidden-route")
        for run in (parts, whole)
    )
    assert asked > 3 * at_once


def test_the_same_over_tls(make_problem, train, model_of, tmp_path, monkeypatch) -> None:
    problem = make_problem("missing multiclass", n_estimators=2)
    here = train(problem, "sealed", 3)
    channels = NetworkChannels(Town(tmp_path))
    monkeypatch.setattr(simulate, "memory_channels", channels)
    try:
        there = train(problem, "sealed", 3)
    finally:
        channels.close()
    assert len(channels.links) == 2
    assert model_of(there) == model_of(here)


def test_coins_and_orders_are_drawn_for_a_run(make_problem) -> None:
    """With 12 bits the rounding of rows decides splits: two runs differ unless they are told the seeds."""
    problem = make_problem("deep", score_bits=12, n_estimators=6)

    def gains() -> list[list[float]]:
        params = {"group_bits": 768, "insecure": True}
        run = fit_tables(
            problem.tables(2), "p0", problem.y, None, 220, problem.params, protocol="sealed", protocol_params=params
        )
        return [tree.gain.tolist() for tree in run.active_share.trees]

    assert gains() != gains()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reg_alpha": 0.5}, "reg_alpha=0.5 with protocol 'sealed', wanted none: .*reg_lambda or gamma instead"),
        ({"max_delta_step": 0.7}, "max_delta_step=0.7 with protocol 'sealed', wanted none: .*give max_delta_step=0"),
        ({"objective": "count:poisson"}, "max_delta_step=0.7 with protocol 'sealed', wanted none"),
        (
            {"monotone_constraints": {"a": 1}},
            "monotone_constraints=.* with protocol 'sealed'.*'batch_he'",
        ),
        ({"split_rule": "gain"}, "split_rule='gain' with protocol 'sealed', wanted one of 'centred'"),
        ({"rounding": "stochastic"}, "rounding='stochastic' with protocol 'sealed', wanted 'nearest'"),
        (
            {"min_bucket_rows": 9},
            "'sealed' hides nodes .*: found min_bucket_rows=9, wanted 1; leave it out, or take a protocol",
        ),
        (
            {"sampling_method": "goss", "told_sample": True},
            "'sealed' hides nodes .*: found told_sample=True; leave it out, or take a protocol that shows nodes",
        ),
    ],
)
def test_what_does_not_go_with_it_is_refused(changes, said) -> None:
    with pytest.raises((ParameterError, ProtocolParameterError), match=said):
        RunPlan.resolve("p0", ["p0", "p1"], "ab", TrainParams(**changes), "sealed")


def test_the_defaults_of_a_plan() -> None:
    plan = RunPlan.resolve("p0", ["p0", "p1"], "ab", TrainParams(), "sealed").for_rows(150_000)
    assert (plan.params.split_rule, plan.params.max_bin, plan.params.score_bits) == ("centred", 32, 23)
    assert not plan.spec.repeatable
    assert plan.spec.secret_coins
    assert RunPlan.resolve("p0", ["p0", "p1"], "ab", TrainParams(), "plain").params.split_rule == "gain"


def test_a_kept_set_up_serves_later_runs(make_problem, train, model_of, tmp_path) -> None:
    problem = make_problem("missing", n_estimators=2)

    def run(**own: Any) -> Any:
        params = {**params_of("sealed"), "order_seed": None, "setup_dir": str(tmp_path), **own}
        rows = {"evals": [("valid", slice(220, 300))]}
        return fit_tables(
            problem.tables(3),
            "p0",
            problem.y,
            None,
            220,
            problem.params,
            protocol="sealed",
            protocol_params=params,
            **rows,
        )

    first, second = run(), run()
    assert model_of(first) == model_of(second)
    blocks = [
        sum(entry.messages for entry in result.ledger.entries if entry.message == "lattice-block")
        for result in (first, second)
    ]
    assert blocks == [2, 0]


def test_the_ledger_has_a_verdict(make_problem, train) -> None:
    ledger = train(make_problem("binary"), "sealed", 3).ledger
    said = [note for note in ledger.notes if "sum of gradients" in note or "learnt" in note]
    assert len(said) == 3
    assert "no sum of gradients was opened" in said[0]
    assert not ledger.opened
    assert not ledger.small_sums


def test_a_constant_table_takes_part_and_wins_nothing(make_problem, train) -> None:
    problem = make_problem("binary")
    problem.X[:, 3:] = 1.0
    run = train(problem, "sealed")
    assert {tuple(set(tree.party.tolist()) - {-1}) for tree in run.active_share.trees} == {(0,)}


def test_slots_that_were_not_won_are_refused(make_problem, train, monkeypatch) -> None:
    from vfxgb.protocols.sealed import active

    def greedy(*given: Any) -> Any:
        return {party: np.ones_like(won) for party, won in real(*given).items()}

    real = active.find_winners
    monkeypatch.setattr(active, "find_winners", greedy)
    with pytest.raises(MessageError, match=r"p1 choosing splits: found slots .* wanted those that this party has won"):
        train(make_problem("binary"), "sealed")
