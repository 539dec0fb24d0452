"""How many folders a peer can make at a passive party, and that nothing of a run that never began is kept."""

import os

import pytest

from processes import Served, at_rest
from vfxgb.party.config import load_config
from vfxgb.party.logs import Log
from vfxgb.party.messages import TrainRequest, Welcome
from vfxgb.party.session import Network, Session, hello
from vfxgb.party.train import Trainer
from vfxgb.runtime.ledger import Ledger
from vfxgb.train.callbacks import TrainingCallback
from vfxgb.transport.network import dial

REQUEST = TrainRequest("plain", {}, 3, 3, 1, ("bank", "shop"))


@pytest.fixture(scope="module")
def shop(world):
    """A shop that keeps two unfinished runs of a peer."""
    served = Served(world.passive("shop", name="strict-shop", folder="strict-folder", max_unfinished_runs=2))
    yield served
    assert served.stop() == 0


@pytest.fixture
def runs(world):
    return world.folder / "strict-folder" / "runs"


class Interrupt(TrainingCallback):
    def after_iteration(self, state):
        raise KeyboardInterrupt


def test_first_words_make_no_folder(world, shop, runs):
    config = load_config(world.active({"shop": shop.address}, name="flooding"), {})
    network = Network.of(config)
    asked = [os.urandom(16).hex() for _ in range(5)]
    for run in asked:
        session = Session.over("bank", dial(network.identity, network.peers["shop"], network.limits), Ledger())
        session.channel.send(hello("train", run, "test", REQUEST))
        session.channel.recv(Welcome)
        session.channel.close()
    # The end of every session is in the log: nothing comes after it.
    ended = [event["run"] for event in at_rest(shop.folder) if event["event"] == "ended"]
    assert set(asked) <= set(ended)
    assert not {path.name for path in runs.iterdir()} & set(asked)


def test_unfinished_runs_of_a_peer_are_limited(world, shop, runs, vfxgb, capsys):
    config = world.active({"shop": shop.address}, name="unlucky", folder="unlucky-folder")
    begun = []
    for _ in range(2):
        trainer = Trainer(load_config(config, {}), Log(None))
        trainer.callbacks = [Interrupt()]
        with pytest.raises(KeyboardInterrupt):
            trainer.run()
        begun.append(trainer.run_id)
    at_rest(shop.folder)
    assert sorted(path.name for path in runs.iterdir()) == sorted(begun)
    assert vfxgb("train", config, "--quiet") == 4
    told = capsys.readouterr().err
    assert "shop does not agree to another run of bank: 2 of its runs are unfinished here, wanted fewer than 2" in told
    assert "resume one, or have shop remove some (vfxgb clean)" in told
    assert len(list(runs.iterdir())) == 2
    # An old one may go on, and makes room when it is finished.
    assert vfxgb("train", config, "--quiet", "--resume", begun[0]) == 0
    assert vfxgb("train", config, "--quiet") == 0
    at_rest(shop.folder)
    assert vfxgb("clean", runs.parent, "--yes") == 0
    assert "removed 1 of 3 runs" in capsys.readouterr().out
    assert begun[1] not in {path.name for path in runs.iterdir()}


def test_a_run_that_meets_nobody_leaves_no_folder(world, vfxgb):
    config = world.active({"shop": "127.0.0.1:1"}, name="lonely", folder="lonely-folder")
    assert vfxgb("train", config, "--quiet") == 3
    assert list((world.folder / "lonely-folder" / "runs").iterdir()) == []
