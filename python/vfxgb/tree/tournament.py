"""The secret order in which a passive party's candidates meet in a tournament (CENTRED.md)."""

import numpy as np
from numpy.typing import NDArray

from vfxgb.rows.sampling import random_words


def tournament_words(seed: int, count: int) -> NDArray[np.uint64]:
    """A word for each of a party's `count` candidates, in true order: they meet in the order of ascending words."""
    return random_words(seed, count, "tournament")
