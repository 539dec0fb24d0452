"""Who this side is, and whom it expects: names, certificates, keys and addresses."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Identity:
    """This party: its name, its certificate and its private key, as PEM files.

    They are read and checked when they are used: a certificate of another party, an expired one, a key that does not
    belong to it or that others can read raise CertificateError.
    """

    party: str
    certificate: Path
    key: Path


@dataclass(frozen=True)
class Peer:
    """Another party. Its own certificate is the pin: nothing else is accepted in its name, whoever signed it.

    `certificate`: the pin, or two of them while the party changes its certificate. `address`: "host:port" if this side
    dials it.
    """

    party: str
    certificate: Path | tuple[Path, ...]
    address: str = ""

    @property
    def certificates(self) -> tuple[Path, ...]:
        """The files of all pins, one or two."""
        return (self.certificate,) if isinstance(self.certificate, Path) else self.certificate
