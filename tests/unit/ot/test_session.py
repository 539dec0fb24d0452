"""Sessions of two parties: what they hold in the end, what they send, and what they refuse."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import KeySizeError, TransferError
from vfxgb.ot import HolderSession, OwnerSession, Place, modp_group

TOY = modp_group(768, insecure=True)
LEAVES = np.array([5, 33, 1], dtype=np.int32)
ROWS = 40
LEVELS = 3 + 6 + 1
# None of the trees has a power of two: after its leaves comes the sum of the nodes cut off, which both parties know.
VALUES = LEAVES + 1
FIRST = Place(0, 0)
HEADER, DIGEST = 44, 16
# The seeds of all transfers, in the first request; bits of a transfer in a request.
OPENING, PIECES = 4096 + 32, 22

Sessions = tuple[HolderSession, OwnerSession]


def connect() -> Sessions:
    owner = OwnerSession("passive 0", TOY, 1)
    holder = HolderSession("active", owner.greeting, TOY, 1)
    holder.accept(owner.reply(holder.offer))
    return holder, owner


@pytest.fixture
def sessions() -> Sessions:
    return connect()


def random_holes(seed: int = 0) -> NDArray[np.uint16]:
    return np.random.default_rng(seed).integers(0, LEAVES[:, np.newaxis], (3, ROWS)).astype(np.uint16)


def leaves_of_both(
    sessions: Sessions, place: Place, holes: NDArray[np.uint16], roots: NDArray[np.uint8], copaths: NDArray[np.uint8]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    where = (sessions[0].session, place.domain, place.block)
    full = _native.ot.tree_leaves(*where, sessions[1].delta, LEAVES, roots)
    return full, _native.ot.tree_leaves_punctured(*where, LEAVES, holes, copaths)


def check_leaves(full: NDArray[np.uint8], punctured: NDArray[np.uint8], holes: NDArray[np.uint16]) -> None:
    at = 0
    for tree, count in enumerate(VALUES):
        for row in range(ROWS):
            mine, theirs = full[at : at + count], punctured[at : at + count]
            known = np.arange(count) != holes[tree, row]
            np.testing.assert_array_equal(theirs[known], mine[known])
            assert not theirs[~known].any()
            at += count


def test_blocks_on_their_way(sessions: Sessions) -> None:
    """Two requests before any answer, in two domains."""
    holder, owner = sessions
    places = [Place(0, 7), Place(1, 7)]
    holes = [random_holes(1), random_holes(2)]
    requests = [holder.request(place, LEAVES, some) for place, some in zip(places, holes, strict=True)]
    answers = [owner.answer(place, LEAVES, ROWS, request) for place, request in zip(places, requests, strict=True)]
    for i in (1, 0):
        roots, corrections = answers[i]
        copaths = holder.finish(places[i], corrections)
        assert roots.shape == (3, ROWS, 16)
        assert copaths.shape == (ROWS * LEVELS, 16)
        check_leaves(*leaves_of_both(sessions, places[i], holes[i], roots, copaths), holes[i])


def test_bytes_sent(sessions: Sessions) -> None:
    """22 bits a level up, in groups of 128 transfers, and 16 bytes a level but the first down."""
    holder, owner = sessions
    request = holder.request(FIRST, LEAVES, random_holes())
    _, corrections = owner.answer(FIRST, LEAVES, ROWS, request)
    groups = -(-ROWS * LEVELS // 128)
    assert len(request) == OPENING + groups * PIECES * 16 + HEADER + DIGEST
    assert len(corrections) == 16 * ROWS * (LEVELS - 3) + HEADER + DIGEST


def test_no_rows(sessions: Sessions) -> None:
    holder, owner = sessions
    request = holder.request(FIRST, LEAVES, np.zeros((3, 0), dtype=np.uint16))
    roots, corrections = owner.answer(FIRST, LEAVES, 0, request)
    assert roots.shape == (3, 0, 16)
    assert holder.finish(FIRST, corrections).shape == (0, 16)


def test_hidden_leaves_are_nowhere_with_the_holder(sessions: Sessions) -> None:
    """Neither among its leaves nor on its co-paths nor in what it was sent; and no two of them are equal."""
    holder, owner = sessions
    holes = random_holes()
    roots, corrections = owner.answer(FIRST, LEAVES, ROWS, holder.request(FIRST, LEAVES, holes))
    copaths = holder.finish(FIRST, corrections)
    full, punctured = leaves_of_both(sessions, FIRST, holes, roots, copaths)
    hidden = [bytes(leaf) for leaf in full[~punctured.any(axis=1)]]
    assert len(hidden) == len(set(hidden)) == 3 * ROWS
    sent = np.frombuffer(corrections[HEADER:-DIGEST], dtype=np.uint8).reshape(-1, 16)
    for known in (punctured, copaths, sent):
        assert set(hidden).isdisjoint(bytes(block) for block in known)


def test_requests_do_not_depend_visibly_on_holes() -> None:
    """Bits of requests for all-zero and for all-last holes are even, and independent of each other."""
    holder, _ = connect()
    holder.request(Place(1, 0), LEAVES, random_holes())  # the first one carries the seeds
    low = np.zeros((3, ROWS), dtype=np.uint16)
    high = np.broadcast_to((LEAVES - 1).astype(np.uint16)[:, np.newaxis], (3, ROWS)).copy()
    sent = [holder.request(Place(0, i), LEAVES, holes)[HEADER:-DIGEST] for i, holes in enumerate((low, high, low))]
    bits = np.unpackbits(np.array([np.frombuffer(some, dtype=np.uint8) for some in sent]), axis=1)
    for some in (*bits, bits[0] ^ bits[1], bits[0] ^ bits[2]):
        assert abs(some.mean() - 0.5) < 6 * 0.5 / np.sqrt(some.size)


def test_sessions_differ() -> None:
    (holder, owner), (other, _) = connect(), connect()
    assert holder.session == owner.session != other.session
    assert owner.delta.hex() not in repr(owner) + repr(holder)


def change(data: bytes, at: int, how: Callable[[int], int] = lambda byte: byte ^ 1) -> bytes:
    at %= len(data)
    return data[:at] + bytes([how(data[at])]) + data[at + 1 :]


@pytest.mark.parametrize(
    ("spoil", "wanted"),
    [
        (lambda data: data[:-1], "wanted 5596"),
        (lambda data: data + b"\0", "wanted 5596"),
        (lambda data: data[:30], "no block of transfers"),
        (lambda data: b"", "no block of transfers"),
        (lambda data: change(data, 0), "no block of transfers"),
        (lambda data: change(data, 4), "of version 4"),
        (lambda data: change(data, 5, lambda _: 2), "found corrections, wanted a request"),
        (lambda data: change(data, 5, lambda _: 9), "unknown kind 9"),
        (lambda data: change(data, 6), "found transfers with transfer_bits=7, wanted 6"),
        (lambda data: change(data, 8), "found block 0 of domain 1"),
        (lambda data: change(data, 12), "found block 1 of domain 0"),
        (lambda data: change(data, 20), "from transfer group 1"),
        (lambda data: change(data, 28), "found a block of session"),
        (lambda data: change(data, 36), "wanted 5596"),
        (lambda data: change(data, 44), "does not match"),
        (lambda data: change(data, 5000), "does not match"),
        (lambda data: change(data, len(data) - 1), "does not match"),
    ],
)
def test_spoiled_requests(sessions: Sessions, spoil: Callable[[bytes], bytes], wanted: str) -> None:
    holder, owner = sessions
    request = holder.request(FIRST, LEAVES, random_holes())
    with pytest.raises(TransferError, match=f"transfers with passive 0.*{wanted}"):
        owner.answer(FIRST, LEAVES, ROWS, spoil(request))
    owner.answer(FIRST, LEAVES, ROWS, request)  # nothing was lost


def test_spoiled_corrections(sessions: Sessions) -> None:
    holder, owner = sessions
    holes = random_holes()
    roots, corrections = owner.answer(FIRST, LEAVES, ROWS, holder.request(FIRST, LEAVES, holes))
    for spoiled in (corrections[:-1], change(corrections, 100), b"", change(corrections, 5, lambda _: 1)):
        with pytest.raises(TransferError, match="transfers with active"):
            holder.finish(FIRST, spoiled)
    check_leaves(*leaves_of_both(sessions, FIRST, holes, roots, holder.finish(FIRST, corrections)), holes)


def test_other_sizes_and_sessions(sessions: Sessions) -> None:
    holder, owner = sessions
    request = holder.request(FIRST, LEAVES, random_holes())
    for leaves, rows in ((LEAVES, ROWS + 20), (LEAVES[:2], ROWS), (LEAVES * 20, ROWS)):
        with pytest.raises(TransferError, match="disagree on the number of rows, leaves or transfers"):
            owner.answer(FIRST, leaves, rows, request)
    _, stranger = connect()
    with pytest.raises(TransferError, match="found a block of session"):
        stranger.answer(FIRST, LEAVES, ROWS, request)


def test_order_and_repetition(sessions: Sessions) -> None:
    holder, owner = sessions
    second = Place(0, 1)
    requests = [holder.request(place, LEAVES, random_holes()) for place in (FIRST, second)]
    with pytest.raises(TransferError, match="once and in order"):
        owner.answer(second, LEAVES, ROWS, requests[1])
    _, corrections = owner.answer(FIRST, LEAVES, ROWS, requests[0])
    with pytest.raises(TransferError, match="used before"):
        owner.answer(FIRST, LEAVES, ROWS, requests[0])
    with pytest.raises(TransferError, match="found block 0 of domain 0 from transfer group 0"):
        owner.answer(second, LEAVES, ROWS, requests[0])
    with pytest.raises(TransferError, match="used before"):
        holder.request(FIRST, LEAVES, random_holes())
    with pytest.raises(TransferError, match="found block 0"):
        holder.finish(second, corrections)
    holder.finish(FIRST, corrections)
    with pytest.raises(TransferError, match="not open"):
        holder.finish(FIRST, corrections)


def test_parties_with_other_transfer_bits() -> None:
    owner = OwnerSession("passive 0", TOY, 1, transfer_bits=5)
    holder = HolderSession("active", owner.greeting, TOY, 1, transfer_bits=4)
    holder.accept(owner.reply(holder.offer))
    with pytest.raises(TransferError, match="passive 0: found transfers with transfer_bits=4, wanted 5; both parties"):
        owner.answer(FIRST, LEAVES, ROWS, holder.request(FIRST, LEAVES, random_holes()))


def test_holes_that_are_no_leaves(sessions: Sessions) -> None:
    holes = random_holes()
    holes[1, 17] = 33
    with pytest.raises(TransferError, match="found leaf 33 in row 17 of tree 1, wanted one below 33"):
        sessions[0].request(FIRST, LEAVES, holes)


def test_before_and_after_the_base_transfers() -> None:
    owner = OwnerSession("passive 0", TOY, 1)
    holder = HolderSession("active", owner.greeting, TOY, 1)
    with pytest.raises(TransferError, match="not finished"):
        holder.request(FIRST, LEAVES, random_holes())
    with pytest.raises(TransferError, match="not finished"):
        owner.answer(FIRST, LEAVES, ROWS, b"")
    reply = owner.reply(holder.offer)
    with pytest.raises(TransferError, match="second offer"):
        owner.reply(holder.offer)
    holder.accept(reply)
    with pytest.raises(TransferError, match="second reply"):
        holder.accept(reply)


def test_base_transfers_that_do_not_fit() -> None:
    """Each side names the other, and goes on with the right message (test_base_ot.py has what can be wrong)."""
    owner = OwnerSession("passive 0", TOY, 1)
    with pytest.raises(TransferError, match=r"base transfers with active: .*both parties must use the same group"):
        HolderSession("active", owner.greeting, modp_group(1024, insecure=True), 1)
    holder = HolderSession("active", owner.greeting, TOY, 1)
    with pytest.raises(TransferError, match="base transfers with passive 0: found 0 bytes"):
        owner.reply(b"")
    reply = owner.reply(holder.offer)
    with pytest.raises(TransferError, match="base transfers with active: found 0 bytes"):
        holder.accept(b"")
    holder.accept(reply)


def test_a_changed_reply_gives_another_session() -> None:
    """Parties that saw different bytes do not understand each other's blocks."""
    owner = OwnerSession("passive 0", TOY, 1)
    holder = HolderSession("active", owner.greeting, TOY, 1)
    holder.accept(change(owner.reply(holder.offer), -1))
    with pytest.raises(TransferError, match="found a block of session"):
        owner.answer(FIRST, LEAVES, ROWS, holder.request(FIRST, LEAVES, random_holes()))


def test_groups_by_size() -> None:
    assert modp_group().bits == 3072
    with pytest.raises(KeySizeError, match="at least 2048"):
        modp_group(1024)
    with pytest.raises(KeySizeError, match="wanted one of 768, 1024"):
        modp_group(3000)
