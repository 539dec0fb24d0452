"""How much epsilon a single run must have cost, by an attacker that guesses which of many canaries were in it.

Steinke, Nasr and Jagielski, "Privacy Auditing with One (1) Training Run" (NeurIPS 2023). m canaries are each put into
the run by a coin of its own. The attacker sees the run, says "in" or "out" of r of them and nothing of the others, and
is right v times. If adding or removing a row is (epsilon, delta)-private, then being right so often has at most the
probability

    P(Binomial(r, q) >= v) + 2 m delta max over i of (P(Binomial(r, q) >= v - i) - P(Binomial(r, q) >= v)) / i

with q = e^epsilon / (1 + e^epsilon) (their theorem 5.2). The largest epsilon for which that stays below 1 - confidence
is a lower bound of the true one. One audit in 1 / (1 - confidence) may exceed a claim that holds, not more.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb.dp.bounds import check_delta
from vfxgb.errors import DpError

_MOST_EPSILON = 50.0


@dataclass(frozen=True)
class OneRun:
    """`right` of `guesses` guesses about `canaries` canaries were right; `epsilon`: the run cost at least so much."""

    canaries: int
    guesses: int
    right: int
    epsilon: float


def chance(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """The most that an (epsilon, delta)-private run gives to `right` or more right guesses."""
    log_q, log_rest = -math.log1p(math.exp(-epsilon)), -math.log1p(math.exp(epsilon))
    k = np.arange(guesses + 1)
    logs = np.array([math.lgamma(guesses + 1) - math.lgamma(i + 1) - math.lgamma(guesses - i + 1) for i in k])
    pmf = np.exp(logs + k * log_q + (guesses - k) * log_rest)
    tail = float(pmf[right:].sum())
    # Of the values just below `right`, i at a time.
    below = np.cumsum(pmf[:right][::-1])
    steepest = float((below / np.arange(1, right + 1)).max(initial=0.0))
    return min(1.0, tail + 2 * canaries * delta * steepest)


def least_epsilon(canaries: int, guesses: int, right: int, delta: float, confidence: float = 0.95) -> float:
    """The largest epsilon that these guesses refute with `confidence`; 0 where they refute none."""
    check_delta(delta, "audit of one run")
    if not 0 <= right <= guesses <= canaries or not 0.0 < confidence < 1.0:
        raise DpError(
            f"audit of one run: found {right} right of {guesses} guesses about {canaries} canaries at confidence "
            f"{confidence}, wanted right <= guesses <= canaries and a confidence between 0 and 1"
        )
    low, high = 0.0, _MOST_EPSILON
    if chance(canaries, guesses, right, low, delta) > 1 - confidence:
        return 0.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        refuted = chance(canaries, guesses, right, middle, delta) <= 1 - confidence
        low, high = (middle, high) if refuted else (low, middle)
    return low


def audit_one_run(
    scores: NDArray[np.float64], inside: NDArray[np.bool_], share: float, delta: float, confidence: float = 0.95
) -> OneRun:
    """Guess the `share` of canaries with the most extreme scores [m]: "in" for the upper half of these, else "out".

    `inside`: which canaries were in the run; only whether guesses are right is taken from it.
    """
    half = int(share * len(scores) / 2)
    order = np.argsort(scores, kind="stable")
    out, into = order[:half], order[len(order) - half :]
    right = int((~inside[out]).sum() + inside[into].sum())
    return OneRun(len(scores), 2 * half, right, least_epsilon(len(scores), 2 * half, right, delta, confidence))
