"""Rounds at a passive party: where it stands, and the checks that every message of a round must pass.

There are two kinds of rounds, by `ProtocolSpec.shows_nodes`: ShownRounds (passive_shown.py) keep the rows of all nodes,
HiddenRounds (passive_hidden.py) know of nodes only how many are open.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb.binning.binned import BinnedTable
from vfxgb.contract import Resolved
from vfxgb.contract.messages import Setup
from vfxgb.data.categories import Split
from vfxgb.errors import MessageError
from vfxgb.rows.columns import columns_of, spread
from vfxgb.runtime.timings import Timings
from vfxgb.train.arrays import unpack_bits
from vfxgb.train.split_log import SplitLog
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import Bulk, Message

# What is done with each type of message.
Handlers: TypeAlias = dict[type[Message], Callable[[Any], None]]


@dataclass(frozen=True)
class PassiveRun:
    """What the rounds of a run work with.

    `begin(round)` is called before anything of a round is answered, also of one that is begun again. It charges the
    round and keeps that it has begun; it raises ConsentError for a round that the party does not agree to.
    """

    party: str
    channel: Channel
    setup: Setup
    binned: BinnedTable
    splits: SplitLog
    timings: Timings
    begin: Callable[[int], None]


class PassiveRounds:
    """Where a passive party stands: the round and depth of the last message, and whether the round goes on."""

    def __init__(self, run: PassiveRun) -> None:
        self._run = run
        self._party = run.party
        self.round = max(run.setup.start_round, run.setup.first_round) - 1
        self.growing = False
        # The messages of a round that may come, and what answers them; EndRound is not among them.
        self.handlers: Handlers = {}
        self._depth = -1
        # Per tree of the round, the party's features that it may use, ascending.
        self._chosen: list[NDArray[np.int32]] = []
        # The same as columns of the bins (rows/columns.py).
        self._features: list[NDArray[np.int32]] = []

    def end(self) -> None:
        """The round is over, and its trees are forgotten."""
        self.growing = False

    def _begin(self, round_index: int, features: Sequence[Bulk]) -> None:
        """Begin a round; `features`: bits per tree. Raises MessageError for another round than the next."""
        setup, what = self._run.setup, f"{self._party} beginning a round"
        if round_index != self.round + 1 or len(features) != setup.n_outputs or self.growing:
            raise MessageError(
                f"{what}: found round {round_index} with {len(features)} trees, wanted round {self.round + 1} with "
                f"{setup.n_outputs}"
            )
        if round_index >= setup.n_rounds:
            raise MessageError(
                f"{what}: found round {round_index}, wanted none beyond the {setup.n_rounds} rounds agreed on"
            )
        count = self._run.binned.n_features
        every = np.arange(count, dtype=np.int32)
        chosen = [unpack_bits(bits, count, f"{self._party} beginning round {round_index}") for bits in features]
        self._run.begin(round_index)
        self._run.splits.begin_round()
        self.round, self._depth, self.growing = round_index, -1, True
        self._chosen = [every if bits is None else every[bits] for bits in chosen]
        self._features = [columns_of(self._run.binned.rows.columns, features) for features in self._chosen]

    def _open(self, round_index: int, depth: int, trees: Sequence[Any]) -> None:
        """Open the next level; `trees` are those of its message."""
        self._check_place(round_index, depth, self._depth + 1, "opening a level")
        numbers = [tree.tree for tree in trees]
        if sorted(set(numbers)) != numbers:
            raise MessageError(f"{self._party} opening level {depth}: found trees {numbers}, wanted them ascending")
        for number in numbers:
            self._check_tree(number)
        self._depth = depth

    def _check_place(self, round_index: int, depth: int, wanted: int, step: str) -> None:
        most = self._run.setup.max_depth
        if (round_index, depth) != (self.round, wanted) or not self.growing or depth >= most:
            raise MessageError(
                f"{self._party} {step}: found round {round_index}, depth {depth}, wanted round {self.round}, depth "
                f"{wanted}, below {most}"
            )

    def _check_tree(self, tree: int) -> None:
        if not 0 <= tree < len(self._features):
            raise MessageError(f"{self._party}: found tree {tree}, wanted 0 to {len(self._features) - 1}")

    def _allowed(self, bits: Bulk, tree: int, count: int, what: str) -> NDArray[np.bool_] | None:
        """Which columns of the tree's features each of `count` nodes may use, bool[count, columns], or None for all."""
        features = self._chosen[tree]
        allowed = unpack_bits(bits, count * len(features), what)
        return None if allowed is None else spread(self._run.binned.rows.columns, allowed.reshape(count, -1), features)

    def _number(self, tree: int) -> int:
        """The number of a tree within the model."""
        return self.round * self._run.setup.n_outputs + tree

    def _records(self, resolved: Resolved) -> list[Split]:
        """Splits as a share holds them: feature, cut point or categories, default direction."""
        return self._run.binned.splits(resolved.feature, resolved.bin, resolved.default_left, resolved.right)
