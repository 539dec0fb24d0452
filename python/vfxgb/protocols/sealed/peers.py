"""Shares that one passive party sends to another through the active party, which must not read them.

Every two passive parties agree on a key by X25519 and ML-KEM-768 together; of two the one in the earlier place
encapsulates. The active party passes public keys and ciphertexts on. (One that deviates could put its own keys in their
place: like all of `sealed`, this holds for parties that follow the protocol.)
"""

from collections.abc import Sequence

from vfxgb.crypto.key_agreement import HybridKey, seal, unseal
from vfxgb.errors import InvalidCiphertextError, InvalidKeyError, MessageError

_CONTEXT = b"vfxgb sealed shares 1"


class PassivePeers:
    """The keys of the passive party `own` with all others, in party order; it stands at `place`.

    `ciphertexts` go to those in later places. Raises MessageError for keys that are none.
    """

    def __init__(self, own: HybridKey, publics: Sequence[bytes], place: int, step: str) -> None:
        self._step = step
        if not 0 <= place < len(publics) or publics[place] != own.public or len(set(publics)) != len(publics):
            raise MessageError(
                f"{step}: found {len(publics)} public keys and place {place}, wanted a different one for each passive "
                "party, and this party's own in its place"
            )
        self._own, self._publics = own, publics
        self.place, self.count = place, len(publics)
        self._keys: dict[int, bytes] = {}
        self._sent: dict[int, int] = {}
        self._opened: dict[int, int] = {}
        self.ciphertexts: list[bytes] = []
        for later in range(place + 1, self.count):
            self._keys[later], ciphertext = self._encapsulate(later)
            self.ciphertexts.append(ciphertext)

    def accept(self, ciphertexts: Sequence[bytes]) -> None:
        """Take what the parties in earlier places encapsulated. Raises MessageError."""
        if len(ciphertexts) != self.place:
            raise MessageError(f"{self._step}: found {len(ciphertexts)} keys of others, wanted {self.place}")
        for earlier, ciphertext in enumerate(ciphertexts):
            self._keys[earlier] = self._decapsulate(earlier, ciphertext)

    def _decapsulate(self, place: int, ciphertext: bytes) -> bytes:
        try:
            return self._own.decapsulate(self._publics[place], ciphertext, _CONTEXT)
        except (InvalidKeyError, InvalidCiphertextError):
            raise MessageError(f"{self._step}: the key of passive party {place} is none") from None

    def _encapsulate(self, place: int) -> tuple[bytes, bytes]:
        try:
            return self._own.encapsulate(self._publics[place], _CONTEXT)
        except InvalidKeyError:
            raise MessageError(f"{self._step}: public key {place} is no key of X25519 and ML-KEM-768") from None

    def seal(self, place: int, shares: bytes) -> bytes:
        """Shares for the party at `place`. Each message has a number of its own, of which both sides keep count."""
        number = self._sent[place] = self._sent.get(place, -1) + 1
        return seal(self._keys[place], _nonce(number, self.place < place), shares, _CONTEXT)

    def unseal(self, place: int, sealed: memoryview) -> bytes:
        """What the party at `place` sealed. Raises MessageError for anything but its next message."""
        number = self._opened.get(place, -1) + 1
        try:
            shares = unseal(self._keys[place], _nonce(number, place < self.place), bytes(sealed), _CONTEXT)
        except InvalidCiphertextError:
            raise MessageError(
                f"{self._step}: found shares that passive party {place} has not sealed as its message {number}; they "
                "were altered, left out or repeated on the way"
            ) from None
        self._opened[place] = number
        return shares


def _nonce(number: int, upwards: bool) -> int:
    """A key serves both directions."""
    return 2 * number + upwards
