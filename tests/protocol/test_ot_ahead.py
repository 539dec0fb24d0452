"""The set-up of `ot_shares` beside other work: the first tree of reduced_leakage, and a line that is long."""

import threading
from typing import Any

import numpy as np
import pytest

from ot_runs import same_model, train
from vfxgb.engine.settings import EngineSettings
from vfxgb.errors import MessageError, PeerError
from vfxgb.protocols.ot_shares import active, holder
from vfxgb.protocols.ot_shares.beside import beside
from vfxgb.protocols.ot_shares.holder import WAITING_BYTES, WINDOW, requests_ahead
from vfxgb.protocols.ot_shares.messages import OtStart
from vfxgb.protocols.ot_shares.slots import Slots
from vfxgb.train.callbacks import TrainingCallback
from vfxgb.transport.channel import Channel
from vfxgb.transport.line import KnownLine
from vfxgb.tree.grower import Grower

DEADLINE = 60.0
ALONE: dict[str, Any] = {"reduced_leakage": True, "n_estimators": 3}


def no_thread_is_left() -> bool:
    """The network's is not a run's: links of other tests may have left it."""
    names = [thread.name for thread in threading.enumerate()]
    return not [name for name in names if name.startswith("vfxgb") and name != "vfxgb-network"]


def test_the_first_tree_grows_while_masks_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tree waits for a block of the set-up, and the set-up for the tree: neither could go first."""
    block_made, tree_begun = threading.Event(), threading.Event()
    grow, make = Grower.grow, active.OtSource._make_keys

    def slow_grow(self: Grower, gradients: Any, alone: bool) -> Any:
        tree_begun.set()
        assert block_made.wait(DEADLINE)
        return grow(self, gradients, alone)

    def slow_make(self: Any, progress: Any) -> None:
        def waited(*done: Any) -> None:
            assert tree_begun.wait(DEADLINE)
            progress(*done)
            block_made.set()

        make(self, waited)

    monkeypatch.setattr(Grower, "grow", slow_grow)
    monkeypatch.setattr(active.OtSource, "_make_keys", slow_make)
    found = train(**ALONE)
    monkeypatch.undo()
    assert same_model(found, train(protocol="plain", **ALONE))
    assert found.timings.operations["set-up bytes"] > 0
    assert no_thread_is_left()


@pytest.mark.parametrize("settings", [{}, {"objective": "multi:softprob", "num_class": 3, "colsample_bytree": 0.6}])
def test_the_model_is_that_of_plain_wherever_rows_are(settings: dict[str, Any], tmp_path: Any) -> None:
    y = np.arange(40) % 3 * 1.0 if settings else None
    wanted = train(protocol="plain", y=y, **ALONE, **settings)
    shards = EngineSettings(memory_limit="300MB", shards=3, engine_folder=str(tmp_path))
    assert same_model(train(y=y, **ALONE, **settings), wanted)
    assert same_model(train(y=y, engine=shards, **ALONE, **settings), wanted)


def test_a_single_tree_of_ones_own_needs_no_masks() -> None:
    found = train(reduced_leakage=True, n_estimators=1)
    told = {entry.message for entry in found.ledger.entries}
    assert not told & {"prepare", "ot-start"}


class Stops(TrainingCallback):
    """Ends the run before or after its first tree."""

    def __init__(self, before: bool) -> None:
        self.before = before

    def before_iteration(self, state: Any) -> bool:
        return self.before

    def after_iteration(self, state: Any) -> bool:
        return True


@pytest.mark.parametrize("before", [True, False])
def test_a_run_that_ends_with_its_first_tree_is_sealed(before: bool) -> None:
    found = train(callbacks=[Stops(before)], **ALONE)
    assert found.active_share.n_rounds == (0 if before else 1)
    assert no_thread_is_left()


def test_a_tree_that_fails_ends_the_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Grower, gradients: Any, alone: bool) -> Any:
        raise ZeroDivisionError("mine")

    monkeypatch.setattr(Grower, "grow", fail)
    with pytest.raises(ZeroDivisionError, match="mine"):
        train(**ALONE)
    assert no_thread_is_left()


def test_a_set_up_that_fails_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    send = Channel.send

    def other(self: Channel, message: Any) -> None:
        if isinstance(message, OtStart):
            message = OtStart(**{name: getattr(message, name) for name in message.__struct_fields__} | {"trees": 0})
        send(self, message)

    monkeypatch.setattr(Channel, "send", other)
    with pytest.raises(MessageError, match="shop setting up: found a run of 0 trees"):
        train(**ALONE)
    assert no_thread_is_left()


class Waits:
    """A channel whose peer says nothing until it is aborted."""

    def __init__(self) -> None:
        self.aborted = threading.Event()

    def abort(self, error: BaseException) -> None:
        self.aborted.set()


def test_work_that_waits_for_a_peer_is_ended_by_its_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vfxgb.protocols.ot_shares.beside.PATIENCE_SECONDS", 0.01)
    channel = Waits()

    def work(unit_done: Any) -> None:
        assert channel.aborted.wait(DEADLINE)
        raise PeerError("gone")

    with pytest.raises(KeyboardInterrupt), beside(work, [channel]):  # type: ignore[list-item]
        raise KeyboardInterrupt
    assert channel.aborted.is_set()
    assert no_thread_is_left()


def test_errors_of_the_work_are_raised_when_the_block_ends() -> None:
    def work(unit_done: Any) -> None:
        raise PeerError("gone")

    reached = []
    with pytest.raises(PeerError, match="gone"), beside(work, []):
        reached.append(True)
    assert reached


def test_so_many_requests_are_on_their_way_that_a_long_line_is_full() -> None:
    slots = Slots(np.full(2, 32, dtype=np.int32), np.zeros(2, dtype=np.bool_))
    answer = 4096 * 2 * 4 * 16
    assert requests_ahead(KnownLine(), slots, 4096) == WINDOW
    assert requests_ahead(KnownLine(100), slots, 4096) == WINDOW
    for mbit, delay in ((100, 10), (300, 40), (1000, 25)):
        ahead = requests_ahead(KnownLine(mbit, delay), slots, 4096)
        line = mbit * 1e6 / 8 * 2 * delay / 1000
        assert (ahead - WINDOW) * answer >= line or ahead == WAITING_BYTES // (16 * 4096 * slots.levels)
    assert requests_ahead(KnownLine(1e6, 1000), slots, 4096) * 16 * 4096 * slots.levels <= WAITING_BYTES
    wide = Slots(np.full(4000, 32, dtype=np.int32), np.zeros(4000, dtype=np.bool_))
    assert requests_ahead(KnownLine(1e6, 1000), wide, 4096) == WINDOW


def test_many_requests_ahead_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = train()
    for ahead in (1, 7, 100):
        monkeypatch.setattr(holder, "requests_ahead", lambda *_, ahead=ahead: ahead)
        assert same_model(train(), wanted)
