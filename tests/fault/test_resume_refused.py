"""What is no continuation of the run that was begun is refused, by name, where it is noticed; the other is told."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from resuming import Training, attempt, killed, problem
from vfxgb.data.table import Table
from vfxgb.errors import CheckpointError, PeerError
from vfxgb.train.checkpoint import MAGIC, VERSION, ActiveState, PassiveState, load_state, save_state


def begun(folder: Path, **changes: Any) -> Training:
    """A run whose shop dies in the second round."""
    training = problem("plain", **changes)
    attempt(training, folder, {"shop": 14})
    active, passive = states(folder)
    assert active.rounds == 1
    assert 1 <= len(passive.marks) <= 2
    return training


def states(folder: Path) -> tuple[ActiveState, PassiveState]:
    active, passive = load_state(ActiveState, folder / "bank.run"), load_state(PassiveState, folder / "shop.run")
    assert active is not None
    assert passive is not None
    return active, passive


def states_of_shop(folder: Path) -> PassiveState:
    passive = load_state(PassiveState, folder / "shop.run")
    assert passive is not None
    return passive


def other_table(training: Training, party: str) -> Training:
    table = training.tables[party]
    X = table.matrix().copy()
    X[0, 0] += 1
    return replace(
        training, tables={**training.tables, party: Table.read(X, names=list(table.names), party=table.party)}
    )


def other_label(training: Training) -> Training:
    y = training.y.copy()
    y[3] = 1 - y[3]
    return replace(training, y=y)


def other(training: Training, **params: Any) -> Training:
    return replace(training, params=replace(training.params, **params))


CHANGES: dict[str, tuple[Callable[[Training], Training], str, str]] = {
    "own data": (lambda t: other_table(t, "bank"), "bank", "other features, labels or weights"),
    "label": (other_label, "bank", "other features, labels or weights"),
    "the shop's data": (lambda t: other_table(t, "shop"), "shop", "found other features"),
    "depth": (lambda t: other(t, max_depth=3), "bank", "max_depth was 2 when the run began and is 3 now"),
    "seed": (lambda t: other(t, random_state=1), "bank", "random_state was 0 when the run began and is 1 now"),
    "rounds": (lambda t: other(t, n_estimators=9), "bank", "n_estimators was 3 when the run began and is 9 now"),
    "protocol": (
        lambda t: replace(t, protocol="smm1", protocol_params={"insecure": True}),
        "bank",
        'protocol was "plain" when the run began and is "smm1" now',
    ),
    "run": (lambda t: replace(t, run_id="cd" * 16), "bank", "is of run abababababababab at bank"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_data_or_settings(change: str, tmp_path: Path) -> None:
    training = begun(tmp_path)
    before = states(tmp_path)
    make, party, match = CHANGES[change]
    found = attempt(make(training), tmp_path)
    assert isinstance(found.errors[party], CheckpointError)
    assert match in str(found.errors[party])
    other_party = {"bank": "shop", "shop": "bank"}[party]
    assert isinstance(found.errors[other_party], PeerError)
    told = str(found.errors[other_party])
    assert found.errors[other_party].kind == "CheckpointError"
    assert "Error" not in told
    assert f"{party} stopped the run: {party} resuming run" in told
    # Nothing was spoilt: the run as it was begun still resumes.
    assert states(tmp_path) == before
    assert not attempt(training, tmp_path).errors


def test_the_passive_party_names_the_setting_to_both(tmp_path: Path) -> None:
    """The active party has lost its checkpoint and begins anew, but with other settings than before."""
    training = begun(tmp_path)
    (tmp_path / "bank.run").unlink()
    state = states_of_shop(tmp_path)
    save_state(msgspec.structs.replace(state, marks=state.marks[:1]), tmp_path / "shop.run")
    errors = attempt(other(training, max_depth=3), tmp_path).errors
    assert isinstance(errors["shop"], CheckpointError)
    for error in errors.values():
        assert "max_depth was 2 when the run began and is 3 now; both sides must resume" in str(error)


def test_a_checkpoint_without_the_settings_is_compared_by_their_digest(tmp_path: Path) -> None:
    """Checkpoints of earlier versions hold a digest only."""
    training = begun(tmp_path)
    active, passive = states(tmp_path)
    save_state(msgspec.structs.replace(active, chosen={}), tmp_path / "bank.run")
    save_state(msgspec.structs.replace(passive, chosen={}), tmp_path / "shop.run")
    error = attempt(other(training, max_depth=3), tmp_path).errors["bank"]
    assert "found other settings than those it was begun with" in str(error)
    assert not attempt(training, tmp_path).errors


def test_another_number_of_threads_is_the_same_run(tmp_path: Path) -> None:
    training = begun(tmp_path)
    assert not attempt(other(training, n_jobs=2), tmp_path).errors


def test_the_passive_party_has_lost_its_checkpoint(tmp_path: Path) -> None:
    training = begun(tmp_path)
    (tmp_path / "shop.run").unlink()
    error = attempt(training, tmp_path).errors["shop"]
    assert isinstance(error, CheckpointError)
    assert "bank goes on after 1 rounds with this party, of which 0 are kept here" in str(error)


@pytest.mark.parametrize("kept", [1, 3])
def test_the_active_party_has_lost_its_checkpoint(kept: int, tmp_path: Path) -> None:
    """It begins anew, under the same run id; the other goes back one round with it, and never further."""
    training = problem("plain")
    attempt(training, tmp_path)
    state = states(tmp_path)[1]
    save_state(msgspec.structs.replace(state, marks=state.marks[:kept]), tmp_path / "shop.run")
    (tmp_path / "bank.run").unlink()
    found = attempt(training, tmp_path)
    if kept == 1:
        assert not found.errors
        assert found.lead is not None
        assert found.lead.resumed_at == 0
    else:
        assert isinstance(found.errors["shop"], CheckpointError)
        assert "goes back to 0 rounds with this party, of which 3 are kept here" in str(found.errors["shop"])


def test_checkpoints_of_two_runs_with_one_id(tmp_path: Path) -> None:
    """Same data, same settings, same run id, but other salts: the digests differ, and both are named."""
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        begun(folder)
    (two / "shop.run").rename(one / "shop.run")
    error = attempt(problem("plain"), one).errors["shop"]
    active, passive = states(one)
    assert isinstance(error, CheckpointError)
    for digest in (active.trees_digest, active.passive["shop"], passive.marks[0].trees_digest):
        assert digest.hex()[:16] in str(error)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"rounds": 2}, "found 1 trees of 2 rounds"),
        ({"margins": b"1234"}, "the margins has 4 bytes"),
        ({"passive": {}}, "after 1 rounds bank has state none/none"),
        ({"trees_digest": bytes(32)}, "bank has state 0000000000000000/"),
    ],
)
def test_an_active_state_that_does_not_add_up(change: dict[str, Any], match: str, tmp_path: Path) -> None:
    training = begun(tmp_path)
    save_state(msgspec.structs.replace(states(tmp_path)[0], **change), tmp_path / "bank.run")
    errors = attempt(training, tmp_path).errors
    assert any(isinstance(error, CheckpointError) and match in str(error) for error in errors.values()), errors


def test_rounds_with_gaps_at_the_passive_party(tmp_path: Path) -> None:
    training = begun(tmp_path)
    state = states(tmp_path)[1]
    marks = [msgspec.structs.replace(mark, round=mark.round + 1) for mark in state.marks]
    save_state(msgspec.structs.replace(state, marks=marks), tmp_path / "shop.run")
    assert "do not follow one another" in str(attempt(training, tmp_path).errors["shop"])


def test_released_labels_of_another_size(tmp_path: Path) -> None:
    training = problem("ldp", protocol_params={"epsilon": 1.0})
    attempt(training, tmp_path, {"shop": 8})
    state = load_state(ActiveState, tmp_path / "bank.run")
    assert state is not None
    assert state.labels is not None
    assert set(np.frombuffer(state.labels, dtype="<f4")) <= {0.0, 1.0}
    save_state(msgspec.structs.replace(state, labels=state.labels[4:]), tmp_path / "bank.run")
    assert "the labels has 276 bytes, wanted 70 entries" in str(attempt(training, tmp_path).errors["bank"])


@pytest.mark.parametrize("party", ["bank", "shop"])
def test_a_checkpoint_of_an_earlier_version(party: str, tmp_path: Path) -> None:
    training = problem("sealed")
    killed(training, tmp_path, "shop", 200)
    path = tmp_path / f"{party}.run"
    data = bytearray(path.read_bytes())
    data[len(MAGIC)] = VERSION - 1
    path.write_bytes(data)
    error = attempt(training, tmp_path).errors[party]
    assert isinstance(error, CheckpointError)
    assert f"found version {VERSION - 1}, wanted {VERSION}; resume with the vfxgb that wrote it" in str(error)


def test_a_run_that_an_earlier_version_began_without_a_setting_of_today(tmp_path: Path) -> None:
    """Versions that knew no rule of splits and no bits of scores: both are named, and nothing is grown."""
    training = begun(tmp_path)
    for name, state in zip(("bank", "shop"), states(tmp_path), strict=True):
        chosen = {**state.chosen, "setup": _without(state.chosen["setup"], "split_rule", "score_bits")}
        if "params" in chosen:
            chosen["params"] = _without(chosen["params"], "split_rule", "score_bits")
        save_state(msgspec.structs.replace(state, chosen=chosen, settings=bytes(32)), tmp_path / f"{name}.run")
    error = attempt(training, tmp_path).errors["bank"]
    assert isinstance(error, CheckpointError)
    assert 'split_rule was not set when the run began and is "gain" now' in str(error)
    assert "score_bits was not set when the run began and is null now" in str(error)


def _without(settings: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in names}
