"""What `ot_shares` takes on the wire, before anything is trained."""

import numpy as np

from vfxgb.contract import Saving, TrainingShape, WireCost
from vfxgb.ot import choose_k, measured_aes_speed
from vfxgb.ot.transfer_bits import pieces
from vfxgb.protocols.ot_shares.params import OtSharesParams
from vfxgb.protocols.ot_shares.shares import pair_codec
from vfxgb.protocols.ot_shares.slots import Slots
from vfxgb.rows.masks import BLOCK_BYTES

# Greeting and offer of the base transfers: 128 times two keys, or two ciphertexts, of ML-KEM-768, with the group's.
BASE_BYTES = 660_000
# With this precision and random rounding AUC stays within a thousandth (bench/e2e/precision.py).
THIN_BITS = 8


def ot_cost(params: OtSharesParams, shape: TrainingShape) -> WireCost:
    """A masked pair for each row and slot, and shares of the sums of candidates; the trees of masks once.

    A level of a tree of masks takes a transfer, and a correction of 16 bytes but for the first level.
    """
    n_bins = np.full(shape.features, max(2, min(shape.bins, shape.rows)), dtype=np.int32)
    slots = Slots(n_bins, np.zeros(shape.features, dtype=np.bool_), params.joint_leaves)
    pair = pair_codec(params, shape.rows, shape.hessian_shift, 1).exact.widths.pair_bits / 8
    k = params.transfer_bits or choose_k(measured_aes_speed(), shape.mbit)
    levels, corrections = shape.rows * slots.levels, shape.rows * (slots.levels - len(slots))
    setup = BASE_BYTES + levels * pieces(k) / 8 + corrections * BLOCK_BYTES
    sums = shape.built_nodes(params.subtract) * shape.candidates
    return WireCost(setup, pair * (shape.sampled * len(slots) + sums), 0)


def ot_savings(params: OtSharesParams) -> tuple[Saving, ...]:
    """Fewer bits of gradients, and bins so few that two columns share a slot."""
    fewer = (
        ()
        if params.precision_bits is not None and params.precision_bits <= THIN_BITS
        else (Saving({"precision_bits": THIN_BITS}, {"rounding": "stochastic"}),)
    )
    return (*fewer, Saving(train={"max_bin": 8}))
