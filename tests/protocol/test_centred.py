"""split_rule='centred' in whole runs: a naive twin's trees, one model for all exact protocols, refusals, the ledger."""

from typing import Any

import msgspec
import numpy as np
import pytest

from centred_twin import TwinParty, TwinTree, rule_of
from network_runs import NetworkChannels, Town
from protocol_variants import allows, spec_of, with_variants
from simulated_runs import fit_tables
from tampering import error_of, replaced, toy_run
from vfxgb import FedXGBClassifier
from vfxgb.binning.binned import BinnedTable
from vfxgb.data.table import Table
from vfxgb.engine.settings import EngineSettings
from vfxgb.errors import MessageError, ParameterError, UnknownNameError
from vfxgb.params import TrainParams
from vfxgb.predict.joint import predict_margin
from vfxgb.protocols import protocol_by_name, shipped_protocols
from vfxgb.protocols.open_sums.messages import CandidateWeights
from vfxgb.protocols.plain.messages import PlainScores
from vfxgb.train import simulate
from vfxgb.train.plan import RunPlan
from vfxgb.transport.channel import memory_channels
from vfxgb.transport.messages import pack_array

CENTRED = {"split_rule": "centred"}
HIDDEN = "plain, nodes hidden"
# `sealed`, which has no exact scores, is compared with `plain` in test_sealed.py.
ABLE = [name for name in with_variants(shipped_protocols()) if {"centred", "gain"} <= set(spec_of(name).split_rules)]
OTHERS = [name for name in shipped_protocols() if "centred" not in spec_of(name).split_rules]
CASES = ["binary", "multiclass", "weights", "missing", "missing multiclass", "monotone missing", "subsample", "goss"]
CASES += ["colsample bytree", "colsample bynode", "min bucket rows", "step and child weight", "regression", "deep"]


def test_who_can_do_it() -> None:
    assert ABLE == ["batch_he", "ot_shares", "plain", "secureboost", HIDDEN]
    assert spec_of("sealed").split_rules == ("centred",)


@pytest.mark.parametrize("n_passive", [1, 2, 3])
@pytest.mark.parametrize(
    ("among", "name"), [(among, name) for among in ABLE if among != "plain" for name in CASES if allows(among, name)]
)
def test_exact_protocols_give_the_models_of_plain(among, name, n_passive, make_problem, train, model_of) -> None:
    problem = make_problem(name, seed=n_passive, n_estimators=3, **CENTRED)
    found = train(problem, among, 1 + n_passive, "p1")
    assert model_of(found) == model_of(train(problem, "plain", 1 + n_passive, "p1", like=among))
    assert found.active_share.params["split_rule"] == "centred"


def test_the_rule_matters(make_problem, train, model_of) -> None:
    gain, centred = (train(make_problem("deep", split_rule=rule), "plain") for rule in ("gain", "centred"))
    assert model_of(gain) != model_of(centred)
    assert {-1, 0, 1} == set(np.concatenate([tree.party for tree in centred.active_share.trees]).tolist())


@pytest.mark.parametrize(
    ("among", "bits"), [("plain", None), (HIDDEN, None), (HIDDEN, 16), ("batch_he", None), ("ot_shares", None)]
)
def test_shards_do_not_show(among, bits, make_problem, train, model_of) -> None:
    problem = make_problem("missing multiclass", n_estimators=2, score_bits=bits, **CENTRED)
    here = model_of(train(problem, among))
    there = train(problem, among, engine=EngineSettings(memory_limit="300MB", shards=3))
    assert model_of(type(there)(**{**vars(there), "margins": np.zeros(0)})) == {**here, "margins": []}


@pytest.mark.parametrize(("among", "bits"), [("ot_shares", None), (HIDDEN, None), (HIDDEN, 18)])
def test_the_same_over_tls(among, bits, make_problem, train, model_of, tmp_path, monkeypatch) -> None:
    problem = make_problem("missing multiclass", n_estimators=2, score_bits=bits, **CENTRED)
    here = train(problem, among, 3)
    channels = NetworkChannels(Town(tmp_path))
    monkeypatch.setattr(simulate, "memory_channels", channels)
    try:
        there = train(problem, among, 3)
    finally:
        channels.close()
    assert len(channels.links) == 2
    assert model_of(there) == model_of(here)


