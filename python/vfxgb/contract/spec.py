"""What a protocol says about itself: ProtocolSpec, which its spec.py holds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from vfxgb.contract.contexts import ActiveContext, PassiveContext, ReleaseContext
from vfxgb.contract.roles import ActiveRole, HiddenActiveRole, HiddenPassiveRole, PassiveRole, Release
from vfxgb.contract.wire_cost import Saving, TrainingShape, WireCost
from vfxgb.numeric.fixed_point import MAX_FRACTION_BITS
from vfxgb.params import DEFAULT_BINS
from vfxgb.transport.messages import Message

# Parameters that several protocols have: their types, and what they mean unless a protocol says something else.
PrecisionBits = Annotated[
    int,
    msgspec.Meta(
        ge=1,
        le=MAX_FRACTION_BITS,
        description="The number of fractional bits of gradients. None takes as many as stay exact.",
    ),
]
Subtract = Annotated[
    bool,
    msgspec.Meta(description="Only the smaller child is summed; its sibling's sums follow by subtraction."),
]


@dataclass(frozen=True)
class EngineOptions:
    """What a protocol asks of the common code.

    `precision_bits` are the fractional bits of gradients, None for as many as stay exact (numeric/fixed_point.py). With
    `subtract` only the sums of the smaller child are made, and its sibling's derived. With `first_order` splits are
    scored without hessians (_native.gbdt.SplitRule). `default_start` is the base_score where the user gives none; None
    estimates it from the labels. `private_trees` counts the rounds that the active party trains alone after the run
    (train/private_stage.py).

    Two bounds make the fixed point independent of the data. Gradients are clipped to `gradient_bound`, in magnitude,
    and hessians to it or to 1, whichever is larger. No sample weight is above `weight_bound`; where gradients of weight
    1 are at most 1 and `gradient_bound` is None, the fixed point follows from it and from scale_pos_weight.
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


# How features of categories can be split.
CategorySplits: TypeAlias = Literal["none", "one-hot", "all"]


@dataclass(frozen=True)
class Learned:
    """What a run tells each side at most, in words that need no knowledge of the protocol.

    Each is the end of a sentence that begins with "NAME learned"; `{others}` stands for the names of the other side.
    """

    active: str
    passive: str


@dataclass(frozen=True)
class ProtocolSpec:
    """A protocol's statement about itself: `SPEC` in its folder's spec.py.

    What it is: `params` is a frozen msgspec.Struct; a user's protocol_params are converted to it and unknown names
    refused. `local_params` names parameters that each party chooses for itself; they are never sent, and refused when
    received. Those in `consent_params` limit what a passive party tells, and stand in its consent. `active` and
    `passive` make the roles. `messages` lists every class it sends. `options(params)` is what it asks of the common
    code. `release` makes what replaces labels and gradients before use, or is None.
    `variant(params)` gives the fields that have other values under such parameters, by name; see `under`.
    `quick_params` are the protocol_params under which the conformance suite runs it, fast rather than safe.
    `default_bins` is how many bins a feature has where the user does not say: fewer where bytes and time grow with it.

    `learned` is what each side learns by it, in a sentence for people who decide; a page of a run begins with it.

    What it promises: `exact` says that its models equal those of `plain`, `repeatable` that two runs of one training
    give one model. `security` is "none" (the other side sees gradients or data in clear), "broken" (an attack is known;
    it needs insecure=True in its params) or "semi-honest". `attacks` are the known attacks, in words. `dp_events` says
    what it releases under differential privacy. `passive_epsilon(params, n_features)` is what a run makes a passive
    party with so many features release about one of its rows, 0 where that is nothing; it is compared with the party's
    consent. `split_rules` are the values of TrainParams.split_rule under which it can choose splits, that of None
    first, and `integer_scores` says that its scores are sums of integers, made for each node (score_bits). Where it has
    no others, `score_bits(params, n_train)` are the bits that None stands for. With `secret_coins` these integers come
    from a seed that is drawn for the run and that only the active party knows, in place of random_state.
    `category_splits` says how features of categories can be split: "one-hot", one category at a time, which is like any
    other split; "all", also by sorted sets, where the active party opens the sums of nodes that passive parties know;
    "none", where each column costs privacy. `refused` names parameters of training that it cannot have, each with what
    to do instead.

    What it shows: with `shows_sums` the active party sees the sums of candidates. With `shows_nodes` passive parties
    keep the partition of rows and are told of every split; without it the roles are HiddenActiveRole and
    HiddenPassiveRole, and only the active party knows which rows are in a node. With `hides_missing` passive parties
    bin every feature as if values were missing, because bins are sent.

    Where rows are: `sharded` says that neither role asks for rows in this process (`bins`, `in_memory`), only for what
    any RowStore offers, so that rows may be in shards; train/placing.py refuses the others. `row_bytes(params,
    n_outputs)` is what a passive party keeps per row and round, for the size of a shard. `secrets_with_rows` says that
    secrets of the active party lie where its rows are, so that a cluster must be allowed to hold keys.

    When it sets up: `prepares` says that the roles can set up before the first round that passive parties take part in
    (PreparingActive, PreparingPassive), while the active party grows the first tree alone (`reduced_leakage`).

    What it costs: `wire_cost(params, shape)` is what its own messages take between the active party and one passive
    party, or None where nobody knows; `WireCost.round_trips` are those beyond one a level. `savings(params)` are
    settings that make a tree cheaper, those first that cost the model least.
    """

    name: str
    summary: str
    params: type[Any]
    active: Callable[[ActiveContext], ActiveRole | HiddenActiveRole]
    passive: Callable[[PassiveContext], PassiveRole | HiddenPassiveRole]
    messages: tuple[type[Message], ...]
    exact: bool
    security: Literal["none", "broken", "semi-honest"]
    attacks: tuple[str, ...] = ()
    dp_events: tuple[str, ...] = ()
    learned: Learned | None = None
    quick_params: Mapping[str, Any] = field(default_factory=dict)
    options: Callable[[Any], EngineOptions] = no_options
    release: Callable[[ReleaseContext], Release] | None = None
    default_bins: int = DEFAULT_BINS
    split_rules: tuple[str, ...] = ("gain",)
    integer_scores: bool = False
    score_bits: Callable[[Any, int], int] | None = None
    secret_coins: bool = False
    refused: Mapping[str, str] = field(default_factory=dict)
    shows_sums: bool = True
    shows_nodes: bool = True
    variant: Callable[[Any], Mapping[str, Any]] = lambda params: {}  # noqa: ARG005
    repeatable: bool = True
    local_params: tuple[str, ...] = ()
    consent_params: tuple[str, ...] = ()
    hides_missing: bool = False
    sharded: bool = False
    row_bytes: Callable[[Any, int], int] = lambda params, n_outputs: 0  # noqa: ARG005
    secrets_with_rows: bool = False
    passive_epsilon: Callable[[Any, int], float] = lambda params, n_features: 0.0  # noqa: ARG005
    prepares: bool = False
    category_splits: CategorySplits = "one-hot"
    wire_cost: Callable[[Any, TrainingShape], WireCost] | None = None
    savings: Callable[[Any], tuple[Saving, ...]] = lambda params: ()  # noqa: ARG005

    def under(self, params: Any) -> "ProtocolSpec":
        """The protocol as it is under these parameters. Its messages are among those of the protocol."""
        changes = self.variant(params)
        return replace(self, **changes) if changes else self
