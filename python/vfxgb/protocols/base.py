"""What a protocol is: the two roles it plays, and what it says about itself.

A protocol decides how the passive parties' candidate splits get scored without more being seen than its README says.
All else (binning, growth, row partition, model) is common code that never learns which protocol ran. One round of
boosting grows K trees, one per output, level by level:

    active (grower)                                     passive (train/passive.py)
    BeginRound                  ------------------->    role.begin_tree(trees)
    role.begin_tree(gradients)  <- protocol messages ->   "
    per level:
      Level                     ------------------->    role.open_level(level)
      role.open_level(level)    <- protocol messages ->   "
      (scores its own features meanwhile)
      role.propose(level)       <- protocol messages ->   "
      Choose (winning tokens)   ------------------->    role.resolve(tree, nodes, start, tokens)
                                <-------------------    SplitRows (who goes left)
    role.end_tree()                                     role.end_tree()

Within a hook both roles talk as they like over the channel; what one sends the other must read in the same hook.
A *token* is whatever the protocol's passive role needs to find a split again, an integer of at least 0; the active
party treats it as opaque. Of several tokens with the same best gain all are sent back, and the owner takes the first in
XGBoost's order, so that no order has to be disclosed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.dp.event import Event
from vfxgb.numeric.fixed_point import MAX_FRACTION_BITS
from vfxgb.params import TrainParams
from vfxgb.rows.base import RowStore
from vfxgb.rows.gradients import Gradients as Gradients
from vfxgb.rows.parts import Partition
from vfxgb.train.secrets import SecretBox
from vfxgb.train.timings import Timings
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import Message
from vfxgb.tree.shown_cuts import ShownCuts


@dataclass(frozen=True)
class OpenNodes:
    """The open nodes of one tree at one level, where splits are chosen. m nodes, ascending ids.

    `tree`: the output it belongs to. `totals`: int64[m, 2], the nodes' gradient sums. `bounds`: float64[m, 2], limits
    of the weights under monotone constraints, or None. `build`: positions (in `nodes`) of the nodes whose sums are to
    be made; the sums of any other are those of its parent, at position `parent` of the level before, minus those of its
    sibling, at position `sibling` of this level; both int64[m], -1 where built. `rule` scores sums.
    """

    tree: int
    nodes: NDArray[np.int32]
    totals: NDArray[np.int64]
    bounds: NDArray[np.float64] | None
    build: NDArray[np.int64]
    sibling: NDArray[np.int64]
    parent: NDArray[np.int64]
    rule: _native.gbdt.SplitRule


@dataclass(frozen=True)
class LevelNodes(OpenNodes):
    """Open nodes at the active party. `partition`: the tree's rows; it goes on changing with the tree."""

    partition: Partition

    @property
    def in_memory(self) -> _native.gbdt.RowPartition:
        """The partition, for a protocol whose rows are all in this process."""
        return self.partition.here

    def left_sums(
        self, positions: NDArray[np.int64], bits: memoryview, pairs: NDArray[np.int64], threads: int
    ) -> NDArray[np.int64]:
        """Sums int64[k, 2] of `pairs` over the rows that go left, by `bits`, at splits of the nodes at `positions`."""
        nodes = np.ascontiguousarray(self.nodes[positions])
        return _native.gbdt.left_node_sums(self.in_memory, nodes, bits, pairs, threads)


@dataclass(frozen=True)
class ActiveLevel:
    """One level of a round, at the active party: the trees that still grow."""

    round: int
    depth: int
    trees: Sequence[LevelNodes]


@dataclass(frozen=True)
class Proposals:
    """The best splits of one party for the m nodes of one tree.

    `gain`: float64[m], loss change, 0 where the party has no split, or cannot take part in the node, which the others
    may split all the same; tokens[start[i]:start[i + 1]] reach it in node i.
    """

    gain: NDArray[np.float64]
    start: NDArray[np.int64]
    tokens: NDArray[np.int64]


@dataclass(frozen=True)
class ChosenSums:
    """What the active party learns of k chosen splits: left gradient sums int64[k, 2], monotone direction int8[k]."""

    left: NDArray[np.int64]
    constraint: NDArray[np.int8]


class ActiveRole(Protocol):
    """The active party's side. It holds a channel to every passive party."""

    def begin_tree(self, gradients: Gradients) -> None:
        """A new round: protect the gradients and send them out."""

    def open_level(self, level: ActiveLevel) -> None:
        """The nodes to score next; every passive party has been told. Send what the protocol adds; do not wait."""

    def propose(self, level: ActiveLevel) -> Mapping[str, Sequence[Proposals]]:
        """The best splits of each passive party, one entry per tree of the level. Called once per open_level."""

    def chosen(
        self,
        party: str,
        index: int,
        positions: NDArray[np.int64],
        tokens: NDArray[np.int64],
        bits: memoryview,
    ) -> ChosenSums:
        """Of the level last proposed: the splits `tokens` that `party` took for the nodes at `positions`.

        `index` counts the trees of the level; `bits` say who goes left (RowPartition.split), of the right size. Raises
        MessageError for a token that was not proposed for its node.
        """

    def end_tree(self) -> None:
        """The round is over: forget its gradients and sums."""

    def close(self) -> None:
        """The run is over, well or not: end background work. Called once, whatever was called before."""


