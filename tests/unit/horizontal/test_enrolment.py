"""Users who make their own keys: what stays with them, what they send, and the directory that is made of it."""

import json
import stat
from pathlib import Path

import pytest

from network_runs import made_days_ago
from vfxgb.cli import main
from vfxgb.crypto.key_agreement import sign, verify
from vfxgb.errors import CertificateError, ConfigError, FormatError
from vfxgb.horizontal.directory import read_identity, read_users
from vfxgb.horizontal.enrolment import assemble, make_user, read_public_part
from vfxgb.secagg import aggregator_by_name
from vfxgb.transport.network.certificates import check_identity, check_peer, describe
from vfxgb.transport.network.identity import Identity, Peer

NAMES = ("ann", "bob", "carl")


@pytest.fixture
def files(tmp_path) -> list[Path]:
    return [make_user(name, tmp_path / name, 30) for name in NAMES]


def test_a_user_makes_its_keys_and_the_public_part_holds_no_secret(files) -> None:
    folder = files[0].parent
    check_identity(Identity("ann", folder / "ann.pem", folder / "ann.key"))
    assert {path.name for path in folder.iterdir()} == {"ann.key", "ann.pem", "ann.identity", "ann.user"}
    for private in ("ann.key", "ann.identity"):
        assert stat.S_IMODE((folder / private).stat().st_mode) == 0o600
        assert "".join((folder / private).read_text().splitlines()[1:-1]) not in files[0].read_text()
    part = read_public_part(files[0])
    assert part.party == "ann"
    assert part.said == describe(folder / "ann.pem")
    with pytest.raises(CertificateError, match="is there"):
        make_user("ann", folder, 30)
    with pytest.raises(CertificateError, match="found party name"):
        make_user("../ann", folder, 30)


def test_the_directory_of_public_parts(files, tmp_path) -> None:
    path = assemble(files, tmp_path / "directory", "masks")
    directory = read_users(path)
    assert directory.parties == NAMES
    for name, certificate in zip(NAMES, directory.certificates, strict=True):
        assert check_peer(Peer(name, certificate)) == describe(tmp_path / name / f"{name}.pem")
        private = read_identity(tmp_path / name / f"{name}.identity", directory, name)
        assert verify(directory.identities[directory.number(name)], b"text", sign(private, b"text"))
    # Whoever has the same files gets the same directory.
    again = assemble(files[::-1], tmp_path / "again", "masks")
    assert read_users(again).digest() == directory.digest()
    with pytest.raises(CertificateError, match="is there"):
        assemble(files, path.parent, "masks")
    path.unlink()
    with pytest.raises(CertificateError, match=r"ann\.pem' is there"):
        assemble(files, path.parent, "masks")


def test_an_aggregator_with_a_public_group(files, tmp_path) -> None:
    path = assemble(files, tmp_path / "directory", "bcp", aggregator_by_name("bcp").quick_params)
    assert read_users(path).public


def test_sets_of_files_that_are_refused(files, tmp_path, monkeypatch) -> None:
    folder = tmp_path / "directory"
    with pytest.raises(ConfigError, match="found 1 names, wanted 2"):
        assemble(files[:1], folder, "masks")
    with pytest.raises(ConfigError, match="two files are of 'ann'"):
        assemble([*files, make_user("ann", tmp_path / "other", 30)], folder, "masks")
    with pytest.raises(ConfigError, match=r"No such file.*certs --user NAME"):
        assemble([*files, tmp_path / "nobody.user"], folder, "masks")
    with monkeypatch.context() as then:
        made_days_ago(40, then)
        expired = make_user("dora", tmp_path, 30)
    with pytest.raises(CertificateError, match="certificate of dora expired"):
        assemble([*files, expired], folder, "masks")
    assert read_public_part(expired, dates=False).party == "dora"
    assert not folder.exists()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"format": "other"}, FormatError, "found 'other' version 1"),
        ({"version": 2}, FormatError, "version 2"),
        ({"more": 1}, FormatError, "it is none"),
        ({"identity": "zz"}, FormatError, "it is none"),
        ({"identity": "00"}, FormatError, "signature does not fit"),
        ({"party": "bob"}, FormatError, "signature does not fit"),
        ({"certificate": "bob's"}, FormatError, "signature does not fit"),
        ({"signature": "%"}, FormatError, "it is none"),
        ({"signature": ""}, FormatError, "signature does not fit"),
        ({"signature": "x" * 70_000}, FormatError, "found more than"),
    ],
)
def test_public_parts_that_were_changed(files, change: dict, error: type[Exception], message: str) -> None:
    document = json.loads(files[0].read_text())
    if change.get("certificate") == "bob's":
        change = {"certificate": json.loads(files[1].read_text())["certificate"]}
    files[0].write_text(json.dumps({**document, **change}))
    with pytest.raises(error, match=message):
        read_public_part(files[0])


