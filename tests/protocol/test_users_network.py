"""Horizontal training with users over real links: the model of one process, and users that leave, return or lie."""

import random
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from user_runs import Crowd, make_consortium, make_job, make_rows, simulated, with_rows
from vfxgb.errors import (
    AggregationError,
    CohortError,
    ColumnNameError,
    ConfigError,
    ConsentError,
    FormatError,
    LabelError,
    PeerError,
)
from vfxgb.horizontal import network, remote
from vfxgb.horizontal.guard import topic_of
from vfxgb.horizontal.handshake import MEETING, Declines, Invites, TurnsAway
from vfxgb.horizontal.job import CutRules
from vfxgb.horizontal.network import Deadlines
from vfxgb.horizontal.remote import UserAllows, UserMemory, UserOutcome, UserSide
from vfxgb.horizontal.simulation import UserRows
from vfxgb.horizontal.training import UsersResult
from vfxgb.model.file import load_share
from vfxgb.model.pooled import PooledModel
from vfxgb.model.xgboost_json import xgboost_json
from vfxgb.secagg import network as exchange_module
from vfxgb.secagg.double_mask.messages import MaskedVector, MaskKey, Signed
from vfxgb.secagg.guard import GuardRules, SetGuard
from vfxgb.train.callbacks import TrainingCallback
from vfxgb.train.settings import plain_params
from vfxgb.transport.link import LinkClosed
from vfxgb.transport.messages import Message

USERS = 5


@pytest.fixture(scope="module")
def consortium(tmp_path_factory):
    """aggregator -> (folder, directory), made once."""
    made: dict[str, Any] = {}

    def of(aggregator: str) -> Any:
        if aggregator not in made:
            folder = tmp_path_factory.mktemp(aggregator)
            quick = make_job(aggregator).aggregator_params
            made[aggregator] = folder, make_consortium(folder, USERS, aggregator, quick)
        return made[aggregator]

    return of


@pytest.fixture
def crowd(consortium) -> Callable[..., Crowd]:
    def make(aggregator: str = "masks", own: Any = None, rows: Any = None, **settings: Any) -> Crowd:
        folder, directory = consortium(aggregator)
        k = settings.pop("hide_among", None)
        job = replace(make_job(aggregator, own, **settings), hide_among=k)
        run = Crowd(folder, directory, job, rows or make_rows(USERS))
        run.allows = UserAllows(hide_among=k)
        return run

    return make


def _text(result: UsersResult) -> str:
    return xgboost_json(PooledModel(result.share, {}))


@pytest.mark.parametrize("aggregator", ["plain", "masks", "bcp"])
def test_the_model_of_one_process(crowd, aggregator: str, tmp_path: Path) -> None:
    run = crowd(aggregator)
    run.job = replace(run.job, rules=CutRules())
    result = run.run()
    expected = simulated(run.job, run.rows)
    assert _text(result) == _text(expected)
    assert result.evals_result == expected.evals_result
    assert result.traffic == expected.traffic
    meeting = {kind.TAG for kind in MEETING}
    entries = [vars(entry) for entry in result.ledger.entries]
    assert [entry for entry in entries if entry["message"] not in meeting] == [
        vars(entry) for entry in expected.ledger.entries
    ]
    met = {entry["message"]: entry["messages"] for entry in entries if entry["message"] in meeting}
    assert met == dict.fromkeys(meeting - {TurnsAway.TAG, Declines.TAG}, USERS)
    assert run.notes == []
    # Users have the trees, and not the sums behind them.
    models = {outcome.model for outcome in run.outcomes.values()}
    assert len(run.outcomes) == USERS
    assert len(models) == 1
    path = tmp_path / "model.json"
    path.write_bytes(models.pop())
    share = load_share(path)
    X = run.job.evals.X
    np.testing.assert_array_equal(PooledModel(share, {}).margins(X), PooledModel(expected.share, {}).margins(X))
    assert not any(tree.gain.any() or tree.cover.any() for tree in share.trees)


def test_weights_and_several_outputs(crowd) -> None:
    rng = np.random.default_rng(1)
    rows = [
        UserRows(
            make_row.X,
            rng.integers(0, 3, len(make_row.X)).astype(np.float32),
            rng.random(len(make_row.X)).astype(np.float32),
        )
        for make_row in make_rows(USERS)
    ]
    run = crowd("plain", rows=rows, objective="multi:softprob", num_class=3, subsample=0.7)
    run.job = replace(run.job, weighted=True)
    assert _text(run.run()) == _text(simulated(run.job, rows))


