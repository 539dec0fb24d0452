"""A passive party's side of `federboost`: it randomises its buckets once, and files the splits that win.

Every feature has a bucket for missing values, and a cut between these and all others (ProtocolSpec.hides_missing):
which features miss values must not show.

Training rows are routed by the randomised buckets, which the active party has anyway: the rows of a split tell nothing
new. Eval rows are routed by their true values, as in prediction.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import PassiveContext, PassiveLevel, PassiveNodes, PassiveTree, Resolved
from vfxgb.protocols.federboost.messages import Buckets, TreeUsable, Usable
from vfxgb.rows.memory import MemoryRows
from vfxgb.transport.messages import Bulk, pack_array, pack_bytes
from vfxgb.tree.candidates import CandidateList

PROTECTS = "the values of one row at {party}"


class FederBoostPassive:
    """A PassiveRole."""

    def __init__(self, context: PassiveContext) -> None:
        self._context = context
        self._trees: Sequence[PassiveTree] = ()
        self._noisy: MemoryRows | None = None
        every = np.arange(context.bins.n_features, dtype=np.int32)
        self._candidates = CandidateList(context.rows, context.has_missing, every, None, None, context.threads)

    def begin_tree(self, round_index: int, sampled: NDArray[np.int32] | None, trees: Sequence[PassiveTree]) -> None:  # noqa: ARG002
        """See PassiveRole."""
        self._trees = trees

    def _randomised(self) -> NDArray[np.uint16]:
        """The randomised buckets [features, n_train]: drawn now, or those that were released before."""
        context = self._context
        columns = [context.bins.column(feature)[: context.n_train] for feature in range(context.bins.n_features)]
        buckets = np.stack(columns).astype(np.uint16, copy=False)
        settings = {
            "release": "buckets by randomised response",
            "epsilon": context.params.epsilon,
            "total_epsilon": context.params.total_epsilon,
            "choices": [self._choices(feature) for feature in range(len(buckets))],
        }
        return context.release_once(settings, buckets, lambda: self._draw(buckets))

    def _choices(self, feature: int) -> int:
        """Buckets that a value of the feature can lie in: its bins, and one for missing values."""
        return int(self._context.bins.n_bins[feature]) + 1

    def _draw(self, buckets: NDArray[np.uint16]) -> NDArray[np.uint16]:
        context = self._context
        drawn = buckets.copy()
        for feature in range(len(buckets)):
            response = context.params.response(self._choices(feature), len(buckets))
            drawn[feature] = response.perturb(drawn[feature].astype(np.int64), context.threads)
            context.events.append(response.event(context.channel.peer, PROTECTS.format(party=context.party)))
        return drawn

    def _randomise(self) -> MemoryRows:
        context = self._context
        n_bins, n_features = context.bins.n_bins, context.bins.n_features
        noisy = empty_bins(context.bins.n_rows, n_bins)
        for feature, drawn in enumerate(self._randomised()):
            bins = int(n_bins[feature])
            column = context.bins.column(feature)
            column[: context.n_train] = drawn
            fill(noisy, feature, column, bins, context.threads)
            constraint = 0 if context.constraints is None else int(context.constraints[feature])
            context.channel.send(
                Buckets(
                    n_features=n_features,
                    feature=feature,
                    n_bins=bins,
                    constraint=constraint,
                    buckets=pack_array(column[: context.n_train]),
                )
            )
        return MemoryRows(noisy, context.n_train, context.threads)

    def open_level(self, level: PassiveLevel) -> None:
        """Say which features may be used; before anything else send the buckets."""
        if self._noisy is None:
            with self._context.timings.phase("randomise"):
                self._noisy = self._randomise()
        trees = [TreeUsable(tree=nodes.tree, features=self._usable(nodes)) for nodes in level.trees]
        self._context.channel.send(Usable(round=level.round, depth=level.depth, trees=trees))

    def _usable(self, nodes: PassiveNodes) -> Bulk:
        features = self._trees[nodes.tree].features
        n_features = self._context.bins.n_features
        if nodes.allowed is None and len(features) == n_features:
            return pack_bytes(b"")
        usable = np.zeros((len(nodes.nodes), n_features), dtype=np.bool_)
        usable[:, features] = True if nodes.allowed is None else nodes.allowed
        return pack_array(np.packbits(usable, bitorder="little"))

    def resolve(
        self,
        tree: int,  # noqa: ARG002 - candidates are the same in every tree
        nodes: NDArray[np.int32],  # noqa: ARG002 - and in every node
        start: NDArray[np.int64],
        tokens: NDArray[np.int64],
    ) -> Resolved:
        """See PassiveRole."""
        split = self._candidates.resolve(start, tokens)
        return Resolved(split.tokens, split.feature, split.bin, split.default_left, self._noisy)

    def end_tree(self) -> None:
        """See PassiveRole."""
        self._trees = ()

    def close(self) -> None:
        """See PassiveRole: nothing runs in the background."""


def empty_bins(n_rows: int, n_bins: NDArray[np.int32]) -> _native.gbdt.Bins:
    """Bins of the given numbers whose value b, a plain number, lies in bin b; all rows missing."""
    return _native.gbdt.Bins(n_rows, [np.arange(1, int(bins), dtype=np.float64) for bins in n_bins])


def fill(bins: _native.gbdt.Bins, feature: int, column: NDArray[np.uint16], n_bins: int, threads: int) -> None:
    """Put a column of bin numbers, of which n_bins is missing, into `empty_bins`."""
    values = column.astype(np.float64)
    values[column >= n_bins] = np.nan
    bins.fill(feature, values, 0, threads)