def test_another_name_than_the_certificates(files, tmp_path) -> None:
    """Somebody who takes another's certificate and signs it with a key of its own."""
    from vfxgb.horizontal import enrolment

    document = json.loads(files[1].read_text())
    thief = read_public_part(files[0])
    directory = read_users(assemble(files, tmp_path / "directory", "masks"))
    private = read_identity(files[0].parent / "ann.identity", directory, "ann")
    signed = enrolment._signed("ann", document["certificate"], thief.identity)
    changed = {"party": "ann", "identity": thief.identity.hex(), "certificate": document["certificate"]}
    signature = enrolment.base64.b64encode(sign(private, signed)).decode()
    files[0].write_text(json.dumps({**document, **changed, "signature": signature}))
    with pytest.raises(CertificateError, match=r"ann\.user.*found the certificate of 'bob', wanted 'ann'"):
        read_public_part(files[0])


def test_the_commands(tmp_path, capsys) -> None:
    for name in NAMES:
        assert main(["certs", "--user", name, "--out", str(tmp_path / name)]) == 0
    shown = capsys.readouterr().out
    part = read_public_part(tmp_path / "bob" / "bob.user")
    assert part.said.fingerprint in shown
    assert part.identity.hex() in shown
    files = [str(tmp_path / name / f"{name}.user") for name in NAMES]
    assert main(["users", "directory", *files, "-o", str(tmp_path / "directory")]) == 0
    digest = read_users(tmp_path / "directory" / "users.json").digest().hex()
    assert digest in capsys.readouterr().out
    assert main(["certs", "--show", str(tmp_path / "directory" / "users.json"), str(tmp_path / "bob" / "bob.pem")]) == 0
    shown = capsys.readouterr().out
    assert digest in shown
    assert f"SHA-256       {part.said.fingerprint}" in shown
    assert "days left" in shown
    assert main(["certs", "--show", str(tmp_path / "nothing.pem")]) == 2
    assert main(["certs", "bank", "--show", files[0]]) == 2
    assert main(["certs", "bank", "--user", "ann"]) == 2
    assert main(["users", "directory", files[0], files[0], "-o", str(tmp_path / "x")]) == 2


def test_a_run_with_keys_of_their_own(tmp_path) -> None:
    """Server and users in threads, with a directory that was assembled."""
    from user_files import USERS, Users
    from vfxgb.party.config import load_config
    from vfxgb.party.logs import Log
    from vfxgb.party.users_server import UsersServer

    users = Users(tmp_path)
    certs = tmp_path / "certs"
    for path in [*certs.glob("user-*"), certs / "users.json"]:
        path.unlink()
    files = [make_user(f"user-{number}", certs, 30) for number in range(USERS)]
    made = assemble(files, tmp_path / "assembled", "masks")
    made.rename(certs / "users.json")
    own, theirs = users.run(UsersServer(load_config(users.server(n_estimators=1), {}), Log(None)))
    assert [record.state for record in (own, *theirs)] == ["finished"] * (USERS + 1)
