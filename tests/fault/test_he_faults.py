"""Failures and interrupts in the middle of encrypted training: no thread of a party or of a pool outlives them."""

import os
import signal
import subprocess
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interrupts import interruptible
from simulated_runs import fit_tables
from vfxgb.data.table import Table
from vfxgb.errors import PeerError
from vfxgb.params import TrainParams
from vfxgb.protocols.he.active import HeSource
from vfxgb.protocols.he.passive import HePassive
from vfxgb.protocols.he.rows import EncryptedRows
from vfxgb.train import simulate
from vfxgb.train.callbacks import TrainingCallback

N = 400
TASKS = Path("/proc/self/task")


class DisasterError(RuntimeError):
    """What no code expects."""


def train(rounds: int = 3, callbacks: Any = None, **params: Any) -> simulate.FitResult:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 6)).astype(np.float32)
    tables = {
        party: Table.read(X[:, 2 * i : 2 * i + 2], names=[f"f{2 * i}", f"f{2 * i + 1}"], party=party)
        for i, party in enumerate(("bank", "shop", "mart"))
    }
    settings = TrainParams(n_estimators=rounds, max_depth=3, max_bin=8, n_jobs=1)
    quick = {"key_bits": 256, "randomness": "short", "insecure": True, "chunk_rows": 100, **params}
    y = X[:, 0] + X[:, 2] * X[:, 4]
    return fit_tables(
        tables, "bank", y, None, N, settings, protocol="batch_he", protocol_params=quick, callbacks=callbacks
    )


def native_threads() -> int:
    """Threads of this process that Python knows nothing of: the pools', and the native core's, which stay."""
    return len(list(TASKS.iterdir())) - threading.active_count()


def settled_threads() -> tuple[int, int]:
    """Python's and native threads; one that has been joined is still listed for a moment."""
    seen = []
    for _ in range(20):
        seen.append((threading.active_count(), native_threads()))
        time.sleep(0.005)
    return min(seen)


@pytest.fixture
def nothing_left():
    """Fails if a thread of either kind is left."""
    if not TASKS.exists():
        pytest.skip("threads are counted in /proc")
    # The native core's own threads begin with the first parallel call and then stay.
    train(rounds=1, pool=False)
    before = settled_threads()
    yield
    # Fewer is fine: one of an earlier test may have ended meanwhile.
    assert all(now <= then for now, then in zip(settled_threads(), before, strict=True))


class Watch(TrainingCallback):
    """How many native threads there are in the last round; fails there if asked to."""

    def __init__(self, last: int, fail: bool = False) -> None:
        self.native = 0
        self._last, self._fail = last, fail

    def after_iteration(self, state: Any) -> bool:
        if state.iteration == self._last:
            self.native = native_threads()
            if self._fail:
                raise DisasterError("bank is on fire")
        return False


def test_pools_run_during_training_and_end_with_it(nothing_left) -> None:
    _, base = settled_threads()
    watch = Watch(last=2)
    train(rounds=4, callbacks=[watch])
    # One at the active party, and one at each of the two passive parties.
    assert watch.native == base + 3
    watch = Watch(last=2)
    train(rounds=4, callbacks=[watch], pool=False)
    assert watch.native == base


def test_the_active_party_fails_while_pools_run(nothing_left) -> None:
    with pytest.raises(DisasterError) as caught:
        train(rounds=4, callbacks=[Watch(last=2, fail=True)])
    # The traceback keeps the role alive: its pool has ended all the same.
    assert caught.value.__traceback__ is not None


@pytest.mark.parametrize(
    ("owner", "victim"),
    [
        (HePassive, "begin_tree"),
        (HePassive, "open_level"),
        (HePassive, "resolve"),
        (HePassive, "end_tree"),
        (EncryptedRows, "receive"),
        (EncryptedRows, "sums"),
    ],
)
@pytest.mark.parametrize("call", [1, 4])
def test_a_passive_party_fails(owner, victim, call, monkeypatch, nothing_left) -> None:
    calls = []
    original = getattr(owner, victim)

    def dying(self, *arguments):
        context = self.context if isinstance(self, EncryptedRows) else self._context
        if context.party == "shop":
            calls.append(1)
            if len(calls) == call:
                raise DisasterError("shop is on fire")
        return original(self, *arguments)

    monkeypatch.setattr(owner, victim, dying)
    with pytest.raises(DisasterError) as caught:
        train(rounds=6)
    assert isinstance(caught.value.__cause__, PeerError)


@pytest.mark.parametrize("victim", ["begin_tree", "open_level", "receive", "end_tree", "_fill_pool"])
@pytest.mark.parametrize("error", [DisasterError, KeyboardInterrupt])
def test_an_error_or_interrupt_at_the_active_party(victim, error, monkeypatch, nothing_left) -> None:
    calls = []
    original = getattr(HeSource, victim)

    def dying(self, *arguments):
        calls.append(1)
        if len(calls) == 2:
            raise error
        return original(self, *arguments)

    monkeypatch.setattr(HeSource, victim, dying)
    with pytest.raises(error):
        train(rounds=4)


SCRIPT = """
    import sys, threading
    import numpy as np
    from vfxgb.data.table import Table
    from vfxgb.params import TrainParams
    from vfxgb.train import simulate

    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 4)).astype(np.float32)
    tables = {p: Table.read(X[:, 2 * i : 2 * i + 2], names=[p + "0", p + "1"], party=p) for i, p in enumerate("ab")}
    params = TrainParams(n_estimators=50, max_depth=4, n_jobs=2)
    print("started", flush=True)
    try:
        given = simulate.SimulatedInput(tables, X[:, 0] * X[:, 2], None, len(X))
        quick = {"key_bits": 2048, "randomness": "short"}
        simulate.fit(given, simulate.plan_for(tables, "a", params, "batch_he", quick))
    except KeyboardInterrupt:
        names = [thread.name for thread in threading.enumerate()]
        print("interrupted", names, flush=True)
        sys.exit(7)
"""


def test_ctrl_c_ends_training() -> None:
    """A real interrupt, wherever it hits: the process ends with all its threads, within seconds."""
    with subprocess.Popen(
        interruptible("-c", textwrap.dedent(SCRIPT)), stdout=subprocess.PIPE, text=True, env=os.environ.copy()
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "started"
        time.sleep(4)
        process.send_signal(signal.SIGINT)
        try:
            output, _ = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert process.returncode == 7
    assert output.strip() == "interrupted ['MainThread']"
