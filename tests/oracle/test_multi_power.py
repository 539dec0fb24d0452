"""Products of powers with shared exponents against gmpy2: both kernels, signs, zero exponents, odd batch sizes."""

import random

import gmpy2
import pytest

from vfxgb import _native


def fixed(value: int) -> bytes:
    return value.to_bytes(max(1, -(-value.bit_length() // 64)) * 8, "little")


def naive(arrays: list[list[int]], exponents: list[int], modulus: int) -> list[int]:
    out = []
    for column in zip(*arrays, strict=True):
        product = 1
        for base, exponent in zip(column, exponents, strict=True):
            product = product * int(gmpy2.powmod(base, exponent, modulus)) % modulus
        out.append(product)
    return out


@pytest.mark.parametrize("bits", [64, 129, 512, 1024])
@pytest.mark.parametrize("terms", [1, 2, 7])
@pytest.mark.parametrize("exponent_bits", [3, 64, 700])
def test_combine(bits: int, terms: int, exponent_bits: int) -> None:
    source = random.Random(f"{bits} {terms} {exponent_bits}")
    p, q = (int(gmpy2.next_prime(source.getrandbits(bits // 2) | 1 << (bits // 2 - 1))) for _ in range(2))
    n = p * q
    width = -(-(exponent_bits + 1) // 64) * 8
    exponents = [source.getrandbits(exponent_bits) * source.choice((1, -1)) for _ in range(terms)]
    exponents[-1] = 0 if terms > 2 else exponents[-1]
    data = b"".join(exponent.to_bytes(width, "little", signed=True) for exponent in exponents)
    for path in _native.bigint.available_paths():
        key = _native.crypto.PublicKey.paillier(fixed(n), fixed(4), 64, path)
        for count in (1, 4, 19):
            arrays = [[source.randrange(1, n) ** 2 % n**2 for _ in range(count)] for _ in range(terms)]
            held = [key.from_integers(b"".join(x.to_bytes(key.integer_bytes, "little") for x in a)) for a in arrays]
            found = _native.crypto.Ciphertexts.combine(held, data, width, 2).to_integers()
            step = key.integer_bytes
            assert [int.from_bytes(found[i : i + step], "little") for i in range(0, len(found), step)] == naive(
                arrays, exponents, n**2
            )


def test_what_does_not_go_together_is_refused() -> None:
    key, other = (_native.crypto.PublicKey.paillier(fixed(n), fixed(4), 64) for n in (143, 323))
    one, two, foreign = (
        key.from_wire(b"\x02\x00"),
        key.from_wire(b"\x02\x00\x03\x00"),
        other.from_wire(b"\x02\x00\x00\x00"),
    )
    exponents = fixed(3) * 2
    for arrays in ([], [one], [one, two], [one, foreign]):
        with pytest.raises(ValueError, match=r".+"):
            _native.crypto.Ciphertexts.combine(arrays, exponents, 8)
    with pytest.raises(TypeError, match="None"):
        _native.crypto.Ciphertexts.combine([one, None], exponents, 8)  # type: ignore[list-item]