class _Breaks:
    """A link that ends at its k-th frame from the server."""

    def __init__(self, link: Any, count: int) -> None:
        self._link, self._left = link, count
        self.peer, self.session = link.peer, link.session

    def put(self, frame: Any) -> None:
        self._link.put(frame)

    def get(self, timeout: float | None) -> Any:
        self._left -= 1
        if self._left < 0:
            self._link.close()
            raise LinkClosed("cut by the test")
        return self._link.get(timeout)

    def screen(self, screen: Any) -> None:
        self._link.screen(screen)

    def close(self) -> None:
        self._link.close()


def _breaking(side: UserSide, *counts: int) -> UserSide:
    """A side whose links break, one after the other, and which is gone after the last."""
    dial, left = side.dial, list(counts)

    def call() -> Any:
        if not left:
            raise PeerError("cannot be reached, by the test")
        return _Breaks(dial(), left.pop(0))

    return replace(side, dial=call)


@pytest.mark.parametrize(("at", "hide_among"), [(1, None), (10, 1), (23, None)])
def test_a_user_that_dies_is_left_out(crowd, at: int, hide_among: int | None) -> None:
    """Before the first sum, between sums of the set-up, and in the first tree."""
    run = crowd(own={"threshold": 3}, hide_among=hide_among)
    run.change = lambda number, side: _breaking(side, at) if number == 2 else side
    result = run.run()
    assert result.failure is None
    assert result.share.n_rounds == 2
    assert isinstance(run.outcomes.pop(2), PeerError)
    assert all(isinstance(outcome, UserOutcome) for outcome in run.outcomes.values())
    assert len(run.outcomes) == USERS - 1
    if at < 3:
        # It never took part: the model is that of the others.
        assert _text(result) == _text(simulated(run.job, [one for n, one in enumerate(run.rows) if n != 2]))


def test_a_user_that_dies_in_the_set_up_of_a_few(crowd, monkeypatch) -> None:
    """Its labels would be the difference between the start sums and those of the first tree: the run ends."""
    monkeypatch.setattr(network, "RETRY_SECONDS", 99.0)
    run = crowd(own={"threshold": 3})
    run.change = lambda number, side: _breaking(side, 15) if number == 2 else side
    with pytest.raises(CohortError, match=r"user 2 has left in the middle.*wanted the same 5 users, or 10 fewer"):
        run.run()
    assert all("the server stopped the run: CohortError" in str(run.outcomes[user]) for user in (0, 1, 3, 4))


def test_a_user_that_comes_back_catches_up(crowd, monkeypatch) -> None:
    """It loses its connection for good several times, and dials again with all it knows."""
    monkeypatch.setattr(network, "RETRY_SECONDS", 0.05)
    # Rounds enough that the run is not over when the user is back.
    run = crowd(own={"threshold": 3}, n_estimators=12)
    run.change = lambda number, side: _breaking(side, 12, 9, 20, 5000) if number == 1 else side
    result = run.run()
    assert result.share.n_rounds == 12
    outcome = run.outcomes[1]
    assert isinstance(outcome, UserOutcome), outcome
    assert outcome.rounds == 12
    assert "its connection has ended" in run.said(1)


def test_too_few_for_a_while(crowd, monkeypatch) -> None:
    """All users lose their connections at once; the call is tried again when they are back."""
    monkeypatch.setattr(network, "RETRY_SECONDS", 0.2)
    run = crowd(own={"threshold": 5})
    run.deadlines = Deadlines(gather=15.0, stage=5.0, greet=5.0, patience=10.0)
    run.change = lambda number, side: _breaking(side, 20, 1000) if number in (1, 2, 3) else side
    result = run.run()
    assert result.failure is None
    assert _text(result) == _text(simulated(run.job, run.rows))


def test_too_few_for_good(crowd, monkeypatch) -> None:
    """The rounds that were finished are left, and users are told."""
    monkeypatch.setattr(network, "RETRY_SECONDS", 0.1)
    run = crowd(own={"threshold": 5}, n_estimators=50)
    run.deadlines = Deadlines(gather=15.0, stage=5.0, greet=5.0, patience=0.3)
    run.change = lambda number, side: _breaking(side, 100) if number == 1 else side
    result = run.run()
    assert isinstance(result.failure, AggregationError)
    assert 0 < result.share.n_rounds < 50
    assert "the server stopped the run: AggregationError" in str(run.outcomes[0])


