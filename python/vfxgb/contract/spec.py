"""What a protocol says about itself: ProtocolSpec, which its spec.py holds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import msgspec

from vfxgb.contract.contexts import ActiveContext, PassiveContext, ReleaseContext
from vfxgb.contract.roles import ActiveRole, HiddenActiveRole, HiddenPassiveRole, PassiveRole, Release
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
    `default_bins`: how many bins a feature has where the user does not say; fewer where bytes and time grow with them.
    `shows_sums`: the active party sees the sums of candidates. `shows_nodes`: passive parties keep the partition of
    rows and are told of every split; without it the roles are HiddenActiveRole and HiddenPassiveRole, and only the
    active party knows which rows are in a node. `variant(params)`: the fields that are others under such parameters, by
    name; see `under`. `repeatable`: two runs of one training give one model.
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
    active: Callable[[ActiveContext], ActiveRole | HiddenActiveRole]
    passive: Callable[[PassiveContext], PassiveRole | HiddenPassiveRole]
    messages: tuple[type[Message], ...]
    exact: bool
    security: Literal["none", "broken", "semi-honest"]
    attacks: tuple[str, ...] = ()
    dp_events: tuple[str, ...] = ()
    quick_params: Mapping[str, Any] = field(default_factory=dict)
    options: Callable[[Any], EngineOptions] = no_options
    release: Callable[[ReleaseContext], Release] | None = None
    default_bins: int = DEFAULT_BINS
    shows_sums: bool = True
    shows_nodes: bool = True
    variant: Callable[[Any], Mapping[str, Any]] = lambda params: {}  # noqa: ARG005
    repeatable: bool = True
    local_params: tuple[str, ...] = ()
    hides_missing: bool = False
    sharded: bool = False
    row_bytes: Callable[[Any, int], int] = lambda params, n_outputs: 0  # noqa: ARG005
    passive_epsilon: Callable[[Any, int], float] = lambda params, n_features: 0.0  # noqa: ARG005

    def under(self, params: Any) -> "ProtocolSpec":
        """The protocol as it is under these parameters. Its messages are among those of the protocol."""
        changes = self.variant(params)
        return replace(self, **changes) if changes else self
