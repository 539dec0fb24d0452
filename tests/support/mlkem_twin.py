"""ML-KEM-768 as FIPS 203 writes it down, one step after the other, with the randomness given. Slow, so it remembers."""

import hashlib
from collections.abc import Iterator
from functools import lru_cache

Q, N, K = 3329, 256, 3
DU, DV = 10, 4
Poly = list[int]
VECTOR_BYTES = 384 * K


def reversed_bits(value: int) -> int:
    return int(f"{value:07b}"[::-1], 2)


ZETAS = [pow(17, reversed_bits(i), Q) for i in range(128)]
GAMMAS = [pow(17, 2 * reversed_bits(i) + 1, Q) for i in range(128)]


def encode(values: Poly, bits: int) -> bytes:
    """Algorithm 5: so many bits of each number, the low ones first."""
    total = sum(value << (bits * i) for i, value in enumerate(values))
    return total.to_bytes(len(values) * bits // 8, "little")


def decode(data: bytes, bits: int) -> Poly:
    """Algorithm 6, without the reduction."""
    total = int.from_bytes(data, "little")
    return [(total >> (bits * i)) & ((1 << bits) - 1) for i in range(8 * len(data) // bits)]


def compress(values: Poly, bits: int) -> Poly:
    return [((value << (bits + 1)) + Q) // (2 * Q) % (1 << bits) for value in values]


def decompress(values: Poly, bits: int) -> Poly:
    return [(2 * value * Q + (1 << bits)) >> (bits + 1) for value in values]


def twelve_bits(stream: Iterator[int]) -> Iterator[int]:
    """Numbers of 12 bits from a stream of bytes, those below q only (algorithm 7)."""
    while True:
        low, middle, high = next(stream), next(stream), next(stream)
        for value in (low + 256 * (middle % 16), middle // 16 + 16 * high):
            if value < Q:
                yield value


def stream_of(shake: "hashlib._VarLenHash") -> Iterator[int]:
    size = 1 << 10
    at = 0
    while True:
        yield from shake.digest(at + size)[at:]
        at += size


def first(values: Iterator[int], count: int) -> Poly:
    return [next(values) for _ in range(count)]


@lru_cache(1024)
def matrix(rho: bytes) -> list[list[Poly]]:
    return [
        [first(twelve_bits(stream_of(hashlib.shake_128(rho + bytes([j, i])))), N) for j in range(K)] for i in range(K)
    ]


def small(seed: bytes, number: int) -> Poly:
    """Algorithm 8 with eta = 2."""
    bits = decode(hashlib.shake_256(seed + bytes([number])).digest(128), 1)
    return [(sum(bits[4 * i : 4 * i + 2]) - sum(bits[4 * i + 2 : 4 * i + 4])) % Q for i in range(N)]


def ntt(values: Poly) -> Poly:
    out, i, size = list(values), 1, 128
    while size >= 2:
        for start in range(0, N, 2 * size):
            zeta = ZETAS[i]
            i += 1
            for j in range(start, start + size):
                turned = zeta * out[j + size] % Q
                out[j], out[j + size] = (out[j] + turned) % Q, (out[j] - turned) % Q
        size //= 2
    return out


def ntt_back(values: Poly) -> Poly:
    out, i, size = list(values), 127, 2
    while size <= 128:
        for start in range(0, N, 2 * size):
            zeta = ZETAS[i]
            i -= 1
            for j in range(start, start + size):
                low, high = out[j], out[j + size]
                out[j], out[j + size] = (low + high) % Q, zeta * (high - low) % Q
        size *= 2
    return [value * 3303 % Q for value in out]


def product(a: Poly, b: Poly) -> Poly:
    """Algorithm 11: of two transforms."""
    out = []
    for i in range(128):
        a0, a1, b0, b1 = a[2 * i], a[2 * i + 1], b[2 * i], b[2 * i + 1]
        out += [(a0 * b0 + a1 * b1 * GAMMAS[i]) % Q, (a0 * b1 + a1 * b0) % Q]
    return out


def plus(*terms: Poly) -> Poly:
    return [sum(values) % Q for values in zip(*terms, strict=True)]


def minus(a: Poly, b: Poly) -> Poly:
    return [(x - y) % Q for x, y in zip(a, b, strict=True)]


def make_key(seed: bytes) -> tuple[bytes, list[Poly]]:
    """(public key, secret s in the transform) of a seed of 64 bytes (algorithms 13 and 16)."""
    mixed = hashlib.sha3_512(seed[:32] + bytes([K])).digest()
    rho, sigma = mixed[:32], mixed[32:]
    rows = matrix(rho)
    s = [ntt(small(sigma, i)) for i in range(K)]
    e = [ntt(small(sigma, K + i)) for i in range(K)]
    t = [plus(*(product(rows[i][j], s[j]) for j in range(K)), e[i]) for i in range(K)]
    return b"".join(encode(poly, 12) for poly in t) + rho, s


def encrypt(public: bytes, message: bytes, coins: bytes) -> bytes:
    """Algorithm 14."""
    t = [decode(public[384 * i : 384 * (i + 1)], 12) for i in range(K)]
    rows = matrix(public[VECTOR_BYTES:])
    y = [ntt(small(coins, i)) for i in range(K)]
    u = [plus(ntt_back(plus(*(product(rows[j][i], y[j]) for j in range(K)))), small(coins, K + i)) for i in range(K)]
    v = plus(
        ntt_back(plus(*(product(t[i], y[i]) for i in range(K)))),
        small(coins, 2 * K),
        decompress(decode(message, 1), 1),
    )
    return b"".join(encode(compress(poly, DU), DU) for poly in u) + encode(compress(v, DV), DV)


@lru_cache(1024)
def encapsulate(public: bytes, message: bytes) -> tuple[bytes, bytes]:
    """(secret, ciphertext) with 32 bytes of randomness given (algorithm 17)."""
    mixed = hashlib.sha3_512(message + hashlib.sha3_256(public).digest()).digest()
    return mixed[:32], encrypt(public, message, mixed[32:])


def decapsulate(seed: bytes, ciphertext: bytes) -> bytes:
    """The secret of a ciphertext (algorithm 18)."""
    public, s = make_key(seed)
    u = [decompress(decode(ciphertext[320 * i : 320 * (i + 1)], DU), DU) for i in range(K)]
    v = decompress(decode(ciphertext[320 * K :], DV), DV)
    w = minus(v, ntt_back(plus(*(product(s[i], ntt(u[i])) for i in range(K)))))
    message = encode(compress(w, 1), 1)
    secret, again = encapsulate(public, message)
    if again != ciphertext:
        return hashlib.shake_256(seed[32:] + ciphertext).digest(32)
    return secret
