"""What a code is: how a pair (g, h) of fixed-point integers becomes two slots, and summed slots become sums again."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vfxgb.codec.plan import PairWidths


class PairCode(Protocol):
    """A code for sums over up to n rows, n fixed when it is made.

    `counts`: whether decoding needs to know how many rows went into a sum.
    """

    @property
    def counts(self) -> bool:
        """See the class."""

    @property
    def widths(self) -> PairWidths:
        """The slots of a pair."""

    def encode(self, pairs: NDArray[np.int64], step: float) -> NDArray[np.int64]:
        """What the slots of each row hold, int64[rows, 2]; `pairs` int64[rows, 2] fixed point, `step` their unit.

        Raises CapacityError for what the slots were not planned for.
        """

    def check_total(self, total: NDArray[np.int64]) -> None:
        """Raise CapacityError if summed slots int64[..., 2] over all rows of a round overflow; before encryption."""

    def decode(self, sums: NDArray[np.int64], counts: NDArray[np.int64] | None, step: float) -> NDArray[np.int64]:
        """Sums in fixed point from summed slots, both int64[..., 2]. `counts`: int64[...], if the code needs them.

        Raises CapacityError for an overflow that shows.
        """
