"""Who may ask an HTTP endpoint of a party: those who know a token, over TLS.

The token is a shared secret of the party and its own clients (RFC 6750, `Authorization: Bearer ...`). It comes from a
file that only its owner may read, or from the environment: never from the command line, which every user of a machine
can see. It is compared in constant time and never written anywhere.
"""

import hashlib
import hmac
import os
import re
import ssl
import stat
from collections.abc import Mapping
from pathlib import Path

from vfxgb.errors import CertificateError, ConfigError
from vfxgb.transport.network.certificates import check_pair

# Sixteen characters of `openssl rand -hex 16` are 64 bits, which nobody guesses over a network.
MIN_TOKEN = 16
MAX_TOKEN = 512
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
_SCHEME = "bearer"


class Token:
    """A secret that requests have to name."""

    def __init__(self, text: str, where: str) -> None:
        if not MIN_TOKEN <= len(text) <= MAX_TOKEN or not _TOKEN.fullmatch(text):
            raise ConfigError(
                f"reading the token from {where}: found {len(text)} characters, wanted {MIN_TOKEN} to {MAX_TOKEN} of "
                "letters, digits and . _ ~ + / = -; `openssl rand -hex 32` makes one"
            )
        self._digest = hashlib.sha256(text.encode("ascii")).digest()

    def __repr__(self) -> str:
        return "Token(...)"

    def fits(self, header: str) -> bool:
        """Return whether the field Authorization of a request names the token."""
        scheme, _, given = header.partition(" ")
        # Digests have one length, so that not even the token's shows in the time.
        digest = hashlib.sha256(given.strip().encode("utf-8", "replace")).digest()
        return hmac.compare_digest(digest, self._digest) and scheme.lower() == _SCHEME


def read_token(file: Path | None, variable: str | None, environment: Mapping[str, str] | None = None) -> Token | None:
    """Read the token from a file or a variable of the environment; None if neither is named. Raises ConfigError."""
    if file is not None and variable is not None:
        raise ConfigError("reading the token: found a file and a variable of the environment, wanted one of them")
    if file is not None:
        where = f"the file {str(file)!r}"
        try:
            mode = file.stat().st_mode
            with file.open(encoding="ascii") as stream:
                text = stream.read(MAX_TOKEN + 100)
        except OSError as error:
            raise ConfigError(f"reading the token from {where}: {error.strerror or error}; check the path") from None
        except UnicodeDecodeError:
            raise ConfigError(f"reading the token from {where}: it is no ASCII text") from None
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ConfigError(
                f"reading the token from {where}: found mode {stat.S_IMODE(mode):04o}, wanted 0600: others can read "
                f"it; chmod 600 {file}, and make a new one if somebody may have"
            )
        return Token(text.strip(), where)
    if variable is not None:
        where = f"the environment's {variable}"
        held = (os.environ if environment is None else environment).get(variable)
        if held is None:
            raise ConfigError(f"reading the token from {where}: there is no such variable")
        return Token(held.strip(), where)
    return None


def server_tls(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """Make the TLS context of a server with this certificate (PEM, any chain behind it) and private key.

    Returns None if neither is named. Raises ConfigError if only one is; CertificateError for files that cannot be used:
    no certificate, expired, another's key, a key that others can read.
    """
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        missing = "the certificate" if certificate is None else "the private key"
        raise ConfigError(f"serving scores over HTTPS: {missing} is missing, wanted both files")
    check_pair(certificate, key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError) as error:
        raise CertificateError(f"serving scores over HTTPS: {certificate} cannot be used ({error})") from None
    return context
