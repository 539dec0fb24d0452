"""fate_utils, the Rust library below FATE 2, below SecureBoost's messages as loop.py sends them."""

from __future__ import annotations

from typing import Any

import numpy as np
from field.loop import KEY_BITS, Library, loop_peer

OBFUSCATE = True  # without it a ciphertext has no randomness


class _Active:
    def __init__(self) -> None:
        from fate_utils import paillier

        self._vectors = paillier.CiphertextVector
        self._private, self._public, self._coder = paillier.keygen(KEY_BITS)

    def public(self) -> bytes:
        return bytes(self._public.__getstate__())

    def encrypt(self, values: Any) -> bytes:
        return bytes(self._public.encrypt_encoded(self._coder.encode_i64_vec(values), OBFUSCATE).__getstate__())

    def decrypt(self, sums: bytes) -> Any:
        vector = self._vectors()
        vector.__setstate__(sums)
        return np.asarray(self._coder.decode_i64_vec(self._private.decrypt_to_encoded(vector)))


class _Passive:
    def __init__(self, public: bytes) -> None:
        from fate_utils import paillier

        self._vectors = paillier.CiphertextVector
        self._public = paillier.PK()
        self._public.__setstate__(public)

    def take(self, ciphertexts: bytes) -> Any:
        vector = self._vectors()
        vector.__setstate__(ciphertexts)
        return vector

    def sums(self, ciphertexts: Any, rows: Any, bins: Any, n_bins: int) -> bytes:
        features = bins.shape[1]
        totals = self._vectors.zeros(features * n_bins)
        positions = (bins.astype(np.int64) + n_bins * np.arange(features)).tolist()
        totals.iupdate(ciphertexts.slice_indexes(rows.tolist()), positions, 1, self._public)
        return bytes(totals.__getstate__())


LIBRARIES = {"loop-paillier": Library(_Active, _Passive)}
PEER = loop_peer("fate_utils", "fate_utils==0.1.0", "fate_utils", (), LIBRARIES)
