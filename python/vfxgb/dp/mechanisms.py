"""Mechanisms of local differential privacy, exact on integers (FedXGBoost, section 3.4; ERRATA E53, E54, E55).

Notation: t in [-1, 1] the input scaled to its range, j in [-B, B] the same in steps of the lattice (dp/lattice.py).
Each class turns epsilon into integers once, in exact arithmetic and rounded to the safe side; cpp/noise draws with
those. For every output the probabilities under any two inputs differ by a factor of at most e^epsilon (dp/pmf.py
gives them; delta for the Gaussian), and the mean of an output is exactly the input on the lattice.

A mechanism is a frozen value: `perturb` draws, `variance` is that of one output, `event` describes one release for the
accountant. Outputs are int64; times `step` they are the noisy values.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.dp.bounds import ceil_ratio, check_delta, check_noise_epsilon, check_releases, exp_below
from vfxgb.dp.event import Event
from vfxgb.dp.gaussian import epsilon_of, sigma_for
from vfxgb.dp.lattice import GRID_BITS, Lattice
from vfxgb.errors import DpError, UnknownNameError

SHARE_BITS = 32  # of Hybrid
HYBRID_THRESHOLD = 0.609352  # below this epsilon Duchi alone has the smaller worst variance
_LIMIT = 2**61
_SLOPE_BITS = 59  # of Piecewise's slope, about
_LAPLACE_TAIL = 40  # scales: an output beyond is clipped, probability e^-40
_GAUSSIAN_TAIL = 9  # standard deviations: probability 2e-19


@dataclass(frozen=True)
class Mechanism(ABC):
    """What mechanisms on numbers share. `low`, `high`: the range values are clipped to, known beforehand to everybody.

    Raises DpError for a bad range, epsilon or grid.
    """

    epsilon: float
    low: float = -1.0
    high: float = 1.0
    grid_bits: int = GRID_BITS

    name: ClassVar[str]
    parameter_names: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        check_noise_epsilon(self.epsilon, f"{self.name} mechanism")
        if max(self.parameters) >= _LIMIT or self.largest >= _LIMIT:
            raise DpError(
                f"{self.name} mechanism: epsilon {self.epsilon} needs noise too large for a grid of {self.grid_bits} "
                "bits; lower grid_bits, or raise epsilon"
            )

    @cached_property
    def lattice(self) -> Lattice:
        """Inputs and outputs lie on this lattice."""
        return Lattice(self.low, self.high, self.grid_bits)

    @property
    def step(self) -> float:
        """The value of the output 1: a power of two."""
        return self.lattice.step

    @property
    @abstractmethod
    def parameters(self) -> tuple[int, ...]:
        """The integers the native sampler draws with."""

    @property
    @abstractmethod
    def reach(self) -> int:
        """No output less the centre is larger in magnitude."""

    @property
    def largest(self) -> int:
        """No output is larger in magnitude."""
        return abs(self.lattice.centre) + self.reach

    def perturb(self, values: NDArray[np.floating], threads: int = 1) -> NDArray[np.int64]:
        """One output for each value, which is clipped to [low, high] first. `values`: [n]. Raises DpError for NaN."""
        return self.perturb_indices(self.lattice.indices(values), threads)

    def perturb_indices(self, indices: NDArray[np.int64], threads: int = 1) -> NDArray[np.int64]:
        """The same for inputs j on the lattice, less the centre (`lattice.indices`); they are clipped to [-B, B]."""
        noisy = _native.noise.perturb(self.name, list(self.parameters), indices, threads)
        noisy += self.lattice.centre
        return noisy

    def event(self, receiver: str, protects: str, round_: int = 0, **more: Any) -> Event:
        """One release of one value per protected item to `receiver`; `more`: further fields of Event."""
        described = tuple((key, float(value)) for key, value in zip(self.parameter_names, self.parameters, strict=True))
        fields = {**self._loss(), **more}
        return Event(self.name, receiver=receiver, protects=protects, round_=round_, parameters=described, **fields)

    def _loss(self) -> dict[str, Any]:
        """What is known of the privacy loss of one release, as fields of Event."""
        return {"epsilon": self.epsilon}

    def variance(self, value: float) -> float:
        """Return the variance of one output for this input, as a real number (step**2 times that of the integer)."""
        j = int(self.lattice.indices(np.array([value]))[0])
        return self._index_variance(j) * self.step**2

    @abstractmethod
    def _index_variance(self, j: int) -> float:
        """Return the variance of the output for input j, as an integer."""


@dataclass(frozen=True)
class Laplace(Mechanism):
    """Adds discrete Laplace noise: P(x) proportional to exp(-|x| / s), s >= 2 B / epsilon; in t, scale 2 / epsilon."""

    name: ClassVar[str] = "laplace"
    parameter_names: ClassVar[tuple[str, ...]] = ("bound", "scale", "most")

    @cached_property
    def scale(self) -> int:
        """s, in steps: the least integer that makes 2 B / s <= epsilon."""
        return ceil_ratio(2 * self.lattice.bound, Fraction(self.epsilon))

    @property
    def parameters(self) -> tuple[int, ...]:
        """(B, s, the largest output)."""
        return self.lattice.bound, self.scale, self.reach

    @property
    def reach(self) -> int:
        """B + 40 s: what would lie beyond is clipped."""
        return self.lattice.bound + _LAPLACE_TAIL * self.scale

    def _index_variance(self, j: int) -> float:  # noqa: ARG002 - the same for every input
        return 1 / (2 * math.sinh(1 / (2 * self.scale)) ** 2)

    def _loss(self) -> dict[str, Any]:
        """That of Laplace noise, up to one step of the lattice."""
        scale = self.scale / (2 * self.lattice.bound)
        return {"epsilon": self.epsilon, "laplace_scale": scale, "slack": 2 / self.scale}


@dataclass(frozen=True)
class Duchi(Mechanism):
    """Two outputs, +K and -K whatever epsilon; K = B (e^epsilon + 1) / (e^epsilon - 1), rounded up to the lattice.

    P(+K) = (K + j) / (2 K), so that the mean is j for the rounded K too. However large epsilon, the variance does not
    go to 0 except at the ends of the range: it is K^2 - j^2.
    """

    name: ClassVar[str] = "duchi"
    parameter_names: ClassVar[tuple[str, ...]] = ("bound", "magnitude")

    @cached_property
    def magnitude(self) -> int:
        """K, in steps."""
        ratio = exp_below(self.epsilon)
        return ceil_ratio(self.lattice.bound * (ratio + 1), ratio - 1)

    @property
    def parameters(self) -> tuple[int, ...]:
        """(B, K)."""
        return self.lattice.bound, self.magnitude

    @property
    def reach(self) -> int:
        """The largest output is K."""
        return self.magnitude

    def _index_variance(self, j: int) -> float:
        return float(self.magnitude**2 - j**2)


@dataclass(frozen=True)
class Piecewise(Mechanism):
    """Mostly uniform on an interval of constant length round the input, otherwise uniform on everything.

    In t, with a = e^(epsilon/2): C = (a + 1) / (a - 1), the interval has the length C - 1 and the centre (C + 1) t / 2,
    outputs lie in [-C, C]. On the lattice: `width` (odd) points round the centre j * slope / one with probability
    p = one / slope, one = 2**slope_bits, else one of the 2 reach + 1 points. Each point then has probability
    (1 - p) / (2 reach + 1), plus p / width inside: the slope is the least for which their ratio stays below e^epsilon.
    """

    name: ClassVar[str] = "piecewise"
    parameter_names: ClassVar[tuple[str, ...]] = ("bound", "slope", "slope_bits", "width", "reach")

    @cached_property
    def _integers(self) -> tuple[int, int, int, int]:
        bound = self.lattice.bound
        root = exp_below(self.epsilon / 2)
        width = math.floor(2 * bound / (root - 1)) // 2 * 2 + 1  # (C - 1) B = 2 B / (a - 1)
        gain = (exp_below(self.epsilon) - 1) * width
        slope_bits = max(0, _SLOPE_BITS - math.floor(root / (root - 1)).bit_length())  # slope / one: a / (a - 1)
        unit = 1 << slope_bits

        def reach(slope: int) -> int:
            return ceil_ratio(slope * bound, unit) + width // 2

        def private(slope: int) -> bool:
            return unit * (2 * reach(slope) + 1) <= gain * (slope - unit)

        high = 2 * unit
        while not private(high):
            high *= 2
        low = unit  # never private: all weight on the interval
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if private(middle) else (middle, high)
        return high, slope_bits, width, reach(high)

    @property
    def slope(self) -> int:
        """one / p, which also stretches inputs to interval centres."""
        return self._integers[0]

    @property
    def one(self) -> int:
        """2**slope_bits, as large as 61 bits of slope allow: at a large epsilon p is within 2**-58 of 1."""
        return 1 << self._integers[1]

    @property
    def width(self) -> int:
        """Points of the interval."""
        return self._integers[2]

    @property
    def reach(self) -> int:
        """Outputs lie in [-reach, reach]; C B in the limit."""
        return self._integers[3]

    @property
    def parameters(self) -> tuple[int, ...]:
        """(B, slope, slope_bits, width, reach)."""
        return self.lattice.bound, *self._integers

    def _index_variance(self, j: int) -> float:
        unit = self.one
        inside = Fraction(unit, self.slope)
        rest = Fraction(j * self.slope % unit, unit)
        centre = Fraction(j * self.slope, unit) ** 2 + rest * (1 - rest)
        square = inside * (centre + Fraction(self.width**2 - 1, 12))
        square += (1 - inside) * Fraction((2 * self.reach + 1) ** 2 - 1, 12)
        return float(square - j**2)


@dataclass(frozen=True)
class Hybrid(Mechanism):
    """The piecewise mechanism with probability 1 - e^(-epsilon/2), else Duchi's; Duchi's alone up to epsilon .609352.

    Both parts are epsilon-private and the choice does not look at the input, so the share may be rounded freely.
    """

    name: ClassVar[str] = "hybrid"
    parameter_names: ClassVar[tuple[str, ...]] = ("share", *Piecewise.parameter_names, "magnitude")

    @cached_property
    def piecewise(self) -> Piecewise:
        """The piecewise mechanism is one part."""
        return Piecewise(self.epsilon, self.low, self.high, self.grid_bits)

    @cached_property
    def duchi(self) -> Duchi:
        """Duchi's mechanism is the other part."""
        return Duchi(self.epsilon, self.low, self.high, self.grid_bits)

    @cached_property
    def share(self) -> int:
        """2**32 times the probability of the piecewise part."""
        return round(-math.expm1(-self.epsilon / 2) * (1 << SHARE_BITS)) if self.epsilon > HYBRID_THRESHOLD else 0

    @property
    def parameters(self) -> tuple[int, ...]:
        """(share, B, slope, slope_bits, width, reach, K)."""
        return self.share, *self.piecewise.parameters, self.duchi.magnitude

    @property
    def reach(self) -> int:
        """The larger of the parts'."""
        return max(self.piecewise.reach, self.duchi.reach)

    def _index_variance(self, j: int) -> float:
        alpha = self.share / (1 << SHARE_BITS)
        return alpha * self.piecewise._index_variance(j) + (1 - alpha) * self.duchi._index_variance(j)


