"""Parties that die, lie or fall silent while a model is trained: a clear error on both sides, and nobody waits.

Each failure is provoked in one party of an otherwise ordinary run. `tamper` changes messages on their way; scripted
tests play the active party by hand against a real passive one.
"""

import re
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from simulated_runs import fit_tables
from vfxgb.contract.messages import (
    TRAINING_MESSAGES,
    BeginRound,
    Choose,
    Commit,
    EndRound,
    Finish,
    Level,
    Prepare,
    Ready,
    RoundKept,
    Setup,
    SplitGroup,
    TreeChoice,
    TreeLevel,
)
from vfxgb.data.table import Table
from vfxgb.errors import AlignmentError, CheckpointError, FrameError, MessageError, PeerError, UnknownNameError
from vfxgb.params import TrainParams
from vfxgb.protocols.plain.messages import PlainGradients, PlainSums
from vfxgb.protocols.plain.passive import PlainPassive
from vfxgb.train import simulate
from vfxgb.train.callbacks import TrainingCallback
from vfxgb.train.passive import PassiveInput, PassiveParty
from vfxgb.train.plan import PassiveHooks
from vfxgb.transport.channel import Channel, memory_channels
from vfxgb.transport.messages import Catalogue, Message, pack_array, pack_bytes
from vfxgb.transport.rows import rows_digest
from vfxgb.transport.threads import PartyThread

N, DEADLINE = 120, 180
CATALOGUE = Catalogue((*TRAINING_MESSAGES, PlainGradients, PlainSums))
RUN = bytes(16)
IDS = np.arange(N)


def _data() -> tuple[dict[str, Table], np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 6)).astype(np.float32)
    names = [f"f{j}" for j in range(6)]
    parties = ("bank", "shop", "mart")
    tables = {
        party: Table.read(X[:, 2 * i : 2 * i + 2], names=names[2 * i : 2 * i + 2], party=party)
        for i, party in enumerate(parties)
    }
    return tables, X[:, 0] + X[:, 2] * X[:, 4] + X[:, 3]


def _train(callbacks: Any = None) -> simulate.FitResult:
    tables, y = _data()
    params = TrainParams(n_estimators=4, max_depth=4, n_jobs=1)
    return fit_tables(tables, "bank", y, None, N, params, callbacks=callbacks)


def within_deadline(call: Callable[[], Any]) -> BaseException:
    """The error that `call` raises, before the deadline, leaving no thread behind."""
    before = set(threading.enumerate())
    caught: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(DEADLINE)
    assert not thread.is_alive(), "the parties hang"
    # Which are left, not how many: a thread of an earlier test may end meanwhile.
    assert [one for one in threading.enumerate() if one not in before] == []
    assert caught, "nothing was raised"
    return caught[0]


class DisasterError(RuntimeError):
    """What no code expects."""


def test_an_undisturbed_run_ends_well() -> None:
    assert _train().active_share.n_rounds == 4


@pytest.mark.parametrize("victim", ["begin_tree", "open_level", "resolve", "end_tree"])
@pytest.mark.parametrize("call", [1, 3])
def test_a_passive_party_dies_in_mid_tree(victim, call, monkeypatch) -> None:
    calls = {"shop": 0}
    original = getattr(PlainPassive, victim)

    def dying(self, *arguments):
        if self._context.party == "shop":
            calls["shop"] += 1
            if calls["shop"] == call:
                raise DisasterError("shop is on fire")
        return original(self, *arguments)

    monkeypatch.setattr(PlainPassive, victim, dying)
    error = within_deadline(_train)
    assert isinstance(error, DisasterError)
    # The active party, for its part, was told who stopped and that it was no plan, without the text of the error.
    assert isinstance(error.__cause__, PeerError)
    assert "shop stopped the run: shop failed unexpectedly" in str(error.__cause__)
    assert error.__cause__.kind == "DisasterError"


@pytest.mark.parametrize("hook", ["before_training", "before_iteration", "after_iteration", "after_training"])
def test_the_active_party_dies(hook) -> None:
    def die(self, state):
        if state.iteration in (0, 3):
            raise DisasterError("bank is on fire")

    callback = type("Dying", (TrainingCallback,), {hook: die})()
    error = within_deadline(lambda: _train([callback]))
    assert isinstance(error, DisasterError)
    assert error.__cause__ is None


def test_an_interrupt_in_mid_tree(monkeypatch) -> None:
    from vfxgb.tree.grower import Grower

    original = Grower._split
    calls = []

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return original(self, *arguments)

    monkeypatch.setattr(Grower, "_split", interrupted)
    assert isinstance(within_deadline(_train), KeyboardInterrupt)


