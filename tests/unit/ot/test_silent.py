"""Silent transfers: every row and choice against the definition, batches, refusals, and how hard the problem is."""

from collections.abc import Callable

import numpy as np
import pytest

import ot_twin
import transfer_twin as twin
from dealt_transfers import OVERHEAD, SESSION, connect
from instruction_sets import INSTRUCTION_SETS
from lpn_estimate import attack_bits
from vfxgb import _native
from vfxgb.errors import TransferError
from vfxgb.ot import (
    Place,
    ReceiverBatch,
    ReceiverStock,
    SenderBatch,
    SenderStock,
    SilentReceiver,
    SilentSender,
    receiver_of_kind,
    sender_of_kind,
)
from vfxgb.ot.silent import EXPANDED_TREES, SilentShape

TOY = SilentShape(trees=21, depth=5, secret=300, insecure=True)
ROUNDS = 9  # the domain of rounds


def sides(checked: bool = False, shape: SilentShape = TOY) -> tuple[SilentReceiver, SilentSender]:
    receiver, sender = connect(6, checked)
    return SilentReceiver(receiver, ROUNDS, shape), SilentSender(sender, ROUNDS, shape)


def refill(mine: SilentReceiver, theirs: SilentSender) -> None:
    mine.finish(theirs.refill(mine.refill()))


def make(mine: SilentReceiver, theirs: SilentSender, count: int, block: int) -> tuple[ReceiverBatch, SenderBatch]:
    request, own = mine.request(Place(0, block), count)
    return own, theirs.answer(Place(0, block), count, request)


def numbers(rows: np.ndarray) -> list[int]:
    return [twin.number(bytes(row)) for row in rows]


def correlated(own: ReceiverBatch, batch: SenderBatch, delta: bytes) -> None:
    t, r = own.correlated()
    np.testing.assert_array_equal(batch.correlated(), t ^ np.frombuffer(delta, dtype=np.uint8) * r[:, np.newaxis])


@pytest.mark.parametrize("path", INSTRUCTION_SETS)
@pytest.mark.parametrize("checked", [False, True])
def test_every_row_and_choice(monkeypatch: pytest.MonkeyPatch, checked: bool, path: str) -> None:
    """From what both parties put into a round: trees, secret and matrix."""
    monkeypatch.setenv("VFXGB_SIMD", path)
    mine, theirs = sides(checked)
    seen: dict[str, object] = {}

    def watched(name: str, call: Callable) -> Callable:
        def watching(*arguments):
            seen[name] = arguments
            return call(*arguments)

        return watching

    monkeypatch.setattr(_native.ot, "SilentSender", watched("sender", _native.ot.SilentSender))
    monkeypatch.setattr(_native.ot, "SilentReceiver", watched("receiver", _native.ot.SilentReceiver))
    refill(mine, theirs)
    own, batch = make(mine, theirs, TOY.count, 0)
    session, domain, block, delta_bytes, key, q, depth, roots = seen["sender"]  # type: ignore[misc]
    bits, holes = seen["receiver"][5], seen["receiver"][7]  # type: ignore[index]
    assert (session, domain, block, depth) == (SESSION, ROUNDS, 0, TOY.depth)
    delta, secret, rows = twin.number(delta_bytes), twin.number(bits), numbers(q)
    hash_ = ot_twin.Hash(SESSION, ROUNDS, 0)
    sent, received, chosen = numbers(batch.rows), numbers(own.rows), own.choices.tolist()
    for tree in range(TOY.trees):
        leaves = ot_twin.levels_of(hash_, delta, 1 << TOY.depth, twin.number(bytes(roots[0, tree])))[-1]
        for b, leaf in enumerate(leaves):
            i = (tree << TOY.depth) + b
            places = twin.matrix_row(twin.number(key), i, TOY.secret)
            row, choice = leaf, int(b == holes[tree])
            for place in places:
                row ^= rows[place]
                choice ^= secret >> place & 1
            assert (sent[i], chosen[i], received[i]) == (row, choice, row ^ (delta if choice else 0))
    assert 0.4 < np.mean(chosen) < 0.6
    assert len(set(holes.tolist())) > 5


def test_batches_over_several_rounds() -> None:
    """Batches of any size, also across the end of a round; a round may be ordered while another one is in use."""
    mine, theirs = sides(checked=True)
    refill(mine, theirs)
    assert mine.left == theirs.left == TOY.count == 21 * 32
    assert EXPANDED_TREES << TOY.depth < TOY.count
    sizes = [1, 100, EXPANDED_TREES << TOY.depth, 59]
    for block, count in enumerate(sizes):
        correlated(*make(mine, theirs, count, block), theirs.delta)
    assert mine.left == TOY.count - sum(sizes) == 0
    refill(mine, theirs)
    correlated(*make(mine, theirs, 600, 10), theirs.delta)
    refill(mine, theirs)
    assert mine.left == 2 * TOY.count - 600
    correlated(*make(mine, theirs, 700, 11), theirs.delta)


def test_keys_and_tables_as_of_other_transfers() -> None:
    mine, theirs = sides()
    refill(mine, theirs)
    own, batch = make(mine, theirs, 200, 0)
    got, choices = own.take(100).keys()
    zero, one = batch.take(100).keys()
    np.testing.assert_array_equal(got, np.where(choices[:, np.newaxis], one, zero))
    messages = np.random.default_rng(0).integers(0, 256, (25, 16, 4), dtype=np.uint8)
    wanted = np.arange(25, dtype=np.uint8) % 16
    corrections, choice = own.choose(wanted, 4, 4)
    np.testing.assert_array_equal(choice.read(batch.send(messages, corrections)), messages[np.arange(25), wanted])


