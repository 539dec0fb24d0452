"""A partner that falls silent shows in the other's output, and in its log, while the run still waits for it."""

import re
import signal

import pytest

from processes import DEADLINE, SIZES, Served, begun, events, once, start, wait_until
from proxy import Proxy
from vfxgb.transport.network import Limits

LONG = {**SIZES, "n_estimators": 100}
# The tests need not wait for long; what is told is the same.
SOON = {"heartbeat_seconds": 20.0, "lost_after_seconds": 0.4, "reconnect_seconds": 50.0}


@pytest.fixture
def parties(world, tmp_path):
    """parties("shop"): a shop that serves, a bank that trains with it, and where the bank's output goes.

    The one that is named is halted within the second round, before which the other one cannot be at its end.
    """
    shop = Served(world.passive("shop", name="silent-shop", folder=f"shop-{tmp_path.name}", network=SOON))
    processes = {"shop": shop.process}
    with Proxy(shop.address) as proxy:

        def begin(silent):
            config = world.active(
                {"shop": proxy.address}, name="silent-bank", folder=f"bank-{tmp_path.name}", train=LONG, network=SOON
            )
            halted = []

            def halt():
                processes[silent].send_signal(signal.SIGSTOP)
                halted.append(silent)

            processes["bank"] = start("train", config, log=tmp_path / "out")
            proxy.before = once(lambda: begun(config), halt)
            wait_until(lambda: halted)
            return shop, processes["bank"], tmp_path / "out"

        try:
            yield begin
        finally:
            for process in processes.values():
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait(DEADLINE)


def test_the_active_party_says_that_the_passive_one_is_lost_and_what_follows(parties):
    shop, bank, out = parties("shop")
    # A slow machine may have lost sight of the shop before, for a moment; what counts is said after the first round.
    lost = (
        r"^shop is lost: nothing was heard for 0\.4 seconds; trying to reconnect for another \d+ s; then dialling it "
        r"anew for up to 180 s; ctrl-C and --resume [0-9a-f]{8} keep the 1 round of trees so far$"
    )
    wait_until(lambda: re.search(lost, out.read_text(), re.MULTILINE))
    found = out.read_text()[: re.search(lost, out.read_text(), re.MULTILINE).end()]
    left = int(re.search(r"for another (\d+) s", found.splitlines()[-1])[1])
    # The time for reconnects, and what is left until the connection is given up.
    assert 50 <= left <= 50 + 3 * 20
    shop.process.send_signal(signal.SIGCONT)
    wait_until(lambda: "shop is back; nothing was lost" in out.read_text()[len(found) :])
    assert bank.wait(DEADLINE) == 0
    assert "trained 100 rounds" in out.read_text()


def test_the_passive_party_logs_that_the_active_one_is_lost(parties):
    shop, _, _ = parties("bank")

    def disconnected():
        return [event for event in events(shop.folder) if event["event"] == "disconnected" and event["run"]]

    wait_until(disconnected)
    event = disconnected()[-1]
    assert (event["peer"], event["level"], len(event["run"])) == ("bank", "warning", 32)
    assert re.match(
        r"bank is lost: nothing was heard for 0\.4 seconds; waiting for it another \d+ s; then the session ends, and a "
        r"run that was under way can be resumed$",
        event["text"],
    )
    wait_until(lambda: "bank is lost" in shop.log.read_text())


def test_by_default_it_shows_within_five_seconds():
    assert Limits().lost_after_seconds + Limits().wanted_beat <= 5.0