@dataclass(frozen=True)
class Gaussian(Mechanism):
    """Adds discrete Gaussian noise of the least sigma that gives (epsilon, delta) for `releases` releases together.

    Calibrated as the analytic Gaussian mechanism (Balle and Wang, 2018), with an allowance for the lattice
    (dp/gaussian.py). `epsilon` and `delta` are totals over all `releases`. Two values of one item that go out together,
    each by a mechanism of its own range with the same epsilon, delta and releases, count as two releases.
    """

    delta: float = 1e-6
    releases: int = 1

    name: ClassVar[str] = "gaussian"
    parameter_names: ClassVar[tuple[str, ...]] = ("bound", "sigma", "most")

    def __post_init__(self) -> None:
        check_noise_epsilon(self.epsilon, "gaussian mechanism")
        check_delta(self.delta, "gaussian mechanism")
        check_releases(self.releases, "gaussian mechanism")
        super().__post_init__()

    @cached_property
    def sigma(self) -> int:
        """The standard deviation, in steps."""
        return sigma_for(self.epsilon, self.delta, 2 * self.lattice.bound, self.releases)

    @property
    def noise_multiplier(self) -> float:
        """sigma over what one item changes in one release."""
        return self.sigma / (2 * self.lattice.bound)

    @property
    def parameters(self) -> tuple[int, ...]:
        """(B, sigma, the largest output)."""
        return self.lattice.bound, self.sigma, self.reach

    @property
    def reach(self) -> int:
        """B + 9 sigma: what would lie beyond is clipped."""
        return self.lattice.bound + _GAUSSIAN_TAIL * self.sigma

    def _index_variance(self, j: int) -> float:  # noqa: ARG002 - the same for every input
        return float(self.sigma**2)

    @cached_property
    def release_epsilon(self) -> float:
        """Epsilon of a single release at delta / releases."""
        return epsilon_of(self.sigma, self.delta / self.releases, 2 * self.lattice.bound)

    def _loss(self) -> dict[str, Any]:
        """That of one of the `releases` releases."""
        return {
            "epsilon": self.release_epsilon,
            "delta": self.delta / self.releases,
            "noise_multiplier": self.noise_multiplier,
            "slack": 1 / (self.noise_multiplier * self.sigma),
        }


MECHANISMS: dict[str, type[Mechanism]] = {each.name: each for each in (Laplace, Duchi, Piecewise, Hybrid, Gaussian)}


def mechanism(name: str, epsilon: float, low: float = -1.0, high: float = 1.0, **more: Any) -> Mechanism:
    """The mechanism on numbers of this name; `more`: its further fields. Raises UnknownNameError."""
    if name not in MECHANISMS:
        raise UnknownNameError(f"choosing a mechanism: found {name!r}, wanted one of {', '.join(sorted(MECHANISMS))}")
    return MECHANISMS[name](epsilon, low, high, **more)
