"""Parameters of `ldp`, and what they ask of the common code."""

import math
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from vfxgb.contract import EngineOptions
from vfxgb.described import documented
from vfxgb.dp import GRID_BITS

# base_score where it may not be estimated from labels: XGBoost's before it estimated any.
START = 0.5
Positive = Annotated[float, Meta(gt=0)]
Order = Annotated[
    Literal[1, 2], Meta(description="Splits are scored by gradients and hessians (2), or by gradients alone (1).")
]
PublicWeights = Annotated[
    bool,
    Meta(description="You declare that sample weights, scale_pos_weight and base_score were not made from labels."),
]


@documented()
class LdpParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is randomised, and how strongly. One of `epsilon` and `total_epsilon` must be given."""

    mechanism: Annotated[
        Literal["label_rr", "laplace", "duchi", "piecewise", "hybrid", "gaussian"],
        Meta(
            description="'label_rr' randomises the labels once; every other mechanism randomises the gradients, once "
            "per tree."
        ),
    ] = "label_rr"
    epsilon: Annotated[
        Positive | None,
        Meta(description="The budget: for the whole training with label_rr, for each tree with other mechanisms."),
    ] = None
    total_epsilon: Annotated[
        Positive | None, Meta(description="The budget for the whole training, divided among its trees.")
    ] = None
    delta: Annotated[
        float | None,
        Meta(
            description="The delta of mechanism 'gaussian', between 0 and 1 and well below 1 / rows: per tree next to "
            "epsilon, in total next to total_epsilon. With other mechanisms it lets total_epsilon be divided by "
            "advanced composition."
        ),
    ] = None
    order: Order = 2
    clip: Annotated[
        Positive | None,
        Meta(
            description="Gradients are clipped to this size where the loss gives no bound; with label_rr and numbers "
            "to learn, labels are."
        ),
    ] = None
    hessians: Annotated[
        Literal["clear", "noisy"],
        Meta(
            description="Hessians are sent as they are, which is right where they do not depend on labels; or with "
            "noise, at half of the budget."
        ),
    ] = "clear"
    public_weights: PublicWeights = False
    max_weight: Annotated[
        Positive | None,
        Meta(
            description="No sample weight is above this bound, which was not taken from the data. Sample weights need "
            "it where gradients get noise and there is no `clip`."
        ),
    ] = None
    unbiased: Annotated[
        bool,
        Meta(description="With label_rr and two classes, training uses labels whose mean is the true one."),
    ] = False
    as_printed: Annotated[
        bool,
        Meta(
            description="Algorithm 6 of the FedXGBoost paper runs to the letter, which protects nothing and needs "
            "`insecure`."
        ),
    ] = False
    insecure: Annotated[bool, Meta(description="You agree to what protects nothing.")] = False
    private_stage_trees: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000,
            description="After the last message the active party trains so many rounds alone, on its own columns and "
            "the joint score, with true labels. Nobody else is told.",
        ),
    ] = 0

    def __post_init__(self) -> None:
        """Raise ValueError for values that do not go together."""
        if (self.epsilon is None) == (self.total_epsilon is None):
            raise ValueError(
                "wanted either epsilon (label_rr: in total, else per tree) or total_epsilon, for example 1"
            )
        for name in ("epsilon", "total_epsilon", "clip", "max_weight"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ValueError(f"found {name} {value}, wanted a positive finite number")
        if self.delta is not None and not 0 < self.delta < 1:
            raise ValueError(f"found delta {self.delta}, wanted a number between 0 and 1, well below 1 / rows")
        self._check_mechanism()
        if self.as_printed:
            self._check_printed()

    def _check_mechanism(self) -> None:
        if self.mechanism == "gaussian" and self.delta is None:
            raise ValueError("mechanism 'gaussian' gives (epsilon, delta): wanted a delta, well below 1 / rows")
        if self.delta is not None and self.mechanism != "gaussian" and (self.once or self.total_epsilon is None):
            raise ValueError(f"found a delta, but mechanism {self.mechanism!r} has none; leave it out")
        if self.once and self.hessians == "noisy":
            raise ValueError("hessians='noisy' is for noise on gradients: with label_rr all follows from noisy labels")
        if self.max_weight is not None and (self.once or self.clip is not None):
            raise ValueError("max_weight is for noise on gradients without clip: leave it out")
        if self.unbiased and not self.once:
            raise ValueError("unbiased is for label_rr: the other mechanisms are unbiased by themselves")

    def _check_printed(self) -> None:
        if not self.insecure:
            raise ValueError(
                "as_printed protects nothing: a passive party gets the true sum of each node and fresh noise on every "
                "level, which averages out, and leaves come from true labels. To run it all the same give "
                "insecure=True; leave as_printed out for the version that keeps its epsilon"
            )
        if self.once or self.total_epsilon is not None or self.hessians == "noisy":
            raise ValueError("as_printed takes epsilon and a mechanism on gradients, such as 'laplace' or 'duchi'")

    @property
    def given_epsilon(self) -> float:
        """Whichever of `epsilon` and `total_epsilon` was given."""
        return float((self.epsilon if self.total_epsilon is None else self.total_epsilon) or 0.0)

    @property
    def weight_bound(self) -> float | None:
        """The weight that bounds gradients; None where `clip` does, or where labels are randomised before them."""
        if self.once or self.clip is not None:
            return None
        return 1.0 if self.max_weight is None else self.max_weight

    @property
    def once(self) -> bool:
        """Whether labels are randomised, once, and not gradients."""
        return self.mechanism == "label_rr"

    @property
    def first_order(self) -> bool:
        """Whether scores do without hessians."""
        return self.order == 1 or self.as_printed


def ldp_options(params: LdpParams) -> EngineOptions:
    """What the parameters ask of the common code."""
    if params.as_printed:
        return EngineOptions(
            GRID_BITS,
            subtract=False,
            first_order=True,
            gradient_bound=params.clip,
            weight_bound=params.weight_bound,
            private_trees=params.private_stage_trees,
        )
    if params.once:
        return EngineOptions(first_order=params.first_order, private_trees=params.private_stage_trees)
    return EngineOptions(
        first_order=params.first_order,
        gradient_bound=params.clip,
        weight_bound=params.weight_bound,
        default_start=START,
        private_trees=params.private_stage_trees,
    )
