"""Nodes that are hidden from passive parties: the models of shown nodes, and messages that tell nothing of rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from network_runs import NetworkChannels, Town
from protocol_variants import NEED_NODES
from simulated_runs import fit_tables
from vfxgb.errors import ProtocolParameterError
from vfxgb.model.pooled import PooledModel
from vfxgb.params import TrainParams
from vfxgb.rows.memory import MemoryPartition
from vfxgb.train import simulate
from vfxgb.train.plan import RunPlan
from vfxgb.train.simulate import FitResult
from vfxgb.transport.messages import encode, pack_bytes

HIDDEN = "plain, nodes hidden"
CASES = ["binary", "missing multiclass", "subsample", "goss", "colsample bynode", "monotone missing"]
N_TRAIN = 220


@pytest.fixture(scope="module")
def town(tmp_path_factory) -> Town:
    return Town(tmp_path_factory.mktemp("town"))


@pytest.fixture
def network(town, monkeypatch) -> Iterator[NetworkChannels]:
    channels = NetworkChannels(town)
    monkeypatch.setattr(simulate, "memory_channels", channels)
    yield channels
    channels.close()


def splits(result: FitResult) -> dict[str, Any]:
    """Party -> its splits with their places in the trees, in an order that does not depend on their records."""
    found = {}
    for party, share in result.passive_shares.items():
        records, paths = share.records, share.paths
        parts = (paths.tree, paths.depth, records.feature, records.cut, records.default_left)
        own = list(zip(*(part.tolist() for part in parts), strict=True))
        above = [(own[code // 2], code % 2) if code >= 0 else None for code in paths.above.tolist()]
        found[party] = sorted(zip(own, above, strict=True), key=repr)
    return found


@pytest.mark.parametrize("n_passive", [1, 2, 3])
@pytest.mark.parametrize("name", CASES)
def test_the_models_of_shown_nodes(name, n_passive, make_problem, train, model_of) -> None:
    problem = make_problem(name, seed=n_passive)
    shown, hidden = (train(problem, protocol, 1 + n_passive, "p1") for protocol in ("plain", HIDDEN))
    assert model_of(hidden) == model_of(shown)
    assert splits(hidden) == splits(shown)
    assert hidden.evals_result == shown.evals_result


@pytest.mark.parametrize("n_passive", [1, 2, 3])
@pytest.mark.parametrize("name", ["missing multiclass", "subsample"])
def test_the_same_over_tls(name, n_passive, make_problem, train, model_of, request) -> None:
    problem = make_problem(name, n_estimators=2)
    shown = train(problem, "plain", 1 + n_passive)
    network = request.getfixturevalue("network")
    hidden = train(problem, HIDDEN, 1 + n_passive)
    assert len(network.links) == n_passive
    assert model_of(hidden) == model_of(shown)
    assert splits(hidden) == splits(shown)


def test_early_stopping(make_problem, train, model_of) -> None:
    problem = make_problem("binary", n_estimators=30, learning_rate=1.0, early_stopping_rounds=2)
    shown, hidden = (train(problem, protocol, 3) for protocol in ("plain", HIDDEN))
    assert hidden.best_iteration == shown.best_iteration < 29
    assert model_of(hidden) == model_of(shown)


@pytest.mark.parametrize("name", NEED_NODES)
def test_what_needs_nodes_is_refused(name, make_problem, train) -> None:
    with pytest.raises(
        ProtocolParameterError, match=r"'plain' hides nodes from passive parties.*found min_bucket_rows"
    ):
        train(make_problem(name), HIDDEN)


def test_a_told_sample_is_refused() -> None:
    params = TrainParams(sampling_method="goss", told_sample=True)
    with pytest.raises(ProtocolParameterError, match="must not know the rows of a round then: found told_sample=True"):
        RunPlan.resolve("p0", ["p0", "p1"], "ab", params, "plain", {"hide_nodes": True})


def received(result: FitResult, party: str) -> list[Any]:
    """All messages that a party got, decoded, with their bytes."""
    transcript = result.transcript
    return [
        (transcript.catalogue.decode(entry.tag, entry.payload, entry.peer), bytes(entry.payload))
        for entry in transcript.records[party].messages
        if not entry.sent
    ]


def told_bits(result: FitResult, party: str) -> set[bytes]:
    """Left bits, as messages of shown nodes bring them to a party: who of a node's rows goes left at others' splits."""
    groups = (
        bytes(group.bits)
        for message, _ in received(result, party)
        if message.TAG == "level"
        for tree in message.trees
        for group in tree.splits
    )
    return {bits for bits in groups if len(bits) >= 6}


TOLD = {
    "setup",
    "begin-hidden-round",
    "open-slots",
    "plain-slot",
    "won-slots",
    "place-splits",
    "end-round",
    "finish",
    "sealed",
}


@pytest.mark.parametrize("name", ["binary", "missing multiclass", "subsample", "goss"])
def test_no_message_to_a_passive_party_carries_rows_sizes_or_splits_of_others(name, make_problem, train) -> None:
    problem = make_problem(name)
    shown, hidden = (train(problem, protocol, 3, record=True) for protocol in ("plain", HIDDEN))
    for place, party in enumerate(("p1", "p2"), 1):
        messages = received(hidden, party)
        assert {message.TAG for message, _ in messages} == TOLD
        # What the same trees tell where nodes are shown does not travel, in whatever message.
        telling = told_bits(shown, party)
        assert len(telling) > 3
        assert not any(bits in payload for _, payload in messages for bits in telling)
        trees = hidden.active_share.trees
        own = [int((tree.party == place).sum()) for tree in trees]
        filed = 0
        for message, payload in messages:
            check = CHECKS.get(message.TAG)
            if check is not None:
                check(message, payload, hidden, place)
            if message.TAG == "place-splits":
                filed += message.amount()
        assert filed == sum(own) == len(hidden.passive_shares[party].records) > 0


def shape_of(result: FitResult, round_index: int, tree: int) -> Any:
    outputs = result.active_share.n_outputs
    return result.active_share.trees[round_index * outputs + tree]


def depths(shape: Any) -> np.ndarray:
    depth = np.zeros(len(shape.parent), dtype=int)
    for node, parent in enumerate(shape.parent.tolist()):
        depth[node] = 0 if parent < 0 else depth[parent] + 1
    return depth


def _check_round(message, payload, result, place) -> None:
    """No rows, no number of rows: the round, and features."""
    assert message.__struct_fields__ == ("round", "features")
    assert all(len(bits) == 0 for bits in message.features)


def _check_slots(message, payload, result, place) -> None:
    """How many nodes are open, and nothing else: the message is what these numbers make of it."""
    for tree in message.trees:
        shape = shape_of(result, message.round, tree.tree)
        assert tree.n_slots == (depths(shape) == message.depth).sum()
        assert len(tree.allowed) == 0
    same = type(message)(
        message.round, message.depth, [type(tree)(tree.tree, tree.n_slots, pack_bytes(b"")) for tree in message.trees]
    )
    assert encode(same) == payload


def _check_slot(message, payload, result, place) -> None:
    """The protocol's own material has one size for all nodes, large or small."""
    assert len(message.pairs) == 16 * N_TRAIN


