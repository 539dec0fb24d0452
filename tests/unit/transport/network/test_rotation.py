"""A party changes its certificate: two pins at a time, and a listener that reads its files again."""

from pathlib import Path

import pytest

from network_runs import CALM, DEADLINE, Town, made_days_ago
from vfxgb.errors import CertificateError, ConfigError, PeerError
from vfxgb.transport.network import Identity, Listener, NetworkLink, Peer, dial
from vfxgb.transport.network.certificates import check_peer, issue


class Party:
    """A party with an old and a new certificate, and a third that nobody pins."""

    def __init__(self, town: Town, name: str, folder: Path) -> None:
        self.name = name
        self.old, self.new, self.stray = (
            issue(town.authority, name, (), 30, folder / part) for part in ("old", "new", "stray")
        )

    def pinned(self, *identities: Identity, address: str = "") -> Peer:
        return Peer(self.name, tuple(identity.certificate for identity in identities), address)


@pytest.fixture
def bank(town, tmp_path) -> Party:
    return Party(town, "bank", tmp_path)


@pytest.fixture
def shop(town, tmp_path) -> Party:
    return Party(town, "shop", tmp_path)


def listening(identity: Identity, peer: Peer) -> Listener:
    return Listener(identity, {peer.party: peer}, "127.0.0.1:0", CALM)


def talk(here: NetworkLink, there: NetworkLink) -> bool:
    here.put((b"head", b"question"))
    return bytes(there.get(DEADLINE)[1]) == b"question"


def test_both_pins_of_a_caller_are_let_in_and_no_other(bank, shop) -> None:
    with listening(shop.old, bank.pinned(bank.old, bank.new)) as here:
        target = shop.pinned(shop.old, address=here.address)
        for identity in (bank.old, bank.new):
            with dial(identity, target, CALM) as link:
                assert talk(link, here.accept(DEADLINE).link)
        with pytest.raises(PeerError, match="does not accept this side's certificate"):
            dial(bank.stray, target, CALM)


def test_either_certificate_of_the_listening_side_is_accepted_and_no_other(bank, shop) -> None:
    for identity in (shop.old, shop.new):
        with (
            listening(identity, bank.pinned(bank.old)) as here,
            dial(bank.old, shop.pinned(shop.old, shop.new, address=here.address), CALM) as link,
        ):
            assert talk(link, here.accept(DEADLINE).link)
    with listening(shop.stray, bank.pinned(bank.old)) as here:
        pins = [check_peer(shop.pinned(identity)).fingerprint[:16] for identity in (shop.old, shop.new)]
        with pytest.raises(PeerError, match=rf"wanted the one pinned for shop \({pins[0]}\.\.\. or {pins[1]}\.\.\.\)"):
            dial(bank.old, shop.pinned(shop.old, shop.new, address=here.address), CALM)


def test_new_connections_use_new_files_and_open_ones_go_on(bank, shop) -> None:
    with listening(shop.old, bank.pinned(bank.old)) as here:
        both = shop.pinned(shop.old, shop.new, address=here.address)
        with dial(bank.old, both, CALM) as link:
            there = here.accept(DEADLINE).link
            here.reload(shop.new, {"bank": bank.pinned(bank.new)})
            assert talk(link, there)
            assert talk(there, link)
            with pytest.raises(PeerError, match="does not accept this side's certificate"):
                dial(bank.old, both, CALM)
            with pytest.raises(PeerError, match="found the certificate with fingerprint"):
                dial(bank.new, shop.pinned(shop.old, address=here.address), CALM)
            with dial(bank.new, shop.pinned(shop.new, address=here.address), CALM) as second:
                assert talk(second, here.accept(DEADLINE).link)
            assert talk(link, there)


def test_wrong_files_at_a_reload_change_nothing(bank, shop, tmp_path) -> None:
    with listening(shop.old, bank.pinned(bank.old)) as here:
        target = shop.pinned(shop.old, address=here.address)
        broken = tmp_path / "broken.pem"
        broken.write_text("no certificate")
        for identity, peers in (
            (shop.new, {"bank": Peer("bank", broken)}),
            (shop.new, {"bank": Peer("bank", shop.new.certificate)}),
            (Identity("shop", shop.new.certificate, shop.old.key), {"bank": bank.pinned(bank.new)}),
            (Identity("shop", broken, shop.new.key), {"bank": bank.pinned(bank.new)}),
        ):
            with pytest.raises(CertificateError):
                here.reload(identity, peers)
        for identity, peers in ((shop.new, {}), (shop.new, {"mill": bank.pinned(bank.new)}), (bank.new, {})):
            with pytest.raises(ConfigError):
                here.reload(identity, peers)
        with dial(bank.old, target, CALM) as link:
            assert talk(link, here.accept(DEADLINE).link)
        with pytest.raises(PeerError):
            dial(bank.new, target, CALM)


def test_one_of_two_pins_may_have_expired_or_not_begun(town, bank, tmp_path, monkeypatch) -> None:
    with monkeypatch.context() as then:
        made_days_ago(40, then)
        expired = issue(town.authority, "bank", (), 30, tmp_path / "expired")
        made_days_ago(-40, then)
        early = issue(town.authority, "bank", (), 30, tmp_path / "early")
    assert check_peer(bank.pinned(expired, bank.new)) == check_peer(bank.pinned(bank.new))
    assert check_peer(bank.pinned(bank.old, early)) == check_peer(bank.pinned(bank.old))
    with pytest.raises(CertificateError, match="valid from"):
        check_peer(bank.pinned(expired, early))
    with pytest.raises(CertificateError, match="found the certificate of 'shop'"):
        check_peer(Peer("bank", (bank.old.certificate, town.identity("shop").certificate)))
    with pytest.raises(CertificateError, match="found 3 certificates, wanted one, or two while bank changes"):
        check_peer(bank.pinned(bank.old, bank.new, bank.stray))
