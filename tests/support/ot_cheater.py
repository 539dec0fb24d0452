"""A holder of punctured trees that names a leaf beyond the tree's own (cpp/ot/ggm.h), and what it can try."""

from collections.abc import Sequence
from functools import reduce
from operator import xor

import ot_twin as twin


class Cheater:
    """One tree with a hole beyond its leaves. Above the node that is cut off it works as every holder does.

    `masked`: corrections below a cut are masked, as the protocol says; False: they are taken as they are. `known`: all
    leaves, which it gets as its path never reaches one. `cut`: C without the node of its own path, which it lacks.
    `guesses`: what it can take for Delta from the corrections below that node, with every mask that it can make.
    """

    def __init__(
        self, hash_: twin.Hash, leaves: int, hole: int, t: Sequence[int], corrections: Sequence[int], masked: bool
    ) -> None:
        self._hash, self._leaves, self._hole, self._t = hash_, leaves, hole, t
        self._corrections = corrections
        self._masked = masked
        self.guesses: list[int] = []
        self.cut = 0
        nodes: list[int | None] = [None, None]
        depth, entered = twin.depth_of(leaves), False
        for level in range(1, depth + 1):
            at = hole >> (depth - level)
            nodes = self._children(nodes) if level > 1 else nodes
            if entered:
                self._guess(level, nodes)
            else:
                nodes[at ^ 1] = self._sibling(level, nodes, (at ^ 1) % 2)
            kept = twin.kept_of(leaves, level)
            if kept % 2:
                entered = entered or at == kept
                self.cut ^= nodes[kept] or 0
            nodes = nodes[:kept]
        self.known = [node for node in nodes if node is not None]
        assert entered
        assert len(self.known) == leaves

    def opened(self, d: twin.Pair, tweak: int) -> list[twin.Pair]:
        """What it can take for the pair that d masks."""
        rest = twin.minus(d, twin.total(twin.masks_of(self._hash, self.known, tweak)))
        return [twin.minus(rest, twin.cut_mask(self._hash, cut, tweak)) for cut in (None, 0, self.cut)]

    def _children(self, nodes: Sequence[int | None]) -> list[int | None]:
        made: list[int | None] = []
        for node in nodes:
            left = 0 if node is None else self._hash(node, 0)
            made += [None, None] if node is None else [left, left ^ node]
        return made

    def _sibling(self, level: int, nodes: Sequence[int | None], parity: int) -> int:
        if level == 1:
            return self._t[0]
        below_a_cut = any(twin.kept_of(self._leaves, above) % 2 for above in range(1, level))
        mask = self._hash(self.cut, twin.level_tweak(level)) if self._masked and below_a_cut else 0
        others = [node for k, node in enumerate(nodes) if k % 2 == parity and node is not None]
        found = reduce(xor, others, self._corrections[level - 2] ^ self._t[level - 1] ^ mask)
        return found ^ self.cut if parity else found

    def _guess(self, level: int, nodes: Sequence[int | None]) -> None:
        left = [node for node in nodes[::2] if node is not None]
        bare = reduce(xor, left, self._corrections[level - 2] ^ self._t[level - 1])
        masks = [self._hash(cut, twin.level_tweak(level)) for cut in (0, self.cut)]
        self.guesses += [bare, *(bare ^ mask for mask in masks)]
