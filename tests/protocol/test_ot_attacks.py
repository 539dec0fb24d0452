"""A passive party of `ot_shares` that deviates: what it can name and send, and that it learns nothing by it."""

import dataclasses
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import ot_twin as twin
from ot_cheater import Cheater
from ot_runs import same_model, seed_randomness, tables, train, watch
from vfxgb import _native
from vfxgb.errors import CapacityError
from vfxgb.ot import HolderSession, Place
from vfxgb.ot.wire import DIGEST_BYTES, OVERHEAD_BYTES
from vfxgb.protocols.ot_shares.active import OtSource
from vfxgb.protocols.ot_shares.messages import OtGradients
from vfxgb.protocols.ot_shares.passive import OtPassive
from vfxgb.protocols.ot_shares.shares import PairCodec
from vfxgb.rows.masks import MemoryGradients
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import encode

DIGEST = DIGEST_BYTES
HEADER = OVERHEAD_BYTES - DIGEST
BEYOND = 12  # of 10 leaves in 16 places: the path enters the node cut off on level 2, and level 3 has choice 1
ROWS = 40


def number(block: Any) -> int:
    return int.from_bytes(bytes(block), "little")


class Thief:
    """shop, which names a leaf beyond the 10 of its feature with missing values, for one row, and tries for Delta.

    `guesses`: at Delta. `opened`: what it takes for (g, h) of that row in the first tree. `read`: per guess what it
    takes for (g, h) of all rows in the first tree, from the feature with 8 leaves.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.guesses: list[int] = []
        self.opened: list[tuple[int, int]] = []
        self.read: dict[int, list[tuple[int, int]]] = {}
        self._copaths: dict[int, np.ndarray] = {}
        self._request, self._finish = HolderSession.request, HolderSession.finish
        self._read_rows, self._take = OtPassive._read_rows, MemoryGradients.take
        self._first_tree: list[np.ndarray] = []
        monkeypatch.setattr(HolderSession, "request", self._requesting())
        monkeypatch.setattr(HolderSession, "finish", self._finishing())
        monkeypatch.setattr(OtPassive, "_read_rows", self._reading())
        monkeypatch.setattr(MemoryGradients, "take", self._taking())

    def _requesting(self) -> Any:
        thief = self

        def request(self: HolderSession, place: Place, leaves: Any, holes: Any) -> bytes:
            if place != Place(_native.ot_shares.TREES_DOMAIN, 0):
                return thief._request(self, place, leaves, holes)
            thief.leaves, thief.session = leaves, self.session
            thief.slot = leaves.tolist().index(10)
            wide, bad = leaves.copy(), holes.copy()
            wide[thief.slot], bad[thief.slot, 0] = 16, BEYOND
            sent = thief._request(self, place, wide, bad)
            # For all other rows it goes on as it should.
            pending = self._trees._pending
            pending[place] = dataclasses.replace(pending[place], leaves=leaves, holes=holes)
            return sent

        return request

    def _finishing(self) -> Any:
        thief = self

        def finish(self: HolderSession, place: Place, corrections: Any) -> Any:
            if place == Place(_native.ot_shares.TREES_DOMAIN, 0):
                pending = self._trees._pending[place]
                depths = [twin.depth_of(int(count)) for count in pending.leaves]
                rows = pending.holes.shape[1]
                first = rows * sum(depths[: thief.slot])
                sent = bytes(corrections)[HEADER:-DIGEST]
                at = 16 * (first - rows * thief.slot)
                t = [number(block) for block in pending.t[first : first + 4]]
                own = [number(sent[at + 16 * k : at + 16 * k + 16]) for k in range(3)]
                hash_ = twin.Hash(self.session, place.domain, place.block)
                thief.cheaters = [Cheater(hash_, 10, BEYOND, t, own, masked) for masked in (True, False)]
                thief.guesses = [guess for one in thief.cheaters for guess in one.guesses]
            copaths = thief._finish(self, place, corrections)
            if place.domain == _native.ot_shares.TREES_DOMAIN:
                thief._copaths[place.block] = copaths
            return copaths

        return finish

    def _reading(self) -> Any:
        thief = self

        def read_rows(self: OtPassive, round_index: int, tree: int, share: Any, first: int, count: int) -> None:
            thief._read_rows(self, round_index, tree, share, first, count)
            if share.counter == 0 and first + count == ROWS:
                thief._open(self, np.concatenate(thief._first_tree, axis=1))

        return read_rows

    def _taking(self) -> Any:
        thief = self

        def take(self: MemoryGradients, first: int, count: int, data: Any) -> None:
            tree = self._tree
            if tree.counter == 0:
                pairs = (len(tree.slots) * count, tree.widths.g_bits, tree.widths.h_bits)
                d = _native.ot_shares.unpack_pairs(data, *pairs).reshape(len(tree.slots), count, 2)
                thief._first_tree.append(d)
            thief._take(self, first, count, data)

        return take

    def _open(self, role: Any, d: np.ndarray) -> None:
        """From every row's d of the first tree, with each guess at Delta."""
        keys = role._own_keys()
        run = keys.start.run if hasattr(keys, "start") else keys._run
        tweak, widths = twin.tree_tweak(0, run), role._codec.exact.widths
        codec = PairCodec(ROWS, role._codec.fraction_bits, 1, role._codec.hessian_shift)

        def pair(of: twin.Pair) -> tuple[int, int]:
            cut = np.array([[of[0] % 2**widths.g_bits, of[1] % 2**widths.h_bits]], np.uint64)
            try:
                return tuple(codec.open(cut, "test")[0].tolist())
            except CapacityError:
                return (0, -1)

        self.opened = [
            pair(one) for cheater in self.cheaters for one in cheater.opened(tuple(map(int, d[self.slot, 0])), tweak)
        ]
        even = 1 - self.slot
        holes = role._context.rows.bin_numbers(keys.features[even : even + 1], 0, ROWS)[0]
        start = 4 if even == 1 else 0  # levels of the slots before it
        for guess in self.guesses:
            self.read[guess] = []
            for row in range(ROWS):
                block, within = divmod(row, 15)
                rows = min(15, ROWS - block * 15)
                hash_ = twin.Hash(self.session, _native.ot_shares.TREES_DOMAIN, block)
                copath = self._copaths[block][rows * start + 3 * within :][:3]
                known = leaves_of(hash_, [number(one) for one in copath], int(holes[row]))
                known[int(holes[row])] = guess ^ xor_of(known)
                masks = twin.total(twin.masks_of(hash_, known, tweak))
                self.read[guess].append(pair(twin.minus(tuple(map(int, d[even, row])), masks)))


