"""Okamoto-Uchiyama keys (T. Okamoto, S. Uchiyama, "A new public-key cryptosystem as secure as factoring", 1998),
with h drawn so that short exponents are possible.

Notation: n = p**2 q, c = g**m h**alpha mod n with h = g**n; decryption reads m mod p off c**(p-1) mod p**2.
|p| = ceil(|n|/3), |m| < 2**(|p| - 2), so m and -m are distinct modulo p with a bit to spare.

- randomness "djn" (full length): g = x**2; alpha of 2|p| + 128 bits, so that h**alpha is statistically uniform.
- randomness "short": g = x**((p-1)(q-1)/(u_p u_q)), so h has order u_p modulo p and u_q modulo q; alpha of 320 bits.
- randomness "weak": the same h, alpha of 110 bits with keys of 2048, 128 with 3072. For comparisons: see README.md.

A decryption of a ciphertext that an adversary chose reveals p: see README.md.
"""

from math import gcd

from vfxgb import _native
from vfxgb.crypto import primes
from vfxgb.crypto.ints import to_fixed
from vfxgb.crypto.parameters import PrivateParameters, PublicParameters
from vfxgb.crypto.schemes.base import (
    RANDOMNESS_MODES,
    WEAK,
    check_factors,
    check_modulus_and_bases,
    check_secrets,
    has_tiny_order,
    weak_exponent_bits,
)
from vfxgb.crypto.sizes import check_modulus_bits
from vfxgb.errors import InvalidKeyError

# Exponents this much longer than the group order are uniform up to a distance of 2**-128.
STATISTICAL_BITS = 128


class OkamotoUchiyama:
    """The Okamoto-Uchiyama scheme; see `Scheme` for what each method does."""

    name = "ou"
    code = 2
    randomness_modes = (*RANDOMNESS_MODES, WEAK)
    base_count = 2

    def generate(self, bits: int, randomness: str) -> PrivateParameters:
        """p has ceil(bits/3) bits, q the rest, both are 3 mod 4, gcd(p - 1, q - 1) = 2, n has exactly `bits` bits."""
        p_bits = -(-bits // 3)
        p, u_p = primes.structured_prime(p_bits)
        while True:
            q, u_q = primes.structured_prime(bits - 2 * p_bits)
            if (
                (p * p * q).bit_length() == bits
                and u_p != u_q
                and p != q
                and gcd(p - 1, q - 1) == 2
                and gcd(p * q, (p - 1) * (q - 1)) == 1
            ):
                break
        if randomness == "djn":
            return _full_order(p, q)
        exponent_bits = max(u_p, u_q).bit_length()
        if randomness == WEAK:
            exponent_bits = min(exponent_bits, weak_exponent_bits(bits))
        cofactor = ((p - 1) // u_p) * ((q - 1) // u_q)
        return _with_base(p, q, cofactor, exponent_bits, u_p, u_q)

    def from_primes(self, p: int, q: int, insecure: bool) -> PrivateParameters:
        """Any distinct primes with gcd(n, (p - 1)(q - 1)) = 1; not insecure: a modulus of allowed size."""
        step = "making an Okamoto-Uchiyama key from primes"
        check_factors(p, q, insecure, step)
        check_modulus_bits((p * p * q).bit_length(), insecure, step)
        return _full_order(p, q)

    def check_public(self, public: PublicParameters, insecure: bool, step: str) -> None:
        """h must be g**n, and the plaintexts must fit below p, of which only |p| <= |n|/2 is known from outside."""
        check_modulus_and_bases(public, insecure, step)
        g, h = public.bases
        if primes.power(g, public.n, public.n) != h:
            raise InvalidKeyError(f"{step}: h is not g**n mod n; the bytes are damaged or no Okamoto-Uchiyama key")
        if not 1 <= public.plaintext_bits <= public.n.bit_length() // 2 - 2:
            raise InvalidKeyError(
                f"{step}: found plaintexts of {public.plaintext_bits} bits, wanted 1 to "
                f"{public.n.bit_length() // 2 - 2}; the bytes are damaged or no Okamoto-Uchiyama key"
            )

    def check_private(self, private: PrivateParameters, insecure: bool, step: str) -> None:
        """Factors, p**2 q = n, the order of h, a g that decrypts, and plaintexts below p."""
        p, q, public = private.p, private.q, private.public
        check_factors(p, q, insecure, step)
        if p * p * q != public.n:
            raise InvalidKeyError(f"{step}: p**2 q is not the modulus; restore the key from a sound copy")
        if public.plaintext_bits != p.bit_length() - 2:
            raise InvalidKeyError(f"{step}: the plaintext size does not belong to p; restore the key from a sound copy")
        check_secrets(private, step)
        if not _decrypts(public.bases[0], p):
            raise InvalidKeyError(f"{step}: g has no part of order p, so nothing decrypts; draw another key")

    def max_plaintext(self, public: PublicParameters) -> int:
        """2**plaintext_bits - 1, below p/2."""
        return (1 << public.plaintext_bits) - 1

    def ciphertext_modulus(self, public: PublicParameters) -> int:
        """n."""
        return public.n

    def native_public(self, public: PublicParameters) -> _native.crypto.PublicKey:
        """c = g**m h**alpha mod n."""
        g, h = public.bases
        return _native.crypto.PublicKey.okamoto_uchiyama(
            to_fixed(public.n), to_fixed(g), to_fixed(h), public.exponent_bits, public.plaintext_bits
        )

    def native_private(self, private: PrivateParameters, public: _native.crypto.PublicKey) -> _native.crypto.PrivateKey:
        """The owner works modulo p**2 and q."""
        return _native.crypto.PrivateKey.okamoto_uchiyama(public, *map(to_fixed, private.secrets))


def _full_order(p: int, q: int) -> PrivateParameters:
    return _with_base(p, q, 2, 2 * p.bit_length() + STATISTICAL_BITS, p - 1, q - 1)


def _with_base(p: int, q: int, cofactor: int, exponent_bits: int, order_p: int, order_q: int) -> PrivateParameters:
    n = p * p * q
    while True:
        g = primes.power(primes.random_unit(n), cofactor, n)
        h = primes.power(g, n, n)
        if _decrypts(g, p) and 1 not in (h % p, h % q) and h != n - 1 and not has_tiny_order(h, n):
            # The exponents may not outgrow what check_public accepts, which matters for toy keys only.
            exponent_bits = min(exponent_bits, 2 * n.bit_length())
            public = PublicParameters("ou", n, (g, h), exponent_bits, p.bit_length() - 2)
            return PrivateParameters(public, p, q, order_p, order_q)


def _decrypts(g: int, p: int) -> bool:
    """Whether g**(p-1) generates the subgroup of order p modulo p**2, i.e. whether L(g**(p-1)) is invertible."""
    return primes.power(g, p - 1, p * p) != 1


SCHEME = OkamotoUchiyama()
