"""`federboost`: buckets randomised once, training on them alone, and the correction of sums."""

from typing import Any

import numpy as np
import pytest

from simulated_runs import fit_tables
from vfxgb import _native
from vfxgb.data.table import Table
from vfxgb.dp import Accountant
from vfxgb.errors import DpError, ProtocolParameterError
from vfxgb.params import TrainParams
from vfxgb.protocols import make_protocol_params, protocol_by_name
from vfxgb.protocols.federboost.active import FederBoostActive
from vfxgb.protocols.federboost.messages import Buckets
from vfxgb.protocols.federboost.params import FederBoostParams
from vfxgb.protocols.federboost.passive import empty_bins, fill
from vfxgb.protocols.federboost.unbiased import Correction
from vfxgb.rows.memory import MemoryRows
from vfxgb.train import simulate
from vfxgb.train.passive import PassiveParty
from vfxgb.transport.channel import Channel
from vfxgb.tree.candidates import CandidateList

N = 400


def fit(given: dict[str, Any], n_train: int = N, missing: float = 0.1, **changes: Any) -> simulate.FitResult:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4)).astype(np.float32)
    y = (X[:, 0] + X[:, 2] - X[:, 3] > 0).astype(np.float64)
    X[:, 3][rng.random(N) < missing] = np.nan
    tables = {
        "bank": Table.read(X[:, :1], names=["b"], party="bank"),
        "shop": Table.read(X[:, 1:], names=["s0", "s1", "s2"], party="shop"),
    }
    settings = {"objective": "binary:logistic", "n_estimators": 4, "max_depth": 4, "max_bin": 8, "n_jobs": 1} | changes
    params = TrainParams(**settings)
    return fit_tables(tables, "bank", y, None, n_train, params, protocol="federboost", protocol_params=given)


@pytest.fixture
def shops(monkeypatch) -> list[PassiveParty]:
    """The passive parties of all runs."""
    made: list[PassiveParty] = []

    class Noted(PassiveParty):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(simulate, "PassiveParty", Noted)
    return made


@pytest.fixture
def sent(monkeypatch) -> list[Buckets]:
    """The buckets sent."""
    messages: list[Buckets] = []
    send = Channel.send_encoded

    def noted(self: Channel, message: Any, payload: bytes) -> None:
        if isinstance(message, Buckets):
            messages.append(message)
        send(self, message, payload)

    monkeypatch.setattr(Channel, "send_encoded", noted)
    return messages


def test_with_epsilon_1000_it_is_plain(case, make_problem, train, model_of) -> None:
    """A bucket is then another one with a probability of 2**-59 for each other one."""
    problem = make_problem(case)
    assert model_of(train(problem, "federboost", 3)) == model_of(train(problem, "plain", 3))


@pytest.mark.parametrize(
    "kind", ["binary", "multiclass", "missing", "monotone", "min bucket rows", "colsample bytree", "colsample bynode"]
)
def test_corrected_sums_of_every_kind_are_plains(kind, make_problem) -> None:
    """At epsilon 1000 the correction changes sums by parts in 2**58: none after rounding."""
    problem = make_problem(kind)
    plain, found = (
        fit_tables(
            problem.tables(3),
            "p0",
            problem.y,
            problem.weight,
            220,
            problem.params,
            protocol=protocol,
            protocol_params=given,
        )
        for protocol, given in (("plain", {}), ("federboost", {"epsilon": 1000.0, "unbiased": True}))
    )
    assert found.margins.tolist() == plain.margins.tolist()


def test_buckets_go_out_once_and_as_often_true_as_epsilon_says(shops, sent) -> None:
    fit({"epsilon": 1.0}, n_train=380)
    assert [message.feature for message in sent] == [0, 1, 2]
    true = shops[0]._binned
    for message in sent:
        column = np.frombuffer(message.buckets, dtype="<u2")
        own = true.bins.column(message.feature)[:380]
        assert len(column) == 380
        buckets = message.n_bins + 1
        keep = np.e / (np.e + buckets - 1)
        assert abs((column == own).mean() - keep) < 5 * np.sqrt(keep * (1 - keep) / 380)
        assert column.max() < buckets


