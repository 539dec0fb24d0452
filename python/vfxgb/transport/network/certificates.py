"""Certificates of parties: make an authority, issue, read and check (ECDSA P-256, X.509 version 3).

A party's certificate carries its name twice: as common name and as DNS name, which is what TLS compares. Parties hand
each other their certificates once, by a way they trust, and pin them; the authority is a convenience that lets them see
that a certificate was issued for the consortium.
"""

import ipaddress
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from vfxgb.errors import CertificateError
from vfxgb.transport.network.identity import Identity, Peer

# What a DNS name allows, which a party's name has to be in its certificate.
_PARTY_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
# Clocks of machines that meet differ; a certificate begins to be valid a little before it was made.
_SKEW = timedelta(minutes=10)
# No certificate or key is larger than this, whatever the file.
_MAX_FILE = 1 << 16
# The certificate that a peer uses and the one that it is going to use.
MAX_PINS = 2


@dataclass(frozen=True)
class Authority:
    """An authority's two files."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class Description:
    """What a certificate says. `fingerprint`: SHA-256 of its DER form, hex."""

    party: str
    issuer: str
    hosts: tuple[str, ...]
    begins: datetime
    ends: datetime
    authority: bool
    fingerprint: str


@dataclass(frozen=True)
class Credentials:
    """A party's files as bytes, checked. Never printed: one of them is the private key."""

    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        return "Credentials(...)"


def make_authority(folder: Path, name: str = "vfxgb authority", days: int = 3650) -> Authority:
    """Write `authority.pem` and `authority.key` (0600 from the start) to `folder`. Raises CertificateError if there."""
    files = Authority(folder / "authority.pem", folder / "authority.key")
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = _builder(subject, subject, key.public_key(), days).add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    )
    builder = builder.add_extension(_usage(authority=True), critical=True)
    _write_pair(files.certificate, files.key, builder.sign(key, hashes.SHA256()), key)
    return files


def issue(authority: Authority, party: str, hosts: Sequence[str], days: int, folder: Path) -> Identity:
    """Write `<party>.pem` and `<party>.key` (0600 from the start) to `folder`, signed by the authority.

    `hosts`: further DNS names or IP addresses. Raises CertificateError: files that are there, a name that is none.
    """
    _check_party(party, "issuing a certificate")
    made = Identity(party, folder / f"{party}.pem", folder / f"{party}.key")
    issuer = _load(authority.certificate)
    issuer_key = _load_key(authority.key)
    if not isinstance(issuer_key, ec.EllipticCurvePrivateKey) or not _belong(issuer, issuer_key):
        raise CertificateError(f"issuing a certificate: {authority.key} is not the key of {authority.certificate}")
    key = ec.generate_private_key(ec.SECP256R1())
    names = list(dict.fromkeys([party, *hosts]))
    builder = (
        _builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, party)]), issuer.subject, key.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(authority=False), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False
        )
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
    )
    _write_pair(made.certificate, made.key, builder.sign(issuer_key, hashes.SHA256()), key)
    return made


def describe(path: Path) -> Description:
    """What the certificate in a PEM file says. Raises CertificateError if it is none."""
    return _describe(_load(path))


def check_identity(identity: Identity) -> Description:
    """Raise CertificateError unless the party can use its own files today: names, dates, key, permissions."""
    _check_names(describe(identity.certificate), identity.party, identity.certificate)
    return check_pair(identity.certificate, identity.key)


def check_pair(certificate: Path, key: Path) -> Description:
    """Raise CertificateError unless a certificate can be used today with this private key: dates, key, permissions."""
    loaded = _load(certificate)
    said = _describe(loaded)
    _check_dates(said, said.party, certificate)
    if not _belong(loaded, _load_key(key)):
        raise CertificateError(f"{said.party}: {key} is not the key of {certificate}; name the pair that was issued")
    return said


def check_peer(peer: Peer, dates: bool = True) -> Description:
    """Raise CertificateError unless the peer's pins can be used: names, and dates unless told not to.

    Returns what the pin says that can be used, of two the one that lasts longer. One of two pins may have expired, or
    be valid from a later day on: that is what two are for.
    """
    if not 1 <= len(peer.certificates) <= MAX_PINS:
        raise CertificateError(
            f"{peer.party}: found {len(peer.certificates)} certificates, wanted one, or two while {peer.party} changes "
            "from one to the other"
        )
    usable: list[Description] = []
    refusal: CertificateError | None = None
    for path in peer.certificates:
        said = describe(path)
        _check_names(said, peer.party, path)
        try:
            if dates:
                _check_dates(said, peer.party, path)
            usable.append(said)
        except CertificateError as error:
            refusal = error
    if refusal is not None and not usable:
        raise refusal
    return max(usable, key=lambda said: said.ends)


def check_pem(pem: bytes, party: str, where: str, dates: bool = True) -> Description:
    """What a certificate in memory says, after the checks of `check_peer`. `where`: names it in a CertificateError."""
    said = _describe(_parse(pem, where))
    _check_names(said, party, where)
    if dates:
        _check_dates(said, party, where)
    return said


def credentials(identity: Identity) -> Credentials:
    """The bytes of this party's files, after `check_identity`."""
    check_identity(identity)
    return Credentials(_read(identity.certificate), _read(identity.key))


