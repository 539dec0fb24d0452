"""Keys, sealing, signatures, lists and slots on their own."""

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.crypto import key_agreement as keys
from vfxgb.errors import InvalidCiphertextError, InvalidKeyError, MessageError
from vfxgb.secagg.lists import Statement, pack_users, read_users, require_within
from vfxgb.secagg.simulation import make_identities
from vfxgb.secagg.slots import join_entries, slots_of, split_entries

RUN = bytes(range(16))


def test_agreement_known_answer() -> None:
    """RFC 7748, section 6.1, before derivation."""
    alice = keys.AgreementKey(bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"))
    assert alice.public.hex() == "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
    bob = bytes.fromhex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
    shared = bytes.fromhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
    assert alice.agree(bob, b"use") == keys.derive(shared, b"use")


def test_both_sides_agree() -> None:
    one, other = keys.AgreementKey(), keys.AgreementKey()
    assert one.agree(other.public, b"a") == other.agree(one.public, b"a")
    assert one.agree(other.public, b"a") != one.agree(other.public, b"b")
    assert one.agree(other.public, b"a", b"secret") == other.agree(one.public, b"a", b"secret")
    assert one.agree(other.public, b"a", b"secret") != one.agree(other.public, b"a")


def test_both_sides_of_a_hybrid_key_agree() -> None:
    one, other, third = keys.HybridKey(), keys.HybridKey(), keys.HybridKey()
    key, ciphertext = one.encapsulate(other.public, b"a")
    assert (len(one.public), len(ciphertext)) == (keys.HYBRID_PUBLIC_BYTES, keys.HYBRID_CIPHERTEXT_BYTES)
    assert other.decapsulate(one.public, ciphertext, b"a") == key
    wrong = [
        other.decapsulate(one.public, ciphertext, b"b"),
        other.decapsulate(third.public, ciphertext, b"a"),
        third.decapsulate(one.public, ciphertext, b"a"),
        other.decapsulate(one.public, bytes([ciphertext[0] ^ 1]) + ciphertext[1:], b"a"),
        other.encapsulate(one.public, b"a")[0],
    ]
    assert len({key, *wrong}) == len(wrong) + 1


def test_a_hybrid_key_is_hkdf_of_both_secrets() -> None:
    """And of the context, both public keys and the ciphertext."""
    one, other = keys.HybridKey(), keys.HybridKey()
    key, ciphertext = one.encapsulate(other.public, b"use")
    curve = one._curve._private.exchange(keys.X25519PublicKey.from_public_bytes(other.public[:32]))
    kem = other._kem.decapsulate(ciphertext)
    info = b"use" + one.public + other.public + ciphertext
    assert key == keys.derive(curve + kem, info)


@pytest.mark.parametrize(
    "spoil",
    [lambda key: key[:32], lambda key: key + b"\0", lambda key: bytes(32) + key[32:], lambda key: b"\xff" * 1216],
)
def test_hybrid_keys_that_are_none(spoil: Callable[[bytes], bytes]) -> None:
    good = keys.HybridKey().public
    keys.check_hybrid_key(good)
    with pytest.raises(InvalidKeyError):
        keys.check_hybrid_key(spoil(good))


@pytest.mark.parametrize("point", [bytes(32), (1).to_bytes(32, "little")])
def test_points_of_low_order_are_refused(point: bytes) -> None:
    with pytest.raises(InvalidKeyError, match="full order"):
        keys.AgreementKey().agree(point, b"")


def test_derivation_is_hkdf() -> None:
    """RFC 5869 in its own words: extract with a salt of zeros, expand one block."""
    secret, context = b"secret" * 5, b"context"
    extracted = hmac.digest(bytes(32), secret, hashlib.sha256)
    assert keys.derive(secret, context) == hmac.digest(extracted, context + b"\1", hashlib.sha256)


def test_contexts_differ() -> None:
    found = [
        keys.context_of(purpose, run, *numbers)
        for purpose in ("mask", "mas")
        for run in (RUN, RUN[::-1])
        for numbers in ((), (1,), (1, 2), (2, 1), (256,), (0, 1))
    ]
    assert len(set(found)) == len(found)


def test_sealed_records() -> None:
    key = keys.random_seed()
    sealed = keys.seal(key, 7, b"record", b"context")
    assert len(sealed) == 6 + keys.SEAL_BYTES
    assert keys.unseal(key, 7, sealed, b"context") == b"record"
    wrong = [
        (keys.random_seed(), 7, sealed, b"context"),
        (key, 8, sealed, b"context"),
        (key, 7, sealed, b"other"),
        (key, 7, sealed[:-1], b"context"),
        (key, 7, bytes([sealed[0] ^ 1]) + sealed[1:], b"context"),
        (key, 7, b"", b"context"),
    ]
    for arguments in wrong:
        with pytest.raises(InvalidCiphertextError, match="altered, or sealed for another"):
            keys.unseal(*arguments)


def test_signatures() -> None:
    private, public = make_identities(range(2))
    signature = keys.sign(private[0], b"statement")
    assert keys.verify(public[0], b"statement", signature)
    assert not keys.verify(public[1], b"statement", signature)
    assert not keys.verify(public[0], b"Statement", signature)
    assert not keys.verify(public[0], b"statement", signature[:-1])
    assert not keys.verify(b"no key", b"statement", signature)


@given(st.sets(st.integers(0, 2**32 - 2), max_size=20))
def test_lists_travel(users: set[int]) -> None:
    ordered = sorted(users)
    assert read_users(pack_users(ordered), "test") == tuple(ordered)


@pytest.mark.parametrize("users", [[1, 1], [2, 1], [0, 5, 5]])
def test_lists_ascend(users: list[int]) -> None:
    with pytest.raises(MessageError, match=r"here: .* duplicates or out of order"):
        read_users(pack_users(users), "here")


def test_strangers_in_a_list() -> None:
    with pytest.raises(MessageError, match="here: found user 3 in the list, wanted only friends"):
        require_within((1, 3, 9), {1, 2}, "here", "friends")


def test_every_field_of_a_statement_is_signed() -> None:
    base = Statement(RUN, 3, 4, 10, (0, 1, 2, 3, 4), (0, 1, 2, 3), (0, 1, 2), b"t" * 32)
    others = [
        Statement(RUN[::-1], 3, 4, 10, base.joined, base.shared, base.survivors, base.task),
        Statement(RUN, 4, 4, 10, base.joined, base.shared, base.survivors, base.task),
        Statement(RUN, 3, 5, 10, base.joined, base.shared, base.survivors, base.task),
        Statement(RUN, 3, 4, 11, base.joined, base.shared, base.survivors, base.task),
        Statement(RUN, 3, 4, 10, base.shared, base.shared, base.survivors, base.task),
        Statement(RUN, 3, 4, 10, base.joined, base.joined, base.survivors, base.task),
        replace(base, survivors=(0, 1)),
        Statement(RUN, 3, 4, 10, (0, 1, 2, 3, 4, 0), (1, 2, 3), base.survivors, base.task),
        Statement(RUN, 3, 4, 10, base.joined, base.shared, base.survivors, b"u" * 32),
    ]
    signed = [statement.signed_bytes() for statement in (base, *others)]
    assert len(set(signed)) == len(signed)


LIMIT = 2**63


@given(
    st.lists(st.integers(1 - LIMIT, LIMIT - 1) | st.sampled_from([0, -1, 1, LIMIT - 1, 1 - LIMIT]), max_size=12),
    st.integers(1, 5),
)
def test_slots_hold_signed_entries(values: list[int], slots: int) -> None:
    plain = join_entries(np.array(values, np.int64), slots)
    for row, z in zip(range(0, len(values), slots), plain, strict=True):
        assert z == sum(x << 64 * i for i, x in enumerate(values[row : row + slots]))
    assert split_entries(plain, slots, len(values)).tolist() == values


def test_slots_that_fit() -> None:
    assert [slots_of(None, bits) for bits in (128, 512, 2048, 3072)] == [1, 7, 31, 47]
    assert slots_of(3, 512) == 3
    # The largest sums in every slot stay below half of the least modulus of that size.
    for bits in (128, 512, 3072):
        slots = slots_of(None, bits)
        top = sum((2**62) << 64 * i for i in range(slots))
        assert 2 * top < 2 ** (bits - 1)


def test_sums_of_slots_are_slots_of_sums() -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(-(2**59), 2**59, (6, 11))
    total = [sum(column) for column in zip(*(join_entries(row, 3) for row in x), strict=True)]
    assert split_entries(total, 3, 11).tolist() == x.sum(axis=0).tolist()
    assert all(a != b for a, b in pairwise(total))