def test_whether_values_are_missing_does_not_show(shops, sent) -> None:
    """One row without a value, and no other message than one with it: every feature has the bucket for it."""

    def told(missing: bool) -> list[Any]:
        column = np.repeat(np.arange(8.0), 50)[:, None]
        if missing:
            column[3] = np.nan
        tables = {
            "bank": Table.read(np.arange(400.0)[:, None], names=["b"], party="bank"),
            "shop": Table.read(column, names=["s"], party="shop"),
        }
        y = (np.arange(400) > 200).astype(np.float64)
        params = TrainParams(objective="binary:logistic", n_estimators=1, max_bin=8, n_jobs=1)
        sent.clear()
        fit_tables(tables, "bank", y, None, 400, params, protocol="federboost", protocol_params={"epsilon": 0.5})
        (message,) = sent
        assert message.buckets.nbytes == 800
        # At this epsilon every bucket turns up, that of missing values too.
        assert np.frombuffer(message.buckets, dtype="<u2").max() == message.n_bins
        return [getattr(message, name) for name in message.__struct_fields__ if name != "buckets"]

    assert told(missing=True) == told(missing=False)
    (with_missing,), (without,) = (shop.events for shop in shops)
    assert with_missing == without


@pytest.mark.parametrize("unbiased", [False, True])
def test_training_rows_are_routed_by_the_randomised_buckets(unbiased, monkeypatch) -> None:
    """The rows of a split tell nothing that was not sent before; true values would."""
    compared = []
    chosen = FederBoostActive.chosen

    def checked(self, party, index, positions, tokens, bits):
        found = chosen(self, party, index, positions, tokens, bits)
        level = self._level.trees[index]
        nodes = np.ascontiguousarray(level.nodes[positions])
        candidates = self._received[party].candidates
        sums = candidates.left_sums(level.partition, nodes, self._pairs[level.tree])
        compared.append(np.array_equal(sums[np.arange(len(tokens)), tokens], found.left))
        return found

    monkeypatch.setattr(FederBoostActive, "chosen", checked)
    fit({"epsilon": 0.5, "unbiased": unbiased})
    assert compared
    assert all(compared)


def test_eval_rows_are_routed_by_their_values() -> None:
    result = fit({"epsilon": 0.5}, n_train=300, missing=0.0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4)).astype(np.float32)
    from vfxgb.model.pooled import PooledModel

    margins = PooledModel(result.active_share, result.passive_shares).margins(X)
    assert np.allclose(margins[300:], result.margins[300:], atol=1e-5)
    assert not np.allclose(margins[:300], result.margins[:300], atol=1e-5)


def test_the_correction_is_the_inverse_of_the_response_matrix() -> None:
    rng = np.random.default_rng(0)
    params = FederBoostParams(epsilon=1.0, unbiased=True)
    n, n_bins, missing = 500, np.array([5, 3], dtype=np.int32), np.array([True, True])
    bins = empty_bins(n, n_bins)
    for feature in range(2):
        fill(
            bins, feature, rng.integers(0, n_bins[feature] + missing[feature], n).astype(np.uint16), n_bins[feature], 1
        )
    pairs = rng.integers(-1000, 1000, size=(n, 2))
    candidates = CandidateList(MemoryRows(bins), missing, np.arange(2, dtype=np.int32), None, None, 1)
    root = np.zeros(1, dtype=np.int32)
    left = candidates.left_sums(MemoryRows(bins).partition(None), root, pairs)
    found = Correction(params, n_bins).apply(left, pairs.sum(axis=0)[None, :], None)
    feature, split, default_left = _native.gbdt.candidates(n_bins, missing)
    for j in range(len(feature)):
        buckets = int(n_bins[feature[j]] + missing[feature[j]])
        column = bins.column(int(feature[j]))
        sums = np.array([pairs[column == b].sum(axis=0) for b in range(buckets)])
        estimate = np.linalg.solve(params.response(buckets, 2).response_matrix().T, sums)
        wanted = estimate[: split[j] + 1].sum(axis=0)
        if default_left[j]:
            wanted = wanted + estimate[-1]
        assert np.abs(found[0, j] - wanted).max() <= 0.5 + 1e-6