def _tampering(change: Callable[[Message], Message | None], who: str = "shop") -> Callable[..., Any]:
    """memory_channels whose passive end at `who` sends change(message) instead of message (None: as it is)."""

    def channels(active: str, passive: str, *arguments: Any, **named: Any) -> tuple[Channel, Channel]:
        ours, theirs = memory_channels(active, passive, *arguments, **named)
        if passive == who:
            send = theirs.send
            theirs.send = lambda message: send(change(message) or message)  # type: ignore[method-assign]
        return ours, theirs

    return channels


def _sums(**changes: Any) -> Callable[[Message], Message | None]:
    return lambda message: msgspec.structs.replace(message, **changes) if isinstance(message, PlainSums) else None


def _instead(tag: str, other: Message) -> Callable[[Message], Message | None]:
    return lambda message: other if tag == message.TAG else None


def _first_tree(**changes: Any) -> Callable[[Message], Message | None]:
    def change(message: Message) -> Message | None:
        if message.TAG in ("plain-sums", "split-rows"):
            trees = list(message.trees)
            fields = {name: value for name, value in changes.items() if hasattr(trees[0], name)}
            return msgspec.structs.replace(message, trees=[msgspec.structs.replace(trees[0], **fields), *trees[1:]])
        return None

    return change


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (_sums(round=3), "reading sums of shop: found 1 trees of round 3"),
        (_sums(depth=2), "depth 2, wanted 1 of round 0, depth 0"),
        (_sums(trees=[]), "found 0 trees"),
        (_first_tree(sums=pack_bytes(b"12345")), "reading sums of shop, tree 0: found 5 bytes"),
        (_first_tree(n_candidates=-1), "found -1 candidates"),
        (_first_tree(n_candidates=10**12), "bytes, wanted"),
        (_first_tree(constraint=pack_bytes(b"1")), "found 1 bytes, wanted 0"),
        (_first_tree(tokens=pack_array(np.array([10**6]))), "bytes, wanted|found token 1000000"),
        (_first_tree(tokens=pack_bytes(b"")), "reading the splits of shop"),
        (_first_tree(bits=pack_bytes(b"")), "found 0 bytes of rows"),
        (_first_tree(records=pack_bytes(b"123")), "found 3 bytes"),
        (_instead("plain-sums", BeginRound(0, 1, pack_bytes(b""), [])), "found message 'begin-round'"),
        (_instead("ready", PlainSums(0, 0, [])), "found message 'plain-sums'"),
        (_instead("ready", Ready(n_features=0, state_digest=b"")), "0 features"),
        (_instead("commit", Commit(n_records=0, digest="")), "0 records"),
        (_instead("round-kept", RoundKept(round=1, state_digest=bytes(32))), "has kept round 1 with a digest of 32"),
        (_instead("round-kept", RoundKept(round=0, state_digest=b"")), "has kept round 0 with a digest of 0"),
        (_instead("stored", RoundKept(round=0, state_digest=b"")), "found message 'round-kept', wanted 'stored'"),
    ],
)
def test_a_lying_passive_party_is_caught(change, match, monkeypatch) -> None:
    monkeypatch.setattr(simulate, "memory_channels", _tampering(change))
    error = within_deadline(_train)
    assert isinstance(error, MessageError)
    assert re.search(match, str(error))


def test_a_frame_over_the_cap(monkeypatch) -> None:
    def small(*arguments: Any, **named: Any) -> tuple[Channel, Channel]:
        ours, theirs = memory_channels(*arguments, **named)
        theirs._max_frame_bytes = 1000
        return ours, theirs

    monkeypatch.setattr(simulate, "memory_channels", small)
    error = within_deadline(_train)
    assert isinstance(error, FrameError)
    assert "at most 1000" in str(error)
    assert error.__cause__.kind == "FrameError"


