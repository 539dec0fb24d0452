"""The passive parties, as the growth of trees sees them.

Two classes play this part. ShownNodes (shown_nodes.py) tells every passive party which rows are in which node, and gets
the left bits of a node's rows back. HiddenNodes (hidden_nodes.py) tells them nothing of rows. Which of the two a
protocol needs is said by `ProtocolSpec.shows_nodes`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import ActiveLevel, Gradients, Proposals
from vfxgb.runtime.timings import Timings
from vfxgb.transport.channel import Channel
from vfxgb.tree.columns import RoundColumns
from vfxgb.tree.growing import GrowingTree, OwnedSplits

# Party (its position in party order) -> per tree of the level the proposals for its open nodes.
AllProposals: TypeAlias = Mapping[int, Sequence[Proposals]]
# Per tree of the level: party -> positions, ascending, of the open nodes that its splits have won.
Winners: TypeAlias = Sequence[Mapping[int, NDArray[np.int64]]]
# Per tree of the level: splits of the passive parties.
LevelSplits: TypeAlias = Sequence[Sequence[OwnedSplits]]


@dataclass(frozen=True)
class PassiveLinks:
    """The channels to all passive parties, by name. The first `n_train` rows are training rows."""

    channels: Mapping[str, Channel]
    columns: RoundColumns
    n_train: int
    timings: Timings

    def each(self) -> list[tuple[int, Channel]]:
        """(position in party order, channel) of every passive party."""
        layout = self.columns.layout
        return [(place, self.channels[name]) for place, name in enumerate(layout.parties) if place != layout.active]


def won_by(winners: Winners, party: int) -> dict[int, NDArray[np.int64]]:
    """Trees of the level, by index, in which the party has won nodes, and their positions."""
    return {index: won[party] for index, won in enumerate(winners) if party in won}


class PassiveParties(Protocol):
    """What growth asks of the passive parties, in this order: once per round, or once per level."""

    def begin(self, gradients: Gradients) -> None:
        """A round begins."""

    def open(self, level: ActiveLevel, trees: Sequence[GrowingTree]) -> None:
        """A level begins, after the splits that the trees have applied last. Do not wait."""

    def propose(self, level: ActiveLevel, own: Sequence[Proposals]) -> AllProposals:
        """The best splits of all passive parties; `own` are those of the active party, one entry per tree."""

    def ask(self, level: ActiveLevel, proposals: AllProposals, winners: Winners) -> None:
        """Tell the winners what they have won. Do not wait."""

    def answers(self, level: ActiveLevel, winners: Winners) -> LevelSplits:
        """Wait for the splits of the winners."""

    def file(self, splits: LevelSplits) -> LevelSplits:
        """Tell the winners which of their splits stay in the trees: these. Returns them with their owners' records."""

    def end(self) -> None:
        """The round is over."""
