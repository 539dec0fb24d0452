"""The more probable label of each row given all its releases, under the mechanism that everybody knows.

With label_rr the release is a label. Otherwise a round's true gradient is p - y, where the hessian p (1 - p), sent as
it is, tells the margin up to its sign; the sign is a hidden state, and margins rarely jump far (a forward pass for each
row and label). Where noise was drawn round the centre p - 1/2 of the row, that is taken off first. Without hessians
every margin counts as 0. The share of ones is estimated from the releases as well, so that the answer is the most
probable label, and not only the one of the larger likelihood.
"""

from collections.abc import Iterator

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.ldp import (
    NEEDS,
    NOTHING,
    Floats,
    Noisy,
    budget,
    log_likelihood,
    noise_of,
    parameters,
    releases,
    share_of_ones,
)
from vfxgb.audit.view import AttackerView
from vfxgb.protocols.ldp.noise import Noise

# The scale of a tree's weights, for the sign of margins.
STEP = 0.2


def run(view: AttackerView) -> Outcome:
    """All releases of all rows, two classes."""
    params = parameters(view)
    if params is None:
        return Outcome(why_not=NOTHING)
    if view.setup.n_outputs > 1:
        return Outcome(why_not="several classes: ldp-average attacks each")
    (active,) = view.peers
    n = view.setup.n_train
    if params.once:
        odds, seen = _released_labels(releases(view), n, params.given_epsilon)
    else:
        odds, seen = _gradients(releases(view), n, noise_of(view, params))
    rows = np.flatnonzero(seen)
    if not len(rows):
        return Outcome(why_not=NOTHING)
    ones = share_of_ones(odds[rows])
    guess = odds[rows] + np.log(ones / (1 - ones)) > 0
    detail = f"share of ones estimated {ones:.3f}"
    return Outcome([Claim("labels", active, -1, 0, 0, rows, guess, detail=detail, budget=budget(view, params))])


def _released_labels(noisy: Iterator[Noisy], n: int, epsilon: float) -> tuple[Floats, Floats]:
    """Log odds of label 1, and how often each row was seen: a released 1 has a negative gradient, always."""
    odds, seen = np.zeros(n), np.zeros(n)
    for release in noisy:
        odds[release.rows] = np.where(release.g < 0, epsilon, -epsilon)
        seen[release.rows] += 1
    return odds, seen


def _gradients(noisy: Iterator[Noisy], n: int, noise: Noise) -> tuple[Floats, Floats]:
    """Log odds of label 1, and how often each row was seen."""
    seen = np.zeros(n)
    margin = np.zeros(n)  # its size at the last release
    state = np.zeros((2, 2, n))  # log probability of (label, sign of the margin) and all releases so far
    for release in noisy:
        rows = release.rows
        p = np.full(len(rows), 0.5) if release.h is None else 0.5 + np.sqrt(np.maximum(0.25 - release.h, 0.0))
        error = _error_of(p, noise.fixed.step) if release.h is not None else np.full(len(rows), 0.5)
        size = np.log(p / np.maximum(1 - p, 1e-12))
        before = state[:, :, rows]
        for sign in (0, 1):
            now, then = (1 - 2 * sign) * size, margin[rows]
            moved = np.logaddexp(
                before[:, 0] - np.abs(now - then) / STEP,
                before[:, 1] - np.abs(now + then) / STEP,
            )
            chance = p if sign == 0 else 1 - p
            centre = chance - 0.5 if noise.centred else np.zeros(len(rows))
            for label in (0, 1):
                true = chance - label - centre
                likelihood = log_likelihood(noise.gradient, release.g - centre, true, error if noise.centred else 0.0)
                state[label, sign, rows] = moved[label] + likelihood
        margin[rows] = size
        seen[rows] += 1
    zero, ones = np.logaddexp(state[:, 0], state[:, 1])
    return ones - zero, seen


def _error_of(p: Floats, step: float) -> Floats:
    """Bound how far p, taken from a hessian rounded to `step`, may be off, with the rounding of its centre."""
    off = np.abs(p - 0.5)
    return np.sqrt(off**2 + step) - off + step


ATTACK = Attack("ldp-likelihood", "labels, the likeliest given all noisy gradients", "passive", NEEDS, run)
