"""The consistency check: honest requests pass, and a piece with other choices passes only where Delta was guessed."""

import numpy as np
import pytest

from dealt_transfers import OPENING, OVERHEAD
from instruction_sets import INSTRUCTION_SETS
from vfxgb import _native
from vfxgb.errors import TransferError
from vfxgb.ot import HolderSession, OwnerSession, Place, modp_group
from vfxgb.ot.consistency import holds, prove
from vfxgb.ot.transfer_bits import pieces

TOY = modp_group(768, insecure=True)
LEAVES = np.array([4, 5], dtype=np.int32)
HOLES = np.array([[0, 3, 1], [4, 0, 2]], dtype=np.uint16)
SESSION, BEFORE = bytes(range(32)), b"before"


@pytest.mark.parametrize("path", INSTRUCTION_SETS)
@pytest.mark.parametrize("bits", [1, 3, 4, 8])
def test_a_piece_with_another_choice(monkeypatch: pytest.MonkeyPatch, path: str, bits: int) -> None:
    """A receiver that changes a bit of one piece, and guesses the piece of Delta, is right about all of it or caught.

    What it must show then is R of its columns plus the guess times what it changed: right for one of 2^k guesses.
    """
    monkeypatch.setenv("VFXGB_SIMD", path)
    generator = np.random.default_rng(1)
    pairs = generator.integers(0, 256, (128, 2, 16), dtype=np.uint8)
    delta = generator.bytes(16)
    delta_bits = [delta[i // 8] >> i % 8 & 1 for i in range(128)]
    receiver = _native.ot.TransferReceiver(bits, pairs)
    seeds = np.ascontiguousarray(pairs[np.arange(128), delta_bits])
    sender = _native.ot.TransferSender(bits, delta, seeds, receiver.opening)
    choices = generator.bytes(16 * 3)
    c, t, _ = receiver.extend(0, 3, choices)

    def passes(request: bytes, rows: np.ndarray) -> bool:
        proof = prove(SESSION, BEFORE, request, choices, rows, 1)
        q = sender.extend(0, True, request)
        return holds(SESSION, BEFORE, memoryview(request), q, delta, proof, 1)

    assert passes(c, t)
    for piece in (0, 1, pieces(bits) - 1):
        spoiled = bytearray(c)
        spoiled[16 * (pieces(bits) + piece) + 5] ^= 8  # the choice of transfer 128 + 43, in this piece only
        width = min(bits, 128 - piece * bits)
        secret = [delta_bits[piece * bits + bit] for bit in range(width)]
        found = []
        for guess in range(2**width):
            guessed = [guess >> bit & 1 for bit in range(width)]
            rows = t.copy()
            for bit in range(width):
                at = piece * bits + bit
                rows[128 + 43, at // 8] ^= guessed[bit] << at % 8
            if passes(bytes(spoiled), rows):
                found.append(guessed)
        assert found == [secret]


def test_sessions_with_checks() -> None:
    owner = OwnerSession("passive 0", TOY, 1, checked=True, transfer_bits=3)
    holder = HolderSession("active", owner.greeting, TOY, 1, checked=True, transfer_bits=3)
    holder.accept(owner.reply(holder.offer))
    for block in range(2):
        place = Place(0, block)
        request = holder.request(place, LEAVES, HOLES)
        assert len(request) == OVERHEAD + (OPENING if block == 0 else 0) + 2 * 16 * 43 + 48
        roots, corrections = owner.answer(place, LEAVES, 3, request)
        copaths = holder.finish(place, corrections)
        full = _native.ot.tree_leaves(owner.session, 0, block, owner.delta, LEAVES, roots)
        punctured = _native.ot.tree_leaves_punctured(owner.session, 0, block, LEAVES, HOLES, copaths)
        known = punctured.any(axis=1)
        assert (~known).sum() == HOLES.size
        np.testing.assert_array_equal(full[known], punctured[known])


def test_the_two_parties_must_agree() -> None:
    owner = OwnerSession("passive 0", TOY, 1, checked=True)
    holder = HolderSession("active", owner.greeting, TOY, 1)
    holder.accept(owner.reply(holder.offer))
    with pytest.raises(TransferError, match=f"wanted {OVERHEAD + OPENING + 2 * 16 * 22 + 48}"):
        owner.answer(Place(0, 0), LEAVES, 3, holder.request(Place(0, 0), LEAVES, HOLES))


def test_a_wrong_proof_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = OwnerSession("passive 0", TOY, 1, checked=True)
    holder = HolderSession("active", owner.greeting, TOY, 1, checked=True)
    holder.accept(owner.reply(holder.offer))
    monkeypatch.setattr("vfxgb.ot.transfers.prove", lambda *_: bytes(48))
    request = holder.request(Place(0, 0), LEAVES, HOLES)
    with pytest.raises(TransferError, match="passive 0: the request for block 0 of domain 0 does not pass"):
        owner.answer(Place(0, 0), LEAVES, 3, request)
    with pytest.raises(TransferError, match="passive 0: an earlier request did not pass"):
        owner.answer(Place(0, 0), LEAVES, 3, request)


def test_the_proof_depends_on_the_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that were known before the seeds are fixed could be met by a choice of seeds."""
    owner = OwnerSession("passive 0", TOY, 1, checked=True)
    holder = HolderSession("active", owner.greeting, TOY, 1, checked=True)
    holder.accept(owner.reply(holder.offer))
    told = []

    def proving(session: bytes, before: bytes, *rest: object) -> bytes:
        told.append(before)
        return prove(session, before[32:], *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("vfxgb.ot.transfers.prove", proving)
    request = holder.request(Place(0, 0), LEAVES, HOLES)
    assert request[44 + 4096 : 44 + OPENING] == told[0][:32]
    with pytest.raises(TransferError, match="does not pass its check"):
        owner.answer(Place(0, 0), LEAVES, 3, request)
