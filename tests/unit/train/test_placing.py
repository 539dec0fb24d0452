"""Where rows are placed: the same bins and targets everywhere; what shards cannot do is refused."""

from dataclasses import replace

import numpy as np
import pytest

from vfxgb.contract import EngineOptions
from vfxgb.data.source import StackedSource
from vfxgb.data.table import Table
from vfxgb.data.target import ArrayTarget
from vfxgb.engine.local import LocalEngine
from vfxgb.errors import EngineError
from vfxgb.objective import make_objective
from vfxgb.params import TrainParams
from vfxgb.protocols import protocol_by_name
from vfxgb.train.placing import Placing, check_fits, check_passive, place_rows
from vfxgb.train.target import Learning

ROWS, TRAIN = 90, 70
PARAMS = TrainParams(objective="binary:logistic", max_bin=8)


@pytest.fixture
def table():
    X = np.random.default_rng(0).normal(size=(ROWS, 3)).astype(np.float32)
    X[::7, 1] = np.nan
    return Table.read(X, party="bank")


@pytest.fixture
def engine(tmp_path):
    made = LocalEngine(1 << 28, 1, tmp_path, shards=3)
    yield made
    made.close()


def placing(**given) -> Placing:
    return Placing("bank", TRAIN, 8, given.pop("missing_strategy", "learned"), 1, **given)


def test_the_same_bins_wherever_rows_are(table, engine) -> None:
    places = [
        place_rows(table, placing()),
        place_rows(StackedSource((table,)), placing()),
        place_rows(table, placing(engine=engine)),
    ]
    root, gradients = np.zeros(1, dtype=np.int32), np.random.default_rng(1).integers(-99, 99, (TRAIN, 2))
    found = []
    for place in places:
        rows = (binned := place.bin(None)).rows
        sums = rows.histogram(rows.partition(None), root, rows.pairs(gradients), None)
        found.append(([cuts.tolist() for cuts in binned.cuts], binned.has_missing.tolist(), sums.tolist(), binned.fill))
    assert found[0] == found[1] == found[2]
    assert found[0][3] is None


def test_what_missing_values_were_replaced_by(table) -> None:
    binned = place_rows(table, placing(missing_strategy="mean")).bin(None)
    column = table.column(1)[:TRAIN]
    assert binned.fill[1] == pytest.approx(np.nanmean(column))
    assert not binned.has_missing.any()


def test_the_same_gradients_wherever_labels_are(table, engine) -> None:
    labels = (np.arange(ROWS) % 3 == 0).astype(np.float32)
    weights = np.linspace(0.5, 2.0, ROWS).astype(np.float32)
    learning = Learning(make_objective(PARAMS), PARAMS, EngineOptions())
    found = []
    for given in (labels, ArrayTarget(labels, weights, "bank")):
        for how in (placing(), placing(engine=engine)):
            target = place_rows(table, how).target(given, weights, learning)
            base = target.start(PARAMS)
            gradients = target.gradients(0)
            found.append((base.tolist(), gradients.step, gradients.arrays[0].tolist()))
    assert found[0] == found[1] == found[2] == found[3]


def test_labels_in_shards_stay_there(table, engine) -> None:
    labels = np.zeros(ROWS, dtype=np.float32)
    learning = Learning(make_objective(PARAMS), PARAMS, EngineOptions())
    target = place_rows(table, placing(engine=engine)).target(labels, None, learning)
    for asked in (lambda: target.train_labels, lambda: target.train_weights, lambda: target.train_on(labels)):
        with pytest.raises(EngineError, match="of this process: the rows are in shards"):
            asked()
    here = place_rows(table, placing()).target(labels, None, learning)
    here.train_on(np.ones(TRAIN, dtype=np.float32))
    assert here.train_labels.tolist() == [1.0] * TRAIN
    assert here.rows(slice(0, TRAIN))[0].tolist() == [0.0] * TRAIN


def test_what_shards_cannot_do() -> None:
    plain = protocol_by_name("plain")
    check_fits(plain, PARAMS, False, holds_key=False)
    check_passive("shop", plain, "learned", False)
    refused = [
        (
            protocol_by_name("smm1"),
            "learned",
            False,
            "'smm1' works on rows in one.*use one of .*ot_shares, plain",
        ),
        # Labels that are replaced before use are all here.
        (replace(plain, release=lambda context: None), "learned", False, "'plain' works on rows in one process"),
        (plain, "mean", False, "imputes from all rows"),
        (plain, "regression", False, "'regression' imputes from all rows"),
        (plain, "conditional", False, "'conditional' learns from all rows which way others lean; use 'probabilistic'"),
        (plain, "learned", True, "recorded"),
    ]
    for spec, strategy, recorded, match in refused:
        with pytest.raises(EngineError, match=f"^dividing rows into shards: .*{match}"):
            check_fits(spec, replace(PARAMS, missing_strategy=strategy), recorded, holds_key=True)
        with pytest.raises(EngineError, match=f"^shop: dividing rows into shards: .*{match}"):
            check_passive("shop", spec, strategy, recorded)
    with pytest.raises(EngineError, match="a callable sees all rows"):
        check_fits(plain, replace(PARAMS, objective=lambda margins, labels: (margins, margins)), False, holds_key=True)


def test_secrets_that_lie_with_the_rows_need_consent() -> None:
    spec = protocol_by_name("ot_shares")
    check_fits(spec, PARAMS, False, holds_key=True)
    # A passive party's trees of masks are no more secret than its bins, which its workers have.
    check_passive("shop", spec, "learned", False)
    with pytest.raises(EngineError, match=r"secrets of the active party lie where .* set workers_hold_key=True"):
        check_fits(spec, PARAMS, False, holds_key=False)
