"""What a user remembers of the sums it has helped to open, and which further sum it therefore refuses.

Each sum is over many users, but two sums can be subtracted. If a user is in one and not in the other, and both are
about the same rows, the difference is that user's own vector. A server could ask for such a pair on purpose. So every
user keeps, for all sums that can be compared (a *phase*), the sets of users it has signed, and signs another one only
if that set is the same, or lies within the other (or around it) with at least k users between the two.

Lists of users that this user has masked a vector for, and signed nothing of, are kept as well: their sums may have been
opened without its signature. It goes on only if more than half of all users it has heard of in the phase have to sign,
in every call. Any two sums that were opened then have a signer in common, who has compared their sets. Why this leaves
nothing but sums over k users and more is in double_mask/README.md.

k is `hide_among`. The guard is the same for every aggregator whose users are told lists of users (masks and bcp).
"""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from vfxgb.errors import FormatError, MessageError
from vfxgb.files import write_atomically
from vfxgb.secagg.base import threshold_of
from vfxgb.secagg.lists import pack_users
from vfxgb.transport.messages import Bulk

Compare: TypeAlias = Literal["tree", "run"]

LEAST_HIDDEN = 10
NOT_COMPARED = 1
# How many sums a run may ask for when nobody has said how long it will be.
MOST_CALLS = 100_000
FORMAT = "vfxgb signed sets"
VERSION = 1


def default_hidden(n_users: int) -> int:
    """k unless a user says otherwise: ten users, or a tenth of them where that is more."""
    return max(LEAST_HIDDEN, math.ceil(n_users / 10))


@dataclass(frozen=True)
class GuardRules:
    """What a user allows.

    Two sums of a phase are over the same users, or over sets that differ by at least `hide_among` users; with
    NOT_COMPARED sets are not compared at all. `least`: fewest users in a sum. `max_calls`: sums this user helps to open
    in a run. `compare`: whether a phase ends with the trees of a round, or lasts for the whole run.
    """

    hide_among: int
    least: int = 2
    max_calls: int = MOST_CALLS
    compare: Compare = "tree"

    @staticmethod
    def default(n_users: int) -> "GuardRules":
        """The rules of a user that has said nothing, in a run of so many users."""
        k = default_hidden(n_users)
        return GuardRules(k, min(k, threshold_of(None, n_users)))


class _Topic(msgspec.Struct):
    """Sums of a phase that are about the same numbers.

    `heard`: all users in lists that this user masked a vector for; `threshold`: the smallest of those calls. `signed`:
    distinct sets, by size, each within the next. `tasks`: digest of a task -> digest of the set it was signed with.
    """

    heard: list[int] = []
    threshold: int = 0
    signed: list[list[int]] = []
    tasks: dict[str, str] = {}


class _State(msgspec.Struct, forbid_unknown_fields=True):
    format: str = FORMAT
    version: int = VERSION
    calls: int = 0
    # The last call this user masked a vector for, and how many rounds of trees it knew when the phase began.
    last_call: int = 0
    phase: int = 0
    rounds: int = 0
    topics: dict[str, _Topic] = {}


def same_topic(task: Bulk) -> str:
    """All tasks can be compared with each other: what is assumed when nobody says otherwise."""
    del task
    return ""


