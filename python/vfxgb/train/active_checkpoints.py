"""The active party's checkpoints: what it keeps after each round, how it agrees with the others on it, how it goes on.

The order at the end of a round makes sure that no passive party is ever behind:

    EndRound (digest of the trees) -> every passive party keeps its state -> RoundKept -> the active party keeps its own

What is released under differential privacy is kept before anything of it is sent, so that a run that broke off never
draws it again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import Gradients, Release
from vfxgb.contract.messages import EndRound, Ready, RoundKept, Setup
from vfxgb.data.categories import Split
from vfxgb.dp.event import Event
from vfxgb.errors import CheckpointError, MessageError
from vfxgb.model.seal import new_salt
from vfxgb.model.shares import TreeShape
from vfxgb.train.callbacks import EvalsLog, TrainingState
from vfxgb.train.checkpoint import (
    DIGEST_BYTES,
    ActiveState,
    KeptRelease,
    array_bytes,
    keep_records,
    keep_tree,
    read_array,
    restore_records,
    restore_tree,
)
from vfxgb.train.digests import START, settings_digest, trees_link
from vfxgb.train.plan import ActiveHooks
from vfxgb.train.releases import PrivacyFolder, ReleaseLog
from vfxgb.train.settings import Settings, other_settings
from vfxgb.train.target import Target
from vfxgb.transport.channel import Channel


@dataclass
class Grown:
    """What a run has made so far, at the active party; `target` has the margins.

    `first_rows`: sampled rows per node of the very first tree, int64, and `first_rate` the learning rate it had.
    """

    target: Target
    first_rate: float
    trees: list[TreeShape]
    first_rows: NDArray[np.int64] | None = None


@dataclass(repr=False, eq=False)
class ActiveCheckpoints:
    """Keeps and restores one run of the active party.

    `events` are its privacy events, and `opened` maps passive parties to the equations that were opened; both are kept
    with the state. `receivers` are the passive parties. plan.RunHooks says what `hooks` are, active.ActiveInput what
    `privacy` and `ids` are. `salt` makes the party's digests its own. `start` counts the rounds that were done before.
    """

    party: str
    setup: Setup
    hooks: ActiveHooks
    events: list[Event]
    opened: dict[str, int]
    receivers: Sequence[str] = ()
    privacy: PrivacyFolder | None = None
    ids: NDArray[np.uint8] | None = None

    def __post_init__(self) -> None:
        resumed, run = self.hooks.resumed, self.setup.run[:16]
        self._what = f"{self.party} resuming run {run}"
        self._last = resumed
        self._open = False
        self.start = 0 if resumed is None else resumed.rounds
        self.salt = new_salt() if resumed is None else resumed.salt
        self._trees_digest = START if resumed is None else resumed.trees_digest
        # party -> the digest of its last RoundKept.
        self._passive = {} if resumed is None else dict(resumed.passive)
        if resumed is not None:
            self.events.extend(resumed.events)
        what, ledger = f"{self.party} in run {run}", self.hooks.ledger
        self._releases = ReleaseLog(what, self.salt, self.events, ledger, self.receivers, self.privacy, self.ids, {})

    @property
    def resumes(self) -> bool:
        """Whether the run was begun before: then there is a state already, perhaps with a release."""
        return self.hooks.resumed is not None

    def check(self, settings: Settings, data: Callable[[], bytes]) -> None:
        """Take over events and ledger of a run that goes on. Raises CheckpointError unless it is this run."""
        self._settings, self._data = settings, data
        state, setup = self.hooks.resumed, self.setup
        if state is None:
            return
        if (state.run, state.party) != (setup.run, self.party):
            raise CheckpointError(
                f"{self._what}: the checkpoint is of run {state.run[:16]} at {state.party}"
            ).for_peer()
        if state.protocol != setup.protocol or state.settings != settings_digest(settings):
            # What is chosen here is this party's; the others hear only that it was changed.
            raise CheckpointError(
                f"{self._what}: {other_settings(state.chosen, settings)}; set it as it was, or start a new run"
            ).for_peer(f"{self._what}: its settings are not those that the run began with; it must set them as before")
        if state.data != data():
            raise CheckpointError(
                f"{self._what}: found other features, labels or weights than those it was begun with; resume with the "
                "same data, or start a new run"
            ).for_peer(f"{self._what}: its data is not what the run began with; it must restore it, or start a new run")
        self.opened.update(state.opened_equations)
        self.hooks.ledger.restore(state.ledger, state.rounds)

    def labels(self, release: Release, labels: NDArray[np.float32]) -> NDArray[np.float32]:
        """What the training knows of the labels: released now, or before the run broke off."""
        if self.hooks.resumed is not None and self.hooks.resumed.labels is not None:
            kept: NDArray[np.float32] = read_array(self.hooks.resumed.labels, np.float32, "the labels", len(labels))
            return kept
        return release.labels(labels)

    def release_once(
        self, settings: Mapping[str, Any], values: NDArray[Any], draw: Callable[[], NDArray[Any]]
    ) -> NDArray[Any]:
        """See contract.ReleaseOnce. Within a run `labels` keeps what was released."""
        return self._releases.once(settings, values, draw, lambda: None)

    def gradients(self, release: Release, gradients: Gradients) -> Gradients:
        """What `release` makes of gradients, or what it made of them before the run broke off."""
        kept = None if self.hooks.resumed is None else self.hooks.resumed.release
        if kept is not None and kept.round == gradients.round:
            shape = gradients.arrays[0].shape
            pairs = [
                read_array(data, np.int64, "the gradients released", shape[0] * shape[1]).reshape(shape)
                for data in kept.pairs
            ]
            return Gradients(gradients.round, pairs, gradients.sampled, kept.step)
        released = release.gradients(gradients)
        self._releases.charge()
        if released is not gradients:
            kept = KeptRelease(released.round, released.step, [array_bytes(pairs) for pairs in released.arrays])
            self._keep_again(release=kept, events=list(self.events))
        return released

    def _keep_again(self, **changes: Any) -> None:
        """Keep the last state with changes, and with the ledger of now."""
        if self.hooks.keep is not None and self._last is not None:
            self._last = msgspec.structs.replace(self._last, ledger=self.hooks.ledger.totals(), **changes)
            self.hooks.keep(self._last)

    def restore(self, grown: Grown, n_parties: int) -> None:
        """Set `grown`, which holds what a run begins with, to where the run stood."""
        state, outputs = self.hooks.resumed, self.setup.n_outputs
        if state is None:
            return
        margins = read_array(state.margins, np.float32, "the margins", self.setup.n_rows * outputs)
        grown.target.set_margins(margins.reshape(-1, outputs))
        grown.trees = [restore_tree(tree, n_parties) for tree in state.trees]
        if len(grown.trees) != state.rounds * outputs:
            raise CheckpointError(
                f"{self._what}: found {len(grown.trees)} trees of {state.rounds} rounds, wanted {outputs} of each"
            )
        if state.first_rows is not None:
            grown.first_rows = read_array(state.first_rows, np.int64, "the rows of the first tree")
        grown.first_rate = state.first_rate

    def records(self, n_features: int) -> list[Split]:
        """The records of the rounds that were done before."""
        return [] if self.hooks.resumed is None else restore_records(self.hooks.resumed.records, n_features)

    def take_over(self, state: TrainingState, n_rounds: int) -> int:
        """Set what callbacks see to where the run stood; returns how many of `n_rounds` the run may have."""
        kept = self.hooks.resumed
        if kept is None:
            return n_rounds
        state.start, state.iteration = kept.rounds, max(0, kept.rounds - 1)
        state.learning_rate = kept.learning_rate
        state.evals_log.update(_copy(kept.evals_log))
        state.best_iteration, state.best_score = kept.best_iteration, kept.best_score
        return kept.rounds if kept.stopped else n_rounds

    def set_up(self, channels: Mapping[str, Channel]) -> None:
        """Tell every passive party what is to be trained, and where it goes on."""
        for party, channel in channels.items():
            known = self._passive.get(party, b"")
            trees = self._trees_digest if known else b""
            channel.send(
                msgspec.structs.replace(self.setup, start_round=self.start, trees_digest=trees, state_digest=known)
            )

    def check_ready(self, party: str, ready: Ready) -> None:
        """Raise CheckpointError unless `party` goes on from the state this side knows of."""
        known = self._passive.get(party, b"")
        if ready.state_digest != known:
            raise CheckpointError(
                f"{self._what}: {party} goes on from state {ready.state_digest.hex()[:16] or 'none'}, wanted "
                f"{known.hex()[:16] or 'none'}; restore the checkpoints that belong together, or start a new run"
            ).for_peer()

    def begin_round(self) -> None:
        """A round is about to be grown."""
        self._open = True

    def break_off(self) -> None:
        """Keep the ledger of a round that ends early, and what it opened: what it told cannot be taken back."""
        if self._open:
            self._keep_again(opened_equations=dict(self.opened))

    def end_round(self, round_index: int, trees: Sequence[TreeShape], channels: Mapping[str, Channel]) -> None:
        """A round is grown: have it kept by those who took part in it."""
        self._trees_digest = trees_link(self._trees_digest, self.setup.run, self.salt, trees)
        for channel in channels.values():
            channel.send(EndRound(round=round_index, trees_digest=self._trees_digest))

    def read_kept(self, round_index: int, channels: Mapping[str, Channel]) -> None:
        """Wait until they have kept it. Raises MessageError for another round, or what is no digest."""
        for party, channel in channels.items():
            message = channel.recv(RoundKept)
            if message.round != round_index or len(message.state_digest) != DIGEST_BYTES:
                raise MessageError(
                    f"ending round {round_index}: {party} has kept round {message.round} with a digest of "
                    f"{len(message.state_digest)} bytes, wanted round {round_index} and {DIGEST_BYTES} bytes"
                )
            self._passive[party] = message.state_digest

    def keep(
        self,
        state: TrainingState,
        stopped: bool,
        grown: Grown,
        records: Sequence[Split],
        labels: NDArray[np.float32] | None,
    ) -> None:
        """Keep everything as it stands; `labels`: what was released in their place, if anything was."""
        self._releases.charge()
        self._open = False
        if self.hooks.keep is None:
            return
        last = self._last
        kept = [] if last is None else last.trees
        self._last = ActiveState(
            run=self.setup.run,
            party=self.party,
            protocol=self.setup.protocol,
            settings=settings_digest(self._settings) if last is None else last.settings,
            data=self._data() if last is None else last.data,
            rounds=len(grown.trees) // self.setup.n_outputs,
            stopped=stopped,
            salt=self.salt,
            trees_digest=self._trees_digest,
            passive=dict(self._passive),
            trees=kept + [keep_tree(tree) for tree in grown.trees[len(kept) :]],
            records=keep_records(records),
            margins=array_bytes(grown.target.margins),
            labels=None if labels is None else array_bytes(labels),
            release=None,
            evals_log=_copy(state.evals_log),
            best_iteration=state.best_iteration,
            best_score=state.best_score,
            learning_rate=state.learning_rate,
            first_rows=None if grown.first_rows is None else array_bytes(grown.first_rows),
            first_rate=grown.first_rate,
            events=list(self.events),
            ledger=self.hooks.ledger.totals(),
            opened_equations=dict(self.opened),
            chosen=dict(self._settings),
        )
        self.hooks.keep(self._last)


def _copy(log: EvalsLog) -> EvalsLog:
    return {name: {metric: list(values) for metric, values in of_set.items()} for name, of_set in log.items()}