class Scripted:
    """The active party by hand, against a real passive party in its thread."""

    def __init__(self) -> None:
        tables, _ = _data()
        self.own, theirs = memory_channels("bank", "shop", CATALOGUE, RUN, timeout=DEADLINE)
        table = replace(tables["shop"], ids=(IDS,))
        party = PassiveParty("shop", RUN.hex(), PassiveInput(table, 1), theirs, PassiveHooks())
        self.thread = PartyThread("shop", party.run, theirs)
        self.thread.start()

    def setup(self, **changes: Any) -> None:
        values = {
            "protocol": "plain",
            "protocol_params": {},
            "n_rows": N,
            "n_train": N,
            "rows_digest": rows_digest([IDS]),
            "n_outputs": 1,
            "max_depth": 3,
            "max_bin": 16,
            "missing_strategy": "learned",
            "min_bucket_rows": 1,
            "constrained": False,
            "first_round": 0,
            "run": RUN.hex(),
            "n_rounds": 4,
            "start_round": 0,
            "trees_digest": b"",
            "state_digest": b"",
        }
        self.own.send(Setup(**(values | changes)))

    def begin(self, round_index: int = 0, pairs: int = N, **changes: Any) -> None:
        values = {"round": round_index, "n_sampled": N, "sampled": pack_bytes(b""), "features": [pack_bytes(b"")]}
        self.own.send(BeginRound(**(values | changes)))
        ones = np.ones((pairs, 2), dtype=np.int64)
        self.own.send(PlainGradients(round=round_index, tree=0, pairs=pack_array(ones)))

    def level(self, depth: int = 0, round_index: int = 0, **changes: Any) -> None:
        zero = np.zeros(1, dtype=np.int32)
        values = {
            "tree": 0,
            "splits": [],
            "nodes": pack_array(zero),
            "build": pack_array(zero.astype(np.int64)),
            "allowed": pack_bytes(b""),
        }
        self.own.send(Level(round=round_index, depth=depth, trees=[TreeLevel(**(values | changes))]))

    def choose(self, depth: int = 0, **changes: Any) -> None:
        values = {
            "tree": 0,
            "nodes": pack_array(np.zeros(1, dtype=np.int32)),
            "start": pack_array(np.array([0, 1])),
            "tokens": pack_array(np.array([0])),
        }
        self.own.send(Choose(round=0, depth=depth, trees=[TreeChoice(**(values | changes))]))

    def end(self, round_index: int = 0, digest: bytes = bytes(32)) -> None:
        self.own.send(EndRound(round=round_index, trees_digest=digest))

    def prepare(self) -> None:
        self.own.send(Prepare())

    def finish(self, n_rounds: int) -> None:
        self.own.send(Finish(n_rounds=n_rounds))

    def _read_to_the_end(self) -> None:
        while True:
            self.own.recv(*TRAINING_MESSAGES, PlainSums)

    def failure(self) -> BaseException:
        """What ended the passive party; the active party must have been told."""
        with pytest.raises(PeerError) as told:
            self._read_to_the_end()
        self.thread.join()
        assert self.thread.failure is not None
        assert told.value.kind == type(self.thread.failure).__name__
        assert "shop stopped the run: shop " in str(told.value)
        return self.thread.failure


ROUND: list[tuple[str, dict[str, Any]]] = [("begin", {}), ("end", {})]
ids = pack_array(np.array([1], dtype=np.int32))
zeros = pack_array(np.zeros(1, dtype=np.int32))
ROOT_SPLIT = SplitGroup(zeros, ids, pack_array(np.array([2], dtype=np.int32)), pack_bytes(b"x" * 15))
CHILDREN = pack_array(np.array([1, 2], dtype=np.int32))


