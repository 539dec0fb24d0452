"""What short random exponents cost an attacker: Pollard's kangaroos find b bits in about 2**(b/2) products."""

import math

import pytest

from vfxgb.crypto import PublicKey
from vfxgb.crypto.parameters import PublicParameters
from vfxgb.crypto.schemes import scheme_by_name


def kangaroo(h: int, y: int, n: int, bits: int) -> tuple[int | None, int]:
    """(alpha with h**alpha = y mod n and 0 <= alpha < 2**bits or None, products it took), by one tame and one wild."""
    half = 1 << (bits // 2)
    count = next(k for k in range(2, bits) if 2 << k >= k * half)  # jumps of 1, 2, 4, ...: half of `half` on average
    jumps = [1 << i for i in range(count)]
    leaps = [pow(h, jump, n) for jump in jumps]
    position, tame = 1 << bits, pow(h, 1 << bits, n)
    for _ in range(4 * half):
        i = tame % count
        tame, position = tame * leaps[i] % n, position + jumps[i]
    products, travelled, wild = 4 * half, 0, y
    while travelled <= position:
        if wild == tame:
            return position - travelled, products
        i = wild % count
        wild, travelled = wild * leaps[i] % n, travelled + jumps[i]
        products += 1
    return None, products


def public_key(make_key, bits: int) -> PublicKey:
    """A key of 512 bits whose exponents have so few bits that the attack takes a moment."""
    full = make_key("ou", 512, "short").public_key.parameters
    public = PublicParameters("ou", full.n, full.bases, bits, full.plaintext_bits)
    scheme_by_name("ou").check_public(public, True, "test")
    return PublicKey(public)


@pytest.mark.parametrize("bits", [20, 26])
def test_labels_are_read_off_weak_ciphertexts(make_key, bits: int) -> None:
    """Without any secret, two candidates for a plaintext are told apart, in products that grow as 2**(b/2)."""
    key = public_key(make_key, bits)
    n, (g, h) = key.n, key.parameters.bases
    labels = [0, 1, 1, 0, 1, 0, 0, 1]
    ciphertexts = key.encrypt(labels).tolist()
    right, spent = 0, []
    for label, c in zip(labels, ciphertexts, strict=True):
        alpha, products = kangaroo(h, c * pow(g, -label, n) % n, n, bits)
        spent.append(products)
        if alpha is None:  # the wild one jumped past the tame one's track, which is rare
            continue
        assert 0 <= alpha < 1 << bits
        assert pow(h, alpha, n) * pow(g, label, n) % n == c
        right += 1
        other, _ = kangaroo(h, c * pow(g, label - 1, n) % n, n, bits)
        assert other is None
    assert right >= 6
    assert math.log2(max(spent)) < bits / 2 + 4


def test_exponents_of_full_length_are_out_of_reach(make_key) -> None:
    """The same search over an interval that the exponent does not lie in ends without an answer."""
    key = make_key("ou", 512, "djn").public_key
    n, (g, h) = key.n, key.parameters.bases
    (c,) = key.encrypt([1]).tolist()
    assert kangaroo(h, c * pow(g, -1, n) % n, n, 20)[0] is None
