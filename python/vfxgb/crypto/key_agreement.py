"""Keys of users: agreement (X25519, alone or with ML-KEM-768), derivation (HKDF-SHA256), sealing (AES-256-GCM) and
signatures (Ed25519).

Keys, seeds and public keys of one kind are 32 bytes. Every use has a *context*, bytes that no other use has: its
purpose, the run and the numbers of call and users. Two uses of one secret therefore have nothing in common.
"""

import struct
from collections.abc import Callable
from typing import TypeAlias

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from vfxgb import _native
from vfxgb.crypto.kem import KEM_CIPHERTEXT_BYTES, KEM_PUBLIC_BYTES, KemKey, encapsulate
from vfxgb.errors import InvalidCiphertextError, InvalidKeyError

KEY_BYTES = 32
# Of a hybrid key: its public part, and what one side of a pair sends to the other.
HYBRID_PUBLIC_BYTES = KEY_BYTES + KEM_PUBLIC_BYTES
HYBRID_CIPHERTEXT_BYTES = KEM_CIPHERTEXT_BYTES
SIGNATURE_BYTES = 64
# What sealing adds.
SEAL_BYTES = 16
NONCE_BYTES = 12

# (public identity key, statement, signature) -> whether it is that identity's signature of that statement
Verify: TypeAlias = Callable[[bytes, bytes, bytes], bool]


def context_of(purpose: str, run: bytes, *numbers: int) -> bytes:
    """The context of a use: numbers in 8 bytes each, so that no two lists of numbers give the same bytes."""
    return b"vfxgb secagg " + purpose.encode("ascii") + b"\0" + run + struct.pack(f"<{len(numbers)}Q", *numbers)


def derive(secret: bytes, context: bytes) -> bytes:
    """A key of 32 bytes from a secret (RFC 5869 with SHA-256, without salt)."""
    return HKDF(hashes.SHA256(), KEY_BYTES, None, context).derive(secret)


def random_seed() -> bytes:
    """32 random bytes."""
    return _native.rand.random_bytes(KEY_BYTES)


class AgreementKey:
    """A key pair on which two sides agree on a secret. Never shown by repr."""

    __slots__ = ("_private", "public")

    def __init__(self, private: bytes | None = None) -> None:
        """A fresh one, or that of 32 private bytes."""
        self._private = X25519PrivateKey.from_private_bytes(random_seed() if private is None else private)
        self.public = self._private.public_key().public_bytes_raw()

    def private_bytes(self) -> bytes:
        """The private key, for computations in batches (key_batches.py)."""
        return self._private.private_bytes_raw()

    def agree(self, public: bytes, context: bytes, secret: bytes = b"") -> bytes:
        """The key of this side and the owner of `public` for one use, and of a further secret that both have.

        Raises InvalidKeyError for a useless point.
        """
        try:
            shared = self._private.exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError:
            # Points of low order give everybody the same secret.
            raise InvalidKeyError("agreeing on a key: the public key is no X25519 key of full order") from None
        return derive(shared + secret, context)


class HybridKey:
    """A key pair of X25519 and one of ML-KEM-768. What two owners agree on is secret unless both fall.

    One of them encapsulates and sends the ciphertext, which the other opens. The key is HKDF of both secrets, the
    context, both public keys and the ciphertext. Never shown by repr.
    """

    __slots__ = ("_curve", "_kem", "public")

    def __init__(self) -> None:
        self._curve, self._kem = AgreementKey(), KemKey()
        self.public = self._curve.public + self._kem.public

    def encapsulate(self, public: bytes, context: bytes) -> tuple[bytes, bytes]:
        """(key, ciphertext) for the owner of `public`. Raises InvalidKeyError for a public key that is none."""
        secret, ciphertext = encapsulate(public[KEY_BYTES:])
        transcript = self.public + public + ciphertext
        return self._curve.agree(public[:KEY_BYTES], context + transcript, secret), ciphertext

    def decapsulate(self, public: bytes, ciphertext: bytes, context: bytes) -> bytes:
        """The key of a ciphertext that the owner of `public` sent, or of one that was altered, which fits nothing.

        Raises InvalidKeyError, InvalidCiphertextError.
        """
        secret = self._kem.decapsulate(ciphertext)
        transcript = public + self.public + ciphertext
        return self._curve.agree(public[:KEY_BYTES], context + transcript, secret)


def check_hybrid_key(public: bytes) -> None:
    """Raise InvalidKeyError unless a key can be agreed on with the owner of `public`."""
    if len(public) != HYBRID_PUBLIC_BYTES:
        raise InvalidKeyError(
            f"agreeing on a key: found a public key of {len(public)} bytes, wanted {HYBRID_PUBLIC_BYTES} of X25519 and "
            "ML-KEM-768"
        )
    HybridKey().encapsulate(public, b"")


def seal(key: bytes, nonce: int, plaintext: bytes, context: bytes) -> bytes:
    """`plaintext` encrypted and authenticated together with `context`. A key may be used once with each nonce."""
    return AESGCM(key).encrypt(nonce.to_bytes(NONCE_BYTES, "little"), plaintext, context)


def unseal(key: bytes, nonce: int, sealed: bytes, context: bytes) -> bytes:
    """What was sealed under the same key, nonce and context. Raises InvalidCiphertextError for anything else."""
    try:
        return AESGCM(key).decrypt(nonce.to_bytes(NONCE_BYTES, "little"), sealed, context)
    except InvalidTag:
        raise InvalidCiphertextError(
            "opening a sealed message: it was altered, or sealed for another pair of users, call or run", 0
        ) from None


def sign(identity: bytes, statement: bytes) -> bytes:
    """The signature, 64 bytes, of a private identity key."""
    return Ed25519PrivateKey.from_private_bytes(identity).sign(statement)


def verify(identity: bytes, statement: bytes, signature: bytes) -> bool:
    """See Verify."""
    try:
        Ed25519PublicKey.from_public_bytes(identity).verify(signature, statement)
    except (InvalidSignature, ValueError):
        return False
    return True
