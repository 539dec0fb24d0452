"""What the roles of a protocol get to work with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.dp.event import Event
from vfxgb.params import TrainParams
from vfxgb.rows.base import RowStore
from vfxgb.runtime.secrets import SecretBox
from vfxgb.runtime.timings import Timings
from vfxgb.transport.channel import Channel
from vfxgb.transport.line import UNKNOWN_LINE, KnownLine

# (name, round, tree, array): what a party knows by itself, told to the transcript of a recorded run.
TranscriptSink: TypeAlias = Callable[[str, int, int, NDArray[Any]], None]


# (settings, values, draw) -> what is released of `values`, an array whose last axis is the training rows. `settings`,
# as JSON holds them, are all that the noise depends on besides. If the same rows had the same values and settings
# before, in this run or in another whose releases are kept, it is that very release, and its events are entered. Else
# draw() is called, which enters its events and returns the release; that is charged and kept before it comes back. May
# raise ConsentError; nothing may be sent before it returns.
ReleaseOnce: TypeAlias = Callable[[Mapping[str, Any], NDArray[Any], Callable[[], NDArray[Any]]], NDArray[Any]]


def draw_now(settings: Mapping[str, Any], values: NDArray[Any], draw: Callable[[], NDArray[Any]]) -> NDArray[Any]:  # noqa: ARG001
    """A ReleaseOnce that keeps nothing."""
    return draw()


@dataclass(frozen=True)
class RunFacts:
    """What the active party's roles and releases know of a run; `params` are of the protocol's own class.

    Every |g| of a round, as an integer, is at most 2**fraction_bits, and every h between 0 and that, without
    `hessian_shift` of the bits, which follows from the loss (unless the protocol releases gradients of its own).
    `events` are the privacy events of the active party; whoever releases
    something adds to it.
    """

    params: Any
    train: TrainParams
    n_train: int
    n_outputs: int
    fraction_bits: int
    threads: int
    timings: Timings
    events: list[Event]
    hessian_shift: int = field(default=0, kw_only=True)


@dataclass(frozen=True, kw_only=True)
class ActiveContext(RunFacts):
    """What the active role gets to work with; `channels` in party order.

    `rows`: the party's binned rows, wherever they are. `first_order`: see EngineOptions. `note`: None unless the run is
    recorded. `progress`: told how far a long step is: (step, units done, of how many). `remarks`: lines for the ledger
    on what follows from the settings of the run rather than from a message; a role adds to it. `secrets`: where private
    keys outlive the process, so that a resumed run goes on with them; None: nowhere. `line`: what is known of the line
    to the others. `secret`: the party's own bytes, the same in all sessions of a run, and nobody else's. `partitioned`:
    the passive parties with features that are split by sets of categories.
    """

    channels: Mapping[str, Channel]
    rows: RowStore
    first_order: bool = False
    # Passive party -> equations about its rows that were opened (equations_of); a role that opens sums adds to it.
    opened_equations: dict[str, int] = field(default_factory=dict)
    note: TranscriptSink | None = None
    progress: Callable[[str, int, int], None] = lambda step, done, total: None  # noqa: ARG005
    secrets: SecretBox | None = None
    remarks: list[str] = field(default_factory=list)
    line: KnownLine = UNKNOWN_LINE
    secret: bytes = b""
    partitioned: frozenset[str] = frozenset()


def equations_of(n_nodes: int, n_candidates: int) -> int:
    """The equations about one cut that the sums of `n_nodes` nodes are, as they are sent.

    A node gives two, the sum of g and that of h over the rows that go left; each is linear in the same unknowns, one
    per training row: whether the row goes left. A sibling derived by subtraction adds none. Where `min_bucket_rows` or
    column sampling withhold sums there are fewer of some cuts: this is the most there can be of any.
    """
    return 2 * n_nodes if n_candidates else 0


@dataclass
class Disclosed:
    """What a passive party counts of what it has shown, as it shows it.

    `small_sums`: sums over few rows (tree/disclosure.py), which it alone can count; added when a round ends.
    `opened_equations`: equations about its rows (equations_of), added with every level that is answered.
    `withheld_wins`, `withheld_columns`: winning splits whose rows it did not tell, as enough had been told already, or
    enough different ones.
    """

    small_sums: int = 0
    opened_equations: int = 0
    withheld_wins: int = 0
    withheld_columns: int = 0


@dataclass(frozen=True)
class PassiveContext:
    """What a passive role gets to work with.

    `rows` are the party's binned rows, wherever they are. `has_missing` holds a bool per feature. `constraints` are the
    monotone directions, int8 per feature, or None when the run has none. A role adds what it shows to `disclosed`.
    `random(count)` gives bytes of the CSPRNG; tests inject another. `note` is None unless the run is recorded.
    `release_once` is how a role draws what it releases under differential privacy once per run. `rounds_left` and
    `max_depth` say how much is still to be trained, so that a role can plan what it prepares. `hessian_shift` is
    explained in RunFacts. `split_rule` and `score_bits` say how splits are scored (TrainParams). `line` is what is
    known of the line to the active party. `secret` are the party's own bytes, the same in all sessions of a run.
    `kept_in` is a folder for what a role counts over all runs, or None.
    """

    party: str
    channel: Channel
    params: Any
    rows: RowStore
    has_missing: NDArray[np.bool_]
    constraints: NDArray[np.int8] | None
    n_train: int
    n_outputs: int
    min_bucket_rows: int
    threads: int
    timings: Timings
    disclosed: Disclosed
    # The party's privacy events; the role adds to it.
    events: list[Event] = field(default_factory=list)
    random: Callable[[int], bytes] = _native.rand.random_bytes
    note: TranscriptSink | None = None
    release_once: ReleaseOnce = draw_now
    rounds_left: int = 1
    max_depth: int = 1
    hessian_shift: int = 0
    line: KnownLine = UNKNOWN_LINE
    split_rule: str = "gain"
    score_bits: int | None = None
    secret: bytes = b""
    kept_in: Path | None = None

    @property
    def bins(self) -> _native.gbdt.Bins:
        """The bins, for a protocol whose rows are all in this process."""
        return self.rows.bins


@dataclass(frozen=True)
class ReleaseContext(RunFacts):
    """What a Release gets to work with.

    `receivers`: the passive parties. `weights`: float32[n_train], the sample weights, or None. `release_once`: how
    labels are drawn.
    """

    receivers: tuple[str, ...] = ()
    weights: NDArray[np.float32] | None = None
    release_once: ReleaseOnce = draw_now