def leaves_of(hash_: twin.Hash, copath: list[int], hole: int) -> list[int]:
    """Of a tree of 8: all leaves but the hole, which is 0."""
    leaves = [0] * 8
    for level, node in enumerate(copath, 1):
        at, nodes = (hole >> (3 - level)) ^ 1, [node]
        for _ in range(3 - level):
            nodes = [child for one in nodes for child in (hash_(one, 0), hash_(one, 0) ^ one)]
        leaves[at << (3 - level) : (at + 1) << (3 - level)] = nodes
    return leaves


def xor_of(numbers: list[int]) -> int:
    out = 0
    for one in numbers:
        out ^= one
    return out


def test_a_hole_beyond_the_leaves_shows_neither_delta_nor_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the consistency check on. One row of a feature with 10 leaves was enough to read every gradient."""
    trees = keep_pairs(monkeypatch)
    seen = watch(monkeypatch)
    thief = Thief(monkeypatch)
    with suppress(CapacityError):  # the row's own sums are spoiled
        train({"checked": True}, data=tables(ROWS))
    pairs = [tuple(one) for one in trees[0].tolist()]
    assert len(thief.guesses) == 12
    assert number(seen.delta) not in thief.guesses
    assert pairs[0] not in thief.opened
    for guess, read in thief.read.items():
        right = sum(one == pair for one, pair in zip(read, pairs, strict=True))
        assert right == 0, f"read {right} of {ROWS} gradients with {guess:x}"


def test_the_thief_of_gradients_reads_them_if_it_is_told_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    """That the attack fails is not for want of trying: given Delta it reads every row."""
    trees = keep_pairs(monkeypatch)
    seen = watch(monkeypatch)
    thief = Thief(monkeypatch)
    finish = HolderSession.finish

    def told(self: HolderSession, place: Place, corrections: Any) -> Any:
        copaths = finish(self, place, corrections)
        thief.guesses = [number(seen.delta)]
        return copaths

    monkeypatch.setattr(HolderSession, "finish", told)
    with suppress(CapacityError):
        train({"checked": True}, data=tables(ROWS))
    assert thief.read[number(seen.delta)] == [tuple(one) for one in trees[0].tolist()]


def keep_pairs(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """The pairs of every tree, in fixed point, as the active party masks them, also of a run that breaks off."""
    trees: list[np.ndarray] = []
    send = OtSource._send_tree

    def sending(self: OtSource, round_index: int, tree: int, pairs: Any) -> None:
        trees.append(np.asarray(pairs))
        send(self, round_index, tree, pairs)

    monkeypatch.setattr(OtSource, "_send_tree", sending)
    return trees


def keep_received(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bytes]]:
    """(tag, payload) of what shop receives of the protocol's own messages, also of a run that breaks off."""
    received: list[tuple[str, bytes]] = []
    recv = Channel.recv

    def receiving(self: Channel, *kinds: Any, **named: Any) -> Any:
        message = recv(self, *kinds, **named)
        if self.own == "shop" and message.TAG.startswith("ot-"):
            received.append((message.TAG, encode(message)))
        return message

    monkeypatch.setattr(Channel, "recv", receiving)
    return received


