"""SIGHUP makes `vfxgb serve` read its configuration and certificates again; what is wrong with them changes nothing."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from processes import Served, World, to_toml, wait_until
from vfxgb.errors import ConsentError, PeerError
from vfxgb.party.config import load_config, tomllib
from vfxgb.party.messages import TrainRequest, Welcome
from vfxgb.party.session import Network, Session, greet, hello
from vfxgb.runtime.ledger import Ledger
from vfxgb.transport.network import Identity, dial
from vfxgb.transport.network.certificates import Authority, issue

ASKED = TrainRequest("plain", {}, 3, 3, 1, ("bank", "shop"))


@pytest.fixture(scope="module")
def shop(world: World) -> Iterator[Served]:
    served = Served(world.passive("shop", name="reload-shop", folder="reload-folder"))
    yield served
    served.kill()


@pytest.fixture(scope="module")
def renewed(world: World) -> Identity:
    """The bank's next certificate."""
    return issue(Authority(world.folder / "authority.pem", world.folder / "authority.key"), "bank", (), 30, _new(world))


def _new(world: World) -> Path:
    return world.folder / "renewed"


def _session(world: World, shop: Served, identity: Identity | None = None) -> Session:
    network = Network.of(load_config(world.active({"shop": shop.address}, name="reload-bank"), {}))
    link = dial(identity or network.identity, network.peers["shop"], network.limits)
    return Session.over("bank", link, Ledger())


def _ask(session: Session) -> Welcome:
    """What the shop answers to a request that trains nothing."""
    try:
        return greet(session, hello("check", purpose="test", train=ASKED))
    finally:
        session.channel.close()


def _reload(shop: Served, event: str, text: str | None = None) -> str:
    """Write `text` to the configuration, send SIGHUP, and wait for a new line of the log with `event`."""
    if text is not None:
        shop.config.write_text(text)
    before = len(shop.log.read_text())
    shop.process.send_signal(signal.SIGHUP)

    def lines() -> list[str]:
        """Whole ones, each of a time, an event and more."""
        return shop.log.read_text()[before:].rpartition("\n")[0].splitlines()

    def told() -> list[str]:
        return [line for line in lines() if re.match(rf"\S+ {event} ", line)]

    wait_until(lambda: told() or shop.process.poll() is not None)
    (line,) = told()
    return line


def test_certificates_and_consent_are_read_again(world, shop, renewed) -> None:
    values = tomllib.loads(shop.config.read_text())
    values["peers"]["bank"]["certificate"] = ["bank.pem", "renewed/bank.pem"]
    early = _session(world, shop)
    with pytest.raises(PeerError, match="does not accept this side's certificate"):
        _session(world, shop, renewed)
    assert "peers=['bank']" in _reload(shop, "reloaded", to_toml(values))
    # The session that was open goes on, and both certificates are let in.
    for session in (early, _session(world, shop), _session(world, shop, renewed)):
        assert _ask(session).n_rows == world.has["shop"].sum()
    values["peers"]["bank"]["certificate"] = "renewed/bank.pem"
    values["consent"]["max_trees"] = 2
    _reload(shop, "reloaded", to_toml(values))
    with pytest.raises(PeerError, match="does not accept this side's certificate"):
        _session(world, shop)
    with pytest.raises(ConsentError, match="3 trees, wanted at most 2"):
        _ask(_session(world, shop, renewed))
    values["consent"]["max_trees"] = 400
    _reload(shop, "reloaded", to_toml(values))
    assert _ask(_session(world, shop, renewed)).n_features == 3


def test_what_is_wrong_changes_nothing(world, shop, renewed) -> None:
    values = tomllib.loads(shop.config.read_text())
    values["peers"]["bank"]["certificate"] = ["bank.pem", "renewed/bank.pem"]
    good = to_toml(values)
    _reload(shop, "reloaded", good)
    broken = world.folder / "broken.pem"
    broken.write_text("no certificate")
    for changes, said in (
        ({"peers": {"bank": {"certificate": "broken.pem"}}}, "no certificate in PEM form"),
        ({"tls": {"certificate": "shop.pem", "key": "bank.key"}}, "is not the key of"),
        ({"listen": "127.0.0.1:1", "max_sessions": 3}, "max_sessions cannot be changed while it serves"),
        ({"data": {"train": "nothing.csv"}}, "nothing.csv"),
        ({"consent": {"protocols": ["nothing"]}}, "nothing"),
        ({"consent": {"max_tree": 3}}, "did you mean 'max_trees'"),
    ):
        line = _reload(shop, "not reloaded", to_toml({**values, **changes}))
        assert said in line
        assert "the old configuration stays in use" in line
    assert "it is no TOML" in _reload(shop, "not reloaded", "party = ")
    assert _ask(_session(world, shop, renewed)).n_features == 3
    _reload(shop, "reloaded", good)
    assert _ask(_session(world, shop, renewed)).n_features == 3
    assert shop.process.poll() is None