def toy(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Coarse columns with missing values and a twin, so that ties are common."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(rows, 6)), 1).astype(np.float32)
    X[:, 4] = X[:, 3]
    y = (X[:, 0] + X[:, 1] * X[:, 3] + 0.5 * X[:, 5] + 0.5 * rng.normal(size=rows) > 0).astype(np.float64)
    X[rng.random(X.shape) < 0.15] = np.nan
    return X, y


@pytest.mark.parametrize("bits", [None, 12, 14, 22])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("parts", [((0, 1, 2), (3, 4, 5)), ((3, 4), (0, 1), (2, 5))])
def test_trees_are_those_of_a_naive_twin(parts, seed, bits) -> None:
    """Every split, gain and number of rows of the second tree, whose gradients differ from row to row."""
    X, y = toy(160, seed)
    active, depth = len(parts) - 1, 4
    tables = {
        f"p{i}": Table.read(X[:, part], names=[f"f{j}" for j in part], party=f"p{i}") for i, part in enumerate(parts)
    }
    params = TrainParams(
        objective="binary:logistic",
        n_estimators=2,
        max_depth=depth,
        max_bin=12,
        random_state=seed,
        n_jobs=1,
        score_bits=bits,
        gamma=0.01,
        **CENTRED,
    )
    hidden = {} if bits is None else {"hide_nodes": True, "order_seed": 3 + seed}
    result = fit_tables(tables, f"p{active}", y, None, len(y), params, protocol_params=hidden, record=True)
    notes = result.transcript.records[f"p{active}"].notes
    pairs, step = (
        next(note.array for note in notes if (note.name, note.round) == (name, 1)) for name in ("pairs", "step")
    )
    parties = []
    for table in tables.values():
        binned = BinnedTable.build(table, len(y), 12)
        count = len(table.names)
        bins = np.stack([binned.rows.bins.column(f).astype(np.int64) for f in range(count)], axis=1)
        bins[bins == binned.rows.n_bins] = -1
        parties.append(TwinParty(bins, binned.rows.n_bins.tolist(), hidden.get("order_seed", 0)))
    twin = TwinTree(parties, active, pairs, rule_of(float(step[0])), depth, bits, seed, 1, 0.01)
    expected = twin.grow()
    tree = result.active_share.trees[1]
    assert tree.party.tolist() == [party for party, *_ in expected]
    assert tree.gain.tolist() == [gain for _, gain, *_ in expected]
    assert len(set(tree.party.tolist()) - {-1}) >= 2
    for i, share in result.passive_shares.items():
        place, listed = int(i[1:]), []
        for column, count in enumerate(parties[place].n_bins):
            missing = (parties[place].bins[:, column] < 0).any()
            listed += [column] * ((count - 1) * (2 if missing else 1))
        records = tree.record[tree.party == place]
        assert share.records.feature[records].tolist() == [listed[j] for party, *_, j in expected if party == place]


def test_bits_and_seeds_decide(make_problem, train, model_of) -> None:
    def fit(bits: int, random_state: int = 0, n_jobs: int = 1) -> Any:
        settings = {"score_bits": bits, "random_state": random_state, "n_jobs": n_jobs, **CENTRED}
        return model_of(train(make_problem("deep", **settings), HIDDEN))

    assert fit(12) == fit(12) == fit(12, n_jobs=2)
    assert fit(12) != fit(12, random_state=1)
    assert fit(12) != fit(40)


@pytest.mark.parametrize("n_passive", [1, 2, 3])
@pytest.mark.parametrize("name", ["weights", "missing multiclass", "monotone missing", "subsample", "colsample bynode"])
def test_integers_learn_about_as_well(name, n_passive, make_problem, train) -> None:
    for bits in (16, 22):
        result = train(make_problem(name, score_bits=bits, **CENTRED), HIDDEN, 1 + n_passive, "p1")
        (losses,) = result.evals_result["valid"].values()
        assert losses[-1] < losses[0]
        counts = {(entry.receiver, entry.message): entry.amount for entry in result.ledger.entries}
        kept = {f"p{i}": sum(int((tree.party == i).sum()) for tree in result.active_share.trees) for i in (0, 2, 3)}
        for party in result.passive_shares:
            # Every split that stays was won; some that were won are refused.
            assert counts.get((party, "place-splits"), 0) == kept[party] <= counts.get((party, "won-slots"), 0)


def halves(X: np.ndarray) -> dict[str, Table]:
    parts = {"bank": (0, 1), "shop": (2, 3)}
    return {party: Table.read(X[:, part], names=[f"f{j}" for j in part], party=party) for party, part in parts.items()}


def test_monotone_directions_hold() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 4)).astype(np.float32)
    y = X[:, 2] + 0.6 * np.sin(6 * X[:, 2]) + X[:, 0] + 0.3 * rng.normal(size=400)
    for bits, hidden in ((None, False), (None, True), (20, True)):
        params = TrainParams(
            n_estimators=6,
            max_depth=4,
            max_bin=16,
            n_jobs=1,
            score_bits=bits,
            monotone_constraints=(0, 0, 1, 0),
            **CENTRED,
        )
        result = fit_tables(halves(X), "bank", y, None, 400, params, protocol_params={"hide_nodes": hidden})
        assert (result.active_share.trees[0].party == 1).any()
        for row in X[:10]:
            grid = np.tile(row, (40, 1))
            grid[:, 2] = np.linspace(-3, 3, 40)
            margins = predict_margin(result.active_share, result.passive_shares, halves(grid))
            assert (np.diff(margins[:, 0]) >= 0).all()


