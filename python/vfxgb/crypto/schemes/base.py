"""What a scheme provides, and the checks of key numbers that schemes share."""

from math import gcd
from typing import Protocol

import gmpy2

from vfxgb import _native
from vfxgb.checks import is_int
from vfxgb.crypto import primes
from vfxgb.crypto.parameters import PrivateParameters, PublicParameters
from vfxgb.crypto.sizes import check_modulus_bits
from vfxgb.errors import InvalidKeyError, UnknownNameError

# Kinds of randomness that every scheme has.
RANDOMNESS_MODES = ("djn", "short")
# The kind that Okamoto-Uchiyama has besides: random exponents so short that they can be computed. README.md says what
# that costs an attacker. The lengths are those of HEU, SecretFlow's library, by the size of the modulus.
WEAK = "weak"
WEAK_EXPONENT_BITS = ((2560, 128), (1536, 110), (0, 80))
# Below this even a toy key leaves no room for randomness.
SMALLEST_PRIME = 7
# Random exponents shorter than twice the security of the smallest allowed key would be the weakest part.
MIN_EXPONENT_BITS = 256
# Powers below this are tried to refuse a base whose order is so small that ciphertexts would repeat (toy keys).
TINY_ORDER = 4


class Scheme(Protocol):
    """Key generation, parameter checks and native constructors of one scheme. Stateless."""

    @property
    def name(self) -> str:
        """Name in the API, e.g. "paillier"."""

    @property
    def code(self) -> int:
        """Number of the scheme on the wire, 1 to 255, never reused."""

    @property
    def randomness_modes(self) -> tuple[str, ...]:
        """The kinds of randomness that `generate` knows, the default first."""

    @property
    def base_count(self) -> int:
        """How many bases its public key has."""

    def generate(self, bits: int, randomness: str) -> PrivateParameters:
        """Numbers of a new key of exactly `bits` bits (even, at least 64)."""

    def from_primes(self, p: int, q: int, insecure: bool) -> PrivateParameters:
        """Numbers of a key with the given factors, its bases drawn afresh."""

    def check_public(self, public: PublicParameters, insecure: bool, step: str) -> None:
        """Raise KeySizeError or InvalidKeyError unless the public numbers are sound."""

    def check_private(self, private: PrivateParameters, insecure: bool, step: str) -> None:
        """Raise InvalidKeyError unless the secrets are sound and belong to the public numbers."""

    def max_plaintext(self, public: PublicParameters) -> int:
        """Largest |m| the key encrypts."""

    def ciphertext_modulus(self, public: PublicParameters) -> int:
        """Ciphertexts are units modulo this."""

    def native_public(self, public: PublicParameters) -> _native.crypto.PublicKey:
        """The native key for checked public numbers."""

    def native_private(self, private: PrivateParameters, public: _native.crypto.PublicKey) -> _native.crypto.PrivateKey:
        """The native key for checked secrets."""


def weak_exponent_bits(bits: int) -> int:
    """Length of the random exponents of a key of `bits` bits with randomness "weak"."""
    return next(length for least, length in WEAK_EXPONENT_BITS if bits >= least)


def check_randomness(scheme: Scheme, randomness: str, bits: int, insecure: bool) -> None:
    """Raise UnknownNameError unless `scheme` has such randomness, InvalidKeyError for "weak" without consent."""
    step = "generating a key"
    if randomness not in scheme.randomness_modes:
        raise UnknownNameError(
            f"{step}: found randomness={randomness!r}, wanted one of {', '.join(scheme.randomness_modes)}, which are "
            f"those of the scheme {scheme.name!r}"
        )
    if randomness == WEAK and not insecure:
        raise InvalidKeyError(
            f"{step}: found randomness={WEAK!r}, wanted one of {', '.join(RANDOMNESS_MODES)}: "
            f"{cost_of_exponents(weak_exponent_bits(bits))}; pass insecure=True to accept that"
        )


def cost_of_exponents(bits: int) -> str:
    """What short random exponents cost an attacker, for messages."""
    return f"random exponents of {bits} bits are computed in about 2**{-(-bits // 2)} products, by Pollard's kangaroos"


