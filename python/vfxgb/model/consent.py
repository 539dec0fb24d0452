"""Consent to merge: a statement of one party about one model, signed with the key of its certificate.

A merged model shows every party's features and cuts to whoever has it, and predicts without anybody's help. So merging
wants a consent of each party of the run. A consent names the model by its digest, which covers the shares of all
parties (model/seal.py), so that it holds for no other model; whoever merges checks it against certificates it got from
the parties by a way it trusts, as for training.
"""

import base64
import binascii
import datetime as dt
import json
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import NameOID

from vfxgb.errors import CertificateError, ConsentError, FormatError
from vfxgb.files import write_atomically
from vfxgb.model.shares import ActiveShare, PassiveShare

FORMAT = "vfxgb consent"
VERSION = 1
MERGE = "merge"
# Clocks of parties differ.
SKEW = dt.timedelta(minutes=5)
MAX_NOTE = 1000

_PublicKey = ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey


class Statement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a party consents to. `use`: MERGE. `note`: free text, such as for whom. `signed_at`: UTC, ISO 8601."""

    run: str
    model: str
    party: str
    use: str
    note: str
    signed_at: str

    def signed_bytes(self) -> bytes:
        """What is signed: no other thing that is signed anywhere begins like this."""
        text = json.dumps(msgspec.to_builtins(self), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return f"{FORMAT} {VERSION}\n{text}".encode()


class Consent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A statement and its signature, base64."""

    format: str
    version: int
    statement: Statement
    signature: str


def sign_consent(share: ActiveShare | PassiveShare, key: Path, certificate: Path, note: str = "") -> Consent:
    """The consent of a share's party to merging its model. Raises CertificateError if key and party do not fit."""
    signer = read_certificate(certificate)
    private = _read_key(key)
    public = private.public_key()
    if _raw(public) != _raw(_public_key(signer, certificate)):
        raise CertificateError(f"signing a consent: the key {str(key)!r} is not that of {str(certificate)!r}")
    if common_name(signer, certificate) != share.party:
        raise CertificateError(
            f"signing a consent: {str(certificate)!r} is the certificate of {common_name(signer, certificate)!r}, the "
            f"share is that of {share.party!r}; every party signs for itself"
        )
    if len(note) > MAX_NOTE:
        raise ConsentError(f"signing a consent: the note has {len(note)} characters, wanted at most {MAX_NOTE}")
    now = dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds")
    statement = Statement(share.run, share.seal.model, share.party, MERGE, note, now)
    data = statement.signed_bytes()
    if isinstance(private, ec.EllipticCurvePrivateKey):
        signature = private.sign(data, ec.ECDSA(hashes.SHA256()))
    else:
        signature = private.sign(data)
    return Consent(FORMAT, VERSION, statement, base64.b64encode(signature).decode())


def save_consent(consent: Consent, path: Path) -> None:
    """Write it, atomically. Raises OSError."""
    text = json.dumps(msgspec.to_builtins(consent), indent=2, ensure_ascii=False)
    write_atomically(path, text.encode() + b"\n")


def read_consent(path: Path) -> Consent:
    """The consent in a file, its signature not yet checked. Raises FormatError, OSError."""
    where = f"reading the consent {str(path)!r}"
    try:
        consent = msgspec.json.decode(path.read_bytes(), type=Consent)
    except (msgspec.MsgspecError, ValueError) as error:
        raise FormatError(f"{where}: it is none ({error}); `vfxgb merge --consent` writes one") from None
    if (consent.format, consent.version) != (FORMAT, VERSION):
        raise FormatError(
            f"{where}: found {consent.format!r} version {consent.version}, wanted {FORMAT!r} version {VERSION}"
        )
    return consent


