"""The proof that a request belongs to one choice in each transfer (cpp/ot/consistency.h), without a round of its own.

The weights are those of a key that is a digest of the request, so they are fixed only after it (Fiat and Shamir).
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native

# Transfers with random choices that hide the others in the proof, in groups of 128.
MASK_GROUPS = 2
PROOF_BYTES = 32
_LABEL = b"vfxgb ot check 1"


def prove(session: bytes, u: bytes, choices: bytes, t: NDArray[np.uint8], threads: int) -> bytes:
    """The receiver's proof for its request u; choices and t of all groups, the random ones among them."""
    key = _weights(session, u)
    return _native.ot.weighted_choices(key, choices) + _native.ot.weighted_sum(key, t, threads)


def holds(session: bytes, u: memoryview, q: NDArray[np.uint8], delta: bytes, proof: bytes, threads: int) -> bool:
    """Whether the sender finds the proof right."""
    chosen, sent = proof[:16], proof[16:]
    own = _native.ot.weighted_sum(_weights(session, u), q, threads)
    moved = _native.ot.field_product(chosen, delta)
    return bytes(a ^ b for a, b in zip(sent, moved, strict=True)) == own


def _weights(session: bytes, u: bytes | memoryview) -> bytes:
    return hashlib.blake2b(u, digest_size=16, key=session, person=_LABEL).digest()
