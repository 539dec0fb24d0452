"""The numbers that make up a key, as plain frozen records: what schemes produce and the wire format carries."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class PublicParameters:
    """Public numbers of a key.

    `n`: the modulus. `bases`: (h,) for Paillier, (g, h) for Okamoto-Uchiyama, all in (1, n). `exponent_bits`: length
    of the random exponents. `plaintext_bits`: |m| < 2**plaintext_bits is necessary; `max_plaintext` of the scheme is
    the exact bound.
    """

    scheme: str
    n: int
    bases: tuple[int, ...]
    exponent_bits: int
    plaintext_bits: int


@dataclass(frozen=True)
class PrivateParameters:
    """Public numbers plus the secrets: factors p, q and multiples of the order of h modulo each.

    Short-lived: the native key holds the secrets afterwards, and this record is dropped. Its repr hides them.
    """

    public: PublicParameters
    p: int = field(repr=False)
    q: int = field(repr=False)
    order_p: int = field(repr=False)
    order_q: int = field(repr=False)

    @property
    def secrets(self) -> tuple[int, int, int, int]:
        """p, q and the two orders, as the native key and the wire take them."""
        return self.p, self.q, self.order_p, self.order_q
