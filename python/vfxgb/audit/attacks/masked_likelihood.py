"""E46 on masked: neighbours on the left of a candidate have correlated noise; over many trees that shows who they are.

The noise of a run of rows is normal, and given who goes left its covariance is tridiagonal over those rows (the circle
closes outside of the run). Its likelihood is climbed by moving one row at a time to the other side.
"""

import math
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.masked import NEEDS, roots
from vfxgb.audit.view import AttackerView

ROWS, CANDIDATES, STARTS, SWEEPS = 60, 4, 4, 15
SOFTER = (0.2, 0.5, 1.0, 3.0)  # sigma1^2 / sigma2^2 on the way to the true one
Floats = NDArray[np.float64]


def run(view: AttackerView) -> Outcome:
    """Some candidates of each passive party, the first rows of the root, the noise of all trees together."""
    params = view.setup.protocol_params
    if params["sigma2"] == 0.0 and params["sigma1"] == 0.0:
        return Outcome(why_not="the noise is zero")
    claims = []
    for peer in view.peers:
        vectors: dict[int, list[Floats]] = defaultdict(list)
        last = None
        for root in roots(view, peer):
            if last is not None and not np.array_equal(root.node.rows, last.node.rows):
                continue  # another sample of rows
            last = last or root
            for candidate, noise in root.noise.items():
                vectors[candidate].append(noise[:ROWS].T)
        if last is None:
            continue
        listed = sorted(vectors)
        tokens = np.array(listed[:: max(1, len(listed) // CANDIDATES)][:CANDIDATES])
        random = np.random.default_rng(0)
        # A little of sigma2 keeps the likelihood finite where there is none.
        sigma2 = max(params["sigma2"], 0.02 * params["sigma1"])
        values = [
            _ascend(np.concatenate(vectors[token]), params["sigma1"], sigma2, random) for token in tokens.tolist()
        ]
        place = (peer, last.node.round, last.node.tree, 0, last.node.rows[:ROWS])
        detail = f"{sum(map(len, vectors[tokens[0]]))} noise vectors, rho {(params['sigma1'] / sigma2) ** 2:.3g}"
        claims.append(Claim("split matrix", *place, np.stack(values), tokens=tokens, detail=detail))
    return Outcome(claims)


def likelihood(noise: Floats, left: NDArray[np.bool_], sigma1: float, sigma2: float) -> float:
    """Return the log-likelihood of noise vectors [N, n] up to a constant, from the factors of a tridiagonal matrix."""
    variance, covariance = 2 * sigma1**2 + sigma2**2, -(sigma1**2)
    other = noise[:, ~left]
    total = -float((other**2).sum()) / variance - len(noise) * other.shape[1] * math.log(variance)
    pivot, innovation = math.inf, np.zeros(len(noise))
    for row in np.flatnonzero(left):
        weight = covariance / pivot
        innovation = noise[:, row] - weight * innovation
        pivot = variance - weight * covariance
        total -= float(innovation @ innovation) / pivot + len(noise) * math.log(pivot)
    return float(total / 2)


def _ascend(noise: Floats, sigma1: float, sigma2: float, random: np.random.Generator) -> NDArray[np.bool_]:
    """The best of a few climbs.

    With little of sigma2 the likelihood has many peaks; every other climb begins as if there were more of it, at the
    same variance, where there are fewer.
    """
    best, most = np.zeros(noise.shape[1], dtype=np.bool_), -math.inf
    variance = 2 * sigma1**2 + sigma2**2
    softer = [rho for rho in SOFTER if rho * sigma2**2 < sigma1**2]
    stages = [(math.sqrt(rho * variance / (2 * rho + 1)), math.sqrt(variance / (2 * rho + 1))) for rho in softer]
    for start in range(STARTS):
        left = np.asarray(random.random(noise.shape[1]) < 0.5)
        if start % 2 == 0:
            for sigmas in stages:
                _climb(noise, left, *sigmas, random)
        now = _climb(noise, left, sigma1, sigma2, random)
        if now > most:
            best, most = left, now
    return best


def _climb(noise: Floats, left: NDArray[np.bool_], sigma1: float, sigma2: float, random: np.random.Generator) -> float:
    """Move single rows, in place, as long as that helps; the likelihood reached."""
    now = likelihood(noise, left, sigma1, sigma2)
    for _ in range(SWEEPS):
        before = now
        for row in random.permutation(len(left)).tolist():
            left[row] ^= True
            changed = likelihood(noise, left, sigma1, sigma2)
            if changed > now:
                now = changed
            else:
                left[row] ^= True
        if now == before:
            break
    return now


ATTACK = Attack("masked-likelihood", "the split matrix, from noise over trees", "active", NEEDS[:1], run)