@dataclass(frozen=True)
class PassiveTree:
    """One growing tree at a passive party.

    `features`: int32, ascending, the party's features this tree may use. `partition`: the rows of its nodes.
    `round`: the one that grows it. `cuts`: those that the nodes of the open level show under min_bucket_rows; a role
    hands them to CandidateList. None: every cut.
    """

    tree: int
    features: NDArray[np.int32]
    partition: Partition
    round: int = 0
    cuts: ShownCuts | None = None

    @property
    def in_memory(self) -> _native.gbdt.RowPartition:
        """The partition, for a protocol whose rows are all in this process."""
        return self.partition.here


@dataclass(frozen=True)
class PassiveNodes:
    """The open nodes of one tree at a passive party.

    `nodes`: int32[m], ascending; `parents`: int32[m], -1 for the root; `build`: int64, positions of those whose sums
    are asked for; `allowed`: bool[m, len(features)], which of the tree's features each node may use, or None for all.
    """

    tree: int
    nodes: NDArray[np.int32]
    parents: NDArray[np.int32]
    build: NDArray[np.int64]
    allowed: NDArray[np.bool_] | None


@dataclass(frozen=True)
class PassiveLevel:
    """One level of a round, at a passive party."""

    round: int
    depth: int
    trees: Sequence[PassiveNodes]


@dataclass(frozen=True)
class Resolved:
    """The splits a passive party took for k nodes: the token of each, and feature, bin and default direction.

    `rows`: the bins that decide which rows go left, None for the party's own.
    """

    tokens: NDArray[np.int64]
    feature: NDArray[np.int32]
    bin: NDArray[np.int32]
    default_left: NDArray[np.bool_]
    rows: RowStore | None = None


class PassiveRole(Protocol):
    """A passive party's side. It holds the channel to the active party."""

    def begin_tree(self, round_index: int, sampled: NDArray[np.int32] | None, trees: Sequence[PassiveTree]) -> None:
        """A new round. `sampled` as in Gradients; every tree starts with all rows in node 0."""

    def open_level(self, level: PassiveLevel) -> None:
        """Answer for the nodes of a level. The partitions of the trees already hold them."""

    def resolve(
        self, tree: int, nodes: NDArray[np.int32], start: NDArray[np.int64], tokens: NDArray[np.int64]
    ) -> Resolved:
        """For each node i the first, in XGBoost's order, of the splits tokens[start[i]:start[i + 1]].

        Raises MessageError for a token that this party never offered.
        """

    def end_tree(self) -> None:
        """The round is over."""

    def close(self) -> None:
        """See ActiveRole.close."""


# (name, round, tree, array): what a party knows by itself, told to the transcript of a recorded run.
Note: TypeAlias = Callable[[str, int, int, NDArray[Any]], None]


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
class ActiveContext:
    """What the active role gets to work with; `channels` in party order, `params` of the protocol's own class.

    `rows`: the party's binned rows, wherever they are. Every |g| of a round, as an integer, is at most
    2**fraction_bits, and every h between 0 and that (unless the protocol releases gradients of its own). `first_order`:
    see EngineOptions.
    `note`: None unless the run is recorded. `progress`: told how far a long step is: (step, units done, of how many).
    `remarks`: lines for the ledger on what follows from the settings of the run rather than from a message; a role adds
    to it.
    `secrets`: where private keys outlive the process, so that a resumed run goes on with them; None: nowhere.
    """

    channels: Mapping[str, Channel]
    rows: RowStore
    params: Any
    train: TrainParams
    n_train: int
    n_outputs: int
    fraction_bits: int
    threads: int
    timings: Timings
    first_order: bool = False
    # The party's privacy events; a role adds to it.
    events: list[Event] = field(default_factory=list)
    # Passive party -> equations about its rows that were opened (equations_of); a role that opens sums adds to it.
    opened_equations: dict[str, int] = field(default_factory=dict)
    note: Note | None = None
    progress: Callable[[str, int, int], None] = lambda step, done, total: None  # noqa: ARG005
    secrets: SecretBox | None = None
    remarks: list[str] = field(default_factory=list)


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
    """

    small_sums: int = 0
    opened_equations: int = 0


@dataclass(frozen=True)
class PassiveContext:
    """What a passive role gets to work with.

    `rows`: the party's binned rows, wherever they are. `has_missing`: bool per feature. `constraints`: int8 per
    feature, the monotone directions, or None when the run has none. `disclosed`: the role adds to it. `random`: the
    CSPRNG, count -> bytes; tests inject another. `note`: None unless the run is recorded. `release_once`: how a role
    draws what it releases under differential privacy once per run. `rounds_left` and `max_depth` say how much is still
    to be trained, so that a role can plan what it prepares.
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
    note: Note | None = None
    release_once: ReleaseOnce = draw_now
    rounds_left: int = 1
    max_depth: int = 1

    @property
    def bins(self) -> _native.gbdt.Bins:
        """The bins, for a protocol whose rows are all in this process."""
        return self.rows.bins