@pytest.mark.parametrize("among", [name for name in ABLE if name != HIDDEN])
def test_the_ledger_says_what_weights_reveal(among, make_problem, train) -> None:
    for rule in ("gain", "centred"):
        result = train(make_problem("missing multiclass", split_rule=rule), among)
        entries = [entry for entry in result.ledger.learned_by("p0") if entry.message == "candidate-weights"]
        assert bool(entries) == (rule == "centred")
    (entry,) = entries
    assert entry.messages == 4
    assert entry.amount > 0
    assert "how evenly each candidate split divides all training rows" in entry.reveals


def test_integers_are_not_sent_as_sums(make_problem, train) -> None:
    result = train(make_problem("binary", score_bits=20, **CENTRED), HIDDEN)
    seen = {entry.message for entry in result.ledger.learned_by("p0")}
    assert "plain-scores" in seen
    assert not {"plain-sums", "candidate-weights"} & seen


@pytest.mark.parametrize("among", OTHERS)
def test_protocols_that_open_no_exact_sums_refuse(among) -> None:
    params = {**protocol_by_name(among).quick_params}
    with pytest.raises(ParameterError, match=f"split_rule='centred' with protocol '{among}', wanted one of 'gain'"):
        RunPlan.resolve("p0", ["p0", "p1"], "ab", TrainParams(**CENTRED), among, params)
    with pytest.raises(ParameterError, match="or take one of the protocols batch_he, ot_shares, plain, sealed"):
        RunPlan.resolve("p0", ["p0", "p1"], "ab", TrainParams(**CENTRED), among, params)


@pytest.mark.parametrize("among", [name for name in ABLE if name != HIDDEN])
def test_score_bits_need_integers(among) -> None:
    params = {**protocol_by_name(among).quick_params}
    with pytest.raises(ParameterError, match=f"score_bits=20 with protocol '{among}', wanted None.*hide_nodes=True"):
        RunPlan.resolve("p0", ["p0", "p1"], "ab", TrainParams(score_bits=20, **CENTRED), among, params)


