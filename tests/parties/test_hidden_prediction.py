"""Hidden predictions between processes, over TLS: files, look-ups, the endpoint, consent, what is charged."""

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deviating_bank import DeviatingBank
from processes import DEADLINE, Served, World, at_rest, last_run, wait_until
from vfxgb.errors import ConsentError
from vfxgb.model.file import load_share
from vfxgb.model.pooled import PooledModel
from vfxgb.party.config import load_config
from vfxgb.party.endpoint import Endpoint
from vfxgb.party.logs import Log
from vfxgb.party.messages import PredictRequest, Welcome
from vfxgb.party.scoring import Scorer
from vfxgb.party.session import hello, prediction_talk
from vfxgb.party.train import Trainer
from vfxgb.predict.hidden_shape import HiddenShape
from vfxgb.routing.messages import RoutingGreeting, RoutingOffer, RoutingReply, TransferStock
from vfxgb.transport.messages import pack_bytes


@pytest.fixture(scope="module")
def shop(world: World) -> Iterator[list[Served]]:
    """A shop that agrees to hidden predictions only."""
    consent = {"prediction": "hidden"}
    held = [Served(world.passive("shop", name="hidden-shop", folder="hidden-shop-folder", consent=consent))]
    yield held
    held[0].kill()


@pytest.fixture(scope="module")
def config(world: World, shop: list[Served]) -> Path:
    """The bank's, with a model that was just trained, and predictions that are hidden."""
    changes: dict[str, Any] = {"folder": "hidden-bank-folder", "predict": {"hidden": True}}
    path = world.active({"shop": shop[0].address}, name="hidden-bank", **changes)
    Trainer(load_config(path, {}), Log(None)).run()
    return path


def open_bank(world: World, shop: list[Served]) -> Path:
    """The same bank without `hidden`."""
    return world.active({"shop": shop[0].address}, name="open-bank", folder="hidden-bank-folder")


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_files_with_two_passive_parties(world, addresses, vfxgb, tmp_path, task) -> None:
    """The same file of scores, by alignment and by look-ups; the other parties' ledgers name no row."""
    config = world.active(addresses, task, name=f"hidden-{task}", folder=f"hidden-{task}-folder")
    Trainer(load_config(config, {}), Log(None)).run()
    outputs = []
    for number, how in enumerate([(), ("--hidden",), ("--hidden", "--lookup"), ("--lookup",)]):
        outputs.append(tmp_path / f"{number}.csv")
        assert vfxgb("predict", config, world.folder / "bank.csv", outputs[-1], *how) == 0
    texts = [output.read_bytes() for output in outputs]
    assert len(set(texts)) == 1
    assert texts[0].count(b"\n") == int(world.has["bank"].sum()) + 1


def test_silent_transfers_by_configuration(world, addresses, vfxgb, tmp_path) -> None:
    changes = {"folder": "silent-folder", "predict": {"hidden": True, "transfers": "silent"}}
    config = world.active({"shop": addresses["shop"]}, name="silent", **changes)
    Trainer(load_config(config, {}), Log(None)).run()
    plain = world.active({"shop": addresses["shop"]}, name="not-silent", folder="silent-folder")
    for path, name in ((config, "hidden.csv"), (plain, "open.csv")):
        assert vfxgb("predict", path, world.folder / "bank.csv", tmp_path / name) == 0
    assert (tmp_path / "hidden.csv").read_bytes() == (tmp_path / "open.csv").read_bytes()


def test_a_party_that_demands_hidden_predictions(world, shop, config, vfxgb, tmp_path, capsys) -> None:
    output = tmp_path / "scores.csv"
    assert vfxgb("predict", open_bank(world, shop), world.folder / "bank.csv", output) != 0
    told = capsys.readouterr().err
    assert "shop does not agree to an open prediction" in told
    assert "predict with --hidden" in told
    assert not output.exists()
    assert vfxgb("predict", open_bank(world, shop), world.folder / "bank.csv", output, "--hidden") == 0
    refused = [one for one in at_rest(shop[0].folder) if one["event"] == "refused"]
    assert "wanted a hidden one (prediction)" in refused[-1]["text"]


