"""Tokens and TLS of the endpoint: what is read, what is refused, and what is never shown."""

from pathlib import Path

import pytest

from vfxgb.cli import main
from vfxgb.errors import CertificateError, ConfigError
from vfxgb.party.access import MAX_TOKEN, read_token, server_tls
from vfxgb.transport.network.certificates import issue, make_authority

SECRET = "0123456789abcdef"


def _file(path: Path, text: str, mode: int = 0o600) -> Path:
    path.touch(mode)
    path.chmod(mode)
    path.write_text(text)
    return path


def test_a_token_from_a_file_or_the_environment(tmp_path) -> None:
    assert read_token(None, None) is None
    for token in (
        read_token(_file(tmp_path / "token", f"{SECRET}\n"), None),
        read_token(None, "SCORING_TOKEN", {"SCORING_TOKEN": SECRET}),
    ):
        assert token is not None
        assert token.fits(f"Bearer {SECRET}")
        assert token.fits(f"BEARER {SECRET}")
        for wrong in (
            "",
            SECRET,
            "Bearer ",
            f"Bearer {SECRET}0",
            f"Bearer {SECRET[:-1]}",
            f"Basic {SECRET}",
            "Bearer \ud800",
        ):
            assert not token.fits(wrong)
        assert SECRET not in repr(token)


@pytest.mark.parametrize("text", ["", "short", SECRET + " x", "ä" * 20, "x" * (MAX_TOKEN + 1), f"{SECRET}\n{SECRET}"])
def test_tokens_that_are_refused_and_not_shown(tmp_path, text: str) -> None:
    with pytest.raises(ConfigError, match="reading the token from") as refused:
        read_token(_file(tmp_path / "token", text), None)
    assert SECRET not in str(refused.value)
    with pytest.raises(ConfigError, match="reading the token from the environment's T"):
        read_token(None, "T", {"T": text})


def test_where_no_token_can_be_read(tmp_path) -> None:
    with pytest.raises(ConfigError, match="found mode 0644, wanted 0600"):
        read_token(_file(tmp_path / "open", SECRET, 0o644), None)
    with pytest.raises(ConfigError, match="No such file"):
        read_token(tmp_path / "nothing", None)
    with pytest.raises(ConfigError, match="there is no such variable"):
        read_token(None, "T", {})
    with pytest.raises(ConfigError, match="wanted one of them"):
        read_token(tmp_path / "token", "T", {"T": SECRET})


def test_files_for_tls(tmp_path) -> None:
    made = issue(make_authority(tmp_path), "bank", (), 30, tmp_path)
    other = issue(make_authority(tmp_path / "other"), "bank", (), 30, tmp_path / "other")
    assert server_tls(None, None) is None
    assert server_tls(made.certificate, made.key) is not None
    with pytest.raises(ConfigError, match="the private key is missing"):
        server_tls(made.certificate, None)
    with pytest.raises(ConfigError, match="the certificate is missing"):
        server_tls(None, made.key)
    with pytest.raises(CertificateError, match="is not the key of"):
        server_tls(made.certificate, other.key)
    made.key.chmod(0o644)
    with pytest.raises(CertificateError, match="wanted 0600"):
        server_tls(made.certificate, made.key)


def test_options_of_the_command(tmp_path, capsys) -> None:
    for arguments, said in (
        (["in.csv", "out.csv", "--token-file", "t", "--port", "1"], "--port, --token-file without --serve"),
        (["in.csv", "out.csv", "--follow-latest"], "--follow-latest without --serve"),
        (["--serve", "--follow-latest", "--model", "ab"], "--follow-latest changes models, --model names one"),
        (["in.csv", "--serve"], "--serve takes no files"),
    ):
        assert main(["predict", str(tmp_path / "bank.toml"), *arguments]) == 2
        assert said in capsys.readouterr().err