def check_consents(
    active: ActiveShare, consents: Sequence[Consent], certificates: Mapping[str, x509.Certificate]
) -> dict[str, Consent]:
    """The consent of each party of the run to merging this model. Raises ConsentError naming who is missing and why."""
    by_party: dict[str, Consent] = {}
    for consent in consents:
        party = consent.statement.party
        if by_party.setdefault(party, consent) is not consent:
            raise ConsentError(f"merging: two consents of party {party!r}, wanted one; leave out the one that is old")
    for party in active.parties:
        if party not in by_party:
            raise ConsentError(
                f"merging: the consent of party {party!r} is missing, wanted one of each of {list(active.parties)}; "
                f"{party} writes one with `vfxgb merge --consent SHARE --key KEY --certificate CERTIFICATE -o FILE`"
            )
        if party not in certificates:
            raise ConsentError(
                f"merging: the certificate of party {party!r} is missing, against which its consent is checked; give "
                "it with --certificate"
            )
        _check(active, by_party[party], certificates[party])
    strangers = sorted(set(by_party) - set(active.parties))
    if strangers:
        raise ConsentError(f"merging: a consent of {strangers[0]!r}, which is none of {list(active.parties)}")
    return by_party


def _check(active: ActiveShare, consent: Consent, certificate: x509.Certificate) -> None:
    statement = consent.statement
    where = f"merging: the consent of party {statement.party!r}"
    if (statement.run, statement.model) != (active.run, active.seal.model):
        raise ConsentError(
            f"{where} is for model {statement.model[:16]}... of run {statement.run}, wanted model "
            f"{active.seal.model[:16]}... of run {active.run}"
        )
    if statement.use != MERGE:
        raise ConsentError(f"{where} is for {statement.use!r}, wanted {MERGE!r}")
    try:
        signature = base64.b64decode(consent.signature, validate=True)
        _verify(_public_key(certificate, Path(statement.party)), signature, statement.signed_bytes())
    except (InvalidSignature, binascii.Error, ValueError):
        raise ConsentError(
            f"{where} is not signed with the key of its certificate; it was altered, or the certificate is another one"
        ) from None
    try:
        signed_at = dt.datetime.fromisoformat(statement.signed_at)
        signed_at = signed_at.astimezone(dt.timezone.utc)
    except (ValueError, OverflowError):
        raise ConsentError(f"{where} has no date: found {statement.signed_at!r}") from None
    if not certificate.not_valid_before_utc - SKEW <= signed_at <= certificate.not_valid_after_utc:
        raise ConsentError(
            f"{where} was signed at {statement.signed_at}, when its certificate was not valid ("
            f"{certificate.not_valid_before_utc:%Y-%m-%d} to {certificate.not_valid_after_utc:%Y-%m-%d})"
        )
    if signed_at > dt.datetime.now(dt.timezone.utc) + SKEW:
        raise ConsentError(f"{where} was signed at {statement.signed_at}, which is in the future; compare the clocks")


def read_certificate(path: Path) -> x509.Certificate:
    """The first certificate in a PEM file. Raises CertificateError, OSError."""
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except ValueError as error:
        raise CertificateError(f"reading the certificate {str(path)!r}: it is no PEM certificate ({error})") from None


def common_name(certificate: x509.Certificate, path: Path) -> str:
    """The party that a certificate is of. Raises CertificateError."""
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    if len(names) != 1:
        raise CertificateError(f"reading the certificate {str(path)!r}: it names {len(names)} parties, wanted one")
    return str(names[0].value)


def _public_key(certificate: x509.Certificate, path: Path) -> _PublicKey:
    public = certificate.public_key()
    if not isinstance(public, _PublicKey):
        raise CertificateError(
            f"reading the certificate {str(path)!r}: its key is {type(public).__name__}, wanted one on an elliptic "
            "curve, as `vfxgb certs` makes it"
        )
    return public


def _read_key(path: Path) -> ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey:
    """A private key that only its owner can read. Raises CertificateError, OSError."""
    where = f"reading the key {str(path)!r}"
    with path.open("rb") as file:
        if os.name == "posix" and stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
            raise CertificateError(f"{where}: others can read it; run chmod 600, and use a new key if they have")
        data = file.read()
    try:
        key = serialization.load_pem_private_key(data, None)
    except (ValueError, TypeError) as error:
        raise CertificateError(f"{where}: it is no unencrypted PEM key ({error})") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey):
        raise CertificateError(f"{where}: found {type(key).__name__}, wanted a key on an elliptic curve")
    return key


def _verify(public: _PublicKey, signature: bytes, data: bytes) -> None:
    if isinstance(public, ec.EllipticCurvePublicKey):
        public.verify(signature, data, ec.ECDSA(hashes.SHA256()))
    else:
        public.verify(signature, data)


def _raw(public: _PublicKey) -> bytes:
    return public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
