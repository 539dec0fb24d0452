"""Public and private keys: encryption, decryption, serialisation.

A key object wraps a native key; secrets live there, in memory that is wiped when the key is deleted. Keys compare
equal when their public parameters do. Every way of making a key ends in the self-test of selftest.py.
"""

from __future__ import annotations

from typing import SupportsIndex, TypeVar

from vfxgb.crypto import wire
from vfxgb.crypto.ciphertexts import CiphertextArray
from vfxgb.crypto.ints import Integers, from_fixed, pack_signed, unpack_signed
from vfxgb.crypto.parameters import PrivateParameters, PublicParameters
from vfxgb.crypto.pool import Pooled, Rerandomizer, check_count
from vfxgb.crypto.schemes import scheme_by_name
from vfxgb.crypto.schemes.base import check_randomness
from vfxgb.crypto.schemes.paillier import SCHEME as PAILLIER
from vfxgb.crypto.selftest import self_test
from vfxgb.crypto.sizes import DEFAULT_BITS, check_requested_bits
from vfxgb.errors import KeyMismatchError
from vfxgb.threads import resolve_threads

K = TypeVar("K", "PublicKey", "PrivateKey")


class PublicKey(Pooled):
    """Encrypts. Made by PrivateKey.public_key, from_bytes or from_modulus, not by calling the class.

    `parameters` are the public numbers, `fingerprint_bytes` the 32 bytes that name the key. `scheme_object` is its
    scheme and `native` the native key, for vfxgb's own modules.
    """

    __slots__ = ("fingerprint_bytes", "native", "parameters", "scheme_object")

    def __init__(self, parameters: PublicParameters) -> None:
        self.parameters = parameters
        self.scheme_object = scheme_by_name(parameters.scheme)
        self.native = self._pool = self.scheme_object.native_public(parameters)
        self.fingerprint_bytes = wire.fingerprint(parameters)

    @staticmethod
    def from_bytes(data: wire.Bytes, insecure: bool = False) -> PublicKey:
        """Read what to_bytes wrote, check every number again and run the self-test.

        Raises FormatError, KeySizeError (too small without `insecure`), InvalidKeyError, SelfTestError.
        """
        parameters = wire.load_public(data)
        scheme_by_name(parameters.scheme).check_public(parameters, insecure, "reading a public key")
        return _tested(PublicKey(parameters), insecure)

    @staticmethod
    def from_modulus(n: int, insecure: bool = False) -> PublicKey:
        """A Paillier public key for another library's modulus, with a fresh h = -x**2 mod n.

        The fingerprint covers h, so it differs between two calls: send to_bytes() to whoever shall add ciphertexts.
        Raises KeySizeError and InvalidKeyError.
        """
        return _tested(PublicKey(PAILLIER.public_from_modulus(n, insecure)), insecure)

    @property
    def scheme(self) -> str:
        """Name of the scheme."""
        return self.parameters.scheme

    @property
    def rerandomizer(self) -> Rerandomizer:
        """Where CiphertextArray.rerandomize gets its randomness: tables to prepare, a pool to start."""
        return Rerandomizer(self.native.rerandomizer)

    def prepare(self, count: int, threads: int | None = None) -> None:
        """Plan for `count` encryptions in all: tables as wide as so many are worth are made now.

        Without a plan tables grow with what is encrypted. They take up to 32 MB with Paillier and up to 256 MB with
        Okamoto-Uchiyama. Raises PoolError unless count is a positive integer.
        """
        check_count(count, "preparing to encrypt")
        self.native.plan(count, resolve_threads(threads))

    @property
    def n(self) -> int:
        """The modulus: pq (Paillier) or p**2 q (Okamoto-Uchiyama)."""
        return self.parameters.n

    @property
    def bits(self) -> int:
        """Size of the modulus in bits."""
        return self.parameters.n.bit_length()

    @property
    def max_plaintext(self) -> int:
        """Largest absolute value of a plaintext."""
        return self.scheme_object.max_plaintext(self.parameters)

    @property
    def ciphertext_modulus(self) -> int:
        """Ciphertexts are units modulo this: n**2 (Paillier) or n (Okamoto-Uchiyama)."""
        return self.scheme_object.ciphertext_modulus(self.parameters)

    @property
    def wire_bytes(self) -> int:
        """Bytes of one ciphertext on the wire."""
        return self.native.wire_bytes

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical public parameters, in hex: the name of the key."""
        return self.fingerprint_bytes.hex()

    def encrypt(self, values: Integers, threads: int | None = None) -> CiphertextArray:
        """Encrypt signed integers, each with fresh randomness.

        `values`: a sequence of Python ints or a one-dimensional integer array (int64 is fastest), each of absolute
        value at most max_plaintext. Raises IntegerTypeError and PlaintextRangeError.
        """
        packed = pack_signed(values, self.max_plaintext, "encrypting")
        return CiphertextArray(self, self.native.encrypt(packed.data, packed.width, resolve_threads(threads)))

    def to_bytes(self) -> bytes:
        """The key in the versioned format of wire.py."""
        return wire.dump_public(self.parameters)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PublicKey):
            return NotImplemented
        return self.fingerprint_bytes == other.fingerprint_bytes

    def __hash__(self) -> int:
        return hash(self.fingerprint_bytes)

    def __repr__(self) -> str:
        return f"PublicKey({self.scheme}, {self.bits} bits, {self.fingerprint[:16]})"

    def __reduce_ex__(self, protocol: SupportsIndex) -> str:
        raise TypeError(
            "pickling or copying a public key is refused, since reading a pickle runs code; use to_bytes() and "
            "PublicKey.from_bytes(data)"
        )


class PrivateKey(Pooled):
    """Encrypts faster than the public key, and decrypts. Made by generate, from_primes or from_bytes.

    `public_key` is the key to give away; `native` is the native key, for vfxgb's own modules.
    """

    __slots__ = ("native", "public_key")

    def __init__(self, parameters: PrivateParameters) -> None:
        self.public_key = PublicKey(parameters.public)
        self.native = self.public_key.scheme_object.native_private(parameters, self.public_key.native)
        self._pool = self.native

    @staticmethod
    def from_bytes(data: wire.Bytes, insecure: bool = False) -> PrivateKey:
        """Read what to_bytes wrote, check every number again and run the self-test.

        Raises FormatError, KeySizeError (too small without `insecure`), InvalidKeyError, SelfTestError.
        """
        parameters = wire.load_private(data)
        scheme = scheme_by_name(parameters.public.scheme)
        scheme.check_public(parameters.public, insecure, "reading a private key")
        scheme.check_private(parameters, insecure, "reading a private key")
        return _tested(PrivateKey(parameters), insecure)

    @staticmethod
    def from_primes(scheme: str, p: int, q: int, insecure: bool = False) -> PrivateKey:
        """A key with the given factors: n = pq (Paillier) or p**2 q (Okamoto-Uchiyama); bases are drawn afresh.

        Primes of other libraries need not be 3 mod 4 (README.md says what that changes). Raises InvalidKeyError
        (p = q, even, composite, of very different sizes) and KeySizeError; `insecure` allows small and unequal ones.
        """
        return _tested(PrivateKey(scheme_by_name(scheme).from_primes(p, q, insecure)), insecure)

    @property
    def scheme(self) -> str:
        """Name of the scheme."""
        return self.public_key.scheme

    @property
    def bits(self) -> int:
        """Size of the modulus in bits."""
        return self.public_key.bits

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the public key."""
        return self.public_key.fingerprint

    @property
    def max_plaintext(self) -> int:
        """Largest absolute value of a plaintext."""
        return self.public_key.max_plaintext

    def encrypt(self, values: Integers, threads: int | None = None) -> CiphertextArray:
        """Like PublicKey.encrypt, but by the factors: several times as fast, and just as random."""
        packed = pack_signed(values, self.max_plaintext, "encrypting")
        native = self.native.encrypt(packed.data, packed.width, resolve_threads(threads))
        return CiphertextArray(self.public_key, native)

    def decrypt(self, ciphertexts: CiphertextArray, threads: int | None = None) -> list[int]:
        """The signed plaintexts, one int per ciphertext. Raises KeyMismatchError for another key's ciphertexts."""
        if not isinstance(ciphertexts, CiphertextArray):
            raise TypeError(f"decrypting: found {type(ciphertexts).__name__}, wanted a CiphertextArray")
        if ciphertexts.public_key != self.public_key:
            raise KeyMismatchError(
                f"decrypting: found ciphertexts of key {ciphertexts.public_key.fingerprint[:16]}, wanted "
                f"{self.fingerprint[:16]}; use the private key they were encrypted for"
            )
        count = resolve_threads(threads)
        data = self.native.decrypt(ciphertexts.native_under(self.public_key, count), count)
        return unpack_signed(data, self.native.plaintext_width)

    def export_primes(self) -> tuple[int, int]:
        """p and q, for use in another library. They are the whole secret, and Python cannot wipe them."""
        p, q, _, _ = map(from_fixed, self.native.secrets())
        return p, q

    def to_bytes(self) -> bytes:
        """The key in the versioned format of wire.py, unencrypted: whoever reads it can decrypt everything."""
        return wire.dump_private(PrivateParameters(self.public_key.parameters, *map(from_fixed, self.native.secrets())))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PrivateKey):
            return NotImplemented
        return self.public_key == other.public_key

    def __hash__(self) -> int:
        return hash(("private", self.public_key))

    def __repr__(self) -> str:
        return f"PrivateKey({self.scheme}, {self.bits} bits, {self.fingerprint[:16]})"

    def __reduce_ex__(self, protocol: SupportsIndex) -> str:
        raise TypeError(
            "pickling or copying a private key is refused, since it would leave unwiped copies of the secret; use "
            "to_bytes() on purpose, and PrivateKey.from_bytes(data)"
        )


def generate(scheme: str, bits: int = DEFAULT_BITS, randomness: str = "djn", insecure: bool = False) -> PrivateKey:
    """A new private key of exactly `bits` bits (even, 2048 to 4096; less only with `insecure`, for tests).

    `scheme`: "paillier" or "ou". `randomness`: "djn", or "short" for shorter random exponents, several times as fast
    under one more assumption (README.md). "ou" has also "weak", for comparisons: exponents so short that they can be
    computed, refused without `insecure`. Raises UnknownNameError, KeySizeError, InvalidKeyError, SelfTestError.
    """
    chosen = scheme_by_name(scheme)
    check_requested_bits(bits, insecure)
    check_randomness(chosen, randomness, bits, insecure)
    return _tested(PrivateKey(chosen.generate(bits, randomness)), insecure)


def _tested(key: K, insecure: bool) -> K:
    self_test(key, insecure)
    return key