@dataclass
class SetGuard:
    """The memory of one user in one run.

    `topic_of`: task -> what its sums are compared with. `file`: where the memory is kept, so that a process that is
    started again within the run knows it; written before anything that depends on it is sent. None: in this process.
    """

    rules: GuardRules
    topic_of: Callable[[Bulk], str] = same_topic
    file: Path | None = None
    _state: _State = field(default_factory=_State)

    def __post_init__(self) -> None:
        """Read what an earlier process of this run has written. Raises FormatError for a file that is damaged."""
        if self.file is None or not self.file.exists():
            return
        try:
            self._state = msgspec.json.decode(self.file.read_bytes(), type=_State)
        except (msgspec.MsgspecError, ValueError) as error:
            # To begin with an empty memory would allow what it is there to prevent.
            raise FormatError(
                f"reading the signed sets {str(self.file)!r}: {error}; without them this user takes no part in the run"
            ) from None

    @property
    def calls(self) -> int:
        """Sums this user has signed for."""
        return self._state.calls

    @property
    def last_call(self) -> int:
        """The last call this user has masked a vector for, also before it was started again."""
        return self._state.last_call

    def begin(self, call: int) -> None:
        """Before a vector is masked in a call: its number is not used again, also after this user was started again."""
        self._state.last_call = max(call, self._state.last_call)
        self._keep()

    def hear(self, step: str, task: Bulk, users: tuple[int, ...], threshold: int) -> None:
        """Before a vector is masked for `users`, of whom `threshold` have to sign. Raises MessageError to refuse."""
        if self.rules.hide_among <= NOT_COMPARED:
            return
        topic = self._topic(task)
        everybody = sorted({*topic.heard, *users})
        smallest = min(topic.threshold, threshold) if topic.heard else threshold
        if 2 * smallest <= len(everybody):
            raise MessageError(
                f"{step}: found a call of {len(users)} users of whom {threshold} have to sign, wanted more than half "
                f"of the {len(everybody)} users that this user has been told of since {self._since}; a sum that "
                "others opened could otherwise be compared with this one"
            )
        if everybody != topic.heard or smallest != topic.threshold:
            topic.heard, topic.threshold = everybody, smallest
            self._keep()

    def admit(self, step: str, task: Bulk, users: tuple[int, ...]) -> None:
        """Before the set of users of a sum is signed. Raises MessageError to refuse; else the set is remembered."""
        rules, state = self.rules, self._state
        if state.calls >= rules.max_calls:
            raise MessageError(
                f"{step}: this user has helped to open {state.calls} sums, wanted at most {rules.max_calls} in a run; "
                "the server asks for more than the training needs"
            )
        if len(users) < rules.least:
            raise MessageError(f"{step}: found a sum over {len(users)} users, wanted at least {rules.least}")
        if rules.hide_among > NOT_COMPARED:
            self._compare(step, task, users)
        state.calls += 1
        self._keep()

    def next_phase(self, rounds: int | None = None) -> None:
        """Sums asked for from now on cannot be compared with earlier ones: the trees between them are known.

        `rounds`: those known now. A user that was started again is told all trees again, which begin no phase.
        """
        if self.rules.compare == "run" or (rounds is not None and rounds <= self._state.rounds):
            return
        self._state.rounds = rounds or 0
        self._state.phase += 1
        self._state.topics = {}
        self._keep()

    def _compare(self, step: str, task: Bulk, users: tuple[int, ...]) -> None:
        topic = self._topic(task)
        asked, set_digest = _digest(task), _digest(pack_users(users))
        if topic.tasks.get(asked, set_digest) != set_digest:
            raise MessageError(
                f"{step}: found a task that this user has signed before with another set of users, wanted every task "
                "once; the difference of the two sums would tell of the users that differ"
            )
        wanted = set(users)
        for earlier in topic.signed:
            others = set(earlier)
            between = wanted ^ others
            if between and not (len(between) >= self.rules.hide_among and (wanted < others or others < wanted)):
                few = ", ".join(map(str, sorted(between)[:5])) + (", ..." if len(between) > 5 else "")
                raise MessageError(
                    f"{step}: found a set of {len(users)} users that differs by {len(between)} (user {few}) from one "
                    f"of {len(earlier)} signed since {self._since}, wanted the same users, or at least "
                    f"{self.rules.hide_among} fewer or more; the difference of the two sums would tell of these alone"
                )
        topic.tasks[asked] = set_digest
        if list(users) not in topic.signed:
            topic.signed.append(list(users))

    @property
    def _since(self) -> str:
        return (
            "the run began" if self.rules.compare == "run" or self._state.phase == 0 else "the last tree was published"
        )

    def _topic(self, task: Bulk) -> _Topic:
        return self._state.topics.setdefault(self.topic_of(task), _Topic())

    def _keep(self) -> None:
        if self.file is not None:
            write_atomically(self.file, msgspec.json.encode(self._state))


def _digest(data: Bulk) -> str:
    return hashlib.sha256(data).hexdigest()
