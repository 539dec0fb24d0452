"""Vectors in the masked form of FEDXGB, equation (7), and their sum (ERRATA E11, E15).

A user draws r and sends, for entry e of a vector of values v (inputs plus pairwise masks, modulo N),

    c_e = (1 + v_e N) K**phi_e mod N**2,   K = h_S**r,   phi_e = PRF(g**r, call, e) of 256 bits,

where h_S = g**a_S is the server's public key. It keeps the *blinder* g**r to itself until the sum may be opened. The
server multiplies the vectors of all users as they arrive; from the blinders it has R_e = prod_u (g**r_u)**phi_ue and

    sum_u v_ue = (prod_u c_ue / R_e**a_S mod N**2 - 1) / N   modulo N.

Without its blinder a user's vector stays hidden from the server too: the exponents differ from entry to entry and call
to call, so that no ratio of ciphertexts tells anything (E15).
"""

import hashlib
import hmac

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.crypto.bresson import BressonGroup, Rows, not_in_group
from vfxgb.errors import LengthMismatchError
from vfxgb.threads import resolve_threads

PHI_BYTES = 32
BLOCK_BYTES = 64  # of a key stream
USERS_AT_ONCE = 64  # whose exponents are held while a sum is opened


def mask(
    group: BressonGroup, server_public: bytes, r: int, call: bytes, values: Rows, threads: int | None = None
) -> Rows:
    """Ciphertexts uint8[m, element_bytes] of values uint8[m, number_bytes] below N, in the order of the entries.

    `server_public`: checked once by the caller (BressonGroup.check_public_key). `r`: fresh for every call, as
    random_exponent or exponent_from_seed make it. `call`: bytes that are never the same for two calls. The blinder that
    opens the vector is group.power_of_g([r]). Raises PlaintextRangeError for values that are not below N.
    """
    group.check_plaintexts(values, "masking a vector")
    base = group.power_of_public(server_public, [r], 1)
    exponents = blinding_exponents(group.power_of_g([r], 1), call, len(values))[0]
    return group.native.powers(base, exponents, values, resolve_threads(threads))


def blinding_exponents(blinders: Rows, call: bytes, count: int) -> NDArray[np.uint8]:
    """phi_ue for each blinder u and entry e: uint8[users, count, 32], from a ChaCha20 key stream for each user."""
    out = np.empty((len(blinders), count * PHI_BYTES), np.uint8)
    for user, blinder in enumerate(blinders):
        key = hmac.new(blinder.tobytes(), b"vfxgb masked form" + call, hashlib.sha256).digest()
        stream = _native.rand.chacha20_keystream(key, -(-count * PHI_BYTES // BLOCK_BYTES))
        out[user] = np.frombuffer(stream, np.uint8)[: count * PHI_BYTES]
    return out.reshape(len(blinders), count, PHI_BYTES)


class MaskedSum:
    """The server's running product of users' vectors: memory for m ciphertexts, however many users."""

    def __init__(self, group: BressonGroup, count: int) -> None:
        self._group, self._count = group, count
        self._product = _native.crypto.ElementProducts(group.native, count)

    def add(self, ciphertexts: Rows, threads: int | None = None) -> None:
        """Multiply one user's vector in. After LengthMismatchError and InvalidCiphertextError nothing has changed."""
        step, wanted = "adding a masked vector", (self._count, self._group.element_bytes)
        if ciphertexts.dtype != np.uint8 or ciphertexts.shape != wanted:
            raise LengthMismatchError(
                f"{step}: found ciphertexts of type {ciphertexts.dtype} and shape {ciphertexts.shape}, wanted uint8 of "
                f"shape {wanted}; the vector is of another length or group"
            )
        index = self._product.multiply(ciphertexts, resolve_threads(threads))
        if index >= 0:
            raise not_in_group(index, step)

    def open(self, private: int, blinders: Rows, call: bytes, threads: int | None = None) -> Rows:
        """Sums modulo N, uint8[m, number_bytes], of the vectors added, from the blinders uint8[users, element_bytes].

        Raises InvalidCiphertextError if they are not the blinders of exactly those vectors. A blinder times a power of
        1 + N cannot be told from an honest one: it shifts the sums by multiples of `private`, so a caller who did not
        make the blinders itself must not pass on sums beyond their range.
        """
        group, count = self._group, resolve_threads(threads)
        group.check_elements(blinders, "opening a masked sum", count)
        powers = _native.crypto.PowerProducts(group.native, self._count, 8 * PHI_BYTES)
        for first in range(0, len(blinders), USERS_AT_ONCE):
            some = blinders[first : first + USERS_AT_ONCE]
            powers.multiply(some, blinding_exponents(some, call, self._count), count)
        return group.decrypt(private, powers.elements(count), self._product.elements(count), count)