def check_factors(p: int, q: int, insecure: bool, step: str) -> None:
    """Raise InvalidKeyError unless p and q are distinct odd primes, of about the same size unless `insecure`.

    Messages never contain the factors.
    """
    for name, factor in (("p", p), ("q", q)):
        if not is_int(factor):
            raise InvalidKeyError(f"{step}: {name} is of type {type(factor).__name__}, wanted an integer")
        if factor < SMALLEST_PRIME:
            raise InvalidKeyError(f"{step}: {name} is below {SMALLEST_PRIME}, wanted a prime of at least that")
        if factor % 2 == 0:
            raise InvalidKeyError(f"{step}: {name} is even, wanted an odd prime; draw the factors again")
    if p == q:
        raise InvalidKeyError(f"{step}: p = q, wanted two distinct primes; draw the factors again")
    for name, factor in (("p", p), ("q", q)):
        if not primes.is_prime(factor):
            raise InvalidKeyError(f"{step}: {name} is composite, wanted a prime; draw the factors again")
    # Okamoto-Uchiyama splits its bits in three, so its factors may differ by up to two bits.
    if not insecure and abs(p.bit_length() - q.bit_length()) > 2:
        raise InvalidKeyError(
            f"{step}: p has {p.bit_length()} bits and q {q.bit_length()}, wanted the same size; "
            "a small factor is easy to find"
        )
    if gcd(p * q, (p - 1) * (q - 1)) != 1:
        raise InvalidKeyError(
            f"{step}: n and (p - 1)(q - 1) share a factor, wanted none; draw primes of the same size again"
        )


def check_modulus(n: int, insecure: bool, step: str) -> None:
    """Raise KeySizeError or InvalidKeyError unless n is odd, of an allowed size and no prime or perfect power.

    A perfect power is what p = q looks like from outside. Not insecure: n has no factor below 2**20, either, which
    bounds the number of its factors and with it the randomness that hides a ciphertext (cpp/crypto/rerandomizer.h).
    """
    if not is_int(n):
        raise InvalidKeyError(f"{step}: found a modulus of type {type(n).__name__}, wanted an integer")
    if n % 2 == 0:
        raise InvalidKeyError(f"{step}: the modulus is even, wanted an odd one; it is damaged or no public key")
    check_modulus_bits(n.bit_length(), insecure, step)
    if n < SMALLEST_PRIME * SMALLEST_PRIME or gmpy2.is_power(n) or primes.is_prime(n):
        raise InvalidKeyError(
            f"{step}: the modulus is tiny, a prime or a perfect power (p = q), wanted a product of distinct large "
            "primes; anyone can factor it, ask for another key"
        )
    if not insecure and primes.has_small_factor(n):
        raise InvalidKeyError(
            f"{step}: the modulus has a prime factor below {primes.SMALL_FACTOR_LIMIT}, wanted a product of distinct "
            "large primes; it was made to be weak, do not use it"
        )


def check_modulus_and_bases(public: PublicParameters, insecure: bool, step: str) -> None:
    """Raise KeySizeError or InvalidKeyError unless n, every base (a unit in (1, n - 1)) and the exponents are sound."""
    n = public.n
    check_modulus(n, insecure, step)
    for base in public.bases:
        if not 1 < base < n - 1 or gcd(base, n) != 1:
            raise InvalidKeyError(
                f"{step}: a base is no unit between 2 and n - 2, so ciphertexts would not be random; "
                "ask for another key"
            )
    if public.exponent_bits < 1 or public.exponent_bits > 2 * n.bit_length():
        raise InvalidKeyError(
            f"{step}: found random exponents of {public.exponent_bits} bits, wanted 1 to {2 * n.bit_length()}"
        )
    if public.exponent_bits < MIN_EXPONENT_BITS and not insecure:
        raise InvalidKeyError(
            f"{step}: found random exponents of {public.exponent_bits} bits, wanted at least {MIN_EXPONENT_BITS}: "
            f"{cost_of_exponents(public.exponent_bits)}; pass insecure=True for tests and comparisons only"
        )


def check_secrets(private: PrivateParameters, step: str) -> None:
    """Raise InvalidKeyError unless order_p and order_q are multiples of the order of h (the last base)."""
    h = private.public.bases[-1]
    for prime, order in ((private.p, private.order_p), (private.q, private.order_q)):
        if not 0 < order < prime or (prime - 1) % order != 0 or primes.power(h, order, prime) != 1:
            raise InvalidKeyError(
                f"{step}: the secret orders do not belong to the public key; restore the key from a sound copy"
            )


def has_tiny_order(h: int, n: int) -> bool:
    """Whether h**i = 1 mod n for some i up to TINY_ORDER: never for a real key, often for a toy."""
    return any(pow(h, i, n) == 1 for i in range(1, TINY_ORDER + 1))
