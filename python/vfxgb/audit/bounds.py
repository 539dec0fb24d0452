"""What epsilon allows: the most that any attacker can get right, however clever.

Two possible labels, the commoner one with share c, released with (epsilon, delta). Every such release can be made out
of one that tells the label with probability delta and else answers with randomised response, true with probability
e^epsilon / (1 + e^epsilon) (Kairouz, Oh and Viswanath 2015, theorem 3.1). An attacker on that can take the answer, or
the commoner label, and nothing is better than the better of the two:

    accuracy <= delta + (1 - delta) max(c, e^epsilon / (1 + e^epsilon)).

The same holds for "is it class k": if the probabilities of an output differ by at most e^epsilon between any two
classes, they do between one class and any mixture of others.

Several values b with shares s_b: the odds of a value move by at most e^epsilon, so that no posterior of b exceeds
s_b e^epsilon / (1 + s_b (e^epsilon - 1)), and accuracy, a mean of posteriors, does not exceed the largest of them.

Shares are those among the rows judged. What an attacker knows besides (its own features) is not in here.
"""

import math

import numpy as np
from numpy.typing import NDArray


def two_labels(commoner: float, epsilon: float, delta: float = 0.0) -> float:
    """Return the largest share of labels that can be right, where the commoner label has share `commoner`."""
    return delta + (1.0 - delta) * max(commoner, 1.0 / (1.0 + math.exp(-epsilon)))


def several_values(shares: NDArray[np.float64], epsilon: float) -> float:
    """Return the largest share of values that can be right, where each value has one of `shares`."""
    most = float(shares.max(initial=0.0))
    return most / (most + (1.0 - most) * math.exp(-epsilon)) if most else 0.0
