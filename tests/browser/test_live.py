"""The live view in a real browser: it waits, follows the run, keeps what the viewer does, and knows when it is over."""

import math
import threading
from collections.abc import Callable, Iterator

import pytest

from processes import DEADLINE, SIZES
from user_files import Users
from vfxgb.party import run_snapshot
from vfxgb.party.config import load_config
from vfxgb.party.logs import Log
from vfxgb.party.train import Trainer
from vfxgb.party.users_server import UsersServer
from vfxgb.report import live
from vfxgb.report.live import LiveView
from vfxgb.train.callbacks import TrainingCallback, TrainingState

ROUNDS = 6
BADGE = "document.getElementById('badge').textContent"
IS_LIVE = f"document.getElementById('badge') && {BADGE} === 'live'"


class Gate(TrainingCallback):
    """Lets a training do so many rounds, and waits for leave to do more."""

    def __init__(self) -> None:
        self._allowed = threading.Semaphore(0)

    def let(self, rounds: int) -> None:
        for _ in range(rounds):
            self._allowed.release()

    def before_iteration(self, state: TrainingState) -> bool:
        return not self._allowed.acquire(timeout=DEADLINE)


@pytest.fixture(autouse=True)
def _quick(monkeypatch) -> None:
    """Every round is written down and read, however short it was."""
    monkeypatch.setattr(run_snapshot, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(run_snapshot, "LOOK_SHARE", math.inf)
    monkeypatch.setattr(live, "READ_SECONDS", 0.1)
    monkeypatch.setattr(live, "READ_SHARE", math.inf)


@pytest.fixture
def gate() -> Iterator[Gate]:
    one = Gate()
    yield one
    one.let(ROUNDS)


def _rounds(page, number: int) -> None:
    """Wait until the chooser offers a tree per round."""
    page.until(f"document.querySelectorAll('#tree-choice option').length === {number}")


def test_a_run_is_followed_to_its_end(world, shop, page, gate, pictures):
    config = world.active({"shop": shop.address}, train={**SIZES, "n_estimators": ROUNDS})
    trainer = Trainer(load_config(config, {}), Log(None))
    trainer.callbacks = [gate]
    page.screen(1280, dark=False)
    with LiveView() as view:
        page.open(view.url)
        assert "Waiting" in page.find("document.body.textContent")
        view.watch(trainer.folder)
        thread = threading.Thread(target=trainer.run)
        thread.start()
        try:
            # The page that waits loads itself again.
            page.until(IS_LIVE)
            gate.let(3)
            _rounds(page, 3)
            page.click("#tree-after")
            page.find("document.getElementById('tree-as-table').open = true")
            page.find("document.getElementById('tree-choice').focus()")
            page.find("window.scrollTo({top: 600, behavior: 'instant'})")
            page.find("window.mark = 'not loaded again'")
            gate.let(2)
            _rounds(page, 5)
            # What the viewer did is as it was.
            assert page.find("window.mark") == "not loaded again"
            assert page.find("document.getElementById('tree-choice').value") == "1"
            assert page.find("document.getElementById('tree-as-table').open")
            assert page.find("document.activeElement.id") == "tree-choice"
            assert page.find("window.scrollY") == pytest.approx(600, abs=2)
            assert page.find("document.querySelector('#head [data-state]').dataset.state") == "running"
            page.find("window.scrollTo({top: 0, behavior: 'instant'})")
            page.picture(pictures / "live-wide-light.png")
            gate.let(1)
        finally:
            thread.join(DEADLINE)
    _rounds(page, ROUNDS)
    page.until(BADGE + " === 'finished'")
    assert page.find("document.querySelector('#head [data-state]').dataset.state") == "finished"
    # It asked this server for itself and its events, and for nothing else.
    assert {one.replace(view.url, "") for one in page.requests} == {"", "events"}


def test_a_run_that_is_stopped_says_so(world, shop, page, gate):
    class Stop(TrainingCallback):
        def after_iteration(self, state: TrainingState) -> bool:
            raise KeyboardInterrupt

    config = world.active({"shop": shop.address}, train={**SIZES, "n_estimators": ROUNDS})
    trainer = Trainer(load_config(config, {}), Log(None))
    trainer.callbacks = [gate, Stop()]
    with LiveView() as view:
        view.watch(trainer.folder)
        thread = threading.Thread(target=_expect, args=(KeyboardInterrupt, trainer.run))
        thread.start()
        try:
            page.open(view.url)
            page.until(IS_LIVE)
        finally:
            gate.let(1)
            thread.join(DEADLINE)
    page.until(BADGE + " === 'stopped'")


def _expect(error: type[BaseException], work: Callable[[], object]) -> None:
    with pytest.raises(error):
        work()


def test_users_are_followed_too(page, gate, tmp_path_factory):
    users = Users(tmp_path_factory.mktemp("users"))
    server = UsersServer(load_config(users.server(n_estimators=ROUNDS), {}), Log(None))
    server.callbacks = [gate]
    with LiveView() as view:
        server.begun = view.watch
        thread = threading.Thread(target=users.run, args=(server,))
        thread.start()
        try:
            page.open(view.url)
            page.until(IS_LIVE)
            gate.let(2)
            _rounds(page, 2)
            gate.let(ROUNDS - 2)
        finally:
            gate.let(ROUNDS)
            thread.join(DEADLINE)
    page.until(BADGE + " === 'finished'")
    _rounds(page, ROUNDS)
