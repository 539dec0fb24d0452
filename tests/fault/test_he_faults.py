"""Failures and interrupts in the middle of encrypted training: no thread of a party or of a pool outlives them."""

import os
import signal
import subprocess
import textwrap
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interrupts import interruptible
from processes import DEADLINE, wait_until
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


# A thread of this process: its number in the system and when it began, for numbers come again.
Task = tuple[int, int]


def tasks() -> set[Task]:
    """The threads that Python code or the native core has begun; gRPC and others give theirs names of their own."""
    own = (TASKS.parent / "comm").read_text().rstrip("\n")
    found = set()
    for task in TASKS.iterdir():
        with suppress(OSError):  # it has ended meanwhile
            name, _, fields = (task / "stat").read_text().partition("(")[2].rpartition(")")
            if name == own:
                found.add((int(task.name), int(fields.split()[19])))
    return found


class Threads:
    """Which threads have begun since the construction and have not ended."""

    def __init__(self) -> None:
        self._tasks, self._python = tasks(), set(threading.enumerate())

    def python(self) -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread not in self._python]

    def native(self) -> set[Task]:
        """Those that Python knows nothing of: the pools'."""
        known = {thread.native_id for thread in threading.enumerate()}
        return {task for task in tasks() - self._tasks if task[0] not in known}


@pytest.fixture
def begun():
    """The threads that begin from now on; fails if one of them is left."""
    if not TASKS.exists():
        pytest.skip("threads are listed in /proc")
    # The native core's own threads begin with the first parallel call and then stay.
    train(rounds=1, pool=False)
    begun = Threads()
    yield begun
    assert begun.python() == []
    # One that has been joined is still listed for a moment.
    wait_until(lambda: begun.native() == set())


class Watch(TrainingCallback):
    """How many native threads a training has in its last round; fails there if asked to."""

    def __init__(self, begun: Threads, last: int, fail: bool = False) -> None:
        self.native = -1
        self._begun, self._last, self._fail = begun, last, fail

    def after_iteration(self, state: Any) -> bool:
        if state.iteration == self._last:
            self.native = len(self._begun.native())
            if self._fail:
                raise DisasterError("bank is on fire")
        return False


def test_pools_run_during_training_and_end_with_it(begun) -> None:
    watch = Watch(begun, last=2)
    train(rounds=4, callbacks=[watch])
    # One at the active party, and one at each of the two passive parties.
    assert watch.native == 3
    wait_until(lambda: begun.native() == set())
    watch = Watch(begun, last=2)
    train(rounds=4, callbacks=[watch], pool=False)
    assert watch.native == 0


def test_the_active_party_fails_while_pools_run(begun) -> None:
    with pytest.raises(DisasterError) as caught:
        train(rounds=4, callbacks=[Watch(begun, last=2, fail=True)])
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
@pytest.mark.usefixtures("begun")
def test_a_passive_party_fails(owner, victim, call, monkeypatch) -> None:
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
@pytest.mark.usefixtures("begun")
def test_an_error_or_interrupt_at_the_active_party(victim, error, monkeypatch) -> None:
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
    try:
        print("started", flush=True)
        given = simulate.SimulatedInput(tables, X[:, 0] * X[:, 2], None, len(X))
        quick = {"key_bits": 2048, "randomness": "short"}
        simulate.fit(given, simulate.plan_for(tables, "a", params, "batch_he", quick))
    except KeyboardInterrupt:
        names = [thread.name for thread in threading.enumerate()]
        print("interrupted", names, flush=True)
        sys.exit(7)
"""


def test_ctrl_c_ends_training() -> None:
    """A real interrupt, wherever it hits in a run of several minutes: the process ends with all its threads."""
    with subprocess.Popen(
        interruptible("-c", textwrap.dedent(SCRIPT)), stdout=subprocess.PIPE, text=True, env=os.environ.copy()
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "started"
        time.sleep(4)
        process.send_signal(signal.SIGINT)
        try:
            output, _ = process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert process.returncode == 7
    assert output.strip() == "interrupted ['MainThread']"
