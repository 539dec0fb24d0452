"""Seeds of both parties, and the public elements a_B and a_z that follow from them.

The active party commits to its seed, the passive party sends its own, the active party opens: neither can choose a
polynomial. The name of a set-up is a digest of both seeds and of what was agreed; elements are SHAKE-128 of the name
and the number of their block.
"""

import hashlib
import hmac

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import LatticeError
from vfxgb.lattice.params import LatticeParams, Ring

SEED_BYTES = 32
NAME_BYTES = 32
ZERO_BLOCK = (1 << 64) - 1  # the number of a_z, whose block has no rows
_COMMIT_LABEL = b"vfxgb lattice commitment 1"
_NAME_LABEL = b"vfxgb lattice set-up 1"
_ELEMENT_LABEL = b"vfxgb lattice element 1"


def draw_seed() -> bytes:
    """Fresh randomness: a seed, or what opens a commitment."""
    return _native.rand.random_bytes(SEED_BYTES)


def commitment(seed: bytes, opening: bytes) -> bytes:
    """What hides a seed and binds to it, with 32 random bytes as its opening."""
    return hashlib.sha256(_COMMIT_LABEL + opening + seed).digest()


def check_opening(committed: bytes, seed: bytes, opening: bytes, step: str) -> None:
    """Raise LatticeError unless a seed is the one that was committed to."""
    if len(seed) != SEED_BYTES or len(opening) != SEED_BYTES:
        raise LatticeError(f"{step}: found a seed of {len(seed)} bytes, wanted {SEED_BYTES}")
    if not hmac.compare_digest(commitment(seed, opening), committed):
        raise LatticeError(
            f"{step}: the seed is not the one that was committed to; the other party chose it after it knew ours"
        )


def agreed_bytes(params: LatticeParams, columns: int) -> bytes:
    """What both parties must agree on, as bytes."""
    return msgspec.msgpack.encode(
        [
            params.ring.degree,
            params.ring.log_q,
            params.rows,
            params.value_bits,
            params.norm_bits,
            params.column_bits,
            params.node_bits,
            params.columns_per_word,
            columns,
        ]
    )


def setup_name(params: LatticeParams, columns: int, active_seed: bytes, passive_seed: bytes) -> bytes:
    """The name of a set-up: whatever differs between two of them makes another one."""
    agreed = agreed_bytes(params, columns)
    return hashlib.sha256(_NAME_LABEL + active_seed + passive_seed + agreed).digest()


def public_element(name: bytes, block: int, ring: Ring) -> NDArray[np.uint64]:
    """The element of a block, modulo q in the upper bits of words."""
    word_bytes = ring.log_q // 8
    stream = hashlib.shake_128(_ELEMENT_LABEL + name + block.to_bytes(8, "little"))
    drawn = np.frombuffer(stream.digest(ring.degree * word_bytes), dtype=np.uint8).reshape(ring.degree, word_bytes)
    words = np.zeros((ring.degree, 8), dtype=np.uint8)
    words[:, 8 - word_bytes :] = drawn
    return words.view("<u8").reshape(ring.degree).astype(np.uint64)


def public_elements(name: bytes, first: int, stop: int, ring: Ring) -> NDArray[np.uint64]:
    """Those of blocks `first` to `stop` - 1, uint64[blocks, degree]."""
    if first >= stop:
        return np.zeros((0, ring.degree), dtype=np.uint64)
    return np.stack([public_element(name, block, ring) for block in range(first, stop)])
