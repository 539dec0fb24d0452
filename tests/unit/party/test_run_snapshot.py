"""What a run that goes on writes down, how often, and how fast it says it goes."""

import math

import pytest

from vfxgb.dp.event import Event
from vfxgb.party import round_times, run_snapshot
from vfxgb.party.folder import PartyFolder
from vfxgb.party.record import RunRecord
from vfxgb.party.round_times import Pace
from vfxgb.party.run_snapshot import Draft, Look, Seldom
from vfxgb.runtime.ledger import Ledger
from vfxgb.train.callbacks import TrainingState


class Clock:
    def __init__(self):
        self.now = 100.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(round_times, "time", made)
    monkeypatch.setattr(run_snapshot, "time", made)
    return made


def _record(**changes):
    return RunRecord(run="aa", party="bank", role="active", state="running", started=1.0, **changes)


def test_pace_goes_on_after_a_resume(clock):
    pace = Pace()
    for rounds, seconds, passed in ((0, 0.5, 10), (1, 1.0, 50), (1, 1.1, 55), (2, 2.0, 70)):
        clock.now = 100.0 + seconds
        pace.note(rounds, passed)
    assert pace.totals() == {"seconds": [1.0, 2.0], "bytes": [50, 70]}
    clock.now = 500.0
    resumed = Pace()
    # The second round was not kept: it is grown again.
    resumed.go_on(pace.totals(), 1)
    clock.now = 503.0
    resumed.note(2, 40)
    assert resumed.totals() == {"seconds": [1.0, 4.0], "bytes": [50, 90]}


def test_pace_says_nothing_where_earlier_rounds_are_not_known(clock):
    pace = Pace()
    pace.go_on({}, 3)
    pace.note(4, 10)
    assert pace.totals() == {}


def test_work_is_done_seldom(clock):
    seldom, done = Seldom(1.0, 0.02), []

    def work():
        clock.now += 0.1
        done.append(clock.now)

    for _ in range(100):
        clock.now += 0.25
        seldom(work)
    # A tenth of a second each time: once in five seconds.
    assert len(done) == 5
    quick, times = Seldom(1.0, 0.02), []
    for _ in range(100):
        clock.now += 0.25
        quick(lambda: times.append(clock.now))
    assert len(times) == 25


def test_a_look_writes_record_ledger_and_draft(tmp_path, clock):
    folder = PartyFolder(tmp_path / "bank").make().run("aa").make()
    ledger, draft, saved = Ledger(), Draft(folder), []
    look = Look(folder, lambda: _record(rounds=3), ledger)
    draft.save()
    state = TrainingState(5, 0.3, save=saved.append)
    draft.before_training(state)
    event = Event("randomised_response", 1.0, "shop", "a label")
    look.take([event], draft.save)
    assert folder.read().rounds == 3
    assert "epsilon" in folder.ledger_file.read_text()
    # The run's own ledger gets what was released once, at its end.
    assert len(ledger.privacy) == 0
    assert saved == [folder.path]
    look.take([event], draft.save)
    assert len(saved) == 1


def test_a_look_that_cannot_be_written_ends_nothing(tmp_path, clock):
    folder = PartyFolder(tmp_path / "bank").make().run("gone")
    Look(folder, _record, Ledger()).take()
    assert not folder.path.exists()


def test_metrics_that_are_not_defined_come_back_as_nan(tmp_path):
    folder = PartyFolder(tmp_path / "bank").make().run("aa").make()
    folder.write(_record(evals={"valid": {"auc": [math.nan, 0.5]}}, best_score=math.inf))
    record = folder.read()
    assert math.isnan(record.evals["valid"]["auc"][0])
    assert record.evals["valid"]["auc"][1] == 0.5
    assert record.best_score is None
    assert "NaN" not in folder.run_file.read_text()