@dataclass(frozen=True)
class ReleaseContext:
    """What a Release gets to work with. `events`: the privacy events of the active party; a release adds to it.

    `receivers`: the passive parties. `weights`: float32[n_train], the sample weights, or None. `release_once`: how
    labels are drawn.
    """

    params: Any
    train: TrainParams
    n_train: int
    n_outputs: int
    fraction_bits: int
    threads: int
    timings: Timings
    events: list[Event]
    receivers: tuple[str, ...] = ()
    weights: NDArray[np.float32] | None = None
    release_once: ReleaseOnce = draw_now


class Release(Protocol):
    """How a protocol under differential privacy replaces labels and gradients, before anything is made of them.

    Everything of the run comes from what is released: splits of the active party's own features, leaf weights and the
    start of the margins too. Only metrics are computed with the true labels, for the active party's eyes.
    """

    def labels(self, labels: NDArray[np.float32]) -> NDArray[np.float32]:
        """The labels of the training rows to train with; called once a run, before anything else."""

    def gradients(self, gradients: Gradients) -> Gradients:
        """The gradients of a round to grow with; called once a round. Sums over all rows must fit int64.

        What it returns is kept (train/checkpoint.py), unless it is `gradients` itself: a round that is grown again
        after the run broke off is grown from the same release, and nothing is spent twice.
        """


# The type of a protocol's parameter `precision_bits`.
PrecisionBits = Annotated[int, msgspec.Meta(ge=1, le=MAX_FRACTION_BITS)]


@dataclass(frozen=True)
class EngineOptions:
    """What a protocol asks of the common code.

    `precision_bits`: fractional bits of gradients, None for as many as stay exact (numeric/fixed_point.py). `subtract`:
    make the sums of the smaller child only and derive its sibling's. `first_order`: score splits without hessians
    (_native.gbdt.SplitRule). `gradient_bound`: gradients are clipped to it, in magnitude, and hessians to it or to 1,
    the larger; the fixed point then follows from the bound and not from the data. `weight_bound`: no sample weight is
    above it; where gradients of weight 1 are at most 1 and `gradient_bound` is None, the fixed point follows from it
    and from scale_pos_weight, and not from the data. `default_start`: base_score where the user gives none, None to
    estimate it from the labels. `private_trees`: rounds that the active party trains alone after the run
    (train/private_stage.py).
    """

    precision_bits: int | None = None
    subtract: bool = True
    first_order: bool = False
    gradient_bound: float | None = None
    weight_bound: float | None = None
    default_start: float | None = None
    private_trees: int = 0


def no_options(params: Any) -> EngineOptions:  # noqa: ARG001 - the signature of ProtocolSpec.options
    """The options of a protocol that asks for nothing."""
    return EngineOptions()


@dataclass(frozen=True)
class ProtocolSpec:
    """A protocol's statement about itself: `SPEC` in its folder's spec.py.

    `params`: a frozen msgspec.Struct; a user's protocol_params are converted to it and unknown names refused.
    `exact`: its models equal those of `plain`. `security`: "none" (the other side sees gradients or data in clear),
    "broken" (an attack is known; needs insecure=True in its params), "semi-honest". `attacks`: the known ones, in
    words. `dp_events`: what it releases under differential privacy. `messages`: every class it sends. `quick_params`:
    the protocol_params under which the conformance suite runs it, fast rather than safe. `options`: what its
    parameters ask of the common code. `release`: how labels and gradients are replaced before use, or None.
    `shows_sums`: the active party sees the sums of candidates. `repeatable`: two runs of one training give one model.
    `local_params`: names of parameters that are each party's own affair: never sent, refused when received.
    `hides_missing`: passive parties bin every feature as if values were missing, because bins are sent.
    `sharded`: neither role asks for rows in this process (`bins`, `in_memory`), only for what any RowStore offers, so
    that rows may be in shards; train/placing.py refuses the others. `row_bytes(params, n_outputs)`: what a passive
    party keeps per row and round, for the size of a shard. `passive_epsilon(params, n_features)`: what a run makes a
    passive party with so many features release about one of its rows, 0 where that is nothing; compared with its
    consent.
    """

    name: str
    summary: str
    params: type[Any]
    active: Callable[[ActiveContext], ActiveRole]
    passive: Callable[[PassiveContext], PassiveRole]
    messages: tuple[type[Message], ...]
    exact: bool
    security: Literal["none", "broken", "semi-honest"]
    attacks: tuple[str, ...] = ()
    dp_events: tuple[str, ...] = ()
    quick_params: Mapping[str, Any] = field(default_factory=dict)
    options: Callable[[Any], EngineOptions] = no_options
    release: Callable[[ReleaseContext], Release] | None = None
    shows_sums: bool = True
    repeatable: bool = True
    local_params: tuple[str, ...] = ()
    hides_missing: bool = False
    sharded: bool = False
    row_bytes: Callable[[Any, int], int] = lambda params, n_outputs: 0  # noqa: ARG005
    passive_epsilon: Callable[[Any, int], float] = lambda params, n_features: 0.0  # noqa: ARG005