@pytest.mark.parametrize(
    ("steps", "kind", "match"),
    [
        ([("level", {})], MessageError, "found message 'level', wanted 'setup'"),
        ([("setup", {"n_rows": N + 1})], AlignmentError, "found 121 rows there and 120 here"),
        ([("setup", {"rows_digest": b"x"})], AlignmentError, "ids or their order differ"),
        ([("setup", {"n_train": 0})], MessageError, "0 training rows"),
        ([("setup", {"protocol": "secret-sauce"})], UnknownNameError, "secret-sauce"),
        ([("setup", {"run": "another"})], MessageError, "found run 'another', wanted '0000000000000000'"),
        ([("setup", {"start_round": 5})], MessageError, "5 rounds done of 4"),
        ([("setup", {"start_round": -1})], MessageError, "-1 rounds done of 4"),
        ([("setup", {"first_round": 2})], MessageError, "found first round 2"),
        (
            [("setup", {"missing_strategy": "drop"})],
            MessageError,
            "found missing_strategy 'drop', wanted one of learned",
        ),
        ([("setup", {"hessian_shift": -1})], MessageError, "found hessians -1 bits below gradients, wanted 0 to 40"),
        ([("setup", {"hessian_shift": 41})], MessageError, "found hessians 41 bits below gradients, wanted 0 to 40"),
        ([("setup", {"start_round": 2})], CheckpointError, "after 2 rounds with this party, of which 0 are kept"),
        ([("setup", {"state_digest": b"12"})], CheckpointError, "has state none/3132, found none/none here"),
        (
            [("setup", {"protocol": "ot_shares", "protocol_params": {"setup_dir": "/etc"}})],
            MessageError,
            "bank sent setup_dir of 'ot_shares', which this party chooses for itself",
        ),
        ([("setup", {}), ("setup", {})], MessageError, "found message 'setup'"),
        ([("setup", {}), ("prepare", {})], MessageError, "found a message 'prepare', wanted it at most once"),
        ([("setup", {}), ("begin", {}), ("end", {"round_index": 1})], MessageError, "ending a round: found 1"),
        ([("setup", {}), ("begin", {}), ("end", {"digest": b"x"})], MessageError, "a digest of 1 bytes"),
        ([("setup", {}), ("end", {})], MessageError, "ending a round"),
        ([("setup", {"n_rounds": 1}), *ROUND, ("begin", {"round_index": 1})], MessageError, "beyond the 1 rounds"),
        ([("setup", {}), *ROUND, ("finish", {"n_rounds": 3})], MessageError, "found 3 rounds in the model, wanted 1"),
        ([("setup", {}), ("begin", {}), ("finish", {"n_rounds": 1})], MessageError, "round 0 has not ended"),
        ([("setup", {}), ("level", {})], MessageError, "opening a level"),
        ([("setup", {}), ("begin", {"round_index": 5})], MessageError, "found round 5"),
        ([("setup", {}), ("begin", {"features": []})], MessageError, "with 0 trees"),
        ([("setup", {}), ("begin", {"features": [pack_bytes(b"12")]})], MessageError, "found 2 bytes"),
        ([("setup", {}), ("begin", {"features": [pack_bytes(b"\xff")]})], MessageError, "bits beyond the 2"),
        ([("setup", {}), ("begin", {"n_sampled": 7})], MessageError, "wanted the 7 announced"),
        ([("setup", {}), ("begin", {"pairs": 5})], MessageError, "found 80 bytes, wanted 1920"),
        ([("setup", {}), ("begin", {}), ("level", {"depth": 1})], MessageError, "depth 1, wanted round 0, depth 0"),
        ([("setup", {}), ("begin", {}), ("level", {"round_index": 1})], MessageError, "found round 1"),
        ([("setup", {}), ("begin", {}), ("level", {"tree": 1})], MessageError, "found tree 1"),
        ([("setup", {}), ("begin", {}), ("level", {"nodes": ids})], MessageError, "not open"),
        ([("setup", {}), ("begin", {}), ("level", {"build": pack_array(np.array([3]))})], MessageError, "positions"),
        (
            [("setup", {}), ("begin", {}), ("level", {"splits": [SplitGroup(zeros, ids, ids, pack_bytes(b"x" * 15))]})],
            MessageError,
            "do not fit the tree",
        ),
        (
            [("setup", {}), ("begin", {}), ("level", {"splits": [SplitGroup(zeros, ids, ids, pack_bytes(b"x"))]})],
            MessageError,
            "do not fit the tree",
        ),
        (
            [("setup", {}), ("begin", {}), ("level", {"splits": [SplitGroup(zeros, ids, ids, pack_bytes(b""))]})],
            MessageError,
            "not asked for",
        ),
        (
            [("setup", {}), ("begin", {}), ("level", {"splits": [ROOT_SPLIT], "nodes": CHILDREN})],
            MessageError,
            r"found nodes \[1, 2\], wanted the root alone",
        ),
        *(
            (
                [("setup", {}), ("begin", {}), ("level", {}), ("level", {"depth": 1, **more})],
                MessageError,
                "all children",
            )
            for more in ({}, {"splits": [ROOT_SPLIT], "nodes": ids})
        ),
        ([("setup", {}), ("begin", {}), ("choose", {})], MessageError, "choosing splits"),
        (
            [("setup", {}), ("begin", {}), ("level", {}), ("choose", {"tokens": pack_array(np.array([999]))})],
            MessageError,
            "token outside",
        ),
        (
            [("setup", {}), ("begin", {}), ("level", {}), ("choose", {"start": pack_array(np.array([0, 5]))})],
            MessageError,
            "not divided",
        ),
        ([("setup", {}), ("begin", {}), ("level", {}), ("choose", {"nodes": ids})], MessageError, "not open"),
        ([("setup", {}), ("begin", {}), ("level", {}), ("choose", {}), ("choose", {})], MessageError, "asked twice"),
    ],
)
def test_a_passive_party_refuses_what_does_not_fit(steps, kind, match) -> None:
    active = Scripted()
    for step, changes in steps:
        getattr(active, step)(**changes)
    failure = active.failure()
    assert isinstance(failure, kind)
    assert re.search(match, str(failure))


def test_the_active_party_vanishes() -> None:
    active = Scripted()
    active.setup()
    active.begin()
    active.own.close()
    active.thread.join()
    assert isinstance(active.thread.failure, PeerError)
    assert "bank has closed the channel" in str(active.thread.failure)
