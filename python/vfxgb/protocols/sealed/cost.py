"""What `sealed` takes on the wire, before anything is trained."""

from vfxgb.contract import TrainingShape, WireCost
from vfxgb.ot.transfer_bits import pieces
from vfxgb.ot.transfers import TransferSettings
from vfxgb.protocols.sealed.params import SealedParams, default_score_bits, lattice_of, transfer_bits_of
from vfxgb.protocols.sealed.pieces import ArgmaxSettings
from vfxgb.two_party import request_sizes
from vfxgb.two_party.plan import DEFAULT_FLIGHT_BYTES
from vfxgb.two_party.wire import OVERHEAD_BYTES

# Greeting and offer of the base transfers: 128 times two keys, or two ciphertexts, of ML-KEM-768, with the group's.
BASE_BYTES = 660_000
# The frame of a message that carries a flight, about.
FRAME_BYTES = 60


def sealed_cost(params: SealedParams, shape: TrainingShape) -> WireCost:
    """Encrypted columns once; for each tree its nodes, the pieces and flights of their argmaxes, and bits of all rows.

    Who wins is taken to go by the number of features. Raises CapacityError for rows that no ring has room for.
    """
    bits = default_score_bits(params, shape.rows)
    lattice = lattice_of(params, bits, shape.rows)
    k = transfer_bits_of(params, shape.mbit)
    flight_bytes = DEFAULT_FLIGHT_BYTES if params.flight_bytes is None else params.flight_bytes
    settings = ArgmaxSettings(bits, k, flight_bytes)
    share = shape.features / max(1, shape.features + shape.other_features)
    tree, flights = 0.0, 0
    for nodes in shape.open_nodes:
        plan = settings.plan(nodes, max(1, shape.candidates), True, 0)
        sizes = plan.flights()
        tree += nodes * lattice.node_bytes() + sum(request_sizes(plan.demand, TransferSettings(k, checked=True)))
        tree += sum(sum(size) + OVERHEAD_BYTES + FRAME_BYTES for size in sizes)
        flights += len(sizes)
        won = max(1, round(share * nodes)) if share else 0
        # A random transfer for each bit of an entry, a choice for each, and a masked bit for each split.
        tree += shape.rows / 8 * (won.bit_length() * pieces(k) + won)
    setup = BASE_BYTES + lattice.setup_bytes(max(1, shape.candidates))
    return WireCost(setup, tree, flights / 2)
