"""The privacy loss on the lattice never exceeds epsilon: exact probabilities, all pairs of inputs of small grids."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations

import pytest

from vfxgb.dp import Duchi, Gaussian, Hybrid, Laplace, Piecewise, RandomisedResponse
from vfxgb.dp.pmf import pmf
from vfxgb.errors import DpError

EPSILONS = [0.01, 0.1, 0.5, 0.609352, 1.0, 2.0, 4.0, 8.0, 30.0]


def worst_ratio(tables):
    """Per output the largest over the smallest probability, and the largest of these."""
    outputs = set(tables[0])
    assert all(set(table) == outputs for table in tables)  # nothing is impossible under another input
    return max(max(table[y] for table in tables) / min(table[y] for table in tables) for y in outputs)


def limit(epsilon, digits=60):
    with localcontext() as context:
        context.prec = digits
        return context.create_decimal(Decimal(epsilon)).exp()


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("kind", [Duchi, Piecewise, Hybrid])
def test_finite_mechanisms(kind, epsilon):
    one = kind(epsilon, grid_bits=4)
    bound = one.lattice.bound
    inputs = range(-bound, bound + 1) if epsilon > 0.2 else (-bound, -3, 0, bound)
    tables = [pmf(one, j) for j in inputs]
    for j, table in zip(inputs, tables, strict=True):
        assert sum(table.values()) == 1
        assert sum(y * p for y, p in table.items()) == j  # exactly unbiased
        square = sum(y * y * p for y, p in table.items()) - j * j
        assert float(square) * one.step**2 == pytest.approx(one.variance(j * one.step), rel=1e-9)
        assert max(map(abs, table)) <= one.reach
    ratio = worst_ratio(tables)
    assert isinstance(ratio, Fraction)
    assert ratio <= Fraction(limit(epsilon))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("classes", [2, 3, 40])
def test_response(classes, epsilon):
    one = RandomisedResponse(epsilon, classes)
    tables = [pmf(one, label) for label in range(classes)]
    assert all(sum(table.values()) == 1 for table in tables)
    ratio = worst_ratio(tables)
    assert ratio <= Fraction(limit(epsilon))
    if epsilon <= 8:
        assert ratio - 1 >= (Fraction(limit(epsilon)) - 1) * (1 - Fraction(1, 2**19))  # and next to nothing is lost


@pytest.mark.parametrize("kind", [Duchi, Piecewise, Hybrid])
def test_next_to_nothing_is_lost_on_a_fine_grid(kind):
    """Epsilon as the integers have it, from the parameters alone."""
    one = kind(1.0)
    duchi = getattr(one, "duchi", one)
    if isinstance(duchi, Duchi):
        ratio = Fraction(duchi.magnitude + duchi.lattice.bound, duchi.magnitude - duchi.lattice.bound)
        assert 1 - 1e-5 < ratio / Fraction(limit(1.0)) <= 1
    piecewise = getattr(one, "piecewise", one)
    if isinstance(piecewise, Piecewise):
        inside = Fraction(piecewise.one, piecewise.slope)
        ratio = 1 + inside / piecewise.width * (2 * piecewise.reach + 1) / (1 - inside)
        assert 1 - 1e-5 < ratio / Fraction(limit(1.0)) <= 1


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0, 8.0])
def test_laplace(epsilon):
    one = Laplace(epsilon, grid_bits=4)
    bound = one.lattice.bound
    tables = [pmf(one, j) for j in (-bound, 3, bound)]
    for table in tables:
        assert abs(sum(table.values()) - 1) < Decimal("1e-24")
    assert worst_ratio(tables) <= limit(epsilon) * (1 + Decimal("1e-20"))  # decimals, rounded in the 28th digit


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-3), (1.0, 1e-5), (4.0, 1e-6)])
def test_gaussian(epsilon, delta):
    """sum of max(0, P - e^epsilon Q) is at most delta, for every pair and direction."""
    one = Gaussian(epsilon, grid_bits=4, delta=delta)
    bound = one.lattice.bound
    tables = [pmf(one, j) for j in (-bound, 0, bound)]
    factor = limit(epsilon)
    for left, right in combinations(tables, 2):
        for p, q in ((left, right), (right, left)):
            assert sum(max(Decimal(0), p[y] - factor * q[y]) for y in p) <= Decimal(delta)
    spent = sum(max(Decimal(0), p - factor * tables[-1][y]) for y, p in tables[0].items())
    assert spent > Decimal(delta) / 2  # and the ends of the range use up most of it, even on this coarse grid


def test_inputs_outside_the_range():
    with pytest.raises(DpError, match="input 17"):
        pmf(Duchi(1.0, grid_bits=4), 17)
