"""The two roles that a protocol plays, and how a protocol under differential privacy replaces labels and gradients."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract.nodes import (
    ActiveLevel,
    ChosenSums,
    LeftRows,
    PassiveLevel,
    PassiveTree,
    Proposals,
    Resolved,
    SlotLevel,
    SlotTree,
    SlotWins,
    WonNodes,
)
from vfxgb.rows.gradients import Gradients


class RoleEnds(Protocol):
    """How the work of a role ends, on either side."""

    def end_tree(self) -> None:
        """The round is over: forget its gradients and sums."""

    def close(self) -> None:
        """The run is over, well or not: end background work. Called once, whatever was called before."""


class ActiveSteps(RoleEnds, Protocol):
    """The steps of a round that every active role takes, and whatever else brings its passive parties' sums."""

    def begin_tree(self, gradients: Gradients) -> None:
        """A new round: protect the gradients and send them out."""

    def open_level(self, level: ActiveLevel) -> None:
        """The nodes to score next; every passive party has been told. Send what the protocol adds; do not wait."""


class ActiveRole(ActiveSteps, Protocol):
    """The active party's side. It holds a channel to every passive party."""

    def propose(self, level: ActiveLevel) -> Mapping[str, Sequence[Proposals]]:
        """The best splits of each passive party, one entry per tree of the level. Called once per open_level."""

    def chosen(
        self, party: str, index: int, positions: NDArray[np.int64], tokens: NDArray[np.int64], bits: memoryview
    ) -> ChosenSums:
        """Return the sums of the splits `tokens` of the level last proposed, which `party` took for nodes `positions`.

        `index` counts the trees of the level; `bits` say who goes left (RowPartition.split), of the right size. Raises
        MessageError for a token that was not proposed for its node.
        """


class PassiveRole(RoleEnds, Protocol):
    """A passive party's side. It holds the channel to the active party."""

    def begin_tree(self, round_index: int, sampled: NDArray[np.int32] | None, trees: Sequence[PassiveTree]) -> None:
        """A new round. `sampled` as in Gradients; every tree starts with all rows in node 0."""

    def open_level(self, level: PassiveLevel) -> None:
        """Answer for the nodes of a level. The partitions of the trees already hold them."""

    def resolve(
        self, tree: int, nodes: NDArray[np.int32], start: NDArray[np.int64], tokens: NDArray[np.int64]
    ) -> Resolved:
        """For each node i the first, in XGBoost's order, of the splits tokens[start[i]:start[i + 1]].

        Raises MessageError for a token that this party never offered.
        """


class PreparingActive(Protocol):
    """What an active role also has where `ProtocolSpec.prepares` is True."""

    def preparing(self) -> AbstractContextManager[None]:
        """A block that other work may be done in while the role sets up with passive roles that are in `prepare`.

        Called at most once, before the first `begin_tree`; without it `begin_tree` sets up. The role alone talks to the
        passive parties meanwhile.
        """


class PreparingPassive(Protocol):
    """What a passive role also has where `ProtocolSpec.prepares` is True."""

    def prepare(self) -> None:
        """Set up with the active role, which is in `preparing`."""


class HiddenActiveRole(ActiveSteps, Protocol):
    """The active party's side of a protocol that hides nodes (`ProtocolSpec.shows_nodes` is False).

    The active party alone knows which rows are in which node. A passive party is told how many nodes are open, as
    slots in a secret order (`LevelNodes.order`), which of its candidates won, and below which of its own splits each of
    these stands. All else that it needs is this role's to send, in a form from which it learns nothing of rows: what
    makes the sums of a node's candidates without its rows, and what brings left bits here without saying whose.

    `begin_tree`: `gradients.sampled` is nobody's business but this party's; gradients are 0 outside of it.
    `open_level`: every open node is to be built (`OpenNodes.build`), since siblings are not derived by subtraction.
    """

    def propose(self, level: ActiveLevel, own: Sequence[Proposals]) -> Mapping[str, Sequence[Proposals]]:
        """The best splits of each passive party, one entry per tree of the level. Called once per open_level.

        `own` are the active party's, one entry per tree, for a protocol that compares them with the others' in secret.
        Where this party learns who won a node, but not the gain, the winner's gain is infinite; there are no tokens
        where the winner knows its candidate already.
        """

    def learn_left(self, party: str, level: ActiveLevel, won: Sequence[WonNodes]) -> Sequence[LeftRows]:
        """Learn who goes left at the splits of `party` that won, while its role is in `tell_left`.

        The bits of a node's rows are found in bits of all rows by `LevelNodes.gather_bits`. Where `LeftRows.gain` is
        given, a split is made only if it is enough and beats the active party's own best; else the node is split by
        that, or is a leaf. Raises MessageError.
        """


class HiddenPassiveRole(RoleEnds, Protocol):
    """A passive party's side of a protocol that hides nodes. It knows slots, never rows, sizes or others' splits."""

    def begin_tree(self, round_index: int, trees: Sequence[SlotTree]) -> None:
        """A new round."""

    def open_level(self, level: SlotLevel) -> None:
        """Answer for the slots of a level, from what the active role sends for each."""

    def tell_left(self, round_index: int, depth: int, won: Sequence[SlotWins]) -> Sequence[Resolved]:
        """Bring to the active party who goes left at the splits that won, and return these splits.

        The role answers for all rows of the party, training rows and eval rows (`RowStore.row_bits`): it must not
        learn which of them are in a node. Raises MessageError for a slot or token that did not win.
        """


class Release(Protocol):
    """How a protocol under differential privacy replaces labels and gradients, before anything is made of them.

    Everything of the run comes from what is released: splits of the active party's own features, leaf weights and the
    start of the margins too. Only metrics are computed with the true labels, for the active party's eyes.
    """

    def labels(self, labels: NDArray[np.float32]) -> NDArray[np.float32]:
        """The labels of the training rows to train with; called once a run, before anything else."""

    def gradients(self, gradients: Gradients) -> Gradients:
        """The gradients of a round to grow with; called once a round. Sums over all rows must fit int64.

        What it returns is kept (train/checkpoint.py), unless it is `gradients` itself: a round that is grown again
        after the run broke off is grown from the same release, and nothing is spent twice.
        """
