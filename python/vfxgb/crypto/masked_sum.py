"""Vectors in the masked form of papers/003, equation (7), and their sum (ERRATA E11, E15).

A user draws r and sends, for entry e of a vector of values v (inputs plus pairwise masks, modulo N),

    c_e = (1 + v_e N) K**phi_e mod N**2,   K = h_S**r,   phi_e = PRF(g**r, call, e) of 256 bits,

where h_S = g**a_S is the server's public key. It keeps the *blinder* g**r to itself until the sum may be opened. The
server multiplies the vectors of all users as they arrive; from the blinders it has R_e = prod_u (g**r_u)**phi_ue and

    sum_u v_ue = (prod_u c_ue / R_e**a_S mod N**2 - 1) / N   modulo N.

Without its blinder a user's vector stays hidden from the server too: the exponents differ from entry to entry and call
to call, so that no ratio of ciphertexts tells anything (E15).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

import gmpy2
import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.crypto.bresson import BressonGroup, Rows
from vfxgb.errors import LengthMismatchError

PHI_BYTES = 32


def mask(
    group: BressonGroup, server_public: bytes, r: int, call: bytes, values: Rows, threads: int | None = None
) -> Rows:
    """Ciphertexts uint8[m, element_bytes] of values uint8[m, number_bytes] below N, in the order of the entries.

    `server_public`: checked once by the caller (BressonGroup.check_public_key). `r`: fresh for every call, as
    random_exponent or exponent_from_seed make it. `call`: bytes that are never the same for two calls. The blinder that
    opens the vector is group.power_of_g([r]).
    """
    n, m = group.n, group.n**2
    base = int(gmpy2.powmod(group.integer(server_public), r, m))
    exponents = blinding_exponents(group.power_of_g([r]), call, len(values))[0]
    return group.rows(
        [
            group.element(int((1 + v * n) * gmpy2.powmod(base, int.from_bytes(e.tobytes(), "little"), m) % m))
            for v, e in zip(group.numbers(values), exponents, strict=True)
        ]
    )


def blinding_exponents(blinders: Rows, call: bytes, count: int) -> NDArray[np.uint8]:
    """phi_ue for each blinder u and entry e: uint8[users, count, 32]."""
    out = np.empty((len(blinders), count, PHI_BYTES), np.uint8)
    for u, blinder in enumerate(blinders):
        key = hmac.new(blinder.tobytes(), b"vfxgb masked form" + call, hashlib.sha256).digest()
        stream = _native.chacha20_keystream(key, -(-count * PHI_BYTES // 64))
        out[u] = np.frombuffer(stream, np.uint8)[: count * PHI_BYTES].reshape(count, PHI_BYTES)
    return out


class MaskedSum:
    """The server's running product of users' vectors: memory for m ciphertexts, however many users."""

    def __init__(self, group: BressonGroup, count: int) -> None:
        self._group, self._count = group, count
        self._product = [1] * count

    def add(self, ciphertexts: Rows, threads: int | None = None) -> None:
        """Multiply one user's vector in. Raises LengthMismatchError and InvalidCiphertextError; then nothing changed."""
        if ciphertexts.shape != (self._count, self._group.element_bytes):
            raise LengthMismatchError(
                f"adding a masked vector: found ciphertexts of shape {ciphertexts.shape}, wanted "
                f"({self._count}, {self._group.element_bytes})"
            )
        self._group.check_elements(ciphertexts, "adding a masked vector", threads)
        m = self._group.n**2
        self._product = [
            old * self._group.integer(one.tobytes()) % m for old, one in zip(self._product, ciphertexts, strict=True)
        ]

    def open(self, private: int, blinders: Rows, call: bytes, threads: int | None = None) -> Rows:
        """Sums modulo N, uint8[m, number_bytes], of the vectors added, from one blinder uint8[element_bytes] for each.

        Raises InvalidCiphertextError if the blinders are not exactly those of the vectors that were added.
        """
        group, m = self._group, self._group.n**2
        powers = [1] * self._count
        exponents = blinding_exponents(blinders, call, self._count)
        for u, blinder in enumerate(blinders):
            base = group.integer(blinder.tobytes())
            for e in range(self._count):
                exponent = int.from_bytes(exponents[u, e].tobytes(), "little")
                powers[e] = powers[e] * int(gmpy2.powmod(base, exponent, m)) % m
        return group.decrypt(
            private,
            group.rows([group.element(power) for power in powers]),
            group.rows([group.element(one) for one in self._product]),
            threads,
        )

    def open_known(self, public: bytes, exponents: Sequence[int], call: bytes, threads: int | None = None) -> Rows:
        """The same from the r of every user, where the server knows them (reconstructed seeds): far quicker."""
        group, m = self._group, self._group.n**2
        phi = blinding_exponents(group.power_of_g(exponents), call, self._count)
        h, out = group.integer(public), []
        for e, c in enumerate(self._product):
            total = sum(r * int.from_bytes(phi[u, e].tobytes(), "little") for u, r in enumerate(exponents))
            out.append(int(c * gmpy2.invert(gmpy2.powmod(h, total, m), m) % m - 1) // group.n)
        return group.plaintexts(out)
