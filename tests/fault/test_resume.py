"""Parties that are killed at any point of a training and start again: the model is that of an undisturbed run."""

import errno
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from protocol_variants import spec_of, with_variants
from resuming import N_TRAIN, POINTS, attempt, killed, points, problem, same_run, undisturbed
from vfxgb import files
from vfxgb.contract.messages import WonSlots
from vfxgb.engine.settings import EngineSettings
from vfxgb.errors import PeerError
from vfxgb.protocols import protocol_names
from vfxgb.protocols.he.messages import HeKey
from vfxgb.protocols.ldp.messages import LdpGradients
from vfxgb.runtime.secrets import SecretBox, make_key_file
from vfxgb.train import active_checkpoints, passive_checkpoints
from vfxgb.train.callbacks import LearningRateScheduler, TrainingCallback, TrainingState
from vfxgb.train.checkpoint import ActiveState, PassiveState, load_state

EXACT = [name for name in with_variants(protocol_names()) if spec_of(name).repeatable]
HIDDEN = "plain, nodes hidden"


@pytest.fixture(autouse=True)
def _a_disk_that_is_never_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some thousand states are kept, and no power is lost."""
    monkeypatch.setattr(files.os, "fsync", lambda descriptor: None)


@pytest.mark.parametrize("victim", ["bank", "shop"])
@pytest.mark.parametrize("protocol", EXACT)
def test_a_party_is_killed_at_any_point(protocol: str, victim: str, tmp_path: Path) -> None:
    training = problem(protocol)
    calm = undisturbed(training, tmp_path)
    for operation in points(calm.operations[victim], 20 if protocol in ("plain", HIDDEN) else POINTS):
        folder = tmp_path / str(operation)
        folder.mkdir()
        killed(training, folder, victim, operation)
        same_run(attempt(training, folder), calm, tmp_path, ordered=spec_of(protocol).shows_nodes)


@pytest.mark.parametrize("victim", ["bank", "shop"])
def test_secret_coins_and_orders_are_those_of_the_run(victim: str, tmp_path: Path, monkeypatch: Any) -> None:
    """With the same secrets drawn in both runs, a resumed one goes on with them and does not draw others."""

    def draw(salts: Iterator[str]) -> None:
        for module in (active_checkpoints, passive_checkpoints):
            monkeypatch.setattr(module, "new_salt", lambda: next(salts))

    draw(repeat("ab" * 32))
    params = {"group_bits": 768, "insecure": True}
    training = problem("sealed", protocol_params=params, score_bits=12)
    calm = undisturbed(training, tmp_path)
    folder = tmp_path / "killed"
    folder.mkdir()
    killed(training, folder, victim, calm.operations[victim] // 2)
    # Nothing is drawn any more.
    draw(iter(()))
    same_run(attempt(training, folder), calm, tmp_path)


@pytest.mark.parametrize("victim", ["bank", "shop"])
def test_a_party_is_killed_while_the_first_tree_grows_beside_the_set_up(victim: str, tmp_path: Path) -> None:
    training = problem("ot_shares", reduced_leakage=True)
    calm = undisturbed(training, tmp_path)
    for operation in points(calm.operations[victim] // 2, 8):
        folder = tmp_path / str(operation)
        folder.mkdir()
        killed(training, folder, victim, operation)
        same_run(attempt(training, folder), calm, tmp_path)


@pytest.mark.parametrize("victim", ["bank", "shop"])
@pytest.mark.parametrize(("protocol", "bits"), [("plain", None), (HIDDEN, 16), ("ot_shares", None)])
def test_scores_of_a_round_that_is_grown_again(protocol: str, bits: int | None, victim: str, tmp_path: Path) -> None:
    """Under split_rule='centred': weights are sent again, and integers are rounded in the same way."""
    training = problem(protocol, split_rule="centred", score_bits=bits)
    calm = undisturbed(training, tmp_path)
    for operation in points(calm.operations[victim], POINTS):
        folder = tmp_path / str(operation)
        folder.mkdir()
        killed(training, folder, victim, operation)
        same_run(attempt(training, folder), calm, tmp_path, ordered=protocol != HIDDEN)


@pytest.mark.parametrize("victim", ["bank", "shop"])
def test_a_round_that_is_grown_again_shows_the_same_slots(victim: str, tmp_path: Path) -> None:
    """Whoever sees a level twice learns no second order of its nodes."""
    training = problem(HIDDEN, max_depth=5, min_child_weight=0.0)
    seen: dict[tuple[int, int], list[bytes]] = {}

    def tap(peer: str, out: bool, tag: str, payload: bytes) -> None:
        if tag == WonSlots.TAG:
            message = msgspec.msgpack.decode(payload, type=WonSlots)
            slots = b"".join(bytes(tree.slots) for tree in message.trees)
            seen.setdefault((message.round, message.depth), []).append(slots)

    total = undisturbed(training, tmp_path).operations[victim]
    for operation in points(total // 2, 5)[1:]:
        killed(training, tmp_path, victim, operation, tap=tap)
    assert not attempt(training, tmp_path, tap=tap).errors
    assert any(len(versions) > 1 and len(versions[0]) > 4 for versions in seen.values())
    assert all(len(set(versions)) == 1 for versions in seen.values())


@pytest.mark.parametrize("victim", ["bank", "shop"])
@pytest.mark.parametrize("protocol", ["batch_he", "ot_shares", "sealed"])
def test_rows_in_shards_are_taken_up_again(protocol: str, victim: str, tmp_path: Path) -> None:
    """The undisturbed run has its rows in memory."""
    training = problem(protocol, subsample=0.8)
    calm = undisturbed(training, tmp_path)
    divided = replace(training, engine=EngineSettings(memory_limit="300MB", shards=3))
    for operation in points(calm.operations[victim], 5):
        folder = tmp_path / str(operation)
        folder.mkdir()
        killed(divided, folder, victim, operation)
        same_run(attempt(divided, folder), calm, tmp_path, ordered=spec_of(protocol).shows_nodes)


RICH = {
    "multiclass": {"objective": "multi:softprob", "num_class": 3, "subsample": 0.7, "colsample_bytree": 0.6},
    "regression": {"objective": "reg:squarederror", "missing_strategy": "median", "sampling_method": "goss"},
    "first tree alone": {"reduced_leakage": True, "colsample_bynode": 0.7},
    "early stopping": {"early_stopping_rounds": 1, "n_estimators": 12, "learning_rate": 1.5},
    "learning rates": {"callbacks": lambda: [LearningRateScheduler(lambda i: 0.5 / (i + 1)), Halving()]},
}


class Halving(TrainingCallback):
    """Changes what the next round starts from, in the way of a callback that knows no schedule."""

    def after_iteration(self, state: TrainingState) -> bool:
        state.learning_rate /= 2
        return False


@pytest.mark.parametrize("protocol", ["plain", HIDDEN])
@pytest.mark.parametrize("kind", RICH)
def test_everybody_is_killed_again_and_again(kind: str, protocol: str, tmp_path: Path) -> None:
    """Three parties; each attempt comes a little further, and each round is interrupted at least once."""
    training = problem(protocol, 3, **RICH[kind])
    if kind == "multiclass":
        training = replace(training, y=np.arange(len(training.y)) % 3 * training.y)
    calm = undisturbed(training, tmp_path)
    assert calm.lead is not None
    if kind == "early stopping":
        assert calm.lead.share.n_rounds < 12
    folder = tmp_path / "stormy"
    folder.mkdir()
    rng = np.random.default_rng(1)
    per_round = {party: count // calm.lead.share.n_rounds for party, count in calm.operations.items()}
    for number in range(7):
        victim = ("bank", "shop", "mart")[number % 3]
        killed(training, folder, victim, int(rng.integers(0, 2 * per_round[victim])))
    found = attempt(training, folder)
    same_run(found, calm, tmp_path, ordered=protocol != HIDDEN)
    assert found.lead is not None
    assert found.lead.resumed_at > 0
    entries = {(one.receiver, one.message): one for one in found.ledger.entries}
    rounds = found.lead.share.n_rounds - (kind == "first tree alone")
    # Rounds that were grown twice are counted twice, but for those that were lost with the bank.
    assert entries["shop", "end-round"].messages >= rounds
    assert "resumed after" in found.ledger.text()


@pytest.mark.parametrize("protocol", ["plain", "ot_shares"])
def test_a_round_that_broke_off_is_counted_beside_the_one_that_replaced_it(protocol: str, tmp_path: Path) -> None:
    """The shop dies in the middle of a round, twice: every message that the bank sent or got is in its ledger."""
    training = problem(protocol)
    calm = undisturbed(training, tmp_path)
    passed: list[str] = []
    small: list[int] = []

    def tap(peer: str, out: bool, tag: str, payload: bytes) -> None:
        if tag != "abort":
            passed.append(tag)

    middle = calm.operations["shop"] // 2
    for operation in (middle, middle // 2, None):
        kills = {} if operation is None else {"shop": operation}
        found = attempt(training, tmp_path, kills, tap=tap)
        state = load_state(PassiveState, tmp_path / "shop.run")
        assert state is not None
        small.append(state.disclosed["small_sums"])
    counted = {one.message: one.messages for one in found.ledger.entries if one.message != "abort"}
    assert counted == {tag: passed.count(tag) for tag in dict.fromkeys(passed)}
    assert passed.count("begin-round") > 3
    assert (state.begun.total, state.begun.again) == (passed.count("begin-round"), passed.count("begin-round") - 3)
    assert state.begun.furthest == 2
    assert small == sorted(small)


def test_sums_over_few_rows_of_a_round_that_broke_off_are_counted(tmp_path: Path) -> None:
    """The bank is lost when it has seen the sums of a level; what the shop showed until then stays shown."""
    training = problem("plain", n_estimators=1)
    calm = undisturbed(training, tmp_path)
    whole = load_state(PassiveState, tmp_path / "calm" / "shop.run")
    assert whole is not None
    assert whole.disclosed["small_sums"] > 0
    for operation in range(calm.operations["bank"]):
        folder = tmp_path / str(operation)
        folder.mkdir()
        killed(training, folder, "bank", operation)
        before = load_state(PassiveState, folder / "shop.run")
        found = attempt(training, folder)
        after = load_state(PassiveState, folder / "shop.run")
        assert not found.errors, found.errors
        assert after is not None
        if before is not None and not before.marks:
            assert after.begun.again == before.begun.total == 1
            assert after.disclosed["small_sums"] == before.disclosed["small_sums"] + whole.disclosed["small_sums"]
            if before.disclosed["small_sums"]:
                break
    else:
        pytest.fail("no round broke off after its sums were shown")


@pytest.mark.parametrize("protocol", ["plain", "ot_shares", "batch_he"])
def test_opened_equations_are_counted_on_both_sides_and_outlive_a_failure(protocol: str, tmp_path: Path) -> None:
    training = problem(protocol, 3)
    calm = undisturbed(training, tmp_path)
    opened = {party: calm.ledgers[party].opened[party] for party in training.passive}
    assert calm.ledger.opened == opened
    assert all(one.equations >= 2 * 3 and one.rows == N_TRAIN for one in opened.values())
    # Over, and resumed from what was kept.
    again = attempt(training, tmp_path / "calm")
    assert again.ledger.opened == opened
    assert {party: again.ledgers[party].opened[party] for party in training.passive} == opened
    # Broken off within the last round: nothing that was opened before is forgotten.
    folder = tmp_path / "stormy"
    folder.mkdir()
    killed(training, folder, "bank", calm.operations["bank"] * 4 // 5)
    found = attempt(training, folder)
    assert found.lead is not None
    assert found.lead.resumed_at > 0
    for party, one in opened.items():
        assert found.ledger.opened[party].equations >= one.equations
        assert found.ledgers[party].opened[party].equations >= one.equations


def test_a_run_that_is_over_is_sealed_again_with_the_same_seal(tmp_path: Path) -> None:
    training = problem("plain", early_stopping_rounds=1, n_estimators=12, learning_rate=1.5)
    first = attempt(training, tmp_path)
    again = attempt(training, tmp_path)
    assert first.lead is not None
    assert again.lead is not None
    assert again.lead.resumed_at == first.lead.share.n_rounds
    assert again.lead.share.seal == first.lead.share.seal
    assert again.follow["shop"].share.seal == first.follow["shop"].share.seal
    same_run(again, first, tmp_path)


@pytest.mark.parametrize("protocol", ["ldp", "federboost"])
def test_what_was_released_once_is_never_drawn_again(protocol: str, tmp_path: Path) -> None:
    """Labels or buckets, at an epsilon at which two draws differ: all runs that go on from one release are one run."""
    own: dict[str, Any] = {"epsilon": 1.0}
    training = problem(protocol, protocol_params=own)
    begun = tmp_path / "begun"
    begun.mkdir()
    calm = attempt(training, begun)
    # Back to where nothing but the release was kept.
    operations = points(min(calm.operations.values()), 5)
    start = tmp_path / "start"
    start.mkdir()
    released = start / ("bank.run" if protocol == "ldp" else "shop.run")
    for operation in range(min(calm.operations.values())):
        if not released.exists():
            attempt(training, start, {"bank": operation})
    assert released.exists()
    calm = attempt(training, _copied(start, tmp_path / "calm"))
    for victim in ("bank", "shop"):
        for operation in operations[1:4]:
            folder = _copied(start, tmp_path / f"{victim}{operation}")
            killed(training, folder, victim, operation)
            found = attempt(training, folder)
            same_run(found, calm, tmp_path)
            for party in ("bank", "shop"):
                assert _events(folder, party) == _events(tmp_path / "calm", party)
    assert _events(tmp_path / "calm", "bank" if protocol == "ldp" else "shop")


def _copied(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return to


def _events(folder: Path, party: str) -> list[Any]:
    state = load_state(ActiveState if party == "bank" else PassiveState, folder / f"{party}.run")
    assert state is not None
    return state.events


def test_noisy_gradients_of_a_round_are_sent_again_as_they_were(tmp_path: Path) -> None:
    params = {"mechanism": "gaussian", "epsilon": 1.0, "delta": 1e-5, "clip": 1.0}
    training = problem("ldp", protocol_params=params)
    sent: dict[int, set[bytes]] = {}

    def tap(peer: str, out: bool, tag: str, payload: bytes) -> None:
        if tag == LdpGradients.TAG:
            message = msgspec.msgpack.decode(payload, type=LdpGradients)
            sent.setdefault(message.round, set()).add(bytes(message.values))

    total = attempt(training, _copied(tmp_path, tmp_path / "calm")).operations
    for victim in ("bank", "shop"):
        for operation in points(total[victim] // 2, 4):
            killed(training, tmp_path, victim, operation, tap=tap)
    found = attempt(training, tmp_path, tap=tap)
    assert not found.errors, found.errors
    assert sorted(sent) == [0, 1, 2]
    assert all(len(versions) == 1 for versions in sent.values())
    # One release a round, however often it was sent.
    assert [event.round_ for event in _events(tmp_path, "bank")] == [0, 1, 2]


def test_masked_runs_come_to_their_end(tmp_path: Path) -> None:
    """Its masks are drawn afresh, which it has no guarantee to lose by; only that it resumes can be asked for."""
    training = problem("masked")
    for victim in ("bank", "shop"):
        killed(training, tmp_path, victim, 40)
    found = attempt(training, tmp_path)
    assert not found.errors, found.errors
    assert found.lead is not None
    assert found.lead.share.n_rounds == 3


def test_the_private_key_survives(tmp_path: Path) -> None:
    training = problem("batch_he")
    make_key_file(tmp_path / "key")
    keys: list[bytes] = []

    def tap(peer: str, out: bool, tag: str, payload: bytes) -> None:
        if tag == HeKey.TAG:
            keys.append(payload)

    for operation in (12, None):
        box = SecretBox.by_key_file(tmp_path, training.run_id, tmp_path / "key")
        kills = {} if operation is None else {"shop": operation}
        found = attempt(training, tmp_path, kills, secrets=box, tap=tap)
    assert not found.errors, found.errors
    assert len(keys) == 2
    assert keys[0] == keys[1]


def test_a_full_disk_ends_the_run_and_leaves_the_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = problem("plain")
    calm = undisturbed(training, tmp_path)
    real = files.os.fsync
    calls = []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(files.os, "fsync", full)
    found = attempt(training, tmp_path)
    kinds = {type(error) for error in found.errors.values()}
    assert kinds == {OSError, PeerError}
    same_run(attempt(training, tmp_path), calm, tmp_path)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
