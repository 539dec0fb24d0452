"""The two sides: what is asked before anything happens, and what is nobody's business but one's own."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from resuming import N_ROWS, N_TRAIN, attempt, problem
from vfxgb.contract.messages import Setup
from vfxgb.errors import ConsentError, ProtocolParameterError, UnknownNameError
from vfxgb.protocols import protocol_by_name, protocol_names
from vfxgb.train import sides, simulate
from vfxgb.train.callbacks import Checkpoint, EarlyStopping, TrainingState
from vfxgb.train.checkpoint import PassiveState, load_state
from vfxgb.train.progress import progress_line


def with_input(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """The passive parties of all runs bring something else."""
    made = sides.PassiveParty

    def party(name: str, run_id: str, given: Any, *rest: Any, **named: Any) -> Any:
        return made(name, run_id, replace(given, **changes), *rest, **named)

    monkeypatch.setattr(sides, "PassiveParty", party)


def test_consent_is_asked_for_with_everything_that_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Setup] = []
    with_input(monkeypatch, accept=asked.append)
    training = problem("plain")
    assert not attempt(training, tmp_path).errors
    (setup,) = asked
    assert (setup.protocol, setup.n_rounds, setup.max_depth, setup.n_rows) == ("plain", 3, 2, N_ROWS)
    assert (setup.run, setup.start_round) == (training.run_id, 0)
    assert not attempt(training, tmp_path).errors
    assert asked[1].start_round == 3


def test_a_refusal_ends_the_run_before_anything_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(setup: Setup) -> None:
        raise ConsentError(f"shop allows no {setup.protocol}")

    with_input(monkeypatch, accept=refuse)
    found = attempt(problem("plain"), tmp_path)
    assert isinstance(found.errors["shop"], ConsentError)
    # The words of a refusal are meant for the other side.
    assert isinstance(found.errors["bank"], ConsentError)
    assert "shop allows no plain" in str(found.errors["bank"])
    assert found.operations["shop"] <= 2
    assert not (tmp_path / "shop.run").exists()


def test_parameters_of_ones_own_are_never_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Setup] = []
    with_input(monkeypatch, accept=asked.append, local_params={"memory_limit": "1GB"})
    training = problem("ot_shares")
    given = {**(training.protocol_params or {}), "setup_dir": str(tmp_path), "memory_limit": "2GB"}
    assert not attempt(replace(training, protocol_params=given), tmp_path).errors
    sent = asked[0].protocol_params
    assert sent["group_bits"] == 768
    assert not {"setup_dir", "memory_limit", "keep_leaves"} & set(sent)
    # The bank keeps its set-up, the shop was told nothing of the folder.
    assert [path.name for path in tmp_path.glob("*.vfxgb-ot")] == ["bank.shop.vfxgb-ot"]


def test_only_parameters_of_ones_own_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_input(monkeypatch, local_params={"group_bits": 768})
    error = attempt(problem("ot_shares"), tmp_path).errors["shop"]
    assert isinstance(error, ProtocolParameterError)
    assert "own parameters group_bits of 'ot_shares', wanted only memory_limit" in str(error)


@pytest.mark.parametrize("name", protocol_names())
def test_local_parameters_exist(name: str) -> None:
    spec = protocol_by_name(name)
    assert set(spec.local_params) <= set(spec.params.__struct_fields__)


def test_messages_of_a_protocol_that_is_none() -> None:
    with pytest.raises(UnknownNameError, match="secret-sauce"):
        sides.training_messages("secret-sauce")


def test_shares_cannot_be_saved_where_nobody_said_how(tmp_path: Path) -> None:
    training = problem("plain", callbacks=lambda: [Checkpoint(tmp_path / "shares")])
    found = attempt(training, tmp_path)
    assert "offers no way to save its shares" in str(found.errors["bank"])


def test_early_stopping_goes_on_where_it_stood() -> None:
    state = TrainingState(9, 0.3, evals_log={"v": {"logloss": [0.5, 0.6]}}, best_iteration=0, best_score=0.5, start=2)
    stopping = EarlyStopping(2)
    stopping.before_training(state)
    assert state.best_score == 0.5
    state.iteration = 2
    state.evals_log["v"]["logloss"].append(0.7)
    assert stopping.after_iteration(state)
    # The same instance in a new run forgets.
    state = TrainingState(9, 0.3, best_iteration=0, best_score=0.5)
    stopping.before_training(state)
    assert state.best_score is None


def test_the_time_left_counts_rounds_of_this_process() -> None:
    assert "about 50 s left" in progress_line(TrainingState(50, 0.3, iteration=39, start=30), 50.0)


@pytest.mark.parametrize("protocol", ["plain", "batch_he"])
def test_what_is_counted_does_not_depend_on_whether_rounds_are_kept(protocol: str, tmp_path: Path) -> None:
    """A party that keeps nothing counts the last round after it has said that the round is over."""
    training = problem(protocol)
    assert not attempt(training, tmp_path).errors
    kept = load_state(PassiveState, tmp_path / "shop.run")
    assert kept is not None
    plan = simulate.plan_for(training.tables, "bank", training.params, training.protocol, training.protocol_params)
    given = simulate.SimulatedInput(training.tables, training.y, None, N_TRAIN)
    found = simulate.fit(given, plan)
    assert found.ledger.small_sums == {"shop": kept.disclosed["small_sums"]}
    assert found.ledger.small_sums["shop"] > 0
    assert found.ledger.opened["shop"].equations == kept.disclosed["opened_equations"]
