"""Which key sizes are allowed.

ERRATA section 3 follows NIST SP 800-57: 2048 bits give about 112 bits of security, 3072 about 128.
"""

from vfxgb.checks import is_int
from vfxgb.errors import KeySizeError

DEFAULT_BITS = 3072
MIN_BITS = 2048
# The kernels hold moduli of up to 8192 bits, and Paillier works modulo n**2.
MAX_BITS = 4096
# Below this, key generation has too few primes of the wanted form to choose from.
MIN_GENERATED_BITS = 64


def check_modulus_bits(bits: int, insecure: bool, step: str) -> None:
    """Raise KeySizeError unless MIN_BITS <= bits <= MAX_BITS; `insecure` lifts the lower bound only."""
    if bits > MAX_BITS:
        raise KeySizeError(f"{step}: found a modulus of {bits} bits, wanted at most {MAX_BITS}; use a smaller key")
    if bits < MIN_BITS and not insecure:
        raise KeySizeError(
            f"{step}: found a modulus of {bits} bits, wanted at least {MIN_BITS} ({DEFAULT_BITS} is the default); "
            "pass insecure=True for tests and for reproducing papers only"
        )


def check_requested_bits(bits: int, insecure: bool) -> None:
    """Raise KeySizeError unless a key of `bits` bits may be generated: even, and in the allowed range."""
    step = "generating a key"
    if not is_int(bits):
        raise KeySizeError(f"{step}: found bits={bits!r}, wanted an even integer such as {DEFAULT_BITS}")
    check_modulus_bits(bits, insecure, step)
    if bits < MIN_GENERATED_BITS:
        raise KeySizeError(
            f"{step}: found bits={bits}, wanted at least {MIN_GENERATED_BITS} even with insecure=True; "
            "toy keys are made by PrivateKey.from_primes"
        )
    if bits % 2:
        raise KeySizeError(f"{step}: found bits={bits}, wanted an even number; use {bits + 1}")
