"""A user's own keys, made at the user, and the public part that it sends to whoever assembles the directory.

    <party>.key         the private key of the certificate: stays at the user
    <party>.identity    the private identity key (Ed25519): stays at the user
    <party>.pem         the certificate
    <party>.user        the public part, as JSON: name, certificate and public identity key, signed by the identity key

Nobody but the user ever holds the private keys, so neither the server nor a coordinator can act in its name. The
signature shows that the sender has the identity key and that the file arrived whole; it does not show who the sender
is. So the file goes by a way that both sides trust, or its fingerprints are compared (`vfxgb certs --show`).
"""

import base64
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from vfxgb.crypto.key_agreement import KEY_BYTES, sign, verify
from vfxgb.errors import CertificateError, ConfigError, FormatError
from vfxgb.files import make_private, write_atomically
from vfxgb.horizontal.directory import make_identity, write_directory
from vfxgb.transport.network.certificates import Description, check_pem, issue, make_authority

FORMAT = "vfxgb user"
VERSION = 1
ENDING = ".user"
# A public part holds one certificate and one key.
_MAX_FILE = 1 << 16


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    version: int
    party: str
    identity: str
    certificate: str
    signature: str


@dataclass(frozen=True)
class PublicPart:
    """What a user sends.

    `certificate` is PEM text, and `said` what it says. `identity` is the public key, 32 bytes.
    """

    party: str
    certificate: str
    identity: bytes
    said: Description


def make_user(party: str, folder: Path, days: int) -> Path:
    """Write a user's four files to `folder`; returns the path of the public part.

    The certificate is signed by an authority that is forgotten at once: parties trust the certificate itself. Raises
    CertificateError for a name that is none and for files that are there; nothing is overwritten.
    """
    public = folder / f"{party}{ENDING}"
    identity_file = folder / f"{party}.identity"
    make_private(folder)
    for path in (public, identity_file):
        if path.exists():
            raise CertificateError(f"making a user: {str(path)!r} is there; choose another folder, or remove it")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".authority-") as place:
        issued = issue(make_authority(Path(place)), party, (), days, folder)
    private, identity = make_identity(identity_file)
    pem = issued.certificate.read_text(encoding="ascii")
    signature = base64.b64encode(sign(private, _signed(party, pem, identity))).decode()
    document = _File(FORMAT, VERSION, party, identity.hex(), pem, signature)
    write_atomically(public, json.dumps(msgspec.to_builtins(document), indent=1).encode() + b"\n")
    public.chmod(0o644)
    return public


def read_public_part(path: Path, dates: bool = True) -> PublicPart:
    """The public part in a file, checked: its signature, its certificate's name, and dates unless told not to.

    Raises ConfigError (no such file), FormatError, CertificateError.
    """
    where = f"reading the public part of a user {str(path)!r}"
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_FILE + 1)
        if len(data) > _MAX_FILE:
            raise FormatError(f"{where}: found more than {_MAX_FILE} bytes, wanted a file of `vfxgb certs --user`")
        document = msgspec.json.decode(data, type=_File)
        identity = bytes.fromhex(document.identity)
        signature = base64.b64decode(document.signature, validate=True)
        pem = document.certificate.encode("ascii")
    except OSError as error:
        raise ConfigError(
            f"{where}: {error.strerror or error}; a user makes one by `vfxgb certs --user NAME`"
        ) from None
    except FormatError:
        raise
    except (msgspec.MsgspecError, ValueError) as error:
        raise FormatError(f"{where}: it is none ({error}); wanted a file of `vfxgb certs --user NAME`") from None
    if (document.format, document.version) != (FORMAT, VERSION):
        raise FormatError(
            f"{where}: found {document.format!r} version {document.version}, wanted {FORMAT!r} version {VERSION}"
        )
    signed = _signed(document.party, document.certificate, identity)
    if len(identity) != KEY_BYTES or not verify(identity, signed, signature):
        raise FormatError(f"{where}: its signature does not fit, so it was changed after it was made; ask for it again")
    said = check_pem(pem, document.party, f"the certificate in {str(path)!r}", dates)
    return PublicPart(document.party, document.certificate, identity, said)


def assemble(
    files: Sequence[Path], folder: Path, aggregator: str, aggregator_params: Mapping[str, Any] | None = None
) -> Path:
    """Write the directory of the users with these public parts, and their certificates, to `folder`.

    Users are numbered in the order of their names, so the same files give the same directory whoever assembles it
    (with an aggregator that has a public group of its own: the same but for that). Returns the path of the directory.
    Raises ConfigError, FormatError, CertificateError; nothing is overwritten.
    """
    parts = sorted((read_public_part(path) for path in files), key=lambda part: part.party)
    for this, following in pairwise(parts):
        if this.party == following.party:
            raise ConfigError(f"assembling the directory: two files are of {this.party!r}, wanted one of each user")
    if len({part.identity for part in parts}) < len(parts):
        raise ConfigError("assembling the directory: two users have the same identity key; each has to make its own")
    identities = {part.party: part.identity for part in parts}
    certificates = {part.party: part.certificate for part in parts}
    return write_directory(folder, identities, certificates, aggregator, aggregator_params)


def _signed(party: str, pem: str, identity: bytes) -> bytes:
    """What is signed: no other thing that is signed anywhere begins like this."""
    text = json.dumps([party, identity.hex(), pem], separators=(",", ":"))
    return f"{FORMAT} {VERSION}\n{text}".encode()
