"""The proof that a request belongs to one choice in each transfer (cpp/ot/consistency.h), without a round of its own.

The weights are those of a key that is a digest of all that the receiver has sent, so they are fixed only after it
(Fiat and Shamir): of the opening of its seeds as well as of the request. The proof is R(r), 16 bytes, and a digest of R
of the 128 columns, 32 bytes.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.ot.wire import Bytes

# Transfers with random choices that hide the others in the proof: the last group of 128 of a request.
MASK_GROUPS = 1
CHOICE_BYTES = 16
DIGEST_BYTES = 32
PROOF_BYTES = CHOICE_BYTES + DIGEST_BYTES
_WEIGHTS = b"vfxgb ot check 3"
_COLUMNS = b"vfxgb ot columns"
_SEEDS = b"vfxgb ot opening"


def seed_digest(session: bytes, opening: Bytes, check_blocks: bytes) -> bytes:
    """A digest of an opening and the check blocks of all leaves, the same for both parties (cpp/ot/seed_trees.h)."""
    digest = hashlib.blake2b(opening, digest_size=DIGEST_BYTES, key=session, person=_SEEDS)
    digest.update(check_blocks)
    return digest.digest()


def prove(session: bytes, before: bytes, content: Bytes, choices: bytes, t: NDArray[np.uint8], threads: int) -> bytes:
    """The receiver's proof for a request. `before`: what was fixed earlier; `content`: a digest of what it sends now.

    choices and t are of all groups.
    """
    key = _weights(session, before, content)
    columns = _native.ot.compress_columns(key, t, threads)
    return _native.ot.compress(key, choices) + _digest(session, columns)


def holds(
    session: bytes, before: bytes, content: Bytes, q: NDArray[np.uint8], delta: bytes, proof: bytes, threads: int
) -> bool:
    """Whether the sender finds the proof right."""
    columns = _native.ot.compress_columns(_weights(session, before, content), q, threads)
    own = np.frombuffer(columns, dtype=np.uint8).reshape(128, CHOICE_BYTES)
    bits = np.unpackbits(np.frombuffer(delta, dtype=np.uint8), bitorder="little")
    chosen = np.frombuffer(proof[:CHOICE_BYTES], dtype=np.uint8)
    theirs = own ^ (chosen & (bits * np.uint8(255))[:, np.newaxis])
    return _digest(session, theirs.tobytes()) == proof[CHOICE_BYTES:]


def _weights(session: bytes, before: bytes, content: Bytes) -> bytes:
    digest = hashlib.blake2b(before, digest_size=16, key=session, person=_WEIGHTS)
    digest.update(content)
    return digest.digest()


def _digest(session: bytes, columns: bytes) -> bytes:
    return hashlib.blake2b(columns, digest_size=DIGEST_BYTES, key=session, person=_COLUMNS).digest()
