"""Base transfers from ML-KEM-768 (Masny and Rindal, "Endemic oblivious transfer", CCS 2019, sections 3 and 5).

A public key of ML-KEM-768 is a vector t of 768 numbers modulo q = 3329 and a seed rho, from which the matrix A of
t = A s + e follows. Whoever does not know s cannot tell t from a random vector (module learning with errors). For each
transfer i the receiver makes one key pair (t_i, rho_i) and sends rho_i and two vectors:

    receiver    choice d      r_(1-d) random,   r_d = t_i - M(i, d, rho_i, r_(1-d))        -> rho_i, r_0, r_1
    sender      both keys     t_b = r_b + M(i, b, rho_i, r_(1-b))                          -> a ciphertext for each
    secrets     sender: of both ciphertexts      receiver: of that for t_d = t_i, whose private key it has

M is a hash into vectors modulo q: SHAKE-256 over a label, the receiver's nonce, i, b, rho_i and the other vector, read
as numbers of 12 bits of which those below q count. Of two keys whose vectors mask each other only one can be chosen,
and the other comes out random, so that nobody knows its private key. rho_i is common to both keys and part of the hash.
"""

import hashlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.crypto.kem import KEM_CIPHERTEXT_BYTES, KEM_SECRET_BYTES, KEM_SEED_BYTES, KemKey, encapsulate
from vfxgb.errors import TransferError

Q = 3329
COEFFICIENTS = 768
VECTOR_BYTES = 1152
RHO_BYTES = 32
# What the receiver sends for each transfer, and what the sender does.
KEYS_BYTES = RHO_BYTES + 2 * VECTOR_BYTES
CIPHERTEXTS_BYTES = 2 * KEM_CIPHERTEXT_BYTES
_LABEL = b"vfxgb ot masked key 1"
# 1,024 numbers, of which 832 count on average and fewer than 768 once in six million times; then more are read.
_STREAM_BYTES = 1536

Vectors = NDArray[np.uint16]


class KemReceiver:
    """The party that chooses: choices uint8[count] of 0 and 1. `message` goes to the other.

    `nonce`: random bytes of this receiver, which the other party knows.
    """

    def __init__(self, choices: NDArray[np.uint8], nonce: bytes) -> None:
        count = len(choices)
        seeds = _native.rand.random_bytes(count * KEM_SEED_BYTES)
        self._choices = choices
        self._keys = [KemKey(seeds[i * KEM_SEED_BYTES : (i + 1) * KEM_SEED_BYTES]) for i in range(count)]
        public = np.frombuffer(b"".join(key.public for key in self._keys), np.uint8).reshape(count, -1)
        seeds_of_matrix = public[:, VECTOR_BYTES:]
        drawn = uniform_vectors(count, lambda _, size: _native.rand.random_bytes(size))
        packed = pack_vectors(drawn)
        masks = _masks(nonce, choices, seeds_of_matrix, packed)
        own = pack_vectors((unpack_vectors(public[:, :VECTOR_BYTES]) + Q - masks) % Q)
        pairs = np.empty((count, 2, VECTOR_BYTES), np.uint8)
        pairs[np.arange(count), choices] = own
        pairs[np.arange(count), 1 - choices] = packed
        self.message = np.concatenate([seeds_of_matrix, pairs.reshape(count, -1)], axis=1).tobytes()

    def secrets(self, ciphertexts: bytes) -> list[bytes]:
        """The secrets of the choices from CIPHERTEXTS_BYTES of the sender for each transfer."""
        pairs = np.frombuffer(ciphertexts, np.uint8).reshape(len(self._keys), 2, KEM_CIPHERTEXT_BYTES)
        chosen = pairs[np.arange(len(self._keys)), self._choices]
        return [key.decapsulate(row.tobytes()) for key, row in zip(self._keys, chosen, strict=True)]


