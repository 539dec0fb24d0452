"""Secrets on disk: they open with what sealed them, for the run and under the name they were sealed for."""

import stat
from pathlib import Path

import pytest

from vfxgb.errors import CheckpointError
from vfxgb.runtime import secrets
from vfxgb.runtime.secrets import SecretBox, make_key_file

SECRET = b"a private key, not a real one"
RUN = "ab" * 16


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    make_key_file(tmp_path / "key")
    return tmp_path / "key"


def test_a_key_file_is_new_and_its_owners_alone(key_file: Path) -> None:
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    assert len(key_file.read_bytes()) == 32
    with pytest.raises(FileExistsError):
        make_key_file(key_file)


def test_a_secret_comes_back_and_is_not_to_be_read(tmp_path: Path, key_file: Path) -> None:
    box = SecretBox.by_key_file(tmp_path, RUN, key_file)
    assert box.get("he-key") is None
    box.put("he-key", SECRET)
    assert SecretBox.by_key_file(tmp_path, RUN, key_file).get("he-key") == SECRET
    sealed = tmp_path / "he-key.sealed"
    first = sealed.read_bytes()
    assert SECRET not in first
    assert stat.S_IMODE(sealed.stat().st_mode) == 0o600
    box.put("he-key", SECRET)
    # Salt, nonce and ciphertext are all new.
    second = sealed.read_bytes()
    assert first[:10] == second[:10]
    assert all(first[a:b] != second[a:b] for a, b in ((10, 26), (26, 38), (38, None)))
    assert key_file.read_bytes().hex() not in repr(box)


def test_a_passphrase_opens_what_it_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert secrets.SCRYPT_N >= 1 << 16
    monkeypatch.setattr(secrets, "SCRYPT_N", 1 << 4)
    SecretBox.by_passphrase(tmp_path, RUN, "correct horse battery").put("k", SECRET)
    assert SecretBox.by_passphrase(tmp_path, RUN, "correct horse battery").get("k") == SECRET
    other = SecretBox.by_passphrase(tmp_path, RUN, "correct horse staple!")
    with pytest.raises(CheckpointError, match="another passphrase or key file"):
        other.get("k")
    assert "staple" not in repr(other)
    with pytest.raises(CheckpointError, match="5 characters, wanted at least 12"):
        SecretBox.by_passphrase(tmp_path, RUN, "short")


def test_what_does_not_belong_does_not_open(tmp_path: Path, key_file: Path) -> None:
    box = SecretBox.by_key_file(tmp_path, RUN, key_file)
    box.put("k", SECRET)
    path = tmp_path / "k.sealed"
    good = path.read_bytes()
    (tmp_path / "other.sealed").write_bytes(good)
    make_key_file(tmp_path / "key2")
    for wrong, name in (
        (SecretBox.by_key_file(tmp_path, "cd" * 16, key_file), "k"),
        (SecretBox.by_key_file(tmp_path, RUN, tmp_path / "key2"), "k"),
        (box, "other"),
    ):
        with pytest.raises(CheckpointError, match="does not open"):
            wrong.get(name)
    with pytest.raises(CheckpointError, match="a passphrase was given or the other way round"):
        SecretBox.by_passphrase(tmp_path, RUN, "correct horse battery").get("k")
    for place in range(len(good)):
        path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        with pytest.raises(CheckpointError):
            box.get("k")
    path.write_bytes(good[:40])
    with pytest.raises(CheckpointError, match="truncated"):
        box.get("k")


def test_key_files_that_protect_nothing_are_refused(tmp_path: Path, key_file: Path) -> None:
    key_file.chmod(0o640)
    with pytest.raises(CheckpointError, match=r"mode 640\), wanted mode 600"):
        SecretBox.by_key_file(tmp_path, RUN, key_file)
    short = tmp_path / "short"
    short.write_bytes(bytes(31))
    short.chmod(0o600)
    with pytest.raises(CheckpointError, match="does not hold 32 bytes"):
        SecretBox.by_key_file(tmp_path, RUN, short)
