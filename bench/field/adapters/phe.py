"""phe (python-paillier), below SecureBoost's messages as loop.py sends them: its raw integers, with gmpy2."""

from __future__ import annotations

from typing import Any

import numpy as np
from field.loop import KEY_BITS, Library, loop_peer

BYTES = 2 * KEY_BITS // 8


def _to_bytes(numbers: list[int]) -> bytes:
    return b"".join(int(number).to_bytes(BYTES, "big") for number in numbers)


def _to_numbers(data: bytes) -> list[int]:
    return [int.from_bytes(data[place : place + BYTES], "big") for place in range(0, len(data), BYTES)]


class _Active:
    def __init__(self) -> None:
        from phe import paillier

        self._public, self._private = paillier.generate_paillier_keypair(n_length=KEY_BITS)

    def public(self) -> bytes:
        return int(self._public.n).to_bytes(BYTES, "big")

    def encrypt(self, values: Any) -> bytes:
        n = self._public.n
        return _to_bytes([self._public.raw_encrypt(value % n) for value in values.tolist()])

    def decrypt(self, sums: bytes) -> Any:
        n = self._public.n
        opened = [self._private.raw_decrypt(number) for number in _to_numbers(sums)]
        return np.array([value - n if value > n // 2 else value for value in opened])


class _Passive:
    def __init__(self, public: bytes) -> None:
        from phe.paillier import PaillierPublicKey

        self._public = PaillierPublicKey(int.from_bytes(public, "big"))

    def take(self, ciphertexts: bytes) -> list[int]:
        return _to_numbers(ciphertexts)

    def sums(self, ciphertexts: list[int], rows: Any, bins: Any, n_bins: int) -> bytes:
        from phe.util import mulmod

        square = self._public.nsquare
        # An encryption of zero to begin with: a bucket without rows must not show as such.
        totals = [self._public.raw_encrypt(0) for _ in range(bins.shape[1] * n_bins)]
        for row, line in zip(rows.tolist(), bins.tolist(), strict=True):
            for feature, place in enumerate(line):
                cell = feature * n_bins + place
                totals[cell] = mulmod(totals[cell], ciphertexts[row], square)
        return _to_bytes(totals)


LIBRARIES = {"loop-paillier": Library(_Active, _Passive)}
PEER = loop_peer("phe", "phe==1.5.0", "phe", ("gmpy2",), LIBRARIES)
