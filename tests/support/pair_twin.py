"""Keys of pairs of users one by one, by `cryptography` and by the formulas of RFC 7748: twins of the batches."""

from vfxgb.crypto.key_agreement import AgreementKey, context_of

PRIME = 2**255 - 19
A24 = 121665


def pair_key(
    own: AgreementKey, user: int, public: bytes, peer: int, run: bytes, call: int, mask_secret: bytes
) -> bytes:
    """The key of the mask between `user`, which owns `own`, and `peer`."""
    return own.agree(public, context_of("mask", run, call, min(user, peer), max(user, peer)), mask_secret)


def pair_sign(user: int, peer: int) -> int:
    """The sign with which `user` adds the mask it has with `peer`."""
    return 1 if user < peer else -1


def x25519(scalar: bytes, point: bytes) -> bytes:
    """RFC 7748, section 5, in Python's integers."""
    k = int.from_bytes(scalar, "little") & ~7 & ~(1 << 255) | 1 << 254
    x1 = int.from_bytes(point, "little") & ~(1 << 255)
    x2, z2, x3, z3 = 1, 0, x1, 1
    for t in reversed(range(255)):
        if k >> t & 1:
            x2, z2, x3, z3 = x3, z3, x2, z2
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a, b * b, d * a, c * b
        e = aa - bb
        x3, z3 = (da + cb) ** 2 % PRIME, x1 * (da - cb) ** 2 % PRIME
        x2, z2 = aa * bb % PRIME, e * (aa + A24 * e) % PRIME
        if k >> t & 1:
            x2, z2, x3, z3 = x3, z3, x2, z2
    return (x2 * pow(z2, PRIME - 2, PRIME) % PRIME).to_bytes(32, "little")
