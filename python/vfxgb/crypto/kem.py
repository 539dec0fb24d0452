"""ML-KEM-768 (FIPS 203) of `cryptography`: secrets that a quantum computer is not known to open.

A key pair follows from 64 random bytes. Whoever has the public key (1,184 bytes) makes a secret of 32 bytes and a
ciphertext of 1,088 bytes that only the private key opens. A ciphertext that was made up opens to something random; that
the two sides do not have the same secret shows when they use it.
"""

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.backends.openssl import backend
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey

from vfxgb import _native
from vfxgb.errors import InvalidCiphertextError, InvalidKeyError, MissingPackageError

KEM_SEED_BYTES = 64
KEM_PUBLIC_BYTES = 1184
KEM_CIPHERTEXT_BYTES = 1088
KEM_SECRET_BYTES = 32


class KemKey:
    """A key pair of ML-KEM-768. Never shown by repr."""

    __slots__ = ("_private", "public")

    def __init__(self, seed: bytes | None = None) -> None:
        """Make a fresh pair, or the one of a seed of 64 bytes."""
        try:
            self._private = MLKEM768PrivateKey.from_seed_bytes(
                _native.rand.random_bytes(KEM_SEED_BYTES) if seed is None else seed
            )
        except UnsupportedAlgorithm:
            raise _missing() from None
        self.public = self._private.public_key().public_bytes_raw()

    def decapsulate(self, ciphertext: bytes) -> bytes:
        """The secret of a ciphertext made for `public`. Raises InvalidCiphertextError for one of another length."""
        if len(ciphertext) != KEM_CIPHERTEXT_BYTES:
            raise InvalidCiphertextError(
                f"opening a ciphertext of ML-KEM-768: found {len(ciphertext)} bytes, wanted {KEM_CIPHERTEXT_BYTES}", 0
            )
        return self._private.decapsulate(ciphertext)


def encapsulate(public: bytes) -> tuple[bytes, bytes]:
    """A fresh secret and the ciphertext that tells it to the owner of `public`.

    Raises InvalidKeyError for a public key of another length, or with a coefficient that is not reduced.
    """
    try:
        return MLKEM768PublicKey.from_public_bytes(public).encapsulate()
    except UnsupportedAlgorithm:
        raise _missing() from None
    except ValueError:
        raise InvalidKeyError(
            f"encapsulating a secret: found {len(public)} bytes that are no public key of ML-KEM-768, wanted "
            f"{KEM_PUBLIC_BYTES} bytes of reduced coefficients"
        ) from None


def _missing() -> MissingPackageError:
    return MissingPackageError(
        f"making keys: the installed cryptography ({backend.openssl_version_text()}) lacks ML-KEM-768, wanted a build "
        "over OpenSSL 3.5 or newer; install cryptography 48 or newer from PyPI"
    )