@pytest.mark.parametrize("beyond", [False, True], ids=["honest", "holes beyond the leaves"])
def test_only_masked_gradients_depend_on_gradients(beyond: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever holes a passive party names, nothing but d of what it receives changes with the labels.

    There is no other use of trees: sums that were once masked by further trees, with holes that should have been a
    permutation, could be read by holes that were none.
    """
    data = tables(ROWS)
    views = []
    for y in (data[1] > 0, data[1] > 0.5):
        seed_randomness(monkeypatch, 7)
        with monkeypatch.context() as patch, suppress(CapacityError):
            views.append(keep_received(patch))
            if beyond:
                Thief(patch)
            train(data=data, y=y.astype(np.float64), n_estimators=1, max_depth=2)
    assert [tag for tag, _ in views[0]] == [tag for tag, _ in views[1]]
    assert {tag for tag, _ in views[0]} == {"ot-start", "ot-reply", "ot-answer", "ot-gradients"}
    differing = {one[0] for one, other in zip(*views, strict=True) if one != other}
    assert differing == {OtGradients.TAG}


@pytest.mark.parametrize("kind", ["zeros", "noise", "moved", "turned"])
def test_other_answers_only_spoil_sums(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a passive party answers, of the round's own messages it receives what it would have received anyway."""
    data = tables(ROWS)
    honest = OtPassive._answer
    views, results = [], []
    for spoil in (False, True):

        def answer(self: Any, nodes: Any, left: Any, depth: int, spoil: bool = spoil) -> Any:
            changed = {
                "zeros": np.zeros_like(left),
                "noise": np.random.default_rng(depth).integers(0, 2**64, left.shape, dtype=np.uint64),
                "moved": left + np.uint64(1 << 30),
                "turned": np.ascontiguousarray(left[:, ::-1]),
            }[kind]
            return honest(self, nodes, changed if spoil else left, depth)

        seed_randomness(monkeypatch, 8)
        with monkeypatch.context() as patch:
            patch.setattr(OtPassive, "_answer", answer)
            views.append(keep_received(patch))
            try:
                results.append(train(data=data, n_estimators=1))
            except CapacityError:
                results.append(None)
    assert views[0] == views[1]
    assert results[0] is not None
    assert results[1] is None or not same_model(results[0], results[1])