def test_other_refusals() -> None:
    with pytest.raises(ParameterError, match="score_bits=20, wanted None with split_rule='gain'"):
        TrainParams(score_bits=20, split_rule="gain")
    with pytest.raises(ParameterError, match="score_bits=11, wanted an integer from 12 to 40, or None"):
        TrainParams(score_bits=11, **CENTRED)
    with pytest.raises(ParameterError, match="split_rule='centered', wanted one of 'gain', 'centred'"):
        TrainParams(split_rule="centered")
    with pytest.raises(UnknownNameError, match="split_rule"):
        FedXGBClassifier(split_rule="centred").fit([np.zeros((4, 2))] * 2, [np.arange(4) % 2] * 2)


def weights(values: list[int]) -> Any:
    return [pack_array(np.array(values, dtype=np.uint8))]


WRONG: list[tuple[Any, str]] = [
    (replaced(CandidateWeights, round=7), "reading weights of shop: found round 7, wanted round 0"),
    (replaced(CandidateWeights, trees=[]), "reading weights of shop: found 0 trees, wanted 1 trees"),
    (replaced(CandidateWeights, trees=weights([8, 8])), "found 2 weights, wanted those of the 14 candidates"),
    (replaced(CandidateWeights, trees=weights([8] * 13 + [33])), "found weights of 8 to 33, wanted 8 to 32"),
    (replaced(CandidateWeights, trees=weights([0] + [9] * 13)), "found weights of 0 to 9, wanted 8 to 32"),
]


@pytest.mark.parametrize("among", ["plain", "ot_shares", "batch_he"])
@pytest.mark.parametrize("wrong", range(len(WRONG)))
def test_wrong_weights_are_refused(among, wrong, monkeypatch) -> None:
    change, words = WRONG[wrong]
    params = {**protocol_by_name(among).quick_params}
    error = error_of(monkeypatch, change, "shop", among, params, **CENTRED)
    assert isinstance(error, MessageError)
    assert words in str(error)


def claimed(value: int) -> Any:
    """A score of `value` for the worst candidate of the root."""

    def change(trees: Any) -> Any:
        scores = np.frombuffer(trees[0].scores, dtype=np.int64).copy()
        scores[np.argmin(np.abs(scores))] = value
        return [msgspec.structs.replace(trees[0], scores=pack_array(scores.reshape(1, -1)))]

    return replaced(PlainScores, lambda message: message.depth == 0, trees=change)


@pytest.mark.parametrize("value", [2**20, -(2**20), 2**62, -(2**63)])
def test_scores_beyond_their_bits_are_refused(value, monkeypatch) -> None:
    settings = {"score_bits": 20, **CENTRED}
    error = error_of(monkeypatch, claimed(value), "shop", "plain", {"hide_nodes": True}, **settings)
    assert isinstance(error, MessageError)
    assert "reading scores of shop: found a score beyond 1048575" in str(error)


def test_a_claimed_score_wins_no_node_that_the_gain_does_not(monkeypatch) -> None:
    """A passive party can claim the best score for any candidate; the split must still beat the active party's own."""
    params, settings = {"hide_nodes": True}, {"score_bits": 20, "n_estimators": 1, "max_depth": 1, **CENTRED}
    honest = toy_run("plain", params, **settings).active_share.trees[0]

    def claim(active: str, passive: str, *arguments: Any, **named: Any) -> Any:
        bank, shop = memory_channels(active, passive, *arguments, **named)
        send = shop.send

        def lie(message: Any) -> None:
            send(claimed(2**20 - 1)(message) or message)

        shop.send = lie  # type: ignore[method-assign]
        return bank, shop

    monkeypatch.setattr(simulate, "memory_channels", claim)
    result = toy_run("plain", params, **settings)
    counts = {(entry.receiver, entry.message): entry.amount for entry in result.ledger.entries}
    assert counts["shop", "won-slots"] == 1
    # The candidate is a poor one: the node is the bank's own, and its gain is no better than before.
    assert counts["shop", "place-splits"] == 0
    assert result.active_share.trees[0].party[0] == 0
    assert 0 < result.active_share.trees[0].gain[0] <= honest.gain[0]
