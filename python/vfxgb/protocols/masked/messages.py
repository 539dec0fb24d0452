"""What `masked` adds to the messages of scored protocols.

Rows stand node by node, the nodes to build of a tree in the order of the level, the sampled rows of a node ascending.

Candidates travel in chunks, in their order: `candidates` of them from number `first` on (rows.py says how many).

Few noise vectors wait at any time: those of two chunks when W is 1 or 2, else two of a single chunk, which is what
MaskedAdded is for. With its answer, a candidate in flight takes up at most four vectors of n numbers.
"""

from vfxgb.transport.messages import BULK_BYTES, Bulk, Message, Reveals


class MaskedStart(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, once per tree and level: how many candidates some node of it can use, in true order."""

    TAG = "masked-start"
    REVEALS = Reveals("how many candidate splits the sender has at this level", "candidates")

    round: int
    depth: int
    tree: int
    candidates: int

    def amount(self) -> int:
        """Count the candidates."""
        return self.candidates


class MaskedNoise(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: noise vector number `vector` (of W) per candidate, float64[candidates, rows]. Algorithm 1."""

    TAG = "masked-noise"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals(
        "noise whose correlations follow a candidate split: the noise of many trees tells which rows go left", "numbers"
    )

    round: int
    depth: int
    tree: int
    first: int
    candidates: int
    vector: int
    noise: Bulk

    def amount(self) -> int:
        """Count the numbers."""
        return len(self.noise) // 8


class MaskedAdded(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: noise vectors of a chunk have been added, others may come. Sent when W is above 2 only."""

    TAG = "masked-added"

    round: int
    depth: int
    tree: int
    first: int
    candidates: int
    vector: int


class MaskedGradients(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: masked g, and to second order masked h, float64[candidates, 1 or 2, rows]. Algorithm 2."""

    TAG = "masked-gradients"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals("gradients of single rows with noise that the receiver made itself and can remove", "numbers")

    round: int
    depth: int
    tree: int
    first: int
    candidates: int
    values: Bulk

    def amount(self) -> int:
        """Count the numbers."""
        return len(self.values) // 8


# Noise vectors of each candidate of a chunk that may wait to be added.
VECTORS_AHEAD = 2

MASKED_MESSAGES: tuple[type[Message], ...] = (MaskedStart, MaskedNoise, MaskedAdded, MaskedGradients)