def _check_wins(message, payload, result, place) -> None:
    """As many slots as splits that the party has at this depth, in the tree that was made in the end."""
    for tree in message.trees:
        shape = shape_of(result, message.round, tree.tree)
        assert len(tree.slots) == 4 * ((depths(shape) == message.depth) & (shape.party == place)).sum()


def _check_places(message, payload, result, place) -> None:
    """Records of the party itself, from above in the same tree."""
    held = len(next(share.records for name, share in result.passive_shares.items() if name == f"p{place}"))
    for tree in message.trees:
        above = np.frombuffer(tree.above, dtype="<i4")
        assert ((above >= -1) & (above < 2 * held)).all()
        assert len(tree.kept) == len(tree.above)


CHECKS = {
    "begin-hidden-round": _check_round,
    "open-slots": _check_slots,
    "plain-slot": _check_slot,
    "won-slots": _check_wins,
    "place-splits": _check_places,
}


def test_slots_do_not_follow_nodes(make_problem, train) -> None:
    """Splits that won stand at other slots than where their nodes stand in the level, and in another run at others."""
    problem = make_problem("deep", n_estimators=3, max_depth=5)
    runs = [train(problem, HIDDEN, 2, record=True) for _ in range(2)]
    slots = [
        [
            np.frombuffer(tree.slots, dtype="<i4").tolist()
            for message, _ in received(result, "p1")
            if message.TAG == "won-slots"
            for tree in message.trees
        ]
        for result in runs
    ]
    pooled = [PooledModel(result.active_share, result.passive_shares) for result in runs]
    assert pooled[0].feature.tolist() == pooled[1].feature.tolist()
    assert slots[0] != slots[1]
    assert all(places == sorted(places) for run in slots for places in run)


def test_a_passive_party_keeps_no_partition(make_problem, train, monkeypatch) -> None:
    """Rows are parted by the active party alone; with shown nodes by everybody."""
    split, parted = MemoryPartition.split, []

    def watched(self, *arguments) -> None:
        import threading

        parted.append(threading.current_thread() is threading.main_thread())
        split(self, *arguments)

    monkeypatch.setattr(MemoryPartition, "split", watched)
    train(make_problem("binary"), "plain", 3)
    assert set(parted) == {True, False}
    parted.clear()
    train(make_problem("binary"), HIDDEN, 3)
    assert set(parted) == {True}


def test_the_ledger_of_hidden_nodes(make_problem, train) -> None:
    result = train(make_problem("binary"), HIDDEN, 3)
    for party in ("p1", "p2"):
        counted = {entry.unit: entry.amount for entry in result.ledger.learned_by(party) if entry.unit}
        assert set(counted) == {"gradient pairs", "nodes", "splits"}
        assert counted["nodes"] == counted["splits"] == len(result.passive_shares[party].records)
    text = result.ledger.text()
    assert "row memberships" not in "".join(entry.unit for entry in result.ledger.learned_by("p1"))
    assert result.ledger.small_sums == {}
    assert result.ledger.purity == {}
    assert "p1 is not told which rows are in a node: nobody can count which of the sums it showed" in text
    assert "random_state" not in text
    by_node = train(make_problem("colsample bynode"), HIDDEN)
    assert "a passive party that knows it can tell the open nodes of a level apart" in by_node.ledger.text()
    assert "GOSS uses" not in train(make_problem("goss"), HIDDEN).ledger.text()


def test_a_party_alone_needs_nobody(make_problem) -> None:
    problem = make_problem("binary")
    alone = fit_tables(
        problem.tables(1), "p0", problem.y, None, N_TRAIN, problem.params, protocol_params={"hide_nodes": True}
    )
    assert alone.active_share.n_rounds == problem.params.n_estimators
