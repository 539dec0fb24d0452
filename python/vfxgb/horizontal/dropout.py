"""Who drops out, and when: a schedule, a rate every so many rounds, or a function. For simulations.

Rounds count from 0; the set-up before the first is round -1. Within a round calls are told apart by the depth of the
level they are for. A user that drops at a stage is away from that stage of that call on, until a later round.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from vfxgb.checks import is_int
from vfxgb.errors import ParameterError
from vfxgb.rows.sampling import random_words
from vfxgb.secagg.base import JOIN, STAGES

# (round, depth, stage, number of the user) -> whether the user fails to answer now
Dropout: TypeAlias = Callable[[int, int, str, int], bool]

# Stages of which a user may miss the beginning only.
_RANK = {stage: rank for rank, stage in enumerate(STAGES)}


@dataclass(frozen=True)
class Drop:
    """User `user` drops out in `round`, in the first call of level `depth`, at `stage`; back in round `until`.

    `user` is an id as in `fit`, or the position in a list of users. Where `until` is None, the user is back in the next
    round. `stage` is one of vfxgb.secagg.base.STAGES; one that the aggregator does not come to counts as the next one
    it does.
    """

    user: Any
    round: int
    depth: int = 0
    stage: str = JOIN
    until: int | None = None


class Scheduled:
    """A Dropout. Users are absent by a schedule: `drops(round)` gives user number -> its Drop in that round, if any."""

    def __init__(self, drops: Callable[[int], Mapping[int, Drop]]) -> None:
        self._drops = drops
        self._round: int | None = None
        self._now: Mapping[int, Drop] = {}
        # user -> the round it is back in
        self._away: dict[int, int] = {}

    def __call__(self, round_index: int, depth: int, stage: str, user: int) -> bool:
        """Whether the user is away, or leaves just now."""
        if round_index != self._round:
            # A stage that its round never came to is behind.
            for late, missed in self._now.items():
                self._away.setdefault(late, missed.round + 1 if missed.until is None else missed.until)
            self._round, self._now = round_index, self._drops(round_index)
        if round_index < self._away.get(user, round_index):
            return True
        drop = self._now.get(user)
        if drop is None or (depth, _RANK.get(stage, 0)) < (drop.depth, _RANK[drop.stage]):
            return False
        self._away[user] = round_index + 1 if drop.until is None else drop.until
        return True


def make_dropout(given: Any, ids: Sequence[Any], max_depth: int, seed: int) -> Dropout | None:
    """The `dropout` parameter of an estimator, read for users of these ids; None: nobody drops. Raises ParameterError.

    None: nobody. {"rate": r, "every": k}: in each k-th round a share r of all users, drawn at random, at a random stage
    of a random level, until the round ends. A sequence of Drop. Or a callable (round, depth, stage, user id) -> bool.
    """
    if given is None:
        return None
    if callable(given):
        return lambda round_index, depth, stage, user: bool(given(round_index, depth, stage, ids[user]))
    if isinstance(given, Mapping):
        return Scheduled(_by_rate(given, len(ids), max_depth, seed))
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        return Scheduled(_by_schedule(given, ids))
    raise _bad(given, "None, {'rate': share, 'every': rounds}, a list of Drop, or a callable")


def _by_rate(given: Mapping[str, Any], n_users: int, max_depth: int, seed: int) -> Callable[[int], dict[int, Drop]]:
    rate, every = given.get("rate"), given.get("every", 1)
    wanted = "{'rate': a share from 0 to 1, 'every': a number of rounds, at least 1}"
    if isinstance(rate, bool) or not isinstance(rate, int | float | np.floating) or not 0 <= rate <= 1:
        raise _bad(given, wanted)
    if set(given) - {"rate", "every"} or not is_int(every) or every < 1:
        raise _bad(given, wanted)
    count = int(rate * n_users + 0.5)

    def drops(round_index: int) -> dict[int, Drop]:
        if (round_index + 1) % every or round_index < 0:
            return {}
        words = random_words(seed, 3 * n_users, "dropout", round_index).reshape(3, n_users)
        leaving = np.argsort(words[0], kind="stable")[:count]
        depths, stages = words[1] % np.uint64(max_depth), words[2] % np.uint64(len(STAGES))
        return {
            int(user): Drop(int(user), round_index, int(depths[user]), STAGES[int(stages[user])]) for user in leaving
        }

    return drops


def _by_schedule(given: Sequence[Any], ids: Sequence[Any]) -> Callable[[int], dict[int, Drop]]:
    number = {user: place for place, user in enumerate(ids)}
    rounds: dict[int, dict[int, Drop]] = {}
    for drop in given:
        if not isinstance(drop, Drop):
            raise _bad(drop, "entries of type vfxgb.horizontal.dropout.Drop")
        if drop.user not in number:
            shown = ", ".join(repr(user) for user in list(ids)[:10])
            raise _bad(drop, f"one of the {len(ids)} users: {shown}{', ...' if len(ids) > 10 else ''}")
        if drop.stage not in _RANK:
            raise _bad(drop, f"a stage of {', '.join(STAGES)}")
        if drop.until is not None and drop.until <= drop.round:
            raise _bad(drop, f"until to be a round after {drop.round}")
        rounds.setdefault(drop.round, {})[number[drop.user]] = drop
    return lambda round_index: rounds.get(round_index, {})


def _bad(value: object, wanted: str) -> ParameterError:
    return ParameterError(f"reading parameters: dropout={value!r}, wanted {wanted}; correct the value or leave it out")
