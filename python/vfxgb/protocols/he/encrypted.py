"""What the two encrypted protocols say about themselves: all but name, parameters and layout is the same."""

from functools import partial

from vfxgb.contract import Learned, ProtocolSpec
from vfxgb.protocols.he.active import make_active
from vfxgb.protocols.he.attack_texts import ATTACKS, MESSAGES, QUICK
from vfxgb.protocols.he.cost import he_cost, he_savings
from vfxgb.protocols.he.layout import HeLayout
from vfxgb.protocols.he.params import HeParams, he_options
from vfxgb.protocols.he.passive import HePassive
from vfxgb.protocols.open_sums.messages import CandidateCategories, CandidateWeights


def encrypted_spec(name: str, summary: str, params: type[HeParams], layout: HeLayout) -> ProtocolSpec:
    """The spec of a protocol that encrypts gradients and lays them out in this way."""
    return ProtocolSpec(
        name=name,
        summary=summary,
        params=params,
        active=partial(make_active, layout=layout),
        passive=partial(HePassive, layout=layout),
        messages=(*MESSAGES, CandidateWeights, CandidateCategories),
        split_rules=("gain", "centred"),
        learned=Learned(
            active="sums of gradients for every candidate split of {others}, and which rows go left at the splits that "
            "{others} won; names of columns and thresholds stay hidden",
            passive="which rows are together in a node of a tree, and which of its own splits won; gradients reach "
            "it encrypted only, and no label does",
        ),
        exact=True,
        security="semi-honest",
        attacks=ATTACKS,
        quick_params=QUICK,
        options=he_options,
        sharded=True,
        category_splits="all",
        row_bytes=layout.row_bytes,
        wire_cost=partial(he_cost, layout=layout),
        savings=he_savings,
    )
