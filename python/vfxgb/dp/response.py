"""Randomised response on labels, exact on integers (ERRATA E55)."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.dp.bounds import check_noise_epsilon, exp_below
from vfxgb.dp.event import Event
from vfxgb.errors import DpError

_WEIGHT_BITS = 60


@dataclass(frozen=True)
class RandomisedResponse:
    """Labels 0 .. classes - 1: the true one with probability e^epsilon / (e^epsilon + classes - 1), else another.

    As integers: weight `keep` for the true label, 2**other_bits for each other one, keep / 2**other_bits <= e^epsilon.
    Done once, the whole training that follows costs epsilon in total (ERRATA E55).
    """

    epsilon: float
    classes: int = 2

    name: ClassVar[str] = "response"

    def __post_init__(self) -> None:
        check_noise_epsilon(self.epsilon, "randomised response")
        if type(self.classes) is not int or not 2 <= self.classes <= 2**20:
            raise DpError(f"randomised response: found {self.classes!r} classes, wanted an integer from 2 to 2**20")

    @cached_property
    def parameters(self) -> tuple[int, int, int]:
        """(classes, keep, other_bits): weights of up to 60 bits, so keep / 2**other_bits is e^epsilon up to 2**59."""
        ratio = min(exp_below(self.epsilon), Fraction(2 ** (_WEIGHT_BITS - 1)))
        bits = _WEIGHT_BITS - max(math.floor(ratio).bit_length(), (self.classes - 1).bit_length())
        return self.classes, math.floor(ratio * (1 << bits)), bits

    @property
    def keep_probability(self) -> float:
        """The true label is reported with this probability."""
        classes, keep, bits = self.parameters
        return keep / (keep + ((classes - 1) << bits))

    @property
    def other_probability(self) -> float:
        """Each other label is reported with this probability."""
        classes, keep, bits = self.parameters
        return (1 << bits) / (keep + ((classes - 1) << bits))

    def perturb(self, labels: NDArray[np.integer], threads: int = 1) -> NDArray[np.int64]:
        """One label for each label, int64[n]. Raises DpError for a label outside 0 .. classes - 1."""
        labels = np.asarray(labels)
        if np.ndim(labels) != 1 or not np.issubdtype(labels.dtype, np.integer):
            raise DpError(f"randomised response: found labels {labels.dtype}{list(labels.shape)}, wanted integers [n]")
        if labels.size and not (labels.min() >= 0 and labels.max() < self.classes):
            raise DpError(
                f"randomised response: found labels from {labels.min()} to {labels.max()}, wanted 0 to "
                f"{self.classes - 1}"
            )
        return _native.noise.perturb(self.name, list(self.parameters), labels.astype(np.int64), threads)

    def response_matrix(self) -> NDArray[np.float64]:
        """P[true, reported], float64[classes, classes]; symmetric; its inverse makes noisy counts unbiased."""
        matrix = np.full((self.classes, self.classes), self.other_probability)
        np.fill_diagonal(matrix, self.keep_probability)
        return matrix

    def unbiased(self, indicators: NDArray[np.floating]) -> NDArray[np.float64]:
        """Estimates of [true label == c] from [reported label == c], or of counts divided by rows from such shares."""
        keep, other = self.keep_probability, self.other_probability
        return (np.asarray(indicators, dtype=np.float64) - other) / (keep - other)

    def variance(self) -> float:
        """One `unbiased` indicator of the true label has variance p (1 - p) / (p - q)^2.

        p is the probability of the true label, q that of another.
        """
        keep, other = self.keep_probability, self.other_probability
        return keep * (1 - keep) / (keep - other) ** 2

    def event(self, receiver: str, protects: str = "the label of one row", round_: int = 0, **more: Any) -> Event:
        """One release of one label per row."""
        described = tuple(zip(("classes", "keep", "other_bits"), map(float, self.parameters), strict=True))
        return Event(self.name, self.epsilon, receiver, protects, round_, parameters=described, **more)
