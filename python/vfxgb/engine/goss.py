"""GOSS over shards: the rows that ranking all of them would choose (rows/sampling.py), found where they lie.

The k smallest of the keys of all shards are found digit by digit, 16 bits at a time, from counts that add up; of equal
keys at the end the lower rows are taken, as a stable sort takes them.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.engine.base import Engine, ShardHandle
from vfxgb.engine.parts import Division
from vfxgb.params import TrainParams
from vfxgb.rows.sampling import goss_sizes, random_words

Keys = NDArray[np.uint64]
Mask = NDArray[np.bool_]
Pair = tuple[NDArray[np.floating], NDArray[np.floating]]

DIGIT_BITS = 16
DIGITS = 64 // DIGIT_BITS


def goss_rows(
    engine: Engine, division: Division, params: TrainParams, round_index: int, made: Sequence[ShardHandle]
) -> tuple[NDArray[np.int32] | None, list[ShardHandle]]:
    """The sampled rows, ascending, or None for all; and handles of each shard's (g, h), amplified where drawn.

    `made`: handles of each shard's (g, h) of its training rows.
    """
    n = division.n_train
    n_top, n_other = goss_sizes(params, n)
    if n_top + n_other >= n:
        return None, list(made)
    shards, first = range(len(division)), division.edges.tolist()
    keys = [engine.run(s, magnitude_keys, made[s]) for s in shards]
    top = _smallest(engine, keys, n_top)
    words = [engine.run(s, rest_words, top[s], params, round_index, first[s]) for s in shards]
    drawn = [engine.run(s, spread, top[s], chosen) for s, chosen in enumerate(_smallest(engine, words, n_other))]
    factor = (n - n_top) / n_other
    amplified = [engine.run(s, amplify, made[s], drawn[s], factor) for s in shards]
    rows = engine.get([engine.run(s, members, top[s], drawn[s], first[s]) for s in shards])
    return np.concatenate(rows), amplified


def _smallest(engine: Engine, keys: Sequence[ShardHandle], count: int) -> list[ShardHandle]:
    """Handles of a mask per shard: the `count` smallest of all keys, the lower row of equal ones."""
    prefix, below = 0, 0
    for digit in range(DIGITS):
        counts = sum(engine.get([engine.run(s, digit_counts, held, prefix, digit) for s, held in enumerate(keys)]))
        reached = below + np.cumsum(counts)
        # The digit of the key of rank count - 1, and how many keys are below all that begin so.
        place = int(np.searchsorted(reached, max(count, 1)))
        place = min(place, len(counts) - 1)
        below = int(reached[place] - counts[place])
        prefix = prefix << DIGIT_BITS | place
    wanted, masks = count - below, []
    equal = engine.get([engine.run(s, count_equal, held, prefix) for s, held in enumerate(keys)])
    for s, held in enumerate(keys):
        taken = max(0, min(wanted, equal[s]))
        masks.append(engine.run(s, choose, held, prefix, taken, count > 0))
        wanted -= taken
    return masks


def magnitude_keys(made: Pair) -> Keys:
    """Keys that ascend as the summed magnitude of a row's gradients descends."""
    magnitude = np.abs(made[0]).sum(axis=1, dtype=np.float64)
    # Bits of numbers of at least 0 ascend with the numbers.
    keys: Keys = ~magnitude.view(np.uint64)
    return keys


def rest_words(top: Mask, params: TrainParams, round_index: int, first: int) -> Keys:
    """The random words of the rows that are not among the top."""
    return random_words(params.random_state, len(top), "goss", round_index, first=first)[~top]


def spread(top: Mask, chosen: Mask) -> Mask:
    """Which of all rows are chosen, given which of the rest are."""
    mask = np.zeros(len(top), dtype=np.bool_)
    mask[~top] = chosen
    return mask


def digit_counts(keys: Keys, prefix: int, digit: int) -> NDArray[np.int64]:
    """How many keys that begin with `prefix`, of `digit` digits, go on with each digit."""
    shift = DIGIT_BITS * (DIGITS - 1 - digit)
    if digit:
        keys = keys[keys >> np.uint64(shift + DIGIT_BITS) == np.uint64(prefix)]
    digits = (keys >> np.uint64(shift)) & np.uint64((1 << DIGIT_BITS) - 1)
    return np.bincount(digits.astype(np.int64), minlength=1 << DIGIT_BITS)


def count_equal(keys: Keys, key: int) -> int:
    """How many are that key."""
    return int((keys == np.uint64(key)).sum())


def choose(keys: Keys, key: int, taken: int, any_at_all: bool) -> Mask:
    """All keys below `key`, and the first `taken` of those that are it."""
    if not any_at_all:
        return np.zeros(len(keys), dtype=np.bool_)
    mask: Mask = keys < np.uint64(key)
    mask[np.flatnonzero(keys == np.uint64(key))[:taken]] = True
    return mask


def amplify(made: Pair, drawn: Mask, factor: float) -> Pair:
    """Gradients with those of drawn rows multiplied."""
    g, h = made[0].astype(np.float64), made[1].astype(np.float64)
    g[drawn] *= factor
    h[drawn] *= factor
    return g, h


def members(top: Mask, drawn: Mask, first: int) -> NDArray[np.int32]:
    """The numbers of a shard's sampled rows."""
    return (np.flatnonzero(top | drawn) + first).astype(np.int32)
