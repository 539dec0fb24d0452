"""What `ot_shares` is."""

from vfxgb.contract import ProtocolSpec
from vfxgb.protocols.he.attack_texts import NODE_SETS, SMALL_BUCKETS, SOLVED_TABLE
from vfxgb.protocols.ot_shares.active import make_active
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

MARKED_ROWS = (
    "marked rows: a dishonest active party can give a row a pair that stands out and read its membership off the sums; "
    "only an active party that follows the protocol is covered (E63)"
)
CROOKED_TRANSFERS = (
    "crooked transfers: with checked=False a dishonest passive party can send requests that belong to no choice and "
    "learn the secret of all masks bit by bit; checked=True, the default, refuses them (ot/README.md)"
)
SHAPES = (
    "shapes: the active party learns of every feature, in a secret order of features, how many bins it has and whether "
    "values are missing, and which sums belong to which of them, cuts in their true order; with columns sampled by "
    "tree, which of them a tree uses"
)

SPEC = ProtocolSpec(
    name="ot_shares",
    summary="gradients masked, sums shared between the parties and opened by the active one: oblivious transfer once, "
    "AES per tree; exact",
    params=OtSharesParams,
    active=make_active,
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
    ),
    exact=True,
    security="semi-honest",
    attacks=(SOLVED_TABLE, SMALL_BUCKETS, NODE_SETS, MARKED_ROWS, CROOKED_TRANSFERS, SHAPES),
    # Fast rather than safe; small chunks and blocks, so that there are several.
    quick_params={"group_bits": 768, "insecure": True, "chunk_rows": 64, "setup_rows": 100},
    options=ot_options,
    local_params=("memory_limit", "keep_leaves", "setup_dir"),
)
