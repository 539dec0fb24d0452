"""The self-test every key passes before anyone may use it.

It asks the key to prove that it encrypts at all: equal plaintexts give different ciphertexts, ciphertexts are not
the plaintexts and are as long as the key claims, values come back, sums come out right. A stub that returns its
input, an encryption without randomness and a short key are refused. It looks at behaviour only, so any object
with the methods below can be tested.
"""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from vfxgb.crypto.sizes import DEFAULT_BITS, MIN_BITS
from vfxgb.errors import SelfTestError

REPEATS = 8
# Keys below this have so little randomness that two ciphertexts may agree, or equal a plaintext, by chance.
TOY_BITS = 512
# That all REPEATS ciphertexts are this many bits shorter than the modulus has probability (2**-15)**8.
SLACK_BITS = 16


class EncryptsLike(Protocol):
    """What the self-test needs of a public key."""

    @property
    def bits(self) -> int:
        """The key claims this size."""

    @property
    def max_plaintext(self) -> int:
        """The key claims that plaintexts reach up to this one."""

    def encrypt(self, values: Sequence[int], /) -> Any:
        """An array with tolist(), sum() and len()."""


@runtime_checkable
class DecryptsLike(EncryptsLike, Protocol):
    """What the self-test needs of a private key."""

    @property
    def public_key(self) -> EncryptsLike:
        """Return the public half."""

    def decrypt(self, ciphertexts: Any, /) -> list[int]:
        """Return the plaintexts."""


def self_test(key: EncryptsLike, insecure: bool = False) -> None:
    """Raise SelfTestError, naming the failed check, unless `key` (private, or public alone) behaves as a key must.

    `insecure` skips the check of the key size only. Costs about forty encryptions and ten decryptions, and builds
    the key's tables.
    """
    _check_size(key, insecure)
    _check_encryption(key, "the key")
    if not isinstance(key, DecryptsLike):
        return
    _check_encryption(key.public_key, "its public key")
    _check_decryption(key, key, "the key")
    _check_decryption(key, key.public_key, "its public key")


def _check_size(key: EncryptsLike, insecure: bool) -> None:
    if key.bits < MIN_BITS and not insecure:
        _fail(
            "key size",
            f"found {key.bits} bits, wanted at least {MIN_BITS} ({DEFAULT_BITS} is the default); use a larger key",
        )


def _check_encryption(key: EncryptsLike, whose: str) -> None:
    toy = key.bits < TOY_BITS
    repeated = key.encrypt([1] * REPEATS).tolist()
    distinct = len(set(repeated))
    if len(repeated) != REPEATS or distinct < (2 if toy else REPEATS):
        _fail(
            "fresh randomness",
            f"{whose} gave {distinct} distinct ciphertexts for {REPEATS} equal plaintexts, wanted {REPEATS}; "
            "its encryption is deterministic and shows who has equal values",
        )
    values = edge_values(key.max_plaintext)
    equal = sum(c == v for c, v in zip(key.encrypt(values).tolist(), values, strict=True))
    if equal > (len(values) - 1 if toy else 0):
        _fail("ciphertext is not plaintext", f"{whose} returned {equal} of {len(values)} values unencrypted")
    longest = max(repeated).bit_length()
    if not toy and longest < key.bits - SLACK_BITS:
        _fail(
            "ciphertext size",
            f"{whose} claims {key.bits} bits but its ciphertexts have at most {longest}; it is no real key",
        )


def _check_decryption(key: DecryptsLike, encryptor: EncryptsLike, whose: str) -> None:
    values = edge_values(key.max_plaintext)
    ciphertexts = encryptor.encrypt(values)
    if key.decrypt(ciphertexts) != values:
        _fail("round trip", f"values encrypted by {whose} decrypt to something else; the key is damaged")
    # Every partial sum stays in range, in whatever order the three are added.
    if key.decrypt(encryptor.encrypt([key.max_plaintext - 1, -1, 1]).sum()) != [key.max_plaintext - 1]:
        _fail("homomorphic sum", f"a sum of ciphertexts of {whose} decrypts to something else; the key is damaged")


def edge_values(bound: int) -> list[int]:
    """0, 1, -1 and both ends of the plaintext range."""
    return [0, 1, -1, bound, -bound]


def _fail(check: str, detail: str) -> None:
    raise SelfTestError(f"self-test, {check}: {detail}. The key must not be used")
