"""The consistency check: honest requests pass, and one column with other choices passes only where Delta has no bit."""

import numpy as np
import pytest

from vfxgb import _native
from vfxgb.errors import TransferError
from vfxgb.ot import HolderSession, OwnerSession, Place, modp_group
from vfxgb.ot.consistency import MASK_GROUPS, holds, prove

TOY = modp_group(768, insecure=True)
LEAVES = np.array([4, 5], dtype=np.int32)
HOLES = np.array([[0, 3, 1], [4, 0, 2]], dtype=np.uint16)
SESSION = bytes(range(32))


@pytest.mark.parametrize("path", ["", "portable"])
def test_one_column_with_another_choice(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """A receiver that changes a bit of u, and proves all else as it should, is right about a bit of Delta or caught."""
    monkeypatch.setenv("VFXGB_SIMD", path)
    generator = np.random.default_rng(1)
    pairs = generator.integers(0, 256, (128, 2, 16), dtype=np.uint8)
    delta = generator.bytes(16)
    bits = [delta[i // 8] >> i % 8 & 1 for i in range(128)]
    sender = _native.ot.OtSender(delta, np.ascontiguousarray(pairs[np.arange(128), bits]))
    choices = generator.bytes(16 * 3)
    u, t = _native.ot.OtReceiver(pairs).extend(0, choices)

    def passes(request: bytes) -> bool:
        proof = prove(SESSION, request, choices, t, 1)
        return holds(SESSION, memoryview(request), sender.extend(0, request), delta, proof, 1)

    assert passes(u)
    found = []
    for column in range(128):
        spoiled = bytearray(u)
        spoiled[16 * (128 + column) + 5] ^= 8  # the choice of transfer 128 + 43, in this column only
        found.append(passes(bytes(spoiled)))
    assert found == [bit == 0 for bit in bits]


def test_sessions_with_checks() -> None:
    holder = HolderSession("active", TOY, 1, checked=True)
    owner = OwnerSession("passive 0", holder.offer, TOY, 1, checked=True)
    holder.accept(owner.reply)
    for block in range(2):
        place = Place(0, block)
        request = holder.request(place, LEAVES, HOLES)
        assert len(request) == (1 + MASK_GROUPS) * 2048 + 32 + 56
        roots, corrections = owner.answer(place, LEAVES, 3, request)
        copaths = holder.finish(place, corrections)
        full = _native.ot.tree_leaves(owner.session, 0, block, owner.delta, LEAVES, roots)
        punctured = _native.ot.tree_leaves_punctured(owner.session, 0, block, LEAVES, HOLES, copaths)
        known = punctured.any(axis=1)
        assert (~known).sum() == HOLES.size
        np.testing.assert_array_equal(full[known], punctured[known])


def test_the_two_parties_must_agree() -> None:
    holder = HolderSession("active", TOY, 1)
    owner = OwnerSession("passive 0", holder.offer, TOY, 1, checked=True)
    holder.accept(owner.reply)
    with pytest.raises(TransferError, match="wanted 6232"):
        owner.answer(Place(0, 0), LEAVES, 3, holder.request(Place(0, 0), LEAVES, HOLES))


def test_a_wrong_proof_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    holder = HolderSession("active", TOY, 1, checked=True)
    owner = OwnerSession("passive 0", holder.offer, TOY, 1, checked=True)
    holder.accept(owner.reply)
    monkeypatch.setattr("vfxgb.ot.session.prove", lambda *_: bytes(32))
    request = holder.request(Place(0, 0), LEAVES, HOLES)
    with pytest.raises(TransferError, match="passive 0: the request for block 0 of domain 0 does not pass"):
        owner.answer(Place(0, 0), LEAVES, 3, request)
    with pytest.raises(TransferError, match="passive 0: an earlier request did not pass"):
        owner.answer(Place(0, 0), LEAVES, 3, request)
