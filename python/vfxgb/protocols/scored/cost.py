"""What protocols whose passive parties score take on the wire, beside what each of them adds."""

from vfxgb.contract import TrainingShape, WireCost

# The sums of a node, and the gain of its best split.
NODE_BYTES = 16 + 8


def scored_cost(shape: TrainingShape) -> WireCost:
    """Sums and gains of all nodes."""
    return WireCost(tree=NODE_BYTES * sum(shape.open_nodes))