def pins(peer: Peer) -> tuple[bytes, ...]:
    """The peer's certificates as PEM and nothing else: what a file holds besides its first one is not trusted."""
    return tuple(_load(path).public_bytes(Encoding.PEM) for path in peer.certificates)


def fingerprint(pem: bytes) -> str:
    """SHA-256 of the certificate in `pem`, hex."""
    return x509.load_pem_x509_certificate(pem).fingerprint(hashes.SHA256()).hex()


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    if not 1 <= days <= 36500:
        raise CertificateError(f"issuing a certificate: found {days} days, wanted 1 to 36500")
    now = datetime.now(timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + timedelta(days=days))
    )


def _usage(authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        pass
    try:
        return x509.DNSName(name)
    except ValueError as error:
        raise CertificateError(f"issuing a certificate: {name!r} is no host name or address: {error}") from None


def _write_pair(certificate: Path, key_path: Path, made: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    """Both files or neither. The key is readable by its owner alone from the moment it exists."""
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    written: list[Path] = []
    try:
        certificate.parent.mkdir(parents=True, exist_ok=True)
        for path, data, mode in ((key_path, text, 0o600), (certificate, made.public_bytes(Encoding.PEM), 0o644)):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            written.append(path)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
    except OSError as error:
        for path in written:
            path.unlink(missing_ok=True)
        if isinstance(error, FileExistsError):
            raise CertificateError(
                f"issuing a certificate: {error.filename} is there already; remove it first if it is to be replaced"
            ) from None
        raise CertificateError(f"issuing a certificate: cannot write {error.filename}: {error.strerror}") from None


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_FILE + 1)
    except OSError as error:
        raise CertificateError(f"reading {path}: {error.strerror}; check the path") from None
    if len(data) > _MAX_FILE:
        raise CertificateError(f"reading {path}: found more than {_MAX_FILE} bytes, wanted one certificate or key")
    return data


def _load(path: Path) -> x509.Certificate:
    return _parse(_read(path), path)


def _parse(pem: bytes, where: Path | str) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(pem)
    except ValueError as error:
        raise CertificateError(f"reading {where}: no certificate in PEM form is in it ({error})") from None


def _load_key(path: Path) -> PrivateKeyTypes:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise CertificateError(f"reading the private key {path}: {error.strerror}; check the path") from None
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise CertificateError(
            f"reading the private key {path}: found mode {stat.S_IMODE(mode):04o}, wanted 0600; others can read it: "
            f"chmod 600 {path}, and have a new one issued if somebody may have"
        )
    try:
        return load_pem_private_key(_read(path), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise CertificateError(f"reading {path}: no unencrypted private key in PEM form is in it") from None


def _belong(certificate: x509.Certificate, key: PrivateKeyTypes) -> bool:
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return certificate.public_key().public_bytes(*form) == key.public_key().public_bytes(*form)


def _describe(loaded: x509.Certificate) -> Description:
    try:
        common = loaded.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        issuers = loaded.issuer.get_attributes_for_oid(NameOID.COMMON_NAME)
        try:
            names = loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
            hosts = tuple(str(name.value) for name in names)
        except x509.ExtensionNotFound:
            hosts = ()
        try:
            authority = loaded.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
        except x509.ExtensionNotFound:
            authority = False
    except ValueError as error:
        raise CertificateError(f"reading a certificate: its contents are malformed ({error})") from None
    return Description(
        party=str(common[0].value) if common else "",
        issuer=str(issuers[0].value) if issuers else "",
        hosts=hosts,
        begins=loaded.not_valid_before_utc,
        ends=loaded.not_valid_after_utc,
        authority=authority,
        fingerprint=loaded.fingerprint(hashes.SHA256()).hex(),
    )


def _check_party(party: str, step: str) -> None:
    if not _PARTY_NAME.fullmatch(party):
        raise CertificateError(
            f"{step}: found party name {party[:80]!r}, wanted letters, digits, '-', '_' and '.', at most 63 of them"
        )


def _check_names(said: Description, party: str, path: Path | str) -> None:
    _check_party(party, f"{path}")
    if said.authority:
        raise CertificateError(
            f"{path}: this is an authority's certificate, wanted that of {party}: a pin must not sign others"
        )
    if said.party != party:
        raise CertificateError(
            f"{path}: found the certificate of {said.party!r}, wanted {party!r}'s; the party's name and the "
            "certificate's common name have to agree"
        )
    if party not in said.hosts:
        raise CertificateError(
            f"{path}: the certificate's DNS names are {list(said.hosts)}, wanted {party!r} among them; "
            "`vfxgb certs` makes such a certificate"
        )


def _check_dates(said: Description, party: str, path: Path | str) -> None:
    now = datetime.now(timezone.utc)
    if now > said.ends:
        raise CertificateError(
            f"{path}: the certificate of {party} expired on {said.ends:%Y-%m-%d %H:%M} UTC; have a new one issued and "
            "give it to the other parties"
        )
    if now < said.begins:
        raise CertificateError(
            f"{path}: the certificate of {party} is valid from {said.begins:%Y-%m-%d %H:%M} UTC on, and the clock here "
            f"says {now:%Y-%m-%d %H:%M}; set the clock"
        )
