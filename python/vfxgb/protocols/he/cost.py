"""What the encrypted protocols take on the wire, before anything is trained."""

from vfxgb.contract import Saving, TrainingShape, WireCost
from vfxgb.crypto.sizes import MIN_BITS
from vfxgb.protocols.he.layout import HeLayout
from vfxgb.protocols.he.params import HeParams

COUNT_BYTES = 8


def ciphertext_bytes(params: HeParams) -> int:
    """A ciphertext on the wire: Paillier's is modulo n^2, Okamoto-Uchiyama's modulo n."""
    return params.key_bits // (4 if params.scheme == "paillier" else 8)


def capacity_bits(params: HeParams) -> int:
    """Bits of a plaintext, its sign not counted: nearly all of n, or nearly a third."""
    return params.key_bits - 2 if params.scheme == "paillier" else params.key_bits // 3 - 2


def he_cost(params: HeParams, shape: TrainingShape, layout: HeLayout) -> WireCost:
    """A ciphertext for each row and lane, one for each built node, and the sums of candidates, packed."""
    return rows_cost(params, shape, layout) + nodes_cost(params, shape, layout, shape.built_nodes(params.subtract))


def rows_cost(params: HeParams, shape: TrainingShape, layout: HeLayout) -> WireCost:
    """The gradients of all rows."""
    code = layout.code(params, shape.rows, shape.hessian_shift)
    lanes = layout.plan_within(code, params, shape.outputs, capacity_bits(params)).lanes
    return WireCost(ciphertext_bytes(params), ciphertext_bytes(params) * shape.sampled * len(lanes) / shape.outputs)


def nodes_cost(params: HeParams, shape: TrainingShape, layout: HeLayout, built: int) -> WireCost:
    """Totals and sums of so many nodes of a tree."""
    code = layout.code(params, shape.rows, shape.hessian_shift)
    plan = layout.plan_within(code, params, shape.outputs, capacity_bits(params))
    each = ciphertext_bytes(params)
    sums = built * shape.candidates
    lanes = [plan.lanes[number] for number in plan.lanes_of(0)]
    # Sums are packed level by level: the last ciphertext of each is half empty.
    packed = sum(min(sums, sums / lane.sums + shape.depth / 2) for lane in lanes)
    counts = COUNT_BYTES * sums if code.counts else 0
    return WireCost(tree=each * (built * len(lanes) + packed) + counts)


def he_savings(params: HeParams) -> tuple[Saving, ...]:
    """Smaller ciphertexts, and packed sums where they are not."""
    savings = [] if params.pack_sums else [Saving({"pack_sums": True})]
    if params.scheme == "paillier":
        savings.append(Saving({"scheme": "ou"}))
    if params.key_bits > MIN_BITS:
        savings.append(Saving({"key_bits": MIN_BITS}))
        savings.append(Saving({"scheme": "ou", "key_bits": MIN_BITS}))
    return tuple(savings)
