"""A recorded run of `ot_shares` worked out again, byte by byte, from the secrets of both sessions (ot_runs.watch)."""

from itertools import product
from math import prod
from typing import Any

import numpy as np

import ot_twin as twin
from ot_runs import Secrets
from vfxgb import _native
from vfxgb.audit.view import AttackerView
from vfxgb.protocols.ot_shares.messages import OtGradients, OtOffer, OtStart, OtSums

# Bits of a pair: sums over 40 rows of up to 2^31 each, of hessians up to a quarter of that; half with several classes.
G, H, H_CLASSES = 38, 35, 36


class RunTwin:
    """A recorded run of 40 rows, worked out again from the secrets of both sessions; gradients have `bits` bits.

    `n_bins`, `missing`: of each column. `groups`: the columns that share each slot's trees.
    """

    def __init__(self, result: Any, seen: Secrets, bits: int = 31, joint_leaves: int = 64) -> None:
        self.seen = seen
        record = result.transcript.records
        self.bank = AttackerView(record["bank"], result.transcript.catalogue, "ot_shares", None)
        self.shop = AttackerView(record["shop"], result.transcript.catalogue, "ot_shares", None)
        self.g = G - 31 + bits
        self.h = (H if self.shop.setup.n_outputs == 1 else H_CLASSES) - 31 + bits
        self.narrow = self.g <= 32
        (start,) = self.bank.messages("shop", OtStart.TAG, OtStart)
        (offer,) = self.bank.messages("shop", OtOffer.TAG, OtOffer)
        self.run = start.run
        assert start.lanes == (32 if self.narrow else 64)
        self.n_bins = np.frombuffer(offer.n_bins, dtype=np.int32).tolist()
        self.missing = [bool(one) for one in offer.missing]
        self.column_leaves = [bins + missing for bins, missing in zip(self.n_bins, self.missing, strict=True)]
        self.groups = joined_columns(self.column_leaves, joint_leaves)
        self.delta = int.from_bytes(seen.delta, "little")
        blocks = [place for place in seen.roots if place.domain == _native.ot_shares.TREES_DOMAIN]
        self.holes = np.concatenate([seen.holes[place] for place in blocks], axis=1)
        self.leaves: list[list[list[int]]] = [[] for _ in self.groups]
        self.cut: list[list[int | None]] = [[] for _ in self.groups]
        self.hash: list[twin.Hash] = []
        for place in blocks:
            hash_ = twin.Hash(seen.session, place.domain, place.block)
            self.hash += [hash_] * seen.roots[place].shape[1]
            for slot, count in enumerate(seen.leaves[place]):
                for root in seen.roots[place][slot]:
                    number = int.from_bytes(root.tobytes(), "little")
                    levels = twin.levels_of(hash_, self.delta, count, number)
                    self.leaves[slot].append(levels[-1][:count])
                    self.cut[slot].append(twin.cut_of(levels, count))

    def masks(self, slot: int, row: int, counter: int) -> list[twin.Pair]:
        """x_b of every leaf."""
        return [self._value(row, leaf, counter) for leaf in self.leaves[slot][row]]

    def extra(self, slot: int, row: int, counter: int) -> twin.Pair:
        """H(C, tweak)."""
        cut = self.cut[slot][row]
        return (0, 0) if cut is None else self._value(row, cut, counter)

    def _value(self, row: int, node: int, counter: int) -> twin.Pair:
        """A hash as a pair: with lanes of 32 bits that of two trees, half for each."""
        if not self.narrow:
            return twin.pair_of(self.hash[row](node, twin.tree_tweak(counter, self.run)))
        return twin.narrow_pair_of(self.hash[row](node, twin.tree_tweak(counter >> 1, self.run)), counter)

    def tree(self, round_index: int, tree: int, counter: int, columns: list[int]) -> None:
        """Check every message about one tree, which uses `columns`."""
        slots = [slot for slot, group in enumerate(self.groups) if set(group) & set(columns)]
        pairs = self.bank.note("pairs", round_index, tree)
        assert pairs is not None
        roots = [one for one in self.shop.nodes("bank") if (one.round, one.tree, one.node) == (round_index, tree, 0)]
        rows = roots[0].rows.tolist()
        masks = {(slot, row): self.masks(slot, row, counter) for slot in slots for row in rows}
        extra = {(slot, row): self.extra(slot, row, counter) for slot in slots for row in rows}
        value = {row: tuple(int(v) % twin.HALF for v in pairs[row]) for row in rows}
        d = {key: twin.total([value[key[1]], extra[key], *some]) for key, some in masks.items()}
        self._gradients(round_index, tree, slots, rows, d)
        held = {key: twin.held_share(some, extra[key], int(self.holes[key]), d[key]) for key, some in masks.items()}
        built = [one for one in self.shop.nodes("bank") if (one.round, one.tree) == (round_index, tree) and one.built]
        for depth in sorted({one.depth for one in built}):
            self._level(round_index, tree, depth, columns, [one for one in built if one.depth == depth], masks, held)

    def _gradients(self, round_index: int, tree: int, slots: list[int], rows: list[int], d: Any) -> None:
        sent = [
            one
            for one in self.shop.messages("bank", OtGradients.TAG, OtGradients)
            if (one.round, one.tree) == (round_index, tree)
        ]
        assert sum(one.count for one in sent) == len(rows)
        for one in sent:
            some = rows[one.first : one.first + one.count]
            assert bytes(one.pairs) == twin.pack([d[slot, row] for slot in slots for row in some], self.g, self.h)

    def _left(self, columns: list[int], rows: list[int], of: Any) -> list[twin.Pair]:
        """Left sums of single columns: of a slot's leaves those count together in which the column has one bin."""
        left = []
        for column in columns:
            (slot,) = [slot for slot, group in enumerate(self.groups) if column in group]
            group = self.groups[slot]
            digits = list(product(*(range(self.column_leaves[one]) for one in group)))
            own = [leaf[group.index(column)] for leaf in digits]
            cells = [
                twin.total([of[slot, row][leaf] for row in rows for leaf, bin_ in enumerate(own) if bin_ == b])
                for b in range(self.column_leaves[column])
            ]
            left += twin.left_of(cells, self.n_bins[column], self.missing[column])
        return left

    def _level(
        self, round_index: int, tree: int, depth: int, columns: list[int], level: Any, masks: Any, held: Any
    ) -> None:
        answered, opened = [], []
        for node in level:
            x, y = (self._left(columns, node.rows.tolist(), of) for of in (masks, held))
            answered += y
            opened.append([twin.minus(theirs, own) for theirs, own in zip(y, x, strict=True)])
        growing = {one.tree for one in self.shop.nodes("bank") if (one.round, one.depth) == (round_index, depth)}
        (answer,) = [
            one
            for one in self.bank.messages("shop", OtSums.TAG, OtSums)
            if (one.round, one.depth) == (round_index, depth)
        ]
        theirs = answer.trees[sorted(growing).index(tree)]
        assert bytes(theirs.sums) == twin.pack(answered, self.g, self.h)
        assert len(theirs.withheld) == 0
        wanted = [[[signed(g, self.g), h % 2**self.h] for g, h in node] for node in opened]
        note = self.bank.note(f"left-sums:{depth}:shop", round_index, tree)
        assert note is not None
        assert note.tolist() == wanted


def joined_columns(leaves: list[int], most: int) -> list[list[int]]:
    """Columns by slot: the one with the fewest leaves next, into the last slot if that stays within `most` leaves."""
    slots: list[list[int]] = []
    for _, column in sorted((count, column) for column, count in enumerate(leaves)):
        together = [*slots[-1], column] if slots else []
        if together and prod(leaves[one] for one in together) <= most:
            slots[-1] = together
        else:
            slots.append([column])
    return sorted(sorted(slot) for slot in slots)


def signed(number: int, bits: int) -> int:
    number %= 2**bits
    return number - 2**bits if number >> (bits - 1) else number
