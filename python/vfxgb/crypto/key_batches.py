"""Keys of many pairs at once: what key_agreement.py does for one pair, natively (cpp/crypto/x25519.h and hkdf.h).

Batches are arrays uint8[n, bytes], a row for each pair. Where all pairs have the same private key or secret, it is one
row for all of them.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.crypto.key_agreement import KEY_BYTES, AgreementKey, context_of
from vfxgb.errors import InvalidKeyError

Rows: TypeAlias = NDArray[np.uint8]


def rows_of(keys: Sequence[bytes | memoryview]) -> Rows:
    """Keys of KEY_BYTES each as a batch."""
    return np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), KEY_BYTES)


def contexts_of(purpose: str, run: bytes, *numbers: int | NDArray[np.int64]) -> Rows:
    """context_of for many uses. A number is the same for all, or an array has one for each; one of them is an array."""
    columns = np.broadcast_arrays(*numbers)
    words = np.stack(columns, axis=1).astype("<u8")
    front = np.frombuffer(context_of(purpose, run), np.uint8)
    return np.concatenate([np.broadcast_to(front, (len(words), len(front))), words.view(np.uint8)], axis=1)


def derive_all(secrets: Rows, contexts: Rows, threads: int = 1) -> Rows:
    """key_agreement.derive for every row."""
    return _native.crypto.hkdf_sha256(secrets, contexts, threads)


def agree_all(own: AgreementKey, publics: Rows, contexts: Rows, secrets: Rows, threads: int = 1) -> Rows:
    """own.agree for every row of public keys, each with a context and a further secret.

    Raises InvalidKeyError with the index of the first useless point.
    """
    shared = _native.crypto.x25519(np.frombuffer(own.private_bytes(), np.uint8)[None], publics, threads)
    useless = np.flatnonzero(~shared.any(axis=1))
    if len(useless):
        raise InvalidKeyError("agreeing on a key: the public key is no X25519 key of full order", int(useless[0]))
    return derive_all(np.concatenate([shared, secrets], axis=1), contexts, threads)
