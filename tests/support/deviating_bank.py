"""A bank that has been let in and then says what it likes: sessions with a shop that serves, message by message."""

import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from processes import DEADLINE, Served, World, at_rest
from vfxgb.align import Asker, make_ids
from vfxgb.model.file import load_share
from vfxgb.party.messages import PredictRequest, TrainRequest, Welcome
from vfxgb.party.session import Session, hello, prediction_talk, training_talk
from vfxgb.predict.messages import OpenPrediction, PredictionReady
from vfxgb.runtime.ledger import Ledger
from vfxgb.transport.network import Identity, Limits, NetworkLink, Peer, dial
from vfxgb.transport.rows import rows_digest


@dataclass
class DeviatingBank:
    """The bank of a world, and a shop with which it has trained a model in run `run`."""

    world: World
    served: Served
    run: str

    def link(self, **limits: Any) -> NetworkLink:
        """A session in which nothing has been said. It is closed, not lost: the shop need not wait for anybody."""
        folder = self.world.folder
        identity = Identity("bank", folder / "bank.pem", folder / "bank.key")
        peer = Peer("shop", folder / "shop.pem", self.served.address)
        return dial(identity, peer, Limits(close_seconds=DEADLINE, **limits))

    def session(self) -> Session:
        return Session.over("bank", self.link(), Ledger())

    def training(self) -> Session:
        """A session that has been welcomed for a run, and says nothing of how many ids there are."""
        session = self.session()
        request = TrainRequest("plain", {}, 1, 1, 1, ("bank", "shop"))
        session.channel.send(hello("train", os.urandom(16).hex(), "test", request))
        session.channel.recv(Welcome)
        session.speak(training_talk("plain"))
        return session

    def predicting(self, matching: str) -> Session:
        """A session that has been welcomed for predictions with the model."""
        session = self.session()
        session.channel.send(hello("predict", self.run, "test", predict=PredictRequest(0, matching)))
        session.channel.recv(Welcome)
        session.speak(prediction_talk())
        return session

    def looked_up(self, count: int) -> tuple[Session, int]:
        """A session about to be asked about so many rows, which the shop has; how many splits the shop has."""
        session = self.predicting("lookup")
        people = self.world.ids[np.flatnonzero(self.world.has["shop"])][:count]
        assert Asker("bank", {"shop": session.channel}, ()).ask(make_ids(list(people), "bank")).all()
        share = load_share(self.served.folder / "runs" / self.run / "share.json")
        digest = rows_digest((np.array([""]),))
        session.channel.send(OpenPrediction(self.run, share.seal.model, count, digest, False))
        session.channel.recv(PredictionReady)
        return session, len(share.records)

    def account(self) -> dict[str, Any]:
        """What the shop has shown the bank, when no session is open: what was charged too much has been given back."""
        at_rest(self.served.folder)
        found: dict[str, Any] = json.loads((self.served.folder / "accounts" / "bank.json").read_text().splitlines()[0])
        return found

    def logged(self, event: str, text: str = "") -> dict[str, Any]:
        """The last event of a name in the shop's log, which may be written after the answer has left."""
        return [one for one in at_rest(self.served.folder) if one["event"] == event and text in one["text"]][-1]
