"""Ids as points of Curve25519 under a secret scalar: two parties' scalars commute (Meadows 1986; Huberman et al. 1999).

An id's point: the first of BLAKE2b(digest, 0), BLAKE2b(digest, 1), ... that is the x-coordinate of a point on the curve
y^2 = x^3 + 486662 x^2 + x over the field of p = 2^255 - 19, and not on its twist. X25519 (RFC 7748) multiplies by a
multiple of 8, so that what is sent lies in the subgroup of prime order. A received point of small order becomes 0 and
is refused; so is one on the twist, and one that is not reduced. Rests on decisional Diffie-Hellman in that group, with
BLAKE2b as a random oracle.
"""

import hashlib
from collections.abc import Iterable

import gmpy2
import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import MessageError

POINT_BYTES = 32
_PRIME = gmpy2.mpz(2) ** 255 - 19
_A = 486_662
_PERSON = b"vfxgb id point 1"


class Blinder:
    """A fresh secret scalar. Never shown by repr."""

    __slots__ = ("_secret",)

    def __init__(self) -> None:
        self._secret = X25519PrivateKey.from_private_bytes(_native.rand.random_bytes(POINT_BYTES))

    def blind_ids(self, digests: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The points uint8[n, 32] of ids, times the secret."""
        return self._times(id_point(row.tobytes()) for row in digests)

    def blind_points(self, points: NDArray[np.uint8], step: str) -> NDArray[np.uint8]:
        """Another party's points, checked, times the secret. Raises MessageError, with `step`, for one that is none."""
        for row, point in enumerate(points):
            if not _on_curve(point.tobytes()):
                raise MessageError(
                    f"{step}: point {row} does not lie on Curve25519; the bytes were damaged or the peer deviates"
                )
        try:
            return self._times(point.tobytes() for point in points)
        except ValueError:
            raise MessageError(f"{step}: found a point of small order; the peer deviates") from None

    def _times(self, points: Iterable[bytes]) -> NDArray[np.uint8]:
        products = [self._secret.exchange(X25519PublicKey.from_public_bytes(point)) for point in points]
        return np.frombuffer(b"".join(products), dtype=np.uint8).reshape(-1, POINT_BYTES)


def id_point(digest: bytes) -> bytes:
    """The point of an id's digest: its x-coordinate, little-endian."""
    counter = 0
    while True:
        data = hashlib.blake2b(digest + counter.to_bytes(4, "little"), digest_size=POINT_BYTES, person=_PERSON).digest()
        point = (int.from_bytes(data, "little") & ((1 << 255) - 1)).to_bytes(POINT_BYTES, "little")
        if _on_curve(point):
            return point
        counter += 1


def _on_curve(point: bytes) -> bool:
    x = gmpy2.mpz(int.from_bytes(point, "little"))
    return bool(0 < x < _PRIME) and gmpy2.jacobi((x * x + _A * x + 1) * x % _PRIME, _PRIME) == 1
