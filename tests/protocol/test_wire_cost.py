"""What protocols say of their bytes, against the bytes of real runs; and what users are told of them."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simulated_runs import fit_tables
from vfxgb import VFXGBClassifier
from vfxgb.contract import TrainingShape
from vfxgb.data.table import Table
from vfxgb.params import TrainParams
from vfxgb.protocols import protocol_by_name, shipped_protocols
from vfxgb.protocols.ot_shares.cost import BASE_BYTES
from vfxgb.train.plan import RunPlan
from vfxgb.train.wire_estimate import FACTOR, LineEstimate, announce, estimate_line
from vfxgb.transport.line import KnownLine

OWN, THEIRS = 2, 4


def problem(rows: int, classes: int) -> tuple[dict[str, Table], np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(rows, OWN + THEIRS))
    y = np.digitize(X.sum(axis=1) + rng.normal(size=rows), np.linspace(-1, 1, classes - 1) if classes > 2 else [0])
    parts = {"bank": slice(0, OWN), "shop": slice(OWN, None)}
    names = [f"f{i}" for i in range(OWN + THEIRS)]
    return {p: Table.read(X[:, s], names=names[s], party=p) for p, s in parts.items()}, y.astype(float)


def measured(protocol: str, given: dict[str, Any], rows: int, **train: Any) -> tuple[LineEstimate, float, float]:
    """(the estimate, bytes once, bytes of a round) of a training of full trees."""
    tables, y = problem(rows, train.get("num_class", 2))
    objective = "multi:softprob" if "num_class" in train else "binary:logistic"
    params = TrainParams(objective=objective, min_child_weight=0.0, n_jobs=1, **train)
    total = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rounds in (1, 3):
            whole = replace(params, n_estimators=rounds)
            result = fit_tables(tables, "bank", y, None, rows, whole, protocol, given)
            total.append(result.traffic["shop"].total_bytes)
    each = (total[1] - total[0]) / 2
    plan = RunPlan.resolve("bank", ("bank", "shop"), "", params, protocol, given)
    estimate = estimate_line(plan, rows, {"bank": OWN, "shop": THEIRS}, KnownLine())
    assert estimate is not None
    return estimate, total[0] - each, each


@pytest.mark.parametrize("size", [(1200, 16, 4), (2000, 32, 3)], ids=str)
@pytest.mark.parametrize("name", shipped_protocols())
def test_bytes_of_a_tree_are_as_estimated(name: str, size: tuple[int, int, int]) -> None:
    rows, bins, depth = size
    given = dict(protocol_by_name(name).quick_params)
    estimate, _, each = measured(name, given, rows, max_bin=bins, max_depth=depth)
    assert each / FACTOR < estimate.round < each * FACTOR


@pytest.mark.parametrize(
    ("name", "given", "train"),
    [
        ("ot_shares", {"precision_bits": 8}, {"max_bin": 8}),
        ("ot_shares", {}, {"subsample": 0.5, "max_bin": 16}),
        ("ot_shares", {"subtract": False}, {"num_class": 3, "max_bin": 16}),
        ("batch_he", {}, {"num_class": 3, "max_bin": 16}),
        ("batch_he", {"scheme": "ou", "key_bits": 768}, {"max_bin": 32}),
        ("batch_he", {"encoding": "shift"}, {"max_bin": 16}),
        ("secureboost", {"pack_sums": False}, {"max_bin": 16}),
        ("plain", {"hide_nodes": True}, {"max_bin": 16}),
        ("sealed", {}, {"max_bin": 16}),
        ("sealed", {"transfer_bits": 4}, {"max_bin": 32}),
        ("ldp", {"order": 1}, {"max_bin": 16}),
        ("smm2", {"small_nodes": "skip", "r": 30}, {"max_bin": 8}),
    ],
    ids=str,
)
def test_settings_change_bytes_as_estimated(name: str, given: dict[str, Any], train: dict[str, Any]) -> None:
    quick = dict(protocol_by_name(name).quick_params)
    estimate, _, each = measured(name, {**quick, **given}, 1200, max_depth=4, **train)
    assert each / FACTOR < estimate.round < each * FACTOR


@pytest.mark.parametrize("k", [2, 8])
def test_bytes_of_a_set_up_are_as_estimated(k: int) -> None:
    given = {**protocol_by_name("ot_shares").quick_params, "transfer_bits": k, "setup_rows": 4096}
    estimate, once, _ = measured("ot_shares", given, 3000, max_bin=32, max_depth=2)
    assert once / 1.1 < estimate.setup < once * 1.1
    assert estimate.setup > 2 * BASE_BYTES


def test_the_setting_that_is_named_does_save_what_it_says() -> None:
    quick = dict(protocol_by_name("ot_shares").quick_params)
    estimate, _, before = measured("ot_shares", quick, 2000, max_bin=32, max_depth=3)
    assert estimate.saving is not None
    assert estimate.saving.words == "precision_bits=8 with rounding='stochastic'"
    changed = {**quick, **estimate.saving.protocol_params}
    _, _, after = measured("ot_shares", changed, 2000, max_bin=32, max_depth=3, **estimate.saving.train)
    assert after < 0.6 * before
    assert estimate.saved == pytest.approx(after, rel=0.1)


def plan_for(protocol: str, given: dict[str, Any] | None = None, **train: Any) -> RunPlan:
    params = TrainParams(objective="binary:logistic", **train)
    return RunPlan.resolve("bank", ("bank", "shop"), "", params, protocol, given)


@pytest.mark.parametrize(
    ("name", "given", "named"),
    [
        ("ot_shares", {}, "precision_bits=8 with rounding='stochastic'"),
        ("ot_shares", {"precision_bits": 8}, "max_bin=8"),
        ("secureboost", {}, "scheme='ou'"),
        ("batch_he", {"scheme": "ou", "key_bits": 2048}, "subsample=0.5"),
        ("masked", {"insecure": True, "W": 9}, "W=1"),
        ("masked", {"insecure": True, "order": 1}, "max_bin=128"),
    ],
)
def test_the_setting_that_would_halve_a_tree(name: str, given: dict[str, Any], named: str) -> None:
    plan = plan_for(name, given)
    estimate = estimate_line(plan, 150_000, {"bank": 5, "shop": 6}, KnownLine())
    assert estimate is not None
    assert estimate.saving is not None
    assert estimate.saving.words == named
    assert estimate.saved <= 0.56 * estimate.round


def test_where_nothing_halves_a_tree_what_saves_most_is_named() -> None:
    estimate = estimate_line(plan_for("plain"), 150_000, {"bank": 5, "shop": 5}, KnownLine())
    assert estimate is not None
    assert estimate.saving is not None
    assert estimate.saving.words == "subsample=0.5"
    assert 0.56 * estimate.round < estimate.saved < 0.7 * estimate.round
    flat = plan_for("plain", max_bin=2, max_depth=1, subsample=0.5)
    least = estimate_line(flat, 150_000, {"bank": 5, "shop": 5}, KnownLine())
    assert least is not None
    assert least.saving is None
    assert "would make it" not in least.words(KnownLine())


def test_what_a_training_begins_with() -> None:
    lines = announce(plan_for("ot_shares"), 150_000, {"bank": 5, "shop": 5}, KnownLine(50, 20))
    assert lines[0] == "max_bin is 64, the default of ot_shares"
    assert "a tree takes about 9.3" in lines[1]
    assert "on a line of 50 Mbit/s and 20 ms; the set-up takes" in lines[1]
    assert "would make it 4.9" in lines[1]
    example = announce(plan_for("ot_shares", max_bin=32), 150_000, {"bank": 5, "shop": 5}, KnownLine())
    assert example[0] == "max_bin is 32"
    assert "on a line of 100 Mbit/s and 10 ms (an example: say which line is yours by network_mbit" in example[1]


def test_one_party_alone_has_no_line() -> None:
    plan = RunPlan.resolve("bank", ("bank",), "", TrainParams(), "plain")
    assert announce(plan, 100, {"bank": 3}, KnownLine()) == ["max_bin is 256, the default of plain"]


def test_several_passive_parties_add_up() -> None:
    plan, shape = plan_for("plain"), {"bank": 3, "shop": 4}
    two = replace(plan, parties=("bank", "shop", "post"))
    one, both = (estimate_line(p, 1000, f, KnownLine()) for p, f in ((plan, shape), (two, {**shape, "post": 4})))
    assert one is not None
    assert both is not None
    assert 1.9 * one.round < both.round < 2.1 * one.round
    assert both.round_trips == one.round_trips


@pytest.mark.parametrize("name", shipped_protocols())
def test_more_of_anything_never_takes_less(name: str) -> None:
    plan = plan_for(name, dict(protocol_by_name(name).quick_params))
    assert plan.spec.wire_cost is not None
    shape = TrainingShape(2000, 4, 4, 16, 4)
    base = plan.spec.wire_cost(plan.protocol_params, shape)
    for more in ({"rows": 4000}, {"features": 8}, {"bins": 32}, {"depth": 5}):
        larger = plan.spec.wire_cost(plan.protocol_params, replace(shape, **more))
        assert larger.tree >= base.tree
        assert larger.setup + larger.tree >= base.setup + base.tree


def test_verbose_says_it_first_and_the_model_keeps_max_bin(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    model = VFXGBClassifier(
        n_estimators=1,
        max_depth=2,
        n_jobs=1,
        parties={"bank": [0, 1], "shop": [2, 3]},
        protocol="ot_shares",
        protocol_params=dict(protocol_by_name("ot_shares").quick_params),
        network_mbit=20,
    )
    model.fit(X, (X.sum(axis=1) > 0).astype(int), verbose=1)
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "max_bin is 64, the default of ot_shares"
    assert told[1].startswith("a tree takes about ")
    assert "on a line of 20 Mbit/s" in told[1]
    assert model.model_.active_share.params["max_bin"] == 64
    assert model.max_bin is None
    model.set_params(max_bin=16).fit(X, (X.sum(axis=1) > 0).astype(int), verbose=False)
    assert capsys.readouterr().err == ""
    assert model.model_.active_share.params["max_bin"] == 16
