"""What a tree will cost on the wire: the shape of a training, and what a protocol says that such a tree takes.

An estimate is made before anybody has seen the other's data, so it takes every feature to have all its bins, no value
to be missing and every tree to be full. A tree that stops early, or columns with few values, take less.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# The frame of a message with its names, round, depth and sizes, about.
MESSAGE_BYTES = 100
# Messages of a level that every protocol has: Level, Choose and SplitRows, with a protocol's answer.
LEVEL_MESSAGES = 4
# Numbers that are told about a node: itself, its children, whether it is built, token and record of its split.
NODE_BYTES = 40


@dataclass(frozen=True)
class TrainingShape:
    """A training between the active party and one passive party, as far as bytes depend on it.

    `rows` are the training rows, of which a round uses the share `subsample`. `features` are those of the passive
    party, `other_features` those of all others together. `hessian_shift` is explained in RunFacts; `mbit` is the
    bandwidth of the line, None where it is not known.
    """

    rows: int
    features: int
    other_features: int
    bins: int
    depth: int
    outputs: int = 1
    hessian_shift: int = 0
    subsample: float = 1.0
    mbit: float | None = None

    @property
    def sampled(self) -> float:
        """Rows that a round uses."""
        return self.rows * self.subsample

    @property
    def candidates(self) -> int:
        """Candidate splits of the passive party."""
        return self.features * (min(self.bins, max(2, self.rows)) - 1)

    @property
    def open_nodes(self) -> tuple[int, ...]:
        """Nodes that are open on each level: none has fewer than two rows."""
        return tuple(int(max(1, min(1 << level, self.sampled / 2))) for level in range(self.depth))

    def built_nodes(self, subtract: bool) -> int:
        """Nodes of a tree whose sums are made: all, or one of each two siblings."""
        root, *others = self.open_nodes
        return root + sum(-(-count // 2) if subtract else count for count in others)


@dataclass(frozen=True)
class WireCost:
    """Bytes between the active party and one passive party, both directions: once, and for each tree of one output.

    `round_trips` are those of a tree: how often one of the two must wait for the other.
    """

    setup: float = 0.0
    tree: float = 0.0
    round_trips: float = 0.0

    def __add__(self, other: "WireCost") -> "WireCost":
        return WireCost(self.setup + other.setup, self.tree + other.tree, self.round_trips + other.round_trips)


@dataclass(frozen=True)
class Saving:
    """Settings that make a tree cheaper: parameters of the protocol, and those of training, by name."""

    protocol_params: Mapping[str, Any] = field(default_factory=dict)
    train: Mapping[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The settings, as a user writes them."""
        settings = {**self.protocol_params, **self.train}
        return " with ".join(f"{name}={value!r}" for name, value in settings.items())


def shared_cost(shape: TrainingShape, shows_nodes: bool) -> WireCost:
    """What the messages of every training take (contract/messages.py), whatever the protocol adds.

    Every split comes with a bit for each row of its node: from the passive party for its own splits and, where nodes
    are shown, to it for all others' splits above the last level. Who wins is taken to go by the number of features.
    """
    own = shape.features / max(1, shape.features + shape.other_features)
    levels = shape.depth * own + ((shape.depth - 1) * (1 - own) if shows_nodes else 0)
    bits = shape.rows / 8 * levels + (shape.rows / 8 if shape.subsample < 1 and shows_nodes else 0)
    nodes = NODE_BYTES * sum(shape.open_nodes)
    # A round of several outputs has its messages once.
    messages = MESSAGE_BYTES * (LEVEL_MESSAGES * shape.depth + 3) / shape.outputs
    return WireCost(tree=bits + nodes + messages, round_trips=(2 * shape.depth + 1) / shape.outputs)