@pytest.mark.parametrize("seed", range(3))
def test_mutated_replies(crowd, monkeypatch, seed: int) -> None:
    """One user's bytes are altered now and then: the run goes on without it, or ends and says why."""
    monkeypatch.setattr(network, "RETRY_SECONDS", 0.05)
    rng = random.Random(seed)
    run = crowd(own={"threshold": 3})
    run.deadlines = Deadlines(gather=15.0, stage=5.0, greet=5.0, patience=2.0)
    run.change = lambda number, side: _mutating(side, rng) if number == 4 else side
    with suppress(AggregationError):
        run.run()
    assert 4 in {user for user, _ in run.notes}


def test_a_user_that_lies_again_and_again_is_left_out(crowd, changes, monkeypatch) -> None:
    """Its commitment is wrong: that shows when the sum is to be opened, and costs the whole call."""
    monkeypatch.setattr(network, "RETRY_SECONDS", 0.05)

    def change(message: Message, channel: Any) -> Message:
        del channel
        return msgspec.structs.replace(message, commitment=bytes(32)) if isinstance(message, MaskKey) else message

    changes["user-2"] = change
    run = crowd(own={"threshold": 3}, hide_among=1)
    run.deadlines = Deadlines(gather=15.0, stage=5.0, greet=5.0, patience=10.0)
    result = run.run()
    assert result.failure is None
    assert _text(result) == _text(simulated(run.job, [one for user, one in enumerate(run.rows) if user != 2]))
    assert "it is not asked any more" in run.said(2)
    assert {user for user, _ in run.notes} == {2}
    assert isinstance(run.outcomes[2], UserOutcome | PeerError)


def _mutating(side: UserSide, rng: random.Random) -> UserSide:
    dial = side.dial
    return replace(side, dial=lambda: _Mutates(dial(), rng))


class _Mutates:
    """A link that alters one payload in eight."""

    def __init__(self, link: Any, rng: random.Random) -> None:
        self._link, self._rng = link, rng
        self.peer, self.session = link.peer, link.session
        self.get, self.close = link.get, link.close

    def put(self, frame: Any) -> None:
        header, payload = frame
        if payload and self._rng.random() < 0.125:
            altered = bytearray(payload)
            altered[self._rng.randrange(len(altered))] ^= 1 << self._rng.randrange(8)
            payload = bytes(altered)
        self._link.put((header, payload))


@pytest.fixture
def changes(monkeypatch) -> dict[str, Callable[[Message, Any], Message]]:
    """Party -> what it sends instead of a message; called with its channel, too."""
    found: dict[str, Callable[[Message, Any], Message]] = {}
    send = remote._send

    def sending(channel: Any, message: Message) -> None:
        change = found.get(channel.own)
        send(channel, change(message, channel) if change is not None else message)

    monkeypatch.setattr(remote, "_send", sending)
    return found


@pytest.mark.parametrize("lie", ["vector", "signature", "type", "bytes"])
def test_a_wrong_reply_costs_its_user_the_call_only(crowd, changes, lie: str) -> None:
    done: list[Message] = []

    def change(message: Message, channel: Any) -> Message:
        if len(done) > 1:
            return message
        if lie == "vector" and isinstance(message, MaskedVector):
            message = msgspec.structs.replace(message, values=message.values[:8])
        elif lie == "signature" and isinstance(message, Signed):
            message = msgspec.structs.replace(message, signature=bytes(64))
        elif lie == "type" and isinstance(message, MaskedVector):
            message = Signed(call=message.call, signature=bytes(64))
        elif lie == "bytes" and isinstance(message, MaskedVector):
            channel.send_encoded(message, b"\xc1 no message")
            raise remote._Lost("sent rubbish")
        else:
            return message
        done.append(message)
        return message

    run = crowd(own={"threshold": 3})
    changes["user-3"] = change
    result = run.run()
    assert result.share.n_rounds == 2
    said = run.said(3)
    assert ("its connection has ended" if lie == "bytes" else "cannot be right") in said
    assert {user for user, _ in run.notes} == {3}


