"""A passive party's checkpoints: what it keeps after each round, and how it goes back to the round a resumed run names.

A mark per round says how many records there were and what both sides' digests were. The party may be one round ahead of
the active one, which had not heard of it when the run broke off; the records of such a round are dropped and made anew.

What was shown cannot be taken back. A round is therefore kept as begun before anything of it is answered, and the
ledger, the rounds begun and the sums over few rows of a round that broke off are counted beside those of the round that
replaces it: the active party may have asked for other gradients the second time, and this party cannot tell.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import Disclosed
from vfxgb.contract.messages import Setup
from vfxgb.dp.event import Event
from vfxgb.errors import CheckpointError
from vfxgb.model.seal import new_salt
from vfxgb.train.checkpoint import BegunRounds, PassiveState, RoundMark
from vfxgb.train.digests import START, settings_digest, state_link
from vfxgb.train.plan import PassiveHooks
from vfxgb.train.releases import PrivacyFolder, ReleaseLog
from vfxgb.train.settings import Settings, other_settings
from vfxgb.train.split_log import SplitLog

_BEGINNING = RoundMark(-1, 0, b"", b"")


@dataclass(repr=False, eq=False)
class PassiveCheckpoints:
    """Keeps and restores one run of `party` with the active party `peer`. `events` and `disclosed` are the party's.

    plan.RunHooks says what `hooks` are, passive.PassiveInput what `privacy` and `ids` are. `salt` makes the party's
    digests its own. `begun` are the rounds it has begun to answer, in all sessions of the run. `splits` are the splits
    of the party, from `go_back` on.
    """

    party: str
    run_id: str
    peer: str
    hooks: PassiveHooks
    events: list[Event]
    disclosed: Disclosed
    privacy: PrivacyFolder | None = None
    ids: NDArray[np.uint8] | None = None

    def __post_init__(self) -> None:
        resumed = self.hooks.resumed
        self.splits = SplitLog()
        self._marks: list[RoundMark] = []
        self.salt = new_salt() if resumed is None else resumed.salt
        self.begun = BegunRounds() if resumed is None else resumed.begun
        if resumed is not None:
            self.events.extend(resumed.events)
        what, kept = f"{self.party} in run {self.run_id[:16]}", {} if resumed is None else dict(resumed.releases)
        self._releases = ReleaseLog(
            what, self.salt, self.events, self.hooks.ledger, [self.peer], self.privacy, self.ids, kept
        )

    @property
    def last(self) -> RoundMark:
        """Where the party stands: the mark of the last round, or that of the beginning."""
        return self._marks[-1] if self._marks else _BEGINNING

    def go_back(self, setup: Setup, settings: Settings, data: Callable[[], bytes], n_features: int) -> None:
        """Stand where the active party stands, or refuse.

        Raises CheckpointError, which names what differs: run, settings, data, or the digests of the round.
        """
        state, peer, what = self.hooks.resumed, self.peer, f"{self.party} resuming run {self.run_id[:16]}"
        self._setup, self._settings = setup, settings
        self._data = data() if self.hooks.keep is not None or state is not None else b""
        marks: list[RoundMark] = []
        if state is not None:
            self._check(state, what)
            marks = state.marks
        wanted = max(0, setup.start_round - setup.first_round)
        if len(marks) < wanted:
            raise CheckpointError(
                f"{what}: {peer} goes on after {wanted} rounds with this party, of which {len(marks)} are kept here; "
                "restore this party's checkpoint, or start a new run"
            ).for_peer()
        if len(marks) > wanted + 1:
            # The active party keeps a round before it begins the next: honest checkpoints are never further apart.
            raise CheckpointError(
                f"{what}: {peer} goes back to {wanted} rounds with this party, of which {len(marks)} are kept here, "
                "wanted at most one less; restore the active party's checkpoint, or start a new run"
            ).for_peer()
        self._marks = list(marks[:wanted])
        last = self.last
        theirs, own = (setup.trees_digest, setup.state_digest), (last.trees_digest, last.state_digest)
        if theirs != own:
            raise CheckpointError(
                f"{what}: after {wanted} rounds {peer} has state {_short(theirs)}, found {_short(own)} here; the two "
                "checkpoints are not of one run: restore those that belong together, or start a new run"
            ).for_peer()
        if state is not None:
            for name, count in state.disclosed.items():
                setattr(self.disclosed, name, count)
            self.hooks.ledger.restore(state.ledger, setup.start_round)
            self.splits = SplitLog.restore(state.records, last.n_records, n_features)

    def _check(self, state: PassiveState, what: str) -> None:
        setup = self._setup
        if (state.run, state.party) != (self.run_id, self.party):
            raise CheckpointError(f"{what}: the checkpoint is of run {state.run[:16]} at {state.party}").for_peer()
        if (state.protocol, state.settings) != (setup.protocol, settings_digest(self._settings)):
            # What the active party asks for it may hear again; the cuts and constraints are this party's own.
            asked = other_settings(_asked(state.chosen), _asked(self._settings))
            remedy = "both sides must resume with the settings of then, or start a new run"
            raise CheckpointError(f"{what}: {other_settings(state.chosen, self._settings)}; {remedy}").for_peer(
                f"{what}: {asked}; {remedy}"
            )
        if state.data != self._data:
            raise CheckpointError(
                f"{what}: found other features than those it was begun with; resume with the same data, or start a new "
                "run"
            ).for_peer()
        rounds = [mark.round for mark in state.marks]
        counts = [0, *(mark.n_records for mark in state.marks)]
        if rounds != list(range(setup.first_round, setup.first_round + len(rounds))) or counts != sorted(counts):
            raise CheckpointError(
                f"{what}: the rounds of the checkpoint do not follow one another; start a new run"
            ).for_peer()

    def begin_round(self, round_index: int) -> None:
        """Keep that a round has begun; called before anything of it is answered."""
        self.begun = self.begun.begin(round_index)
        self.keep()

    def end_round(self, round_index: int, trees_digest: bytes) -> bytes:
        """Keep a round that is over; returns the digest of where the party stands then."""
        last = self.last
        link = state_link(
            last.state_digest or START,
            self.run_id,
            self.party,
            self.salt,
            trees_digest,
            self.splits.keep(last.n_records, len(self.splits)),
        )
        self._marks.append(RoundMark(round_index, len(self.splits), trees_digest, link))
        self.keep()
        return link

    def release_once(
        self, settings: Mapping[str, Any], values: NDArray[Any], draw: Callable[[], NDArray[Any]]
    ) -> NDArray[Any]:
        """See contract.ReleaseOnce: what is about to be released is kept beside the rounds that are over."""
        return self._releases.once(settings, values, draw, self.keep)

    def keep(self) -> None:
        """Keep everything as it stood after the last round, and all that was released and shown until now."""
        self._releases.charge()
        if self.hooks.keep is None:
            return
        self.hooks.keep(
            PassiveState(
                run=self.run_id,
                party=self.party,
                protocol=self._setup.protocol,
                settings=settings_digest(self._settings),
                data=self._data,
                salt=self.salt,
                records=self.splits.keep(0, self.last.n_records),
                marks=list(self._marks),
                releases=dict(self._releases.kept),
                events=list(self.events),
                ledger=self.hooks.ledger.totals(),
                begun=self.begun,
                disclosed=dict(vars(self.disclosed)),
                chosen=dict(self._settings),
            )
        )


def _asked(settings: Settings) -> Settings:
    return {name: value for name, value in settings.items() if name == "setup"}


def _short(digests: tuple[bytes, bytes]) -> str:
    return "/".join(digest.hex()[:16] or "none" for digest in digests)
