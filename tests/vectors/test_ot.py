"""AES-128 against FIPS 197, the groups of the base transfers against their RFCs, and the hash and trees, once and for
all: a run that stored its set-up must be able to read it with another version.
"""

import gmpy2
import numpy as np
import pytest

from instruction_sets import INSTRUCTION_SETS
from vfxgb import _native
from vfxgb.ot import modp_group


@pytest.mark.parametrize("path", INSTRUCTION_SETS)
@pytest.mark.parametrize(
    ("key", "plain", "cipher"),
    [
        (
            "2b7e151628aed2a6abf7158809cf4f3c",
            "3243f6a8885a308d313198a2e0370734",
            "3925841d02dc09fbdc118597196a0b32",
        ),
        (
            "000102030405060708090a0b0c0d0e0f",
            "00112233445566778899aabbccddeeff",
            "69c4e0d86a7b0430d8cdb78070b4c55a",
        ),
    ],
    ids=["B", "C.1"],
)
def test_fips_197(monkeypatch: pytest.MonkeyPatch, path: str, key: str, plain: str, cipher: str) -> None:
    monkeypatch.setenv("VFXGB_SIMD", path)
    found = _native.ot.aes_encrypt(bytes.fromhex(key), bytes.fromhex(plain) * 3)
    assert [bytes(block).hex() for block in found] == [cipher] * 3


@pytest.mark.parametrize("path", INSTRUCTION_SETS)
def test_hash_and_tree(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """Made with AES and ChaCha20 of `cryptography`."""
    monkeypatch.setenv("VFXGB_SIMD", path)
    session, leaf, delta = bytes(range(32)), bytes(range(16)), bytes(range(100, 116))
    assert bytes(_native.ot.ot_hash(session, 1, 2, 3, leaf)).hex() == "6d7e1416586d81bfe8f1fd3a7c72ea8f"
    root = np.frombuffer(leaf, dtype=np.uint8).reshape(1, 1, 16)
    leaves = _native.ot.tree_leaves(session, 1, 2, delta, np.array([3], dtype=np.int32), root)
    assert [bytes(block).hex() for block in leaves] == [
        "5b738441cbc1961a608b6905555b6a44",
        "5b728642cfc4901d6882630e5956644b",
        "7f5d7c8f64eccad7d7871591fb27ece1",
        "1b3918eb0880a6bbb3e371f5875b909d",
    ]


# First and last 16 bytes of the primes as RFC 2409 (768, 1024) and RFC 3526 print them.
PRIMES = {
    768: ("ffffffffffffffffc90fdaa22168c234", "f44c42e9a63a3620ffffffffffffffff"),
    1024: ("ffffffffffffffffc90fdaa22168c234", "49286651ece65381ffffffffffffffff"),
    1536: ("ffffffffffffffffc90fdaa22168c234", "f1746c08ca237327ffffffffffffffff"),
    2048: ("ffffffffffffffffc90fdaa22168c234", "15728e5a8aacaa68ffffffffffffffff"),
    3072: ("ffffffffffffffffc90fdaa22168c234", "4b82d120a93ad2caffffffffffffffff"),
    4096: ("ffffffffffffffffc90fdaa22168c234", "4df435c934063199ffffffffffffffff"),
}


@pytest.mark.parametrize("bits", sorted(PRIMES))
def test_groups(bits: int) -> None:
    group = modp_group(bits, insecure=True)
    digits = f"{group.prime:x}"
    assert (digits[:32], digits[-32:], len(digits)) == (*PRIMES[bits], bits // 4)
    assert group.prime % 8 == 7
    if bits <= 1024 or bits == 3072:
        assert gmpy2.is_prime(group.prime)
        assert gmpy2.is_prime(group.prime // 2)