def test_a_slow_user_drops_out_and_returns(crowd, changes) -> None:
    """It sleeps through the stage; its late answer is thrown away, and later calls have it again."""
    run = crowd(own={"threshold": 3}, n_estimators=3)
    run.deadlines = Deadlines(gather=15.0, stage=1.5, greet=5.0, patience=0.0)
    slept: list[int] = []

    def change(message: Message, channel: Any) -> Message:
        del channel
        if isinstance(message, MaskedVector) and not slept:
            slept.append(1)
            end = time.monotonic() + 20
            while "no answer" not in run.said(4) and time.monotonic() < end:
                time.sleep(0.01)
        return message

    changes["user-4"] = change
    result = run.run([_Pause(0.3)])
    assert result.share.n_rounds == 3
    assert "no answer in stage 'mask' within 1.5 s" in run.said(4)
    assert "it can take part again" in run.said(4)
    outcome = run.outcomes[4]
    assert isinstance(outcome, UserOutcome), outcome
    assert outcome.rounds == 3


class _Pause(TrainingCallback):
    """Waits after every round, so that slow users are back."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def after_iteration(self, state: Any) -> bool:
        del state
        time.sleep(self._seconds)
        return False


class _Stops(TrainingCallback):
    """Ends the run after the first round."""

    def after_iteration(self, state: Any) -> bool:
        raise KeyboardInterrupt


def test_users_are_told_when_the_server_stops(crowd) -> None:
    run = crowd("plain")
    result = run.run([_Stops()])
    assert isinstance(result.failure, KeyboardInterrupt)
    assert result.share.n_rounds == 1
    for outcome in run.outcomes.values():
        assert isinstance(outcome, PeerError)
        assert "the server stopped the run: KeyboardInterrupt" in str(outcome)


def test_too_few_users_come(crowd) -> None:
    run = crowd()
    run.deadlines = Deadlines(gather=2.0, stage=5.0, greet=5.0, patience=0.0)
    run.change = lambda number, side: side if number < 2 else None
    with pytest.raises(AggregationError, match=r"[0-2] of 5 users are left after stage 'gathering', wanted at least 4"):
        run.run()
    assert all(isinstance(error, PeerError) for error in run.outcomes.values())


def test_who_is_killed_and_started_again_is_turned_away(crowd) -> None:
    run = crowd(own={"threshold": 3}, n_estimators=3)
    run.change = lambda number, side: replace(_breaking(side, 23), reach_seconds=0.0) if number == 0 else side
    run.restarted = frozenset({0})
    result = run.run([_Pause(0.5)])
    assert result.share.n_rounds == 3
    assert "the run has begun" in str(run.outcomes[0])
    assert "did not come in: the run has begun" in run.said(0)


def _allowing(**allows: Any) -> Callable[[UserSide], UserSide]:
    return lambda side: replace(side, allows=UserAllows(**allows))


OBJECTIONS: dict[str, tuple[Callable[[UserSide], UserSide], type[Exception], str]] = {
    "aggregator": (lambda side: replace(side, aggregator="plain"), ConsentError, "protected by 'masks'"),
    "parameters": (lambda side: replace(side, aggregator_params={"min_users": 3}), ConsentError, "write the same"),
    "directory": (
        lambda side: replace(side, directory=replace(side.directory, public=b"x")),
        ConsentError,
        "another directory",
    ),
    "columns": (lambda side: replace(side, columns=("f0", "f1", "x")), ColumnNameError, "no column 'f2'"),
    "weights": (
        lambda side: with_rows(side, weights=np.ones(len(side.rows.X), np.float32)),
        ConsentError,
        "weighs its rows",
    ),
    "labels": (lambda side: with_rows(side, labels=side.rows.labels + 7), LabelError, "user-4"),
    "hidden among": (_allowing(hide_among=11), ConsentError, "may differ by 10 users, this user wants at least 11"),
    "compared": (_allowing(compare="run"), ConsentError, "within each tree, this user wants the whole run"),
    "cells": (_allowing(quantile_bits=20), ConsentError, "22 bits of 32, this user wants at most 20"),
    "calls": (_allowing(max_calls=3), ConsentError, "about 4 sums, this user wants at most 3"),
}


def _refuse(invitation: Any) -> None:
    raise ConsentError(f"at most 1 tree, found {invitation.params['n_estimators']}")


def test_an_invitation_is_declined(crowd, changes) -> None:
    run = crowd("plain", own={"threshold": 4})
    run.deadlines = Deadlines(gather=15.0, stage=5.0, greet=5.0, patience=0.0)
    said: list[str] = []

    def change(message: Message, channel: Any) -> Message:
        del channel
        if isinstance(message, Declines):
            said.append(message.reason)
        return message

    changes["user-4"] = change
    run.change = lambda number, side: replace(side, accept=_refuse) if number == 4 else side
    assert run.run().share.n_rounds == 2
    assert isinstance(run.outcomes[4], ConsentError)
    assert said == ["at most 1 tree, found 2"]
    assert "it declined: at most 1 tree" in run.said(4)


@pytest.mark.parametrize("objection", OBJECTIONS)
def test_what_a_user_objects_to(crowd, objection: str) -> None:
    change, kind, says = OBJECTIONS[objection]
    run = crowd()
    job, directory = run.job, run.directory
    invitation = Invites(
        run=bytes(16),
        number=4,
        purpose="",
        aggregator="masks",
        aggregator_params=dict(job.aggregator_params),
        params=plain_params(job.params),
        columns=list(job.names),
        weighted=False,
        directory=directory.digest(),
        hide_among=10,
        least=4,
        quantile_bits=22,
    )
    sent: list[Message] = []

    class Listens:
        def send(self, message: Message) -> None:
            sent.append(message)

        own = "user-4"

    remote._begin(run.side(4), Listens(), invitation)
    with pytest.raises(kind, match=says):
        remote._begin(change(run.side(4)), Listens(), invitation)
    assert isinstance(sent[0], Declines)


def test_an_aggregator_without_what_its_centre_makes(crowd, consortium) -> None:
    run = crowd("bcp")
    run.directory = consortium("masks")[1]
    run.folder = consortium("masks")[0]
    run.change = lambda number, side: None
    with pytest.raises(ConfigError, match="needs what its key centre makes"):
        run.run()


def test_another_version_is_turned_away(crowd, monkeypatch) -> None:
    run = crowd("plain")
    run.deadlines = Deadlines(gather=15.0, stage=5.0, greet=5.0, patience=0.0)
    monkeypatch.setattr(remote, "__version__", "0.0.1")
    with pytest.raises(AggregationError, match="0 of 5 users"):
        run.run()
    assert all("install the same on both sides" in str(error) for error in run.outcomes.values())


def test_a_user_that_says_nothing_is_sent_away(crowd) -> None:
    run = crowd("plain", own={"threshold": 3})
    run.deadlines = Deadlines(gather=15.0, stage=5.0, greet=1.0, patience=0.0)
    silent: list[Any] = []

    def change(number: int, side: UserSide) -> UserSide | None:
        if number != 0:
            return side
        silent.append(side.dial())
        return None

    run.change = change
    assert run.run().share.n_rounds == 2
    assert "it said nothing for 1 s" in run.said(0)
    silent[0].close()


def test_who_is_late_is_named_and_not_waited_for(crowd, changes, monkeypatch) -> None:
    """Enough users have answered: the stage ends after the grace, long before its deadline."""
    monkeypatch.setattr(exchange_module, "LATE_SECONDS", 0.2)
    run = crowd(own={"threshold": 3}, n_estimators=1)
    run.deadlines = Deadlines(gather=15.0, stage=600.0, greet=5.0, patience=0.0, grace=3.0)

    def change(message: Message, channel: Any) -> Message:
        del channel
        if isinstance(message, MaskedVector):
            over.wait(60)
        return message

    over = threading.Event()
    changes["user-4"] = change
    try:
        result = run.run([_After(over)])
    finally:
        over.set()
    assert result.share.n_rounds == 1
    assert "is late in stage 'mask': no answer for 0.2 s" in run.said(4)
    assert re.search(r"no answer in stage 'mask' within \d(\.\d)? s", run.said(4))
    assert _text(result) == _text(simulated(run.job, run.rows[:4]))


class _After(TrainingCallback):
    """Lets go when the training is over."""

    def __init__(self, event: threading.Event) -> None:
        self._event = event

    def after_training(self, state: Any) -> None:
        del state
        self._event.set()


def test_a_user_remembers_what_it_signed_when_it_is_started_again(crowd, tmp_path: Path) -> None:
    """The same run, another process: the file has the sets of the first one."""
    run = crowd()

    def memory(number: int) -> UserMemory:
        return UserMemory(*(tmp_path / f"{name}{number}.json" for name in ("", "asked-", "noise-")))

    run.change = lambda number, side: replace(side, memory=lambda _: memory(number))
    run.run()
    again = SetGuard(GuardRules(hide_among=10), topic_of, tmp_path / "0.json")
    assert again.calls == 3 + 2 * 2
    (tmp_path / "0.json").write_text("{")
    with pytest.raises(FormatError, match="without them this user takes no part"):
        SetGuard(GuardRules(hide_among=10), topic_of, tmp_path / "0.json")
