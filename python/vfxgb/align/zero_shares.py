"""Numbers of the passive parties, one for each id, that add up to zero over all of them where they have the id.

Every two passive parties share a key K_kj, and z_k(y) is the XOR of AES(K_kj, y) over all j: each term is in two of the
sums. They agree on it by X25519 and ML-KEM-768 together. The active party passes public keys and ciphertexts on; of two
parties the one in the earlier place encapsulates.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.align.messages import PassedCiphertexts
from vfxgb.align.params import KEY_BYTES
from vfxgb.crypto.key_agreement import HYBRID_CIPHERTEXT_BYTES, HYBRID_PUBLIC_BYTES, HybridKey
from vfxgb.errors import InvalidKeyError, MessageError
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_bytes

_CONTEXT = b"vfxgb align zero shares 2"


class ZeroShares:
    """One passive party's keys with the others. `ciphertexts` go to those in later places, `open` takes the others'.

    `own`: the key of this party, None where it is the only one; `publics`: those of all, it stands at `place`. Raises
    MessageError, with `step` in its message, for keys that are none.
    """

    def __init__(self, own: HybridKey | None, publics: Sequence[bytes], place: int, n_passives: int, step: str) -> None:
        if len(publics) != n_passives or not 0 <= place < n_passives:
            raise MessageError(
                f"{step}: found {len(publics)} public keys and place {place}, wanted {n_passives} of all passive "
                "parties and a place among them"
            )
        if publics[place] != (b"" if own is None else own.public):
            raise MessageError(f"{step}: found another public key in this party's place, wanted its own")
        if len(set(publics)) != n_passives:
            raise MessageError(f"{step}: found a public key twice, wanted one for each passive party")
        self._own, self._publics, self._place, self._step = own, publics, place, step
        self._keys: list[bytes] = []
        made = [self._encapsulate(later) for later in range(place + 1, n_passives)]
        self.ciphertexts = b"".join(made)

    def open(self, ciphertexts: memoryview) -> None:
        """Take what the parties in earlier places encapsulated. Raises MessageError."""
        check_ciphertexts(ciphertexts, self._place, self._step)
        for place in range(self._place):
            public, ciphertext = self._publics[place], bytes(_row(ciphertexts, place))
            try:
                self._keys.append(self._agreement.decapsulate(public, ciphertext, _CONTEXT))
            except InvalidKeyError:
                raise self._no_key(place) from None

    def of(self, digests: NDArray[np.uint8]) -> NDArray[np.uint64]:
        """z of this party for each of its ids uint8[n, 16]."""
        zero = np.zeros(len(digests), dtype=np.uint64)
        for key in self._keys:
            zero ^= _native.ot.aes_encrypt(key[:KEY_BYTES], digests).view("<u8").reshape(-1, 2)[:, 0]
        return zero

    @property
    def _agreement(self) -> HybridKey:
        assert self._own is not None  # noqa: S101 - there are others
        return self._own

    def _encapsulate(self, place: int) -> bytes:
        public = self._publics[place]
        try:
            key, ciphertext = self._agreement.encapsulate(public, _CONTEXT)
        except InvalidKeyError:
            raise self._no_key(place) from None
        self._keys.append(key)
        return ciphertext

    def _no_key(self, place: int) -> MessageError:
        return MessageError(
            f"{self._step}: public key {place} is no key of X25519 and ML-KEM-768, wanted {HYBRID_PUBLIC_BYTES} bytes "
            "of both"
        )


def check_ciphertexts(ciphertexts: memoryview, count: int, step: str) -> None:
    """Raise MessageError unless there are `count` ciphertexts."""
    wanted = count * HYBRID_CIPHERTEXT_BYTES
    if len(ciphertexts) != wanted:
        raise MessageError(
            f"{step}: found {len(ciphertexts)} bytes of ciphertexts, wanted {wanted} for {count} other passive parties"
        )


def pass_on_ciphertexts(channels: Mapping[str, Channel], made: Sequence[memoryview]) -> None:
    """Send every passive party what those in earlier places made for it; `made`, checked, in the order of places."""
    for place, channel in enumerate(channels.values()):
        rows = b"".join(_row(made[earlier], place - earlier - 1) for earlier in range(place))
        channel.send(PassedCiphertexts(ciphertexts=pack_bytes(rows)))


def _row(ciphertexts: memoryview, place: int) -> memoryview:
    return ciphertexts[place * HYBRID_CIPHERTEXT_BYTES : (place + 1) * HYBRID_CIPHERTEXT_BYTES]
