"""Certificates of parties: make an authority, issue, read and check (ECDSA P-256, X.509 version 3).

A party's certificate carries its name twice: as common name and as DNS name, which is what TLS compares. Parties hand
each other their certificates once, by a way they trust, and pin them; the authority is a convenience that lets them see
that a certificate was issued for the consortium.
"""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from vfxgb.transport.network.identity import Identity, Peer


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


def make_authority(folder: Path, name: str = "vfxgb authority", days: int = 3650) -> Authority:
    """Write `authority.pem` and `authority.key` (0600 from the start) to `folder`. Raises CertificateError if there."""
    raise NotImplementedError


def issue(authority: Authority, party: str, hosts: tuple[str, ...], days: int, folder: Path) -> Identity:
    """Write `<party>.pem` and `<party>.key` (0600 from the start) to `folder`, signed by the authority.

    `hosts`: further DNS names or IP addresses. Raises CertificateError: files that are there, a name that is none.
    """
    raise NotImplementedError


def describe(path: Path) -> Description:
    """What the certificate in a PEM file says. Raises CertificateError if it is none."""
    raise NotImplementedError


def check_identity(identity: Identity) -> Description:
    """Raise CertificateError unless the party can use its own files today: names, dates, key, permissions."""
    raise NotImplementedError


def check_peer(peer: Peer) -> Description:
    """Raise CertificateError unless the certificate can be the pin of this peer today: names, dates."""
    raise NotImplementedError
