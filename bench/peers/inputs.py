"""What is encrypted, scaled and summed, and what must come out: the same for every peer.

Values are 0 or more, as not every peer encrypts negative ones, and have `VALUE_BITS` bits. A batch of them is encrypted
once; the ciphertexts that are summed are those, each taken several times, as no slow peer could make that many.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

VALUE_BITS, FACTOR_BITS = 40, 16
SEED = 11


@dataclass(frozen=True)
class Sizes:
    """`batch`: ciphertexts to encrypt and scale. `few`: to decrypt. `rows` x `features` in `bins`: additions."""

    batch: int
    few: int
    rows: int
    features: int
    bins: int


@dataclass(frozen=True)
class Inputs:
    """`values`, `factors` int64[batch]; `tile` int64[rows]: the row's ciphertext; `buckets` int8[rows, features]."""

    bits: int
    sizes: Sizes
    values: NDArray[np.int64]
    factors: NDArray[np.int64]
    tile: NDArray[np.int64]
    buckets: NDArray[np.int8]

    @property
    def sum(self) -> int:
        """Of all rows."""
        return int(self.values[self.tile].sum())

    @property
    def histogram(self) -> list[int]:
        """Sums of each bin, feature by feature."""
        sums = np.zeros((self.sizes.features, self.sizes.bins), dtype=np.int64)
        for feature in range(self.sizes.features):
            np.add.at(sums[feature], self.buckets[:, feature], self.values[self.tile])
        return [int(value) for value in sums.ravel()]

    @property
    def scaled(self) -> list[int]:
        """Values times factors."""
        return [int(value) for value in self.values * self.factors]


def make_inputs(bits: int, sizes: Sizes) -> Inputs:
    """The same numbers for the same sizes."""
    rng = np.random.default_rng(SEED)
    return Inputs(
        bits,
        sizes,
        rng.integers(0, 1 << VALUE_BITS, sizes.batch),
        rng.integers(1 << (FACTOR_BITS - 1), 1 << FACTOR_BITS, sizes.batch),
        rng.integers(0, sizes.batch, sizes.rows),
        rng.integers(0, sizes.bins, (sizes.rows, sizes.features)).astype(np.int8),
    )
