"""The users of a consortium as files."""

import json
from pathlib import Path

import pytest

from vfxgb.crypto.key_agreement import sign, verify
from vfxgb.errors import CertificateError, ConfigError, FormatError, VfxgbError
from vfxgb.horizontal.directory import read_identity, read_users, user_names, write_users
from vfxgb.secagg import aggregator_by_name


@pytest.fixture
def path(tmp_path) -> Path:
    return write_users(tmp_path, user_names(3), "masks")


def test_what_is_written_is_read(path) -> None:
    directory = read_users(path)
    assert directory.parties == ("user-0", "user-1", "user-2")
    assert [directory.number(party) for party in directory.parties] == [0, 1, 2]
    assert directory.certificates[1] == path.parent / "user-1.pem"
    for number, party in enumerate(directory.parties):
        file = path.parent / f"{party}.identity"
        assert file.stat().st_mode & 0o777 == 0o600
        private = read_identity(file, directory, party)
        assert verify(directory.keys()[number], b"text", sign(private, b"text"))
        assert private.hex() not in path.read_text()


def test_the_digest_is_of_users_not_of_places(path, tmp_path_factory) -> None:
    directory = read_users(path)
    elsewhere = tmp_path_factory.mktemp("other") / "u.json"
    elsewhere.write_bytes(path.read_bytes())
    assert read_users(elsewhere).digest() == directory.digest()
    document = json.loads(path.read_text())
    document["users"].reverse()
    elsewhere.write_text(json.dumps(document))
    assert read_users(elsewhere).digest() != directory.digest()


def test_an_aggregator_with_a_public_group(tmp_path) -> None:
    quick = aggregator_by_name("bcp").quick_params
    directory = read_users(write_users(tmp_path, user_names(2), "bcp", quick))
    assert directory.aggregator == "bcp"
    assert directory.public


@pytest.mark.parametrize("aggregator", ["ibmhom", "fpe"])
def test_key_centres_that_hand_out_secrets(tmp_path, aggregator: str) -> None:
    quick = dict(aggregator_by_name(aggregator).quick_params)
    with pytest.raises(ConfigError, match=f"'{aggregator}' needs a key centre that everybody trusts"):
        write_users(tmp_path, user_names(2), aggregator, quick)
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(path) -> None:
    before = path.read_bytes()
    with pytest.raises(CertificateError, match="is there"):
        write_users(path.parent, user_names(3), "masks")
    path.unlink()
    with pytest.raises(CertificateError, match=r"user-0\.identity' is there"):
        write_users(path.parent, user_names(3), "masks")
    assert before


def test_names(tmp_path) -> None:
    with pytest.raises(ConfigError, match="each once"):
        write_users(tmp_path, ["a", "a"], "masks")
    with pytest.raises(ConfigError, match="found 1 names"):
        write_users(tmp_path, ["a"], "masks")
    with pytest.raises(VfxgbError, match="nothing"):
        write_users(tmp_path, ["a", "b"], "nothing")


def test_keys_that_do_not_fit(path) -> None:
    directory = read_users(path)
    folder = path.parent
    with pytest.raises(CertificateError, match="not the key that the directory"):
        read_identity(folder / "user-0.identity", directory, "user-1")
    with pytest.raises(ConfigError, match="none of the 3"):
        read_identity(folder / "user-0.identity", directory, "user-9")
    with pytest.raises(CertificateError, match="No such file"):
        read_identity(folder / "nothing", directory, "user-0")
    (folder / "user-0.identity").chmod(0o640)
    with pytest.raises(CertificateError, match="others can read it"):
        read_identity(folder / "user-0.identity", directory, "user-0")
    (folder / "user-1.identity").write_text("no key")
    with pytest.raises(CertificateError, match="no PEM key"):
        read_identity(folder / "user-1.identity", directory, "user-1")


def _users(document: dict) -> list[dict]:
    return document["users"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format="other"), "found 'other' version 1"),
        (lambda d: d.update(version=2), "version 2"),
        (lambda d: d.update(more=1), "unknown field"),
        (lambda d: d.update(public="%"), "it is none"),
        (lambda d: _users(d)[0].update(identity="zz"), "it is none"),
        (lambda d: _users(d)[0].update(identity="00"), "keys of 32 bytes"),
        (lambda d: _users(d)[0].update(party="user-1"), "twice"),
        (lambda d: _users(d)[0].update(identity=_users(d)[1]["identity"]), "twice"),
        (lambda d: d.update(users=[]), "found 0 users"),
    ],
)
def test_damaged_directories(path, change, message: str) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(FormatError, match=message):
        read_users(path)


def test_no_directory(tmp_path) -> None:
    with pytest.raises(ConfigError, match="certs --users"):
        read_users(tmp_path / "users.json")
