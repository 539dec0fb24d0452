"""The users of a consortium as files: who they are, their public identity keys and certificates, in one directory.

    users.json          the directory, the same at the server and at every user: public
    <party>.identity    a user's private identity key (Ed25519, PEM), readable by its owner only

The directory is what everything rests on (secagg/double_mask): a server that could put keys of its own into it would
be every user. It is handed to users by a way they trust, and its digest is compared when they join. `write_users` makes
the keys of all users in one place; where each user makes its own, the directory is assembled (enrolment.py).
"""

import base64
import hashlib
import json
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vfxgb.crypto.key_agreement import KEY_BYTES
from vfxgb.errors import CertificateError, ConfigError, FormatError
from vfxgb.files import naming, write_atomically
from vfxgb.secagg import aggregator_by_name, make_aggregator_params

FORMAT = "vfxgb users"
VERSION = 1
FILE = "users.json"
MAX_USERS = 100_000


class _User(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    party: str
    identity: str
    certificate: str


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    version: int
    aggregator: str
    public: str
    users: list[_User]


@dataclass(frozen=True)
class UserDirectory:
    """Users are numbered in the order of the file.

    `identities`: public keys, 32 bytes each. `certificates`: where the server finds the users' pins. `aggregator` and
    `public`: what the key centre of an aggregator made for everybody, empty where there is none.
    """

    parties: tuple[str, ...]
    identities: tuple[bytes, ...]
    certificates: tuple[Path, ...]
    aggregator: str = ""
    public: bytes = b""

    def number(self, party: str) -> int:
        """A party's number. Raises ConfigError for one that is no user."""
        if party not in self._numbers:
            raise ConfigError(f"looking for {party!r} among the users: it is none of the {len(self.parties)} there are")
        return self._numbers[party]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {party: number for number, party in enumerate(self.parties)}

    def keys(self) -> dict[int, bytes]:
        """Identity keys by number."""
        return dict(enumerate(self.identities))

    def digest(self) -> bytes:
        """What all sides compare: names, keys and order, not where files lie."""
        text = json.dumps([list(self.parties), [key.hex() for key in self.identities], self.aggregator])
        return hashlib.sha256(b"vfxgb users 1\n" + text.encode() + b"\n" + self.public).digest()


def user_names(count: int) -> list[str]:
    """Names for so many users."""
    return [f"user-{number}" for number in range(count)]


def write_users(
    folder: Path, parties: Sequence[str], aggregator: str, aggregator_params: Mapping[str, Any] | None = None
) -> Path:
    """Draw an identity for each party, and write the directory; returns its path.

    Certificates are taken to be <party>.pem in the same folder. Where the aggregator has a key centre, this is it.
    Raises ConfigError for an aggregator whose key centre hands out secrets; CertificateError for files that are there.
    """
    public = _public_of(parties, aggregator, aggregator_params)
    _need_new(folder / FILE)
    keys = {party: make_identity(folder / f"{party}.identity")[1] for party in parties}
    return _write(folder, keys, aggregator, public)


def write_directory(
    folder: Path,
    identities: Mapping[str, bytes],
    certificates: Mapping[str, str],
    aggregator: str,
    aggregator_params: Mapping[str, Any] | None = None,
) -> Path:
    """Write the directory of users who have made their own keys, and their certificates; returns its path.

    `identities`: public keys by party, in the order of the users' numbers. `certificates`: PEM text by party. Raises as
    `write_users`.
    """
    public = _public_of(list(identities), aggregator, aggregator_params)
    _need_new(folder / FILE)
    files = {folder / f"{party}.pem": pem for party, pem in certificates.items()}
    for path in files:
        _need_new(path)
    folder.mkdir(parents=True, exist_ok=True)
    for path, pem in files.items():
        write_atomically(path, pem.encode("ascii"))
        path.chmod(0o644)
    return _write(folder, identities, aggregator, public)


def _public_of(parties: Sequence[str], aggregator: str, aggregator_params: Mapping[str, Any] | None) -> bytes:
    """What the key centre of an aggregator makes for everybody; empty where there is none."""
    spec = aggregator_by_name(aggregator)
    params = make_aggregator_params(spec, aggregator_params)
    if len(set(parties)) < len(parties) or not 2 <= len(parties) <= MAX_USERS:
        raise ConfigError(f"writing users: found {len(parties)} names, wanted 2 to {MAX_USERS}, each once")
    if spec.deal is None:
        return b""
    dealt = spec.deal(params, tuple(range(len(parties))))
    if dealt.server or dealt.users:
        raise ConfigError(
            f"writing users: aggregator {aggregator!r} needs a key centre that everybody trusts and that hands out "
            "secrets afresh for every run; it is there to compare with in one process. Use masks or bcp"
        )
    return dealt.public


def _need_new(path: Path) -> None:
    if path.exists():
        raise CertificateError(f"writing users: {str(path)!r} is there; choose another folder, or remove it")


def _write(folder: Path, identities: Mapping[str, bytes], aggregator: str, public: bytes) -> Path:
    path = folder / FILE
    users = [_User(party, key.hex(), f"{party}.pem") for party, key in identities.items()]
    document = _File(FORMAT, VERSION, aggregator if public else "", base64.b64encode(public).decode(), users)
    write_atomically(path, json.dumps(msgspec.to_builtins(document), indent=1).encode() + b"\n")
    path.chmod(0o644)
    return path


def read_users(path: Path) -> UserDirectory:
    """The directory in a file. Raises ConfigError (no such file), FormatError."""
    where = f"reading the directory of users {str(path)!r}"
    try:
        document = msgspec.json.decode(path.read_bytes(), type=_File)
        public = base64.b64decode(document.public, validate=True)
        identities = tuple(bytes.fromhex(user.identity) for user in document.users)
    except OSError as error:
        raise ConfigError(
            f"{where}: {error.strerror or error}; `vfxgb certs --users` or `vfxgb users directory` writes one"
        ) from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise FormatError(f"{where}: it is none ({error})") from None
    if (document.format, document.version) != (FORMAT, VERSION):
        raise FormatError(
            f"{where}: found {document.format!r} version {document.version}, wanted {FORMAT!r} version {VERSION}"
        )
    parties = tuple(user.party for user in document.users)
    if len(set(parties)) < len(parties) or len(set(identities)) < len(identities):
        raise FormatError(f"{where}: a name or a key is there twice, wanted each user once")
    if any(len(key) != KEY_BYTES for key in identities) or not 2 <= len(parties) <= MAX_USERS:
        raise FormatError(
            f"{where}: found {len(parties)} users, wanted 2 to {MAX_USERS} with keys of {KEY_BYTES} bytes"
        )
    certificates = tuple(path.parent / user.certificate for user in document.users)
    return UserDirectory(parties, identities, certificates, document.aggregator, public)


def read_identity(path: Path, directory: UserDirectory, party: str) -> bytes:
    """A user's private identity key, 32 bytes. Raises CertificateError, ConfigError."""
    where = f"reading the identity key {str(path)!r} of {party}"
    try:
        with path.open("rb") as file:
            if os.name == "posix" and stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise CertificateError(f"{where}: others can read it; run chmod 600, and draw a new one if they have")
            key = serialization.load_pem_private_key(file.read(), None)
    except OSError as error:
        raise CertificateError(f"{where}: {error.strerror or error}") from None
    except (ValueError, TypeError) as error:
        raise CertificateError(f"{where}: it is no PEM key ({error})") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise CertificateError(f"{where}: found {type(key).__name__}, wanted an Ed25519 key")
    if key.public_key().public_bytes_raw() != directory.identities[directory.number(party)]:
        raise CertificateError(f"{where}: it is not the key that the directory of users has for {party}")
    return key.private_bytes_raw()


def make_identity(path: Path) -> tuple[bytes, bytes]:
    """Write a fresh private key, 0600 from the start; returns (private, public). Raises CertificateError if there."""
    key = Ed25519PrivateKey.generate()
    data = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise CertificateError(f"writing users: {str(path)!r} is there; choose another folder, or remove it") from None
    with naming(path), os.fdopen(descriptor, "wb") as file:
        file.write(data)
    return key.private_bytes_raw(), key.public_key().public_bytes_raw()
