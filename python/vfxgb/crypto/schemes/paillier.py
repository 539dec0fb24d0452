"""Paillier keys with the Damgard-Jurik-Nielsen randomness (DJN, "A generalization of Paillier's public-key system
with applications to electronic voting", 2010, section 4).

Notation: n = pq, g = 1 + n, c = (1 + m n) hs**alpha mod n**2 with hs = h**n and alpha of `exponent_bits` bits.

- randomness "djn": h = -x**2 mod n, alpha of |n|/2 bits.
- randomness "short": h of order u_p modulo p and u_q modulo q, both secret primes of 320 bits; alpha of 320 bits.

One set of primes serves both: p = 2 u_p k_p + 1 and q = 2 u_q k_q + 1 with k_p, k_q odd.
"""

from math import gcd

from vfxgb import _native
from vfxgb.crypto import primes
from vfxgb.crypto.ints import to_fixed
from vfxgb.crypto.parameters import PrivateParameters, PublicParameters
from vfxgb.crypto.schemes.base import (
    RANDOMNESS_MODES,
    check_factors,
    check_modulus,
    check_modulus_and_bases,
    check_secrets,
    has_tiny_order,
)
from vfxgb.crypto.sizes import check_modulus_bits
from vfxgb.errors import InvalidKeyError

# Factors closer than 2**(|p| - 100) fall to Fermat's method (the rule of FIPS 186-4, B.3.3).
CLOSE_FACTOR_BITS = 100


class Paillier:
    """The Paillier scheme; see `Scheme` for what each method does."""

    name = "paillier"
    code = 1
    randomness_modes = RANDOMNESS_MODES
    base_count = 1

    def generate(self, bits: int, randomness: str) -> PrivateParameters:
        """p and q have bits/2 bits each, are 3 mod 4, gcd(p - 1, q - 1) = 2, and n has exactly `bits` bits."""
        p, u_p = primes.structured_prime(bits // 2)
        while True:
            q, u_q = primes.structured_prime(bits // 2)
            if _factors_fit(p, q) and u_p != u_q:
                break
        if randomness == "short":
            h = primes.crt(primes.element_of_order(u_p, p), p, primes.element_of_order(u_q, q), q)
            return PrivateParameters(_public(p * q, h, u_p.bit_length()), p, q, u_p, u_q)
        return _full_order(p, q)

    def from_primes(self, p: int, q: int, insecure: bool) -> PrivateParameters:
        """Any distinct primes with gcd(n, (p - 1)(q - 1)) = 1; not insecure: a modulus of allowed size."""
        step = "making a Paillier key from primes"
        check_factors(p, q, insecure, step)
        check_modulus_bits((p * q).bit_length(), insecure, step)
        return _full_order(p, q)

    def public_from_modulus(self, n: int, insecure: bool) -> PublicParameters:
        """Public numbers for a foreign modulus, with a fresh h."""
        step = "making a Paillier public key from a modulus"
        check_modulus(n, insecure, step)
        return _public(n, _fresh_h(n), -(-n.bit_length() // 2))

    def check_public(self, public: PublicParameters, insecure: bool, step: str) -> None:
        """Modulus, h, exponents, and the plaintext size that follows from n."""
        check_modulus_and_bases(public, insecure, step)
        if public.plaintext_bits != public.n.bit_length() - 1:
            raise InvalidKeyError(
                f"{step}: found plaintexts of {public.plaintext_bits} bits, wanted {public.n.bit_length() - 1}; "
                "the bytes are damaged or no Paillier key"
            )

    def check_private(self, private: PrivateParameters, insecure: bool, step: str) -> None:
        """Factors, their product, and the order of h."""
        check_factors(private.p, private.q, insecure, step)
        if private.p * private.q != private.public.n:
            raise InvalidKeyError(f"{step}: pq is not the modulus; restore the key from a sound copy")
        check_secrets(private, step)

    def max_plaintext(self, public: PublicParameters) -> int:
        """Signed values stand for residues centred around 0."""
        return (public.n - 1) // 2

    def ciphertext_modulus(self, public: PublicParameters) -> int:
        """n**2."""
        return public.n**2

    def native_public(self, public: PublicParameters) -> _native.crypto.PublicKey:
        """Randomness is (h**n)**alpha."""
        return _native.crypto.PublicKey.paillier(to_fixed(public.n), to_fixed(public.bases[0]), public.exponent_bits)

    def native_private(self, private: PrivateParameters, public: _native.crypto.PublicKey) -> _native.crypto.PrivateKey:
        """The owner works modulo p**2 and q**2."""
        return _native.crypto.PrivateKey.paillier(public, *map(to_fixed, private.secrets))


def _factors_fit(p: int, q: int) -> bool:
    return (
        abs(p - q).bit_length() > p.bit_length() - CLOSE_FACTOR_BITS
        and p != q
        and gcd(p - 1, q - 1) == 2
        and gcd(p * q, (p - 1) * (q - 1)) == 1
    )


def _public(n: int, h: int, exponent_bits: int) -> PublicParameters:
    return PublicParameters("paillier", n, (h,), exponent_bits, n.bit_length() - 1)


def _full_order(p: int, q: int) -> PrivateParameters:
    n = p * q
    return PrivateParameters(_public(n, _fresh_h(n), -(-n.bit_length() // 2)), p, q, p - 1, q - 1)


def _fresh_h(n: int) -> int:
    while True:
        h = -pow(primes.random_unit(n), 2, n) % n
        if not has_tiny_order(h, n):
            return h


SCHEME = Paillier()