def test_corrected_sums_have_the_true_mean() -> None:
    rng = np.random.default_rng(0)
    params = FederBoostParams(epsilon=1.0, unbiased=True)
    n, n_bins = 60, np.array([3], dtype=np.int32)
    true = np.sort(rng.integers(0, 4, n))
    pairs = np.c_[rng.integers(-100, 100, n), rng.integers(0, 100, n)]
    response, correction = params.response(4, 1), Correction(params, n_bins)
    draws = response.perturb(np.tile(true, 3000)).reshape(3000, n)
    _, split, default_left = _native.gbdt.candidates(n_bins, np.ones(1, dtype=np.bool_))

    def left(buckets: np.ndarray) -> list[np.ndarray]:
        goes = [(buckets <= cut) | (missing & (buckets == 3)) for cut, missing in zip(split, default_left, strict=True)]
        return [pairs[goe].sum(axis=0) for goe in goes]

    noisy = np.array([left(row) for row in draws])
    totals = np.repeat(pairs.sum(axis=0)[None, :], 3000, axis=0)
    wanted = np.array(left(true))
    for corrected, sums in ((True, correction.apply(noisy, totals, None)), (False, noisy)):
        error = np.abs(sums.mean(axis=0) - wanted) / (sums.std(axis=0) / np.sqrt(3000))
        assert (error < 4.5).all() == corrected


@pytest.mark.parametrize(
    ("given", "total"), [({"epsilon": 0.5}, 1.5), ({"total_epsilon": 0.6}, 0.6)], ids=["feature", "total"]
)
def test_the_features_of_a_row_add_up(given, total, shops) -> None:
    fit(given)
    accountant = Accountant()
    accountant.add(*shops[0].events)
    (group,) = accountant.groups
    assert group == ("bank", "the values of one row at shop")
    found = accountant.total(*group)
    assert found.releases == 3
    assert found.epsilon_total == pytest.approx(total)


@pytest.mark.parametrize("given", [{"epsilon": 1e-300}, {"total_epsilon": 2e-9}])
def test_tiny_epsilons_are_refused_in_words(given) -> None:
    with pytest.raises(DpError, match=r"wanted at least 1e-09.*raise epsilon"):
        fit(given)


def test_a_constant_feature_is_randomised_too(shops) -> None:
    tables = {
        "bank": Table.read(np.arange(40.0)[:, None], names=["b"], party="bank"),
        "shop": Table.read(np.zeros((40, 1)), names=["s"], party="shop"),
    }
    y = (np.arange(40) > 20).astype(np.float64)
    params = TrainParams(objective="binary:logistic", n_estimators=1, n_jobs=1)
    fit_tables(tables, "bank", y, None, 40, params, protocol="federboost", protocol_params={"epsilon": 1.0})
    # Whether a row has the one value or none is told up to epsilon.
    assert [event.epsilon for event in shops[0].events] == [1.0]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "either epsilon"),
        ({"epsilon": 1.0, "total_epsilon": 1.0}, "either epsilon"),
        ({"epsilon": 0.0}, "wanted a number above 0"),
        ({"total_epsilon": float("inf")}, "positive"),
    ],
)
def test_parameters_that_do_not_go_together(given, text) -> None:
    with pytest.raises(ProtocolParameterError, match=text):
        make_protocol_params(protocol_by_name("federboost"), given)