def test_either_kind_by_name() -> None:
    receiver, sender = connect(6)
    assert receiver_of_kind("soft", receiver, 1) is receiver
    assert sender_of_kind("soft", sender, 1) is sender
    assert receiver.left == sender.left > 10**18
    mine, theirs = receiver_of_kind("silent", receiver, 1), sender_of_kind("silent", sender, 1)
    assert isinstance(mine, SilentReceiver)
    assert isinstance(theirs, SilentSender)
    assert mine.left == theirs.left == 0


def test_requests_are_silent() -> None:
    mine, theirs = sides()
    refill(mine, theirs)
    request, _ = mine.request(Place(0, 0), 600)
    assert len(request) == OVERHEAD


def test_stocks_of_silent_transfers() -> None:
    mine, theirs = sides()
    refill(mine, theirs)
    with ReceiverStock(mine, 0, 100, ahead=2) as stock, SenderStock(theirs, 0, 100) as answers:
        for _ in range(4):
            request, own = stock.take()
            answers.give(request)
            correlated(own, answers.take(), theirs.delta)


def test_transfers_that_are_not_there() -> None:
    mine, theirs = sides()
    with pytest.raises(TransferError, match="silent transfers with shop: found 0 that are left, wanted 1, one or more"):
        mine.request(Place(0, 0), 1)
    refill(mine, theirs)
    with pytest.raises(TransferError, match="found 672 that are left, wanted 673, one or more; refill first"):
        mine.request(Place(0, 0), 673)
    with pytest.raises(TransferError, match="wanted 0, one or more"):
        mine.request(Place(0, 0), 0)
    request, _ = mine.request(Place(0, 0), 10)
    with pytest.raises(TransferError, match="found 672 that are left, wanted 1000"):
        theirs.answer(Place(0, 0), 1000, request)
    theirs.answer(Place(0, 0), 10, request)
    with pytest.raises(TransferError, match="used before"):
        theirs.answer(Place(0, 0), 10, request)
    with pytest.raises(TransferError, match="used before"):
        mine.request(Place(ROUNDS, 0), 10)


def test_foreign_requests() -> None:
    mine, theirs = sides()
    refill(mine, theirs)
    first, second = (mine.request(Place(0, block), 10)[0] for block in range(2))
    with pytest.raises(TransferError, match="found block 1 of domain 0 from transfer group 10, wanted block 1"):
        theirs.answer(Place(0, 1), 10, second)
    with pytest.raises(TransferError, match="wanted 60"):
        theirs.answer(Place(0, 0), 10, first + b"x")
    receiver, _ = connect(6, session=bytes(32))
    other, _ = receiver.request(Place(0, 0), 10)
    with pytest.raises(TransferError, match="found a request of random transfers, wanted a request of silent"):
        theirs.answer(Place(0, 0), 10, other)
    theirs.answer(Place(0, 0), 10, first)
    theirs.answer(Place(0, 1), 10, second)


def test_rounds_that_are_none() -> None:
    """Truncated or foreign bytes change nothing: the right ones are still taken."""
    mine, theirs = sides(checked=True)
    with pytest.raises(TransferError, match="with shop: found an answer, and no round is open"):
        mine.finish(b"")
    request = mine.refill()
    with pytest.raises(TransferError, match="with shop: a round is open"):
        mine.refill()
    for spoiled in (b"", request[:100], request[:-1], b"\xff" * 8 + request[8:], request + b"x"):
        with pytest.raises(TransferError, match=r"transfers with bank: found \d+ bytes"):
            theirs.refill(spoiled)
    answer = theirs.refill(request)
    with pytest.raises(TransferError, match="transfers with bank"):
        theirs.refill(request)
    for spoiled in (b"", answer[:-1], bytes([answer[0] ^ 1]) + answer[1:]):
        with pytest.raises(TransferError, match="transfers with shop"):
            mine.finish(spoiled)
    mine.finish(answer)
    correlated(*make(mine, theirs, 50, 0), theirs.delta)


def test_the_usual_shape_is_hard() -> None:
    """At least 128 bits by every attack here; the numbers of the paper and smaller sets of others for comparison."""
    usual = SilentShape()
    assert attack_bits(usual.trees, usual.depth, usual.secret) > 140
    assert 128 < attack_bits(1319, 13, 589_760) < 131  # Ferret, section 6
    assert attack_bits(1280, 13, 452_000) < 110
    assert attack_bits(2507, 12, 238_000) < 90
    assert attack_bits(4971, 11, 124_000) < 75


def test_other_shapes_need_insecure() -> None:
    with pytest.raises(TransferError, match="found 4971 trees of depth 11 and a secret of 124000 bits, wanted 1319"):
        SilentShape(4971, 11, 124_000)


@pytest.mark.slow
def test_a_round_of_the_usual_shape() -> None:
    """A round of its full size: bytes each, and correlated transfers from its beginning and its end."""
    receiver, sender = connect(8, checked=True, threads=2)
    mine, theirs = SilentReceiver(receiver, ROUNDS), SilentSender(sender, ROUNDS)
    request = mine.refill()
    answer = theirs.refill(request)
    mine.finish(answer)
    assert (len(request) + len(answer)) / SilentShape().count < 0.145
    correlated(*make(mine, theirs, 300_000, 0), theirs.delta)
    mine._supply._rounds[0] = (mine._supply._rounds[0][0], 1310)
    theirs._supply._rounds[0] = (theirs._supply._rounds[0][0], 1310)
    correlated(*make(mine, theirs, mine.left, 1), theirs.delta)