def encapsulate_pairs(message: bytes, nonce: bytes, step: str) -> tuple[NDArray[np.uint8], bytes]:
    """The sender's part: its secrets uint8[count, 2, 32], and the ciphertexts for the receiver of `message`.

    Raises TransferError, with `step` in its message, for vectors that are not reduced modulo q.
    """
    rows = np.frombuffer(message, np.uint8).reshape(-1, KEYS_BYTES)
    count = len(rows)
    seeds_of_matrix = np.ascontiguousarray(rows[:, :RHO_BYTES])
    packed = rows[:, RHO_BYTES:].reshape(count, 2, VECTOR_BYTES)
    secrets = np.empty((count, 2, KEM_SECRET_BYTES), np.uint8)
    ciphertexts = np.empty((count, 2, KEM_CIPHERTEXT_BYTES), np.uint8)
    for branch in (0, 1):
        sent = unpack_vectors(packed[:, branch])
        for i, place in np.argwhere(sent >= Q)[:1]:
            raise TransferError(
                f"{step}: vector {branch} of transfer {i} has {sent[i, place]} at place {place}, wanted numbers below "
                f"{Q}; the bytes were damaged on the way or the other party deviates"
            )
    for branch in (0, 1):
        masks = _masks(nonce, np.full(count, branch, np.uint8), seeds_of_matrix, packed[:, 1 - branch])
        vectors = pack_vectors((unpack_vectors(packed[:, branch]) + masks) % Q)
        for i in range(count):
            secret, ciphertext = encapsulate(vectors[i].tobytes() + seeds_of_matrix[i].tobytes())
            secrets[i, branch] = np.frombuffer(secret, np.uint8)
            ciphertexts[i, branch] = np.frombuffer(ciphertext, np.uint8)
    return secrets, ciphertexts.tobytes()


def pack_vectors(vectors: Vectors) -> NDArray[np.uint8]:
    """Vectors uint16[count, 768] below 4096 as FIPS 203 writes them: 12 bits a number, the low ones first."""
    low, high = vectors[:, 0::2], vectors[:, 1::2]
    parts = [low & 0xFF, (low >> 8) | ((high & 0xF) << 4), high >> 4]
    return np.stack(parts, axis=2).astype(np.uint8).reshape(len(vectors), -1)


def unpack_vectors(packed: NDArray[np.uint8]) -> Vectors:
    """The reverse of `pack_vectors`, of rows of any multiple of three bytes; numbers may be q and above."""
    parts = packed.reshape(len(packed), -1, 3).astype(np.uint16)
    low = parts[:, :, 0] | ((parts[:, :, 1] & 0xF) << 8)
    high = (parts[:, :, 1] >> 4) | (parts[:, :, 2] << 4)
    return np.stack([low, high], axis=2).reshape(len(packed), -1)


def uniform_vectors(count: int, stream: Callable[[int, int], bytes]) -> Vectors:
    """Vectors from `stream(i, size)`: the first `size` bytes that row i is made of, 12 bits a number, those below q."""
    size = _STREAM_BYTES
    while True:
        drawn = unpack_vectors(
            np.frombuffer(b"".join(stream(i, size) for i in range(count)), np.uint8).reshape(count, -1)
        )
        good = drawn < Q
        places = np.cumsum(good, axis=1)
        if places[:, -1].min() >= COEFFICIENTS:
            return drawn[good & (places <= COEFFICIENTS)].reshape(count, COEFFICIENTS)
        size *= 2


def _masks(nonce: bytes, branches: NDArray[np.uint8], rho: NDArray[np.uint8], other: NDArray[np.uint8]) -> Vectors:
    """M(i, branches[i], rho[i], other[i]) for all i."""

    def stream(i: int, size: int) -> bytes:
        start = _LABEL + nonce + i.to_bytes(8, "little") + bytes([branches[i]])
        return hashlib.shake_256(start + rho[i].tobytes() + other[i].tobytes()).digest(size)

    return uniform_vectors(len(branches), stream)
