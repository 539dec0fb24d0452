"""HEU, the encryption of SecretFlow, below SecureBoost's messages as loop.py sends them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from field.adapter import Entrant, Job, Peer, Reporter
from field.loop import play

KEY_BITS = 2048
SCHEMAS = {"loop-ou": "OU", "loop-paillier": "ZPaillier"}
LEARNS = (
    "as SecureBoost: the active party opens the sums of every bucket, the passive one learns the rows of every node"
)


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


class _Library:
    def __init__(self, schema: str) -> None:
        self._schema = schema

    def active(self) -> _Active:
        return _Active(self._schema)

    def passive(self, public: bytes) -> _Passive:
        return _Passive(public)


def _entrants() -> Mapping[str, Entrant]:
    return {name: Entrant("sums", LEARNS, key_bits=KEY_BITS) for name in SCHEMAS}


def _play(job: Job, reporter: Reporter) -> None:
    play(job, reporter, _Library(SCHEMAS[job.entrant]))


PEER = Peer(
    title="HEU",
    distribution="sf-heu",
    module="heu",
    requirements=("sf-heu", "numpy"),
    install="pip install sf-heu numpy",
    source="bench/field/loop.py, which sends these messages",
    entrants=_entrants,
    play=_play,
    notes=("trains nothing itself: SecureBoost's messages as bench/field/loop.py sends them, over TCP without TLS",),
)
