"""One suite over every registered protocol: the model of `plain` on pooled data, declared messages, determinism."""

import threading

import numpy as np
import pytest

from protocol_variants import params_of, spec_of
from vfxgb.contract.messages import TRAINING_MESSAGES
from vfxgb.errors import ParameterError, ProtocolParameterError
from vfxgb.model.pooled import PooledModel
from vfxgb.model.shares import BOTH_WAYS, CONDITIONAL
from vfxgb.predict.joint import predict_leaves, predict_margin
from vfxgb.protocols import make_protocol_params
from vfxgb.runtime.ledger import Ledger

N_TRAIN, N_ROWS = 220, 300
# Five parties have six columns: four of them have no other column to predict theirs.
pytestmark = pytest.mark.filterwarnings("ignore::vfxgb.errors.ImputationWarning")


def begins(protocol: str) -> str:
    """The message that begins a round."""
    return "begin-round" if spec_of(protocol).shows_nodes else "begin-hidden-round"


@pytest.mark.parametrize("n_parties", [2, 5])
def test_equals_plain_on_pooled_data(exact_protocol, case, n_parties, make_problem, train, model_of) -> None:
    problem = make_problem(case)
    # What stands in for a missing value follows from the other columns of its party: there, pooling changes the data.
    alike = n_parties if problem.params.missing_strategy == "regression" else 1
    assert model_of(train(problem, exact_protocol, n_parties)) == model_of(
        train(problem, "plain", alike, like=exact_protocol)
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", ["missing multiclass", "goss", "monotone missing"])
def test_other_seeds(exact_protocol, name, seed, make_problem, train, model_of) -> None:
    problem = make_problem(name, seed)
    assert model_of(train(problem, exact_protocol, 3)) == model_of(train(problem, "plain", 1, like=exact_protocol))


@pytest.mark.parametrize("active", ["p0", "p1", "p2"])
def test_any_party_may_be_active(exact_protocol, active, make_problem, train, model_of) -> None:
    problem = make_problem("missing")
    found = model_of(train(problem, exact_protocol, 3, active))
    assert found == model_of(train(problem, "plain", 1, like=exact_protocol))


@pytest.mark.parametrize("name", ["binary", "missing multiclass", "subsample"])
def test_threads_do_not_matter(repeatable_protocol, name, make_problem, train, model_of) -> None:
    one, two = (train(make_problem(name, n_jobs=jobs), repeatable_protocol) for jobs in (1, 2))
    assert model_of(one) == model_of(two)


def test_same_seed_same_model(repeatable_protocol, case, make_problem, train, model_of) -> None:
    problem = make_problem(case, seed=5)
    assert model_of(train(problem, repeatable_protocol)) == model_of(train(problem, repeatable_protocol))


def test_grows_something_and_learns(protocol, case, make_problem, train) -> None:
    result = train(make_problem(case), protocol)
    pooled = PooledModel(result.active_share, result.passive_shares)
    assert (pooled.feature >= 0).sum() >= pooled.n_trees
    # Both parties own splits, or the suite would not test the protocol at all.
    assert set(pooled.party.tolist()) == {-1, 0, 1}
    (losses,) = result.evals_result["valid"].values()
    assert losses[-1] < losses[0]


def test_joint_prediction_gives_the_margins_of_training(protocol, case, make_problem, train) -> None:
    problem = make_problem(case)
    result = train(problem, protocol, 3)
    tables = problem.tables(3)
    margins = predict_margin(result.active_share, result.passive_shares, tables)
    if problem.params.missing_strategy in BOTH_WAYS:
        complete = ~np.isnan(problem.X).any(axis=1)
        assert complete.any()
        margins, expected = margins[complete], result.margins[complete]
    else:
        expected = result.margins
        pooled = PooledModel(result.active_share, result.passive_shares)
        assert np.array_equal(margins, pooled.margins(problem.X))
        leaves = predict_leaves(result.active_share, result.passive_shares, tables)
        assert np.array_equal(leaves, pooled.leaves(problem.X))
    # Training adds float32 numbers, prediction float64 ones: 4 trees of error at most.
    assert np.abs(margins - expected).max() <= 1e-6 * max(1.0, np.abs(expected).max())


def test_hidden_prediction_is_the_open_one_bit_by_bit(protocol, case, make_problem, train) -> None:
    problem = make_problem(case)
    result = train(problem, protocol, 3)
    tables, ledger = problem.tables(3), Ledger()
    shares = (result.active_share, result.passive_shares)
    if problem.params.missing_strategy == CONDITIONAL:
        with pytest.raises(ParameterError, match=r"found a hidden prediction with a model of .*'conditional'"):
            predict_margin(*shares, tables, hidden=True)
        return
    margins = predict_margin(*shares, tables, hidden=True, observer=ledger.record)
    assert np.array_equal(margins, predict_margin(*shares, tables))
    if problem.params.missing_strategy != "probabilistic":
        assert np.array_equal(margins, PooledModel(*shares).margins(problem.X))
    told = {entry.message for entry in ledger.entries}
    assert {"hidden-route", "hidden-routed"} <= told
    assert told.isdisjoint({"route", "routed"})


def test_reduced_leakage_keeps_the_first_round_at_home(protocol, make_problem, train, model_of) -> None:
    problem = make_problem("binary", reduced_leakage=True)
    result = train(problem, protocol)
    first = result.active_share.trees[0]
    assert set(first.party.tolist()) <= {-1, 0}
    assert any(1 in tree.party for tree in result.active_share.trees[1:])
    rounds = {entry.message: entry.messages for entry in result.ledger.learned_by("p1")}
    assert rounds[begins(protocol)] == problem.params.n_estimators - 1
    if spec_of(protocol).exact:
        assert model_of(result) == model_of(train(problem, "plain", like=protocol))


def test_every_message_declares_what_it_reveals(protocol, case, make_problem, train) -> None:
    result = train(make_problem(case), protocol)
    spec = spec_of(protocol)
    declared = {kind.TAG: kind for kind in (*TRAINING_MESSAGES, *spec.messages)}
    assert len(result.ledger) > 0
    for entry in result.ledger.entries:
        assert entry.message in declared
        assert entry.reveals == declared[entry.message].REVEALS.what != ""
    # Every message was entered once, with all its bytes.
    traffic = result.traffic["p1"]
    assert sum(entry.messages for entry in result.ledger.entries) == traffic.sent_messages + traffic.received_messages
    assert sum(entry.bytes for entry in result.ledger.entries) == traffic.total_bytes


def test_the_ledger_counts_what_it_names(protocol, make_problem, train) -> None:
    result = train(make_problem("binary"), protocol)
    counts = {(entry.receiver, entry.message): entry.amount for entry in result.ledger.entries}
    won = sum(int((tree.party == 1).sum()) for tree in result.active_share.trees)
    shows_nodes = spec_of(protocol).shows_nodes
    assert counts["p1", "choose" if shows_nodes else "place-splits"] == won > 0
    # Where nodes are hidden, splits may win that are not made.
    assert shows_nodes or counts["p1", "won-slots"] >= won
    assert counts["p0", "ready"] == 3
    assert set(result.ledger.small_sums) == ({"p1"} if shows_nodes else set())
    assert "p1" in result.ledger.text()
    assert "one feature" not in result.ledger.text()


def test_the_ledger_counts_opened_equations(protocol, make_problem, train) -> None:
    """Two for every node whose sums were opened, counted here from the recorded run; the words say what that means."""
    result = train(make_problem("binary"), protocol, record=True)
    notes = [note for note in result.transcript.records["p0"].notes if note.name.startswith("left-sums:")]
    nodes = sum(int(note.array.any(axis=(1, 2)).sum()) for note in notes)
    assert bool(notes) == (nodes > 0)
    opened = result.ledger.opened.get("p1")
    assert (0 if opened is None else opened.equations) == 2 * nodes
    said = "from about 2 x nodes x trees = rows on, the passive party's binned table can be computed"
    assert (said in result.ledger.text()) == (nodes > 0)
    if opened is not None:
        assert opened.rows == N_TRAIN


@pytest.mark.parametrize("sampling", ["colsample bylevel", "colsample bynode"])
def test_the_ledger_says_what_column_sampling_shows(protocol, sampling, make_problem, train) -> None:
    told = "p0 can tell which sums belong to one feature" in train(make_problem(sampling), protocol).ledger.text()
    assert told == spec_of(protocol).shows_sums


def test_no_names_no_cuts_on_the_wire(protocol, make_problem, train, monkeypatch) -> None:
    sent: list[bytes] = []
    from vfxgb.transport.link import MemoryLink

    put = MemoryLink.put
    monkeypatch.setattr(MemoryLink, "put", lambda self, frame: (sent.append(b"".join(frame)), put(self, frame))[1])
    result = train(make_problem("binary"), protocol)
    wire = b"".join(sent)
    for share in result.passive_shares.values():
        for name in share.records.features:
            assert name.encode() not in wire
        # A cut like -0.5 is two bytes and zeros, which integers side by side can be too.
        telling = [data for cut in share.records.cut if len((data := np.float64(cut).tobytes()).strip(b"\0")) > 3]
        assert telling
        assert not any(data in wire for data in telling)


def test_the_order_of_candidates_is_fresh(protocol, make_problem, train, monkeypatch) -> None:
    """Two runs of the same training differ in their bytes: positions of candidates are drawn anew."""
    sent: list[list[bytes]] = [[], []]
    from vfxgb.transport.link import MemoryLink

    put = MemoryLink.put
    for run in sent:
        monkeypatch.setattr(MemoryLink, "put", lambda self, frame, run=run: (run.append(frame[1]), put(self, frame))[1])
        train(make_problem("binary"), protocol)
    assert sorted(sent[0]) != sorted(sent[1])


def test_unknown_parameter_of_a_protocol_is_refused(protocol) -> None:
    spec = spec_of(protocol)
    with pytest.raises(ProtocolParameterError, match="no_such_parameter"):
        make_protocol_params(spec, {**params_of(protocol), "no_such_parameter": 1})


def test_prediction_is_entered_in_a_ledger_too(protocol, make_problem, train) -> None:
    problem = make_problem("binary")
    result = train(problem, protocol)
    ledger = Ledger()
    predict_margin(result.active_share, result.passive_shares, problem.tables(2), observer=ledger.record)
    asked = {entry.message: entry for entry in ledger.entries}
    assert asked["route"].messages == asked["routed"].messages <= problem.params.max_depth


def test_no_thread_is_left(protocol, make_problem, train) -> None:
    before = threading.active_count()
    train(make_problem("binary"), protocol, 5)
    assert threading.active_count() == before
