"""A passive party that is stopped while a session is open: its log has the end of the session before its own."""

import queue
import threading
import time
from types import SimpleNamespace

from deviating_bank import DeviatingBank
from processes import DEADLINE, events
from vfxgb.party.config import load_config
from vfxgb.party.logs import Log
from vfxgb.party.serve import Server
from vfxgb.transport.channel import Channel


def test_the_last_line_of_a_session_comes_before_that_of_the_server(world, monkeypatch) -> None:
    config = load_config(world.passive("shop", name="stopping", folder="stopping-folder"), {})
    addresses: queue.SimpleQueue[str] = queue.SimpleQueue()
    stop = threading.Event()
    serving = threading.Thread(target=Server(config, Log.of(config), addresses.put).run, args=(stop,))
    close = Channel.close

    def slow(channel: Channel) -> None:
        if channel.own == "shop":
            time.sleep(0.5)
        close(channel)

    monkeypatch.setattr(Channel, "close", slow)
    serving.start()
    try:
        shop = SimpleNamespace(address=addresses.get(timeout=DEADLINE), folder=config.folder)
        session = DeviatingBank(world, shop, "").training()
    finally:
        stop.set()
        serving.join(DEADLINE)
    assert not serving.is_alive()
    names = [event["event"] for event in events(config.folder)]
    assert names.count("asked") == names.count("ended") == 1
    assert names[-1] == "stopped"
    session.link.close()
