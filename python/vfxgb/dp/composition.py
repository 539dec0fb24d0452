"""What several releases cost together: basic, advanced, and numerical composition.

- basic: the epsilons add up, and the deltas.
- advanced: Kairouz, Oh and Viswanath 2015, theorem 3.5; holds for different epsilons, costs an extra delta. It contains
  that of Dwork, Rothblum and Vadhan and is never worse than the sum.
- gaussian: of Gaussian releases alone, exact (Dong, Roth and Su 2022, corollary 3.3): together they are one, at the
  root of the summed squares of their distances, plus the lattice's `slack`.
- pld, rdp: google's dp-accounting, from the distribution of the privacy loss or its moments. Gaussian and Laplace noise
  keep their own distributions (plus the lattice's `slack` with pld); every other mechanism counts as the worst one with
  its epsilon, which is randomised response on two labels. (Moments of the discrete Gaussian are those of the
  continuous one or less: Canonne, Kamath and Steinke 2020.)

Every number is an upper bound for releases that may depend on each other's outcomes.
"""

import importlib.util
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from vfxgb.dp.bounds import check_delta
from vfxgb.dp.event import Event
from vfxgb.dp.gaussian import continuous_epsilon
from vfxgb.errors import DpError, MissingPackageError, UnknownNameError

COMPOSITIONS = ("basic", "advanced", "pld", "rdp")
GAUSSIAN = "gaussian"  # of Gaussian releases only
LARGE_EPSILON = 50.0  # of one release: e^epsilon leaves float64's precision, and nothing is gained beyond the sum


def basic(events: Sequence[Event]) -> tuple[float, float]:
    """(epsilon, delta): the sums."""
    return math.fsum(event.epsilon for event in events), math.fsum(event.delta for event in events)


def advanced(events: Sequence[Event], delta: float) -> float:
    """Epsilon at a total of `delta`, what the releases' own deltas leave of it being the price of composing.

    Raises DpError if they leave nothing.
    """
    slack = _left(events, delta)
    total = math.fsum(event.epsilon for event in events)
    mean = math.fsum(event.epsilon * math.tanh(event.epsilon / 2) for event in events)  # eps (e^eps - 1) / (e^eps + 1)
    squares = math.fsum(event.epsilon**2 for event in events)
    spread = min(
        math.sqrt(2 * squares * math.log(math.e + math.sqrt(squares) / slack)),
        math.sqrt(2 * squares * math.log(1 / slack)),
    )
    return min(total, mean + spread)


def gaussian(events: Sequence[Event], delta: float) -> float:
    """Epsilon at a total of `delta` of Gaussian releases. Raises DpError for any other."""
    check_delta(delta, "composing releases")
    multipliers = [event.noise_multiplier for event in events if event.noise_multiplier is not None]
    if len(multipliers) < len(events):
        raise DpError('composing releases by "gaussian": a release is not Gaussian; use "pld"')
    mu = math.sqrt(math.fsum(multiplier**-2 for multiplier in multipliers))
    return continuous_epsilon(mu, delta) + math.fsum(event.slack for event in events)


def _left(events: Sequence[Event], delta: float) -> float:
    own = math.fsum(event.delta for event in events)
    left = check_delta(delta, "composing releases") - own
    if left <= 0:
        raise DpError(
            f"composing releases: their own deltas sum up to {own:g}, wanted less than the total of {delta:g}; "
            "give releases a smaller delta or the total a larger one"
        )
    return left


def _require_dp_accounting() -> None:
    if not available():
        raise MissingPackageError(
            'composing releases by "pld" or "rdp": dp-accounting is not installed; pip install "vfxgb[dp]", or use '
            '"basic" or "advanced"'
        )


def available() -> bool:
    """Whether "pld" and "rdp" can be computed here."""
    return importlib.util.find_spec("dp_accounting") is not None


Kind = tuple[float | None, float | None, float, float]


def _kinds(events: Sequence[Event]) -> Counter[Kind]:
    """How often each (noise multiplier, Laplace scale, epsilon, delta) occurs; what is None is not needed."""
    return Counter(
        (event.noise_multiplier, None, 0.0, 0.0)
        if event.noise_multiplier is not None
        else (None, event.laplace_scale, event.epsilon, event.delta)
        for event in events
    )


def _numerical(events: Sequence[Event], delta: float, method: Callable[[Sequence[Event], float], float]) -> float:
    """`method` for releases whose epsilon is small enough for float64, plus the epsilons of the others."""
    check_delta(delta, "composing releases")
    _require_dp_accounting()
    large = [event for event in events if event.noise_multiplier is None and event.epsilon > LARGE_EPSILON]
    rest = [event for event in events if event.noise_multiplier is not None or event.epsilon <= LARGE_EPSILON]
    apart = basic(large)[0] + (method(rest, _left(large, delta)) if rest else 0.0)
    total, own = basic(events)
    return min(total, apart) if own <= delta else apart


def pld(events: Sequence[Event], delta: float) -> float:
    """Epsilon at a total of `delta` from the distribution of the privacy loss."""
    return _numerical(events, delta, _pld)


def _pld(events: Sequence[Event], delta: float) -> float:
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as losses

    finest = min(1e-4, min(event.epsilon for event in events) / 100)
    grid = {"value_discretization_interval": max(finest, basic(events)[0] / 2e6)}  # coarser is larger, never wrong
    composed: Any = None
    for (multiplier, scale, epsilon, own), count in _kinds(events).items():
        if multiplier is not None:
            release = losses.from_gaussian_mechanism(multiplier, **grid)
        elif scale is not None:
            release = losses.from_laplace_mechanism(scale, **grid)
        else:
            release = losses.from_privacy_parameters(common.DifferentialPrivacyParameters(epsilon, own), **grid)
        many = release.self_compose(count)
        composed = many if composed is None else composed.compose(many)
    return float(composed.get_epsilon_for_delta(delta)) + math.fsum(event.slack for event in events)


def rdp(events: Sequence[Event], delta: float) -> float:
    """Epsilon at a total of `delta` from the moments of the privacy loss (Renyi divergences).

    Raises DpError for a release that has a delta and is not Gaussian.
    """
    if any(event.delta > 0.0 and event.noise_multiplier is None for event in events):
        raise DpError('composing releases by "rdp": a release has a delta and is not Gaussian; use "pld"')
    return _numerical(events, delta, _rdp)


def _rdp(events: Sequence[Event], delta: float) -> float:
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
    for (multiplier, _, epsilon, _), count in _kinds(events).items():
        if multiplier is not None:
            event = dp_accounting.GaussianDpEvent(multiplier)
        else:
            event = dp_accounting.RandomizedResponseDpEvent(2 / (1 + math.exp(epsilon)), 2)
        accountant.compose(event, count)
    return float(accountant.get_epsilon(delta))


def compose(events: Sequence[Event], composition: str, delta: float) -> tuple[float, float]:
    """(epsilon, delta) of these releases together; `delta` is the target of every composition but "basic".

    Raises DpError for events without a guarantee (the accountant tells which) and a bad delta, UnknownNameError,
    MissingPackageError.
    """
    known = (*COMPOSITIONS, GAUSSIAN)
    if composition not in known:
        raise UnknownNameError(f"composing releases: found {composition!r}, wanted one of {', '.join(known)}")
    if not events:
        return 0.0, 0.0
    if composition == "basic":
        return basic(events)
    return {"advanced": advanced, "pld": pld, "rdp": rdp, GAUSSIAN: gaussian}[composition](events, delta), delta
