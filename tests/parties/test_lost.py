"""A partner that falls silent shows in the other's output, and in its log, while the run still waits for it."""

import json
import re
import signal

import pytest

from processes import DEADLINE, SIZES, Served, start, wait_until
from vfxgb.party.config import load_config
from vfxgb.train.checkpoint import ActiveState, load_state
from vfxgb.transport.network import Limits

LONG = {**SIZES, "n_estimators": 100}
# The tests need not wait for long; what is told is the same.
SOON = {"heartbeat_seconds": 1.0, "lost_after_seconds": 0.4, "reconnect_seconds": 50.0}


@pytest.fixture
def parties(world, tmp_path):
    """A shop that serves and a bank that trains with it, both as processes, after the first round."""
    shop = Served(world.passive("shop", name="silent-shop", folder="silent-shop-folder", network=SOON))
    config = world.active(
        {"shop": shop.address}, name="silent-bank", folder="silent-bank-folder", train=LONG, network=SOON
    )
    bank = start("train", config, log=tmp_path / "out")
    folder = load_config(config, {}).folder

    def begun():
        states = [load_state(ActiveState, path) for path in folder.glob("runs/*/checkpoint.bin")]
        return any(state is not None and state.rounds > 0 for state in states)

    try:
        wait_until(begun)
        yield shop, bank, tmp_path / "out"
    finally:
        for process in (bank, shop.process):
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait(DEADLINE)


def test_the_active_party_says_that_the_passive_one_is_lost_and_what_follows(parties):
    shop, bank, out = parties
    shop.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: "is lost" in out.read_text())
    line = next(line for line in out.read_text().splitlines() if "is lost" in line)
    assert re.search(
        r"^shop is lost: nothing was heard for 0\.4 seconds; trying to reconnect for another 5\d s; then dialling it "
        r"anew for up to 20 s; ctrl-C and --resume [0-9a-f]{8} keep the \d+ rounds? of trees so far$",
        line,
    )
    shop.process.send_signal(signal.SIGCONT)
    wait_until(lambda: "shop is back; nothing was lost" in out.read_text())
    assert bank.wait(DEADLINE) == 0
    assert "trained 100 rounds" in out.read_text()


def test_the_passive_party_logs_that_the_active_one_is_lost(parties, world):
    shop, bank, _ = parties
    log = world.folder / "silent-shop-folder" / "log.jsonl"

    def events(name):
        found = [json.loads(line) for line in log.read_text().splitlines()]
        return [event for event in found if event["event"] == name]

    before = len(events("disconnected"))
    bank.send_signal(signal.SIGSTOP)
    wait_until(lambda: len(events("disconnected")) > before)
    event = events("disconnected")[-1]
    assert (event["peer"], event["level"], len(event["run"])) == ("bank", "warning", 32)
    assert "bank is lost: nothing was heard for 0.4 seconds; waiting for it another 5" in event["text"]
    assert "a run that was under way can be resumed" in event["text"]
    assert "bank is lost" in shop.log.read_text()


def test_by_default_it_shows_within_five_seconds():
    assert Limits().lost_after_seconds + Limits().wanted_beat <= 5.0
