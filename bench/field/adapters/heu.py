"""HEU, the encryption of SecretFlow, below SecureBoost's messages as loop.py sends them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from field.loop import KEY_BITS, Library, loop_peer

SCHEMAS = {"loop-ou": "OU", "loop-paillier": "ZPaillier"}


class _Active:
    def __init__(self, schema: str) -> None:
        from heu import numpy as hnp
        from heu import phe

        self._arrays = hnp.CiphertextArray
        self._kit = hnp.setup(getattr(phe.SchemaType, schema), KEY_BITS)
        self._integers, self._coder = phe.BigintEncoderParams(), self._kit.bigint_encoder()

    def public(self) -> bytes:
        return bytes(self._kit.public_key().serialize())

    def encrypt(self, values: Any) -> bytes:
        return bytes(self._kit.encryptor().encrypt(self._kit.array(values, self._integers)).serialize())

    def decrypt(self, sums: bytes) -> Any:
        opened = self._kit.decryptor().decrypt(self._arrays.load_from(sums)).to_numpy(self._coder)
        return np.array([int(value) for value in opened.ravel()])


class _Passive:
    def __init__(self, public: bytes) -> None:
        from heu import numpy as hnp
        from heu import phe

        self._arrays = hnp.CiphertextArray
        self._evaluator = hnp.setup(phe.PublicKey.load_from(public)).evaluator()

    def take(self, ciphertexts: bytes) -> Any:
        return self._arrays.load_from(ciphertexts)

    def sums(self, ciphertexts: Any, rows: Any, bins: Any, n_bins: int) -> bytes:
        everybody = np.ones((1, len(rows)), dtype=np.int8)
        some = ciphertexts[rows.tolist()]
        found = self._evaluator.feature_wise_bucket_sum(some, everybody, np.ascontiguousarray(bins), n_bins, False)
        return bytes(found.serialize())


LIBRARIES = {name: Library(partial(_Active, schema), _Passive) for name, schema in SCHEMAS.items()}
PEER = loop_peer("HEU", "sf-heu", "heu", (), LIBRARIES)
