"""What the attacks on `masked` share: the noise vectors and masked gradients of root nodes, read from a view."""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.nodes import NodeSet
from vfxgb.audit.view import AttackerView
from vfxgb.protocols.masked.messages import MaskedGradients, MaskedNoise
from vfxgb.protocols.masked.params import MaskedParams
from vfxgb.protocols.masked.rows import squared_lengths
from vfxgb.transport.messages import unpack_array

NEEDS = (MaskedNoise.TAG, MaskedGradients.TAG)
WHAT = "reading a transcript"
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Root:
    """The exchange about the root of one tree. `noise`: per candidate float64[n, W]; `masked`: float64[1 or 2, n]."""

    node: NodeSet
    noise: dict[int, Floats]
    masked: dict[int, Floats]


def roots(view: AttackerView, peer: str) -> Iterator[Root]:
    """The roots of all trees whose candidates were masked."""
    nodes = {(node.round, node.tree): node for node in view.nodes(peer) if node.node == 0}
    noise: dict[tuple[int, int], dict[int, list[Floats]]] = defaultdict(lambda: defaultdict(list))
    masked: dict[tuple[int, int], dict[int, Floats]] = defaultdict(dict)
    for message in view.tagged(peer, *NEEDS):
        if message.depth != 0:
            continue
        tree = (message.round, message.tree)
        n = len(nodes[tree].rows)
        if isinstance(message, MaskedNoise):
            vectors = unpack_array(message.noise, np.float64, (message.candidates, n), WHAT)
            for candidate, vector in enumerate(vectors, message.first):
                noise[tree][candidate].append(vector)
        else:
            order = len(message.values) // (8 * n * message.candidates)
            answers = unpack_array(message.values, np.float64, (message.candidates, order, n), WHAT)
            masked[tree].update(enumerate(answers, message.first))
    for tree, candidates in noise.items():
        stacked = {candidate: np.stack(listed, axis=1) for candidate, listed in candidates.items()}
        yield Root(nodes[tree], stacked, masked[tree])


def factor_length(view: AttackerView, root: Root) -> float:
    """The length of the secret factors at a root, which follows from public parameters and the number of its rows."""
    params = msgspec.convert(view.setup.protocol_params, MaskedParams)
    start = np.array([0, len(root.node.rows)])
    return math.sqrt(float(squared_lengths(params, start, view.setup.n_train)[0]))


def unmasked(root: Root) -> list[Floats]:
    """What was masked, gradients and maybe hessians, from the first two candidates: in their difference it cancels.

    B1 c1 - B2 c2 is solved for the factors, and B1 c1 taken off.
    """
    first, second = sorted(root.noise)[:2]
    first_noise, second_noise = root.noise[first], root.noise[second]
    answers = []
    for answer, answer2 in zip(root.masked[first], root.masked[second], strict=True):
        factors = np.linalg.lstsq(np.concatenate([first_noise, -second_noise], axis=1), answer - answer2, rcond=None)[0]
        answers.append(answer - first_noise @ factors[: first_noise.shape[1]])
    return answers
