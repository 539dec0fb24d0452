"""Certificates: what is issued, what is refused, and how it is said."""

import stat
from datetime import timedelta
from pathlib import Path

import pytest

from network_runs import made_days_ago
from vfxgb.errors import CertificateError
from vfxgb.transport.network import Identity, Peer, certificates
from vfxgb.transport.network.certificates import check_identity, check_peer, describe, issue, make_authority


@pytest.fixture
def bank(town, tmp_path) -> Identity:
    return issue(town.authority, "bank", ("bank.example", "10.0.0.7"), 30, tmp_path)


def test_what_a_certificate_says(bank, town) -> None:
    said = describe(bank.certificate)
    assert (said.party, said.issuer, said.authority) == ("bank", "vfxgb authority", False)
    assert said.hosts == ("bank", "bank.example", "10.0.0.7")
    assert said.ends - said.begins == timedelta(days=30, minutes=10)
    assert said.fingerprint == certificates.fingerprint(bank.certificate.read_bytes())
    assert describe(town.authority.certificate).authority
    assert check_identity(bank) == check_peer(Peer("bank", bank.certificate)) == said


def test_keys_are_for_their_owner_alone(bank, town) -> None:
    for path in (bank.key, town.authority.key):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    bank.key.chmod(0o640)
    with pytest.raises(CertificateError, match=r"found mode 0640, wanted 0600.*chmod 600"):
        check_identity(bank)


def test_nothing_is_overwritten(bank, town, tmp_path) -> None:
    before = bank.key.read_bytes()
    with pytest.raises(CertificateError, match="is there already"):
        issue(town.authority, "bank", (), 30, tmp_path)
    assert bank.key.read_bytes() == before
    with pytest.raises(CertificateError, match="is there already"):
        make_authority(town.folder)
    bank.key.unlink()
    with pytest.raises(CertificateError, match="is there already"):
        issue(town.authority, "bank", (), 30, tmp_path)
    assert not bank.key.exists()


@pytest.mark.parametrize("name", ["", "two words", "a/b", "../up", "-x", "x" * 70, "bänk"])
def test_names_that_are_none(town, tmp_path, name) -> None:
    with pytest.raises(CertificateError, match="found party name"):
        issue(town.authority, name, (), 30, tmp_path)


def test_other_bad_requests(town, tmp_path) -> None:
    with pytest.raises(CertificateError, match="found 0 days"):
        issue(town.authority, "bank", (), 0, tmp_path)
    with pytest.raises(CertificateError, match="no host name"):
        issue(town.authority, "bank", ("bücher.example",), 30, tmp_path)
    mixed = certificates.Authority(town.authority.certificate, town.identity("shop").key)
    with pytest.raises(CertificateError, match="is not the key of"):
        issue(mixed, "bank", (), 30, tmp_path)
    with pytest.raises(CertificateError, match="cannot write"):
        issue(town.authority, "bank", (), 30, town.authority.certificate / "below")
    assert list(tmp_path.iterdir()) == []


def test_files_that_do_not_fit(bank, town, tmp_path) -> None:
    shop = town.identity("shop")
    with pytest.raises(CertificateError, match=r"found the certificate of 'bank', wanted 'shop'"):
        check_peer(Peer("shop", bank.certificate))
    with pytest.raises(CertificateError, match="is not the key of"):
        check_identity(Identity("bank", bank.certificate, shop.key))
    with pytest.raises(CertificateError, match="an authority's certificate"):
        check_peer(Peer("shop", town.authority.certificate))
    with pytest.raises(CertificateError, match="No such file"):
        check_peer(Peer("bank", tmp_path / "absent.pem"))
    with pytest.raises(CertificateError, match="No such file"):
        check_identity(Identity("bank", bank.certificate, tmp_path / "absent.key"))
    for text in (b"", b"hello", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"):
        (tmp_path / "broken.pem").write_bytes(text)
        with pytest.raises(CertificateError, match="no certificate in PEM form"):
            describe(tmp_path / "broken.pem")
    (tmp_path / "large.pem").write_bytes(bytes(70000))
    with pytest.raises(CertificateError, match="found more than"):
        describe(tmp_path / "large.pem")
    swapped = Identity("bank", bank.certificate, Path(tmp_path / "no.key"))
    swapped.key.touch(0o600)
    with pytest.raises(CertificateError, match="no unencrypted private key"):
        check_identity(swapped)


def test_dates(town, tmp_path, monkeypatch) -> None:
    with monkeypatch.context() as then:
        made_days_ago(40, then)
        old = issue(town.authority, "bank", (), 30, tmp_path / "old")
        made_days_ago(-40, then)
        new = issue(town.authority, "bank", (), 30, tmp_path / "new")
    with pytest.raises(CertificateError, match=r"certificate of bank expired on \d{4}-"):
        check_identity(old)
    with pytest.raises(CertificateError, match="set the clock"):
        check_identity(new)
    assert check_peer(Peer("bank", old.certificate), dates=False).party == "bank"


def test_secrets_are_not_printed(bank) -> None:
    assert "PRIVATE" not in repr(certificates.credentials(bank))
