"""What `ot_shares` is."""

from vfxgb.contract import Learned, ProtocolSpec
from vfxgb.protocols.he.attack_texts import NODE_SETS, SMALL_BUCKETS, SOLVED_TABLE
from vfxgb.protocols.open_sums.messages import CandidateCategories, CandidateWeights
from vfxgb.protocols.ot_shares.active import OtActive
from vfxgb.protocols.ot_shares.cost import ot_cost, ot_savings
from vfxgb.protocols.ot_shares.messages import (
    OtAnswer,
    OtGradients,
    OtOffer,
    OtReply,
    OtRequest,
    OtSlots,
    OtStart,
    OtSums,
)
from vfxgb.protocols.ot_shares.params import OtSharesParams, ot_options
from vfxgb.protocols.ot_shares.passive import OtPassive
from vfxgb.protocols.ot_shares.shares import slot_row_bytes

MARKED_ROWS = (
    "marked rows: a dishonest active party can give a row a gradient that stands out and read off the sums which "
    "bucket it is in; passive parties are protected only from an active party that follows the protocol (E63)"
)
CROOKED_TRANSFERS = (
    "dishonest transfers: with checked=False a dishonest passive party can send oblivious-transfer requests that "
    "belong to no choice and learn the secret of all masks bit by bit; checked=True, the default, refuses them "
    "(ot/README.md)"
)
SHAPES = (
    "shapes of features: for every feature, in a secret order of features, the active party learns how many bins it "
    "has, whether values are missing, and which sums belong to it, with cuts in their true order; where columns are "
    "sampled by tree, it learns which of them a tree uses"
)

SPEC = ProtocolSpec(
    name="ot_shares",
    summary="gradients are masked, the parties hold shares of the sums, and the active party opens them; takes "
    "oblivious transfer once and AES per tree; exact",
    params=OtSharesParams,
    active=OtActive,
    passive=OtPassive,
    messages=(
        OtStart,
        OtOffer,
        OtReply,
        OtRequest,
        OtAnswer,
        OtSlots,
        OtGradients,
        OtSums,
        CandidateWeights,
        CandidateCategories,
    ),
    split_rules=("gain", "centred"),
    learned=Learned(
        active="sums of gradients for every candidate split of {others}, and which rows go left at the splits that "
        "{others} won; names of columns and thresholds stay hidden",
        passive="which rows are together in a node of a tree, and which of its own splits won; labels and gradients "
        "reach it masked only",
    ),
    exact=True,
    default_bins=64,
    security="semi-honest",
    attacks=(SOLVED_TABLE, SMALL_BUCKETS, NODE_SETS, MARKED_ROWS, CROOKED_TRANSFERS, SHAPES),
    # Fast rather than safe; small chunks and blocks, so that there are several.
    quick_params={"group_bits": 768, "insecure": True, "chunk_rows": 64, "setup_rows": 100},
    options=ot_options,
    local_params=("memory_limit", "keep_leaves", "setup_dir"),
    sharded=True,
    category_splits="all",
    row_bytes=slot_row_bytes,
    secrets_with_rows=True,
    prepares=True,
    wire_cost=ot_cost,
    savings=ot_savings,
)
