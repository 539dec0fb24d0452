"""Base transfers once more, number by number, from the formulas of python/vfxgb/ot: nothing here is fast.

Randomness comes from `Draws`, which both sides of a comparison use: the fast ones through `inject`.
"""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Any

import mlkem_twin as kem
from vfxgb import _native
from vfxgb.ot import kem_transfers
from vfxgb.ot.group import ModpGroup

WIDTH = 128


class Draws:
    """Bytes that look random, the same ones for the same seed: one stream for each call."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self._calls = 0

    def __call__(self, size: int) -> bytes:
        self._calls += 1
        return hashlib.shake_256(self._seed + self._calls.to_bytes(4, "little")).digest(size)


def inject(monkeypatch: Any, seed: bytes) -> None:
    """Let the transfers draw from `Draws(seed)`, encapsulations among them."""
    draws, coins = Draws(seed), Draws(seed + b" coins")
    monkeypatch.setattr(_native.rand, "random_bytes", draws)
    monkeypatch.setattr(kem_transfers, "encapsulate", lambda public: kem.encapsulate(public, coins(32)))


def mask(nonce: bytes, i: int, branch: int, rho: bytes, other: bytes) -> list[int]:
    """M(i, branch, rho, other): 768 numbers modulo q."""
    start = b"vfxgb ot masked key 1" + nonce + i.to_bytes(8, "little") + bytes([branch]) + rho + other
    return kem.first(kem.twelve_bits(kem.stream_of(hashlib.shake_256(start))), 768)


def hkdf(secret: bytes, salt: bytes, info: bytes) -> bytes:
    """RFC 5869 with SHA-256, 16 bytes."""
    key = hmac.digest(salt, secret, "sha256")
    return hmac.digest(key, info + b"\1", "sha256")[:16]


def xor(*parts: bytes) -> bytes:
    out = bytes(len(parts[0]))
    for part in parts:
        out = bytes(a ^ b for a, b in zip(out, part, strict=True))
    return out


def bit(data: bytes, i: int) -> int:
    return data[i // 8] >> i % 8 & 1


def digest(*messages: bytes) -> bytes:
    framed = b"".join(len(message).to_bytes(8, "little") + message for message in messages)
    return hashlib.sha256(b"vfxgb ot session 2" + framed).digest()


@dataclass
class Transfers:
    """All that two parties make."""

    greeting: bytes
    offer: bytes
    reply: bytes
    session: bytes
    delta: bytes
    seeds: list[bytes]
    pairs: list[tuple[bytes, bytes]]


class Twin:
    """Both parties, one step after the other. `keys` are the seeds of the receiver's keys of ML-KEM."""

    def __init__(self, group: ModpGroup, count: int, seed: bytes) -> None:
        self._group, self._count = group, count
        self._draws, self._coins = Draws(seed), Draws(seed + b" coins")

    def run(self) -> Transfers:
        p, draws, count = self._group.prime, self._draws, self._count
        back_secret = self._number(draws(48))
        back = pow(2, back_secret, p)
        kem_choices = draws(count // 8)
        nonce = draws(32)
        masked, self.keys = self._masked_keys(nonce, kem_choices)
        greeting = self._join(1, nonce, self._bytes(back), masked)
        ciphertexts, kem_pairs = self._encapsulate(nonce, masked, greeting)
        s = draws(16)
        blinds = self._numbers(draws(WIDTH * 64), 64)
        hidden = [pow(2, blind, p) * pow(back, bit(s, j), p) % p for j, blind in enumerate(blinds)]
        secret = self._number(draws(48))
        public = pow(2, secret, p)
        z = b"".join(xor(*pair, s) for pair in kem_pairs)
        offer = self._join(2, draws(32), self._bytes(public), b"".join(map(self._bytes, hidden)), ciphertexts, z)
        delta = draws(count // 8)
        choices = self._numbers(draws(count * 64), 64)
        chosen = [pow(2, blind, p) * pow(public, bit(delta, i), p) % p for i, blind in enumerate(choices)]
        before = digest(greeting, offer)
        first = [self._stream(before, j, pow(element, back_secret, p)) for j, element in enumerate(hidden)]
        second = [
            self._stream(before, j, pow(element * pow(back, -1, p), back_secret, p)) for j, element in enumerate(hidden)
        ]
        u = [xor(first[j], second[j], delta, kem_choices) for j in range(WIDTH)]
        reply = self._join(3, b"".join(map(self._bytes, chosen)), *u)
        session = digest(greeting, offer, reply)
        # The sender: its own streams, and the rows of the extension.
        streams = [self._stream(before, j, pow(back, blind, p)) for j, blind in enumerate(blinds)]
        columns = [xor(streams[j], u[j]) if bit(s, j) else streams[j] for j in range(WIDTH)]
        pairs, seeds = [], []
        for i in range(count):
            x = xor(self._row(columns, i), kem_pairs[i][0])
            elements = pow(chosen[i], secret, p), pow(chosen[i] * pow(public, -1, p), secret, p)
            keys = [self._key(session, i, x if b == 0 else xor(x, s), elements[b]) for b in (0, 1)]
            pairs.append((keys[0], keys[1]))
            d = bit(kem_choices, i)
            mine = xor(self._row(first, i), kem_pairs[i][d], z[16 * i : 16 * i + 16] if d else bytes(16))
            seeds.append(self._key(session, i, mine, pow(public, choices[i], p)))
        return Transfers(greeting, offer, reply, session, delta, seeds, pairs)

    def _masked_keys(self, nonce: bytes, choices: bytes) -> tuple[bytes, list[bytes]]:
        drawn = self._draws(self._count * 64)
        seeds = [drawn[64 * i : 64 * i + 64] for i in range(self._count)]
        random = [kem.first(kem.twelve_bits(iter(self._draws(1536))), 768) for _ in range(self._count)]
        out = b""
        for i, seed in enumerate(seeds):
            public, _ = kem.make_key(seed)
            t, rho, d = kem.decode(public[:1152], 12), public[1152:], bit(choices, i)
            other = kem.encode(random[i], 12)
            own = kem.encode(kem.minus(t, mask(nonce, i, d, rho, other)), 12)
            out += rho + (other + own if d else own + other)
        return out, seeds

    def _encapsulate(self, nonce: bytes, masked: bytes, greeting: bytes) -> tuple[bytes, list[tuple[bytes, bytes]]]:
        made: dict[tuple[int, int], tuple[bytes, bytes]] = {}
        for b in (0, 1):
            for i in range(self._count):
                made[i, b] = kem.encapsulate(both_keys(nonce, masked, i)[b], self._coins(32))
        sent = b"".join(made[i, b][1] for i in range(self._count) for b in (0, 1))
        salt = digest(greeting, sent)
        keys = [
            [hkdf(bytes([b]) + made[i, b][0], salt, b"vfxgb ot kem key 2" + i.to_bytes(8, "little")) for b in (0, 1)]
            for i in range(self._count)
        ]
        return sent, [(pair[0], pair[1]) for pair in keys]

    def _join(self, step: int, *parts: bytes) -> bytes:
        numbers = self._group.bits.to_bytes(2, "little") + self._count.to_bytes(2, "little")
        return b"VXBT" + bytes([2, 2, step]) + numbers + b"".join(parts)

    def _stream(self, before: bytes, j: int, element: int) -> bytes:
        start = b"vfxgb ot stream 2" + before + j.to_bytes(8, "little") + self._bytes(element)
        return hashlib.shake_256(start).digest(self._count // 8)

    def _key(self, session: bytes, i: int, x: bytes, element: int) -> bytes:
        return hkdf(x + self._bytes(element), session, b"vfxgb ot seed 2" + i.to_bytes(8, "little"))

    def _row(self, columns: list[bytes], i: int) -> bytes:
        return sum(bit(columns[j], i) << j for j in range(WIDTH)).to_bytes(16, "little")

    def _bytes(self, element: int) -> bytes:
        return element.to_bytes(self._group.width, "little")

    def _number(self, data: bytes) -> int:
        return int.from_bytes(data, "little")

    def _numbers(self, data: bytes, size: int) -> list[int]:
        return [self._number(data[at : at + size]) for at in range(0, len(data), size)]


def both_keys(nonce: bytes, masked: bytes, i: int) -> list[bytes]:
    """The two public keys of transfer i that the sender makes of the masked ones."""
    record = masked[2336 * i : 2336 * (i + 1)]
    rho, vectors = record[:32], (record[32:1184], record[1184:])
    return [
        kem.encode(kem.plus(kem.decode(vectors[b], 12), mask(nonce, i, b, rho, vectors[1 - b])), 12) + rho
        for b in (0, 1)
    ]
