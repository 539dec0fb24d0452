"""What `plain` is."""

from typing import Any

from vfxgb.contract import (
    ActiveContext,
    HiddenActiveRole,
    HiddenPassiveRole,
    Learned,
    PassiveContext,
    ProtocolSpec,
    TrainingShape,
    WireCost,
)
from vfxgb.protocols.open_sums.messages import CandidateCategories, CandidateWeights
from vfxgb.protocols.plain.active import make_active
from vfxgb.protocols.plain.hidden_active import HiddenPlainActive
from vfxgb.protocols.plain.hidden_passive import HiddenPlainPassive
from vfxgb.protocols.plain.integer_active import IntegerPlainActive
from vfxgb.protocols.plain.integer_passive import IntegerPlainPassive
from vfxgb.protocols.plain.messages import PlainGradients, PlainLeft, PlainScores, PlainSlot, PlainSums
from vfxgb.protocols.plain.params import PlainParams, plain_options
from vfxgb.protocols.plain.passive import PlainPassive

PAIR_BYTES = 16


def make_hidden_active(context: ActiveContext) -> HiddenActiveRole:
    """Make the active party's role where nodes are hidden: it scores sums, or compares scores of integers."""
    return HiddenPlainActive(context) if context.train.score_bits is None else IntegerPlainActive(context)


def make_hidden_passive(context: PassiveContext) -> HiddenPassiveRole:
    """Make the passive party's role where nodes are hidden."""
    return HiddenPlainPassive(context) if context.score_bits is None else IntegerPlainPassive(context)


def plain_variant(params: PlainParams) -> dict[str, Any]:
    """What is different where nodes are hidden, and which of the messages each way has."""
    if not params.hide_nodes:
        return {"messages": (PlainGradients, PlainSums, CandidateWeights, CandidateCategories)}
    return {
        "active": make_hidden_active,
        "passive": make_hidden_passive,
        "messages": (PlainSlot, PlainSums, PlainScores, PlainLeft, CandidateWeights),
        "shows_nodes": False,
        "category_splits": "one-hot",
        "integer_scores": True,
    }


def plain_cost(params: PlainParams, shape: TrainingShape) -> WireCost:
    """A pair for each row, and for each candidate in each built node; where nodes are hidden, all rows for each node.

    Hidden nodes also take a bit for every row and split of the passive party instead of one for the rows of its node.
    """
    built = shape.built_nodes(subtract=not params.hide_nodes)
    if not params.hide_nodes:
        return WireCost(tree=PAIR_BYTES * (shape.sampled + built * shape.candidates))
    won = shape.features / max(1, shape.features + shape.other_features)
    bits = shape.rows / 8 * (won * built - shape.depth * won)
    return WireCost(tree=PAIR_BYTES * built * (shape.rows + shape.candidates) + bits)


SPEC = ProtocolSpec(
    name="plain",
    summary="gradients and sums travel in clear, for simulation and as the reference of all other protocols",
    params=PlainParams,
    active=make_active,
    passive=PlainPassive,
    messages=(PlainGradients, PlainSlot, PlainSums, PlainScores, PlainLeft, CandidateWeights, CandidateCategories),
    variant=plain_variant,
    split_rules=("gain", "centred"),
    local_params=("order_seed",),
    learned=Learned(
        active="sums of gradients, or scores, for every candidate split of {others}, and which rows go left at the "
        "splits that {others} won; names of columns and thresholds stay hidden",
        passive="the gradient of every row it was asked about, and with it the label",
    ),
    exact=True,
    security="none",
    options=plain_options,
    sharded=True,
    category_splits="all",
    row_bytes=lambda params, n_outputs: PAIR_BYTES * n_outputs,  # noqa: ARG005
    wire_cost=plain_cost,
    attacks=(
        "none needed: a passive party receives every gradient, and the sign of a first-round gradient is the label",
    ),
)
