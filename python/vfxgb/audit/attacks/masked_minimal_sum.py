"""MaskedXGBoost, section 6.6: who goes left are the rows over which a noise vector has the smallest sum.

The paper tries all sets of the right size; exchanging rows one by one finds a sum just as small. Many sets have one,
which is why this attacker fails and says nothing about what is hidden: masked-likelihood does better.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.masked import NEEDS, roots
from vfxgb.audit.view import AttackerView

CANDIDATES, EXCHANGES = 8, 200


def run(view: AttackerView) -> Outcome:
    """The first candidates of the first tree, half of the rows being assumed to go left."""
    random = np.random.default_rng(0)
    claims = []
    for peer in view.peers:
        root = next(roots(view, peer), None)
        if root is None:
            continue
        tokens = np.array(sorted(root.noise)[:CANDIDATES])
        values = np.stack([_smallest(root.noise[token][:, 0], random) for token in tokens.tolist()])
        claims.append(Claim.of_node("split matrix", peer, root.node, values, tokens=tokens))
    return Outcome(claims)


def _smallest(noise: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.bool_]:
    """A set of half of the rows whose noise nearly sums up to nothing."""
    left = np.zeros(len(noise), dtype=np.bool_)
    left[random.permutation(len(noise))[: len(noise) // 2]] = True
    total = float(noise[left].sum())
    for _ in range(EXCHANGES):
        out, into = random.choice(np.flatnonzero(left)), np.flatnonzero(~left)
        changes = total - noise[out] + noise[into]
        best = int(np.argmin(np.abs(changes)))
        if abs(changes[best]) >= abs(total):
            continue
        left[out], left[into[best]] = False, True
        total = float(changes[best])
    return left


ATTACK = Attack(
    "masked-minimal-sum", "the split matrix, by the sums of the MaskedXGBoost paper", "active", NEEDS[:1], run
)