def test_what_is_charged(world, shop, config, vfxgb, tmp_path) -> None:
    """One comparison for each row, tree and level with splits of the shop, as far as they were answered."""
    bank = DeviatingBank(world, shop[0], last_run(config).run)
    before = bank.account()
    assert vfxgb("predict", config, world.folder / "bank.csv", tmp_path / "scores.csv") == 0
    rows = int((world.has["bank"] & world.has["shop"]).sum())
    share = load_share(shop[0].folder / "runs" / bank.run / "share.json")
    shape = HiddenShape.of(share.paths, len(load_share(last_run(config).share_file).trees))
    assert shape.comparisons > 1
    after = bank.account()
    assert after["comparisons"] - before["comparisons"] == rows * shape.comparisons
    assert after["predicted_rows"] - before["predicted_rows"] == rows
    at_rest(shop[0].folder)
    told = json.loads((shop[0].folder / "runs" / bank.run / "predictions.json").read_text())
    messages = {entry["message"] for entry in told["entries"]}
    assert "hidden-routed" in messages
    assert messages.isdisjoint({"route", "routed"})


def test_the_endpoint_and_a_shop_that_comes_back(world, shop, config) -> None:
    """Scores over HTTP are those of the merged model, also with new transfers after the shop was stopped."""
    rows = np.flatnonzero(world.has["shop"])[:3]
    scorer = Scorer(load_config(config, {}), Log(None))
    endpoint = Endpoint(scorer, "127.0.0.1", 0, None, None, Log(None))
    stop = threading.Event()
    thread = threading.Thread(target=endpoint.run, args=(stop, lambda _: None))
    thread.start()

    def ask() -> Any:
        connection = http.client.HTTPConnection(endpoint.address, timeout=DEADLINE)
        asked = [
            {"id": world.ids[row], "features": {name: world.values[name][row] for name in scorer.features}}
            for row in rows
        ]
        connection.request("POST", "/score", json.dumps({"rows": asked}), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return json.loads(text).get("scores")

    run = last_run(config)
    shares = load_share(run.share_file), load_share(shop[0].folder / "runs" / run.run / "share.json")
    pooled = PooledModel(shares[0], {"shop": shares[1]})
    matrix = np.column_stack([world.values[name][rows] for name in pooled.feature_names]).astype(np.float32)
    wanted = 1 / (1 + np.exp(-pooled.margins(matrix)[:, 0]))
    try:
        first = ask()
        assert np.allclose(np.ravel(first), wanted, atol=1e-6)
        assert [ask() for _ in range(3)] == [first] * 3
        shop[0].stop()
        shop[0] = shop[0].again()
        wait_until(lambda: ask() == first)
    finally:
        stop.set()
        thread.join(DEADLINE)
        scorer.close()
    assert [one for one in at_rest(shop[0].folder) if one["event"] == "predicted"][-1]["comparisons"] > 0


def test_open_scores_are_refused_when_the_endpoint_begins(world, shop, config) -> None:
    scorer = Scorer(load_config(open_bank(world, shop), {}), Log(None))
    with pytest.raises(ConsentError, match="does not agree to an open prediction"):
        scorer.connect()
    scorer.close()


@pytest.mark.parametrize(
    ("send", "text"),
    [
        (lambda: RoutingOffer("soft", 9, pack_bytes(b"")), "with 9 bits, wanted soft or silent ones with 1 to 8"),
        (lambda: RoutingOffer("loud", 6, pack_bytes(b"")), "found transfers of kind 'loud'"),
        (lambda: RoutingOffer("soft", 6, pack_bytes(bytes(100))), "base transfers of hidden routing with bank"),
        (lambda: TransferStock(0, 128, pack_bytes(b"")), "found message 'transfer-stock', wanted 'routing-offer'"),
        (lambda: RoutingReply(pack_bytes(b"")), "found message 'routing-reply', wanted 'routing-offer'"),
    ],
)
def test_a_set_up_that_is_none(world, shop, config, send, text) -> None:
    """It is refused by name and logged, and the shop serves on."""
    bank = DeviatingBank(world, shop[0], last_run(config).run)
    session = bank.session()
    request = PredictRequest(0, "lookup", hidden=True)
    session.channel.send(hello("predict", bank.run, "test", predict=request))
    session.channel.recv(Welcome)
    session.speak(prediction_talk(hidden=True))
    session.channel.recv(RoutingGreeting)
    session.channel.send(send())
    assert text in bank.logged("failed", text)["text"]
    session.channel.close()
