"""Parties that are interrupted, killed and started again: the model is the one of an undisturbed run."""

import errno
import signal
import threading

import pytest

from processes import DEADLINE, SIZES, Served, begun, events, exported, joined, last_run, once, start, wait_until
from proxy import Proxy
from vfxgb.errors import ConfigError
from vfxgb.party.config import load_config
from vfxgb.party.logs import Log
from vfxgb.party.train import Trainer
from vfxgb.protocols import protocol_by_name
from vfxgb.runtime.secrets import make_key_file
from vfxgb.train.callbacks import TrainingCallback
from vfxgb.train.checkpoint import ActiveState, load_state, save_state

LONG = {**SIZES, "n_estimators": 30}


@pytest.fixture(scope="module")
def undisturbed(world, tmp_path_factory):
    return exported(world.reference(("bank", "shop"), "binary", LONG), tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture
def shop(world):
    """A shop of its own, which may be killed."""
    one = [Served(world.passive("shop", name="fragile-shop", folder="fragile-folder"))]
    yield one
    one[0].kill()


def _config(world, address, name, protocol="ot_shares"):
    params = dict(protocol_by_name(protocol).quick_params)
    return world.active(
        {"shop": address},
        name=name,
        folder=f"{name}-folder",
        train=LONG,
        protocol={"name": protocol, "params": params},
    )


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_active_party_that_ends_early_is_resumed(world, served, vfxgb, tmp_path, undisturbed, how):
    with Proxy(served["shop"].address) as proxy:
        config = _config(world, proxy.address, f"bank-{how.name}")
        process = start("train", config, "--live", log=tmp_path / "out")
        try:
            # The signal is there before the first byte of the second round is.
            proxy.before = once(lambda: begun(config), lambda: process.send_signal(how))
            code = process.wait(DEADLINE)
        finally:
            process.kill()
        said = (tmp_path / "out").read_text()
        run = last_run(config)
        assert code == (130 if how == signal.SIGINT else -how), said
        if how == signal.SIGINT:
            assert f"--resume {run.run[:8]}" in said
            assert "Traceback" not in said
            assert run.read().state == "stopped"
        kept = load_state(ActiveState, run.checkpoint_file)
        assert kept is not None
        assert 0 < kept.rounds < LONG["n_estimators"]
        before = len(events(served["shop"].folder))
        assert vfxgb("train", config, "--quiet", "--resume", run.run[:8]) == 0
    if how == signal.SIGKILL:
        # The shop still waited for the bank that was killed, and does so no longer.
        wait_until(
            lambda: any(
                event["event"] == "lost" and "bank has begun another session of this run" in event["text"]
                for event in events(served["shop"].folder)[before:]
            )
        )
    assert run.read().sessions == 2
    for what, totals in run.read().pace.items():
        assert len(totals) == LONG["n_estimators"]
        assert totals[: len(kept.pace[what])] == kept.pace[what]
        assert totals == sorted(totals)
    assert exported(joined(world, run.run, ("bank", "shop")), tmp_path) == undisturbed


class Killer(TrainingCallback):
    """Ends a party after a round, which waits for that; starts it again while the run goes on."""

    def __init__(self, holder, after, stop):
        self.holder, self.after, self.stop = holder, after, stop
        self.codes = []
        self.starting = threading.Thread(target=self._start)

    def after_iteration(self, state):
        if state.iteration == self.after and not self.codes:
            one = self.holder[0]
            if self.stop:
                one.stop()
            else:
                one.kill()
            self.codes.append(one.process.returncode)
            self.starting.start()
        return False

    def _start(self):
        self.holder[0] = self.holder[0].again()


@pytest.mark.parametrize("stop", [False, True])
def test_a_passive_party_that_is_gone_is_waited_for(world, shop, tmp_path, undisturbed, stop):
    config = _config(world, shop[0].address, f"patient-{stop}")
    trainer = Trainer(load_config(config, {}), Log(None))
    killer = Killer(shop, 3, stop)
    trainer.callbacks = [killer]
    record = trainer.run()
    killer.starting.join(DEADLINE)
    assert killer.codes == [0 if stop else -signal.SIGKILL]
    assert record.sessions == 2
    assert exported(joined(world, record.run, ("bank", "shop")), tmp_path) == undisturbed


def test_without_patience_a_lost_party_ends_the_run(world, shop, tmp_path):
    with Proxy(shop[0].address) as proxy:
        config = _config(world, proxy.address, "hasty")
        config.write_text(config.read_text().replace(f"resume_seconds = {DEADLINE}", "resume_seconds = 0.0"))
        process = start("train", config, log=tmp_path / "out")
        try:
            proxy.before = once(lambda: begun(config), shop[0].kill)
            code = process.wait(DEADLINE)
        finally:
            process.kill()
    said = (tmp_path / "out").read_text()
    assert code == 3, said
    assert "shop" in said
    assert "resume with" in said
    assert "Traceback" not in said


def test_a_full_disk_ends_the_run_and_leaves_the_checkpoint_whole(
    world, served, vfxgb, tmp_path, undisturbed, monkeypatch, capsys
):
    """Keys of the encryption survive, sealed by a key file; nothing of them is in clear."""
    make_key_file(world.folder / "resume.key")
    config = _config(world, served["shop"].address, "full", "batch_he")
    config.write_text(config.read_text().replace("resume_seconds", 'key_file = "resume.key", resume_seconds'))
    left = [3]

    def save(state, path):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        save_state(state, path)

    monkeypatch.setattr("vfxgb.party.train.save_state", save)
    assert vfxgb("train", config, "--quiet") == 5
    assert "No space left" in capsys.readouterr().err
    run = last_run(config)
    assert run.read().state == "stopped"
    assert list(run.path.glob("*.sealed"))
    monkeypatch.undo()
    assert vfxgb("train", config, "--quiet", "--resume") == 0
    assert not list(run.path.glob("*.sealed"))
    assert exported(joined(world, run.run, ("bank", "shop")), tmp_path) == undisturbed


def test_a_run_with_other_data_or_settings_is_not_resumed(world, served, vfxgb, tmp_path, monkeypatch, capsys):
    config = _config(world, served["shop"].address, "changed")

    def save(state, path):
        save_state(state, path)
        if state.rounds == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("vfxgb.party.train.save_state", save)
    assert vfxgb("train", config, "--quiet") == 130
    monkeypatch.undo()
    run = last_run(config).run
    text = config.read_text()
    for before, after, said in (
        ("max_depth = 3", "max_depth = 2", "max_depth was 3 when the run began and is 2 now"),
        ("n_estimators = 30", "n_estimators = 40", "n_estimators was 30 when the run began and is 40 now"),
        (
            '"a0", "a1", "a2"',
            '"a0", "a1"',
            'features was ["a0", "a1", "a2"] when the run began and is ["a0", "a1"] now',
        ),
        ('label = "binary"', 'label = "multiclass"', 'label was "binary" when the run began and is "multiclass" now'),
    ):
        assert before in text
        config.write_text(text.replace(before, after))
        capsys.readouterr()
        assert vfxgb("train", config, "--quiet", "--resume", run) == 2
        told = capsys.readouterr().err
        assert said in told
        assert "as it was, or start a new run" in told
    (world.folder / "changed.csv").write_bytes((world.folder / "bank.csv").read_bytes() + b"\n")
    config.write_text(text.replace("bank.csv", "changed.csv"))
    assert vfxgb("train", config, "--quiet", "--resume", run) == 2
    assert "has changed since the run began" in capsys.readouterr().err
    config.write_text(text)
    assert vfxgb("train", config, "--quiet", "--resume", run) == 0
    assert vfxgb("train", config, "--quiet", "--resume", run) == 2
    assert "it has finished" in capsys.readouterr().err


def test_runs_side_by_side_and_no_run_twice(world, served, tmp_path, undisturbed):
    """Two banks' runs at one shop at a time; but one run, or one party's folder, has one process."""
    trainers = []
    for name in ("left", "right"):
        config = _config(world, served["shop"].address, name)
        trainers.append(Trainer(load_config(config, {}), Log(None)))
    twice = []

    class Again(TrainingCallback):
        def after_iteration(self, state):
            if state.iteration == 2:
                again = Trainer(trainers[0].config, Log(None), trainers[0].run_id)
                with pytest.raises(ConfigError, match="in another process") as found:
                    again.run()
                twice.append(str(found.value))
            return False

    trainers[0].callbacks = [Again()]
    threads = [threading.Thread(target=trainer.run) for trainer in trainers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    assert not any(thread.is_alive() for thread in threads)
    assert twice
    for trainer in trainers:
        assert exported(joined(world, trainer.run_id, ("bank", "shop")), tmp_path) == undisturbed
    second = start("serve", served["shop"].config, log=tmp_path / "out")
    assert second.wait(DEADLINE) == 2
    assert "serves from" in (tmp_path / "out").read_text()
