"""A passive party's columns: all its candidate splits, in the secret order in which they are encrypted and compared.

One more column that nobody can win stands for a party that has no candidate at all.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import PassiveContext, Resolved
from vfxgb.lattice.columns import digest_of
from vfxgb.protocols.sealed.kept import kept_order
from vfxgb.protocols.sealed.params import SealedParams
from vfxgb.rows.split_bits import Splits
from vfxgb.tree.candidates import CandidateList
from vfxgb.tree.split_weights import LEAST_WEIGHT, SplitWeights
from vfxgb.tree.tournament import tournament_words

NO_FEATURE = -1


class CandidateColumns:
    """A ColumnSource of vfxgb.lattice over the training rows; also the bits of all rows, for routing."""

    def __init__(self, context: PassiveContext) -> None:
        rows = context.rows
        self._rows = context.n_train
        everything = np.arange(rows.n_features, dtype=np.int32)
        listed = CandidateList(rows, context.has_missing, everything, None, None, context.threads)
        order = np.argsort(tournament_words(_order_seed(context), len(listed)), kind="stable")
        feature, cut, default_left = listed.listed()
        self.feature, self._bin, self._default_left = feature[order], cut[order], default_left[order]
        self._bits = rows.split_bits(Splits(self.feature, self._bin, self._default_left))
        self._weights = SplitWeights(rows, context.has_missing).of(everything)[order].astype(np.int32)
        self._none = not len(order)
        if self._none:
            self.feature = np.full(1, NO_FEATURE, dtype=np.int32)
            self._weights = np.full(1, LEAST_WEIGHT, dtype=np.int32)

    def __len__(self) -> int:
        return len(self._weights)

    @property
    def rows(self) -> int:
        """How many training rows there are."""
        return self._rows

    @property
    def weights(self) -> NDArray[np.int32]:
        """The weight of each column."""
        return self._weights

    @property
    def left_counts(self) -> NDArray[np.int64]:
        """How many training rows of each column go left."""
        return np.zeros(1, dtype=np.int64) if self._none else self._bits.left_counts()

    def names(self) -> list[bytes]:
        """A name of each column that is the same in any order of rows and of columns."""
        if self._none:
            return [b""]
        numbers = np.stack([self.feature, self._bin, self._default_left, self.left_counts], axis=1).astype("<i8")
        return [line.tobytes() for line in numbers]

    def left_bits(self, first: int, stop: int) -> NDArray[np.uint8]:
        """The bits of some training rows, as ColumnSource says. `first` is a multiple of 8, as those of blocks are."""
        return self.lines(np.arange(1), first, stop) if self._none else self._bits.part(first, stop)

    def digest(self) -> bytes:
        """A digest of all bits and weights."""
        return digest_of(self)

    def used(self, features: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which columns a tree with these features has, bool[columns]."""
        return np.isin(self.feature, features)

    def withheld(
        self, used: NDArray[np.bool_], features: NDArray[np.int32], allowed: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Which of the used columns each slot may not use, bool[slots, used]; `allowed` as SlotNodes has it."""
        place = np.searchsorted(features, self.feature[used])
        return ~allowed[:, place]

    def lines(self, columns: NDArray[np.int64], first: int, stop: int) -> NDArray[np.uint8]:
        """The bits of rows `first` to `stop` - 1, training rows or others, at these columns, as SplitBits.part."""
        if self._none:
            # An active party that deviates can make it win all the same.
            return np.zeros((len(columns), -(-(stop - first) // 8)), dtype=np.uint8)
        return self._bits.part(first, stop, columns)

    def resolve(self, columns: NDArray[np.int64]) -> Resolved:
        """The splits that columns stand for."""
        return Resolved(columns, self.feature[columns], self._bin[columns], self._default_left[columns])


def _order_seed(context: PassiveContext) -> int:
    """The seed of the order: one's own number, or one that follows from what nobody else has.

    A set-up that is kept has one order, in all runs.
    """
    params: SealedParams = context.params
    if params.order_seed is not None:
        return params.order_seed
    secret = context.secret if params.setup_dir is None else kept_order(params.setup_dir, context)
    return int.from_bytes(hashlib.sha256(b"vfxgb sealed order " + secret).digest(), "little")
