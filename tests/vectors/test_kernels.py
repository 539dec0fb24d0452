"""Every kernel alone, on moduli whose digits are nearly all ones, with answers that number theory gives."""

import gmpy2
import pytest

from vfxgb import _native

PATHS = ["portable", "avx2", "ifma"]
# RFC 3526: p = 2^b - 2^(b-64) - 1 + 2^64 (floor(2^(b-130) pi) + c), with 64 ones at either end.
RFC_3526 = {1536: 741804, 2048: 124476, 3072: 1690314, 4096: 240904, 8192: 4743158}


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> str:
    if request.param not in _native.bigint.available_paths():
        pytest.skip(f"this machine lacks the instructions of the path {request.param}")
    return str(request.param)


def modp_prime(bits: int) -> int:
    with gmpy2.context(precision=bits + 64):
        pi = int(gmpy2.floor(gmpy2.mul_2exp(gmpy2.const_pi(bits + 64), bits - 130)))
    return 2**bits - 2 ** (bits - 64) - 1 + 2**64 * (pi + RFC_3526[bits])


def fixed(value: int) -> bytes:
    return value.to_bytes(-(-value.bit_length() // 64) * 8, "little")


@pytest.mark.parametrize("bits", RFC_3526)
def test_modp_groups(path: str, bits: int) -> None:
    """2 generates the squares modulo p, a group of the prime order (p - 1) / 2; -1 is no square."""
    p = modp_prime(bits)
    assert p.bit_length() == bits
    assert p % 2**64 == p >> (bits - 64) == 2**64 - 1
    ring = _native.bigint.Ring(fixed(p), 1, path)
    assert ring.path == path
    values = [2, p - 2, 3, p - 1, 1, 0, 4, 9, 2**52 - 1]  # more than any kernel has lanes
    found = ring.power(b"".join(v.to_bytes(ring.width, "little") for v in values), fixed((p - 1) // 2))
    answers = [int.from_bytes(found[i : i + ring.width], "little") for i in range(0, len(found), ring.width)]
    assert answers[0] == 1
    assert answers[1] == p - 1
    assert answers[3:8] == [p - 1, 1, 0, 1, 1]
    assert answers[2] in {1, p - 1}
    assert answers[8] == int(gmpy2.powmod(2**52 - 1, (p - 1) // 2, p))


@pytest.mark.parametrize("bits", [1536, 2048])
def test_paillier_identity(path: str, bits: int) -> None:
    """(1 + n)^m = 1 + m n modulo n^2, and all of its lanes apart."""
    n = modp_prime(bits)
    ring = _native.bigint.Ring(fixed(n), 2, path)
    exponents = [0, 1, 2, 2**52 - 1, 2**52, 2**64 - 1, 2**104 - 1, 2**127, 3, 5, 7]
    bases = (1 + n).to_bytes(ring.width, "little") * len(exponents)
    found = ring.power_each(bases, b"".join(e.to_bytes(16, "little") for e in exponents), 16)
    answers = [int.from_bytes(found[i : i + ring.width], "little") for i in range(0, len(found), ring.width)]
    assert answers == [1 + e * n for e in exponents]
