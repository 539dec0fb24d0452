"""What `sealed` is."""

from typing import Any

from vfxgb.contract import Learned, ProtocolSpec
from vfxgb.lattice import LATTICE_MESSAGES
from vfxgb.protocols.sealed.active import SealedActive
from vfxgb.protocols.sealed.cost import sealed_cost
from vfxgb.protocols.sealed.messages import SEALED_MESSAGES
from vfxgb.protocols.sealed.params import SealedParams, default_score_bits, sealed_options
from vfxgb.protocols.sealed.passive import SealedPassive
from vfxgb.routing.messages import HiddenRoute, HiddenRouted, TransferStock
from vfxgb.two_party.messages import ArgmaxCorrections, ArgmaxFlight, ArgmaxPieces, ArgmaxWinners

ROW_BITS = (
    "rows' bits: at every split that a passive party wins, also one that is then refused, the active party learns "
    "which rows of the node go left; nested sets order rows by a feature; in the measured runs an active party that "
    "followed the protocol told a fifth of all bins after 20 trees and half after 60; fewer trees and less "
    "depth tell less, and max_won_columns bounds it"
)
CHOSEN_COLUMNS = (
    "chosen columns: an active party that deviates can make any column win, by adding to its shares or by invented "
    "labels, and learn a bit of every row and level that way, all columns of J in about J / 6 trees; max_runs, "
    "max_wins and max_won_columns bound it"
)
MARKED_COLUMNS = (
    "marked columns: a passive party that deviates can encrypt columns of single rows, and learn from who wins up to "
    "log2(J + 1) bits a node about the gradients of these rows"
)

_NEAREST = "scores of splits are linear in the rows"


def sealed_variant(params: SealedParams) -> dict[str, Any]:
    """With coins of random_state a run can be repeated."""
    if params.coins == "random_state":
        return {"secret_coins": False, "repeatable": True}
    return {}


SPEC = ProtocolSpec(
    name="sealed",
    summary="no sum is opened and no node is shown: encrypted columns are summed as shares, splits are compared on "
    "shares, and the active party learns which way rows go at the splits that win",
    params=SealedParams,
    active=SealedActive,
    passive=SealedPassive,
    messages=(
        *SEALED_MESSAGES,
        *LATTICE_MESSAGES,
        ArgmaxPieces,
        ArgmaxCorrections,
        ArgmaxFlight,
        ArgmaxWinners,
        HiddenRoute,
        HiddenRouted,
        TransferStock,
    ),
    variant=sealed_variant,
    learned=Learned(
        active="which rows go left at each split that {others} won, and from many trees much of how these columns "
        "order the rows; names of columns, thresholds and sums stay hidden",
        passive="which of its own splits won, where they stand in the trees and how many nodes were open, but no "
        "label, no gradient, and not which rows are in a node",
    ),
    exact=False,
    repeatable=False,
    security="semi-honest",
    attacks=(ROW_BITS, CHOSEN_COLUMNS, MARKED_COLUMNS),
    # Fast rather than safe; the coins and the order of `plain` with hide_nodes, whose models these are.
    quick_params={"group_bits": 768, "insecure": True, "coins": "random_state", "order_seed": 0},
    options=sealed_options,
    default_bins=32,
    split_rules=("centred",),
    integer_scores=True,
    score_bits=default_score_bits,
    secret_coins=True,
    refused={
        "reg_alpha": f"{_NEAREST}, and a threshold on sums of gradients is not; leave it out, and take reg_lambda or "
        "gamma instead",
        "max_delta_step": f"{_NEAREST}, and a limit on leaf weights is not; give max_delta_step=0, and take "
        "learning_rate or reg_lambda instead",
        "monotone_constraints": "the active party would have to know the direction of a winner's feature; leave them "
        "out, or take protocol 'batch_he'",
    },
    shows_sums=False,
    sharded=True,
    shows_nodes=False,
    local_params=("coins", "order_seed", "setup_dir", "max_runs", "max_wins", "max_won_columns"),
    consent_params=("max_runs", "max_wins", "max_won_columns"),
    wire_cost=sealed_cost,
)
