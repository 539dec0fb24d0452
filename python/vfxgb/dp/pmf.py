"""Probabilities of outputs, from the very integers that the samplers draw with.

For checking privacy, not for training: every output of a mechanism with a fine grid is listed. Outputs and inputs are
less the centre of the lattice; inputs are j in [-B, B], or labels.
"""

from decimal import Decimal, localcontext
from fractions import Fraction

from vfxgb.dp.mechanisms import SHARE_BITS, Duchi, Gaussian, Hybrid, Laplace, Mechanism, Piecewise
from vfxgb.dp.response import RandomisedResponse
from vfxgb.errors import DpError

DIGITS = 60

Number = Fraction | Decimal


def pmf(mechanism: Mechanism | RandomisedResponse, j: int) -> dict[int, Number]:
    """P(output) for the input j: exact fractions, or decimals of 60 digits for Laplace and Gaussian noise.

    Raises DpError for an input outside the range.
    """
    if isinstance(mechanism, RandomisedResponse):
        return dict(_response(mechanism, j))
    if abs(j) > mechanism.lattice.bound:
        raise DpError(f"probabilities of outputs: found input {j}, wanted at most {mechanism.lattice.bound} steps")
    if isinstance(mechanism, Laplace | Gaussian):
        return dict(_additive(mechanism, j))
    if isinstance(mechanism, Duchi):
        return dict(_duchi(mechanism, j))
    if isinstance(mechanism, Piecewise):
        return dict(_piecewise(mechanism, j))
    if isinstance(mechanism, Hybrid):
        return dict(_hybrid(mechanism, j))
    raise DpError(f"probabilities of outputs: not known for the {mechanism.name} mechanism")


def _response(mechanism: RandomisedResponse, label: int) -> dict[int, Fraction]:
    classes, keep, bits = mechanism.parameters
    total = keep + ((classes - 1) << bits)
    return {other: Fraction(keep if other == label else 1 << bits, total) for other in range(classes)}


def _duchi(mechanism: Duchi, j: int) -> dict[int, Fraction]:
    k = mechanism.magnitude
    return {-k: Fraction(k - j, 2 * k), k: Fraction(k + j, 2 * k)}


def _piecewise(mechanism: Piecewise, j: int) -> dict[int, Fraction]:
    unit, width, reach = mechanism.one, mechanism.width, mechanism.reach
    inside = Fraction(unit, mechanism.slope)
    out = dict.fromkeys(range(-reach, reach + 1), (1 - inside) / (2 * reach + 1))
    floor, rest = divmod(j * mechanism.slope, unit)
    for centre, chance in ((floor, Fraction(unit - rest, unit)), (floor + 1, Fraction(rest, unit))):
        if chance:
            for output in range(centre - width // 2, centre + width // 2 + 1):
                out[output] += inside * chance / width
    return out


def _hybrid(mechanism: Hybrid, j: int) -> dict[int, Fraction]:
    alpha = Fraction(mechanism.share, 1 << SHARE_BITS)
    out = {output: alpha * chance for output, chance in _piecewise(mechanism.piecewise, j).items()} if alpha else {}
    for output, chance in _duchi(mechanism.duchi, j).items():
        out[output] = out.get(output, Fraction(0)) + (1 - alpha) * chance
    return out


def _additive(mechanism: Laplace | Gaussian, j: int) -> dict[int, Decimal]:
    with localcontext() as context:
        context.prec = DIGITS
        if isinstance(mechanism, Laplace):
            scale = Decimal(mechanism.scale)
            most = 150 * mechanism.scale  # beyond: less than 1e-65 of the mass
            weights = [(-Decimal(x) / scale).exp() for x in range(most)]
        else:
            double = 2 * Decimal(mechanism.sigma) ** 2
            most = 18 * mechanism.sigma
            weights = [(-Decimal(x * x) / double).exp() for x in range(most)]
        total = 2 * sum(weights) - 1
        out: dict[int, Decimal] = {}
        for x in range(1 - most, most):
            output = max(-mechanism.reach, min(mechanism.reach, j + x))
            out[output] = out.get(output, Decimal(0)) + weights[abs(x)] / total
        return out
