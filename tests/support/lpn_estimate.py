"""What it takes to solve a regular LPN problem over GF(2) whose matrix has few ones a row, in bits; rough, and generous
to the attacker.

Two attacks. *Guessing*: choose as many samples as the secret has bits, hope that none has an error, and solve the
linear system. *Linearisation* (Briaud and Oygarden, Eurocrypt 2023): of two samples of one stretch at most one has an
error, so the product of their error terms is 0, a quadratic equation in the secret. Once there are as many as there are
products of two (or, after multiplication by each unknown, of three) unknowns, they are solved as linear ones; before,
samples are guessed to be free of errors, each of which takes an unknown away. In both every stretch gives one linear
equation for nothing (its errors add up to 1), and systems are solved in (size)^2 times the ones of a row (Wiedemann),
as if rows stayed sparse.
"""

from math import lgamma, log, log2


def _log_choose(n: float, k: int) -> float:
    return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(2)


def guessing_bits(trees: int, depth: int, secret: int, weight: int) -> float:
    unknowns = secret - trees
    lucky = -trees * log2(1 - unknowns / trees / 2**depth)
    return lucky + 2 * log2(unknowns) + log2(weight)


def linearisation_bits(trees: int, depth: int, secret: int, weight: int, degree: int) -> float:
    best = float("inf")
    steps = 2000
    for step in range(steps):
        guessed = (secret - trees) * step / steps
        stretch, unknowns = 2**depth - guessed / trees, secret - trees - guessed
        equations = log2(trees * stretch * (stretch - 1) / 2) + (degree - 2) * log2(unknowns)
        products = _log_choose(unknowns, degree)
        if equations >= products:
            lucky = -trees * log2(1 - guessed / trees / 2**depth)
            best = min(best, lucky + 2 * products + 2 * log2(weight))
    return best


def attack_bits(trees: int, depth: int, secret: int, weight: int = 10) -> float:
    """The cheapest of these."""
    linear = [linearisation_bits(trees, depth, secret, weight, degree) for degree in (2, 3)]
    return min(guessing_bits(trees, depth, secret, weight), *linear)
