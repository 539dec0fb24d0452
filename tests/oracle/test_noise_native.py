"""The native samplers against a naive twin on the same random words, and against exact probabilities."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from vfxgb import _native
from vfxgb.dp import Duchi, Gaussian, Hybrid, Laplace, Piecewise, RandomisedResponse

DRAWS = 200_000


class Twin:
    """cpp/noise in Python: integers and fractions, one draw after the other, nothing clever."""

    def __init__(self, words):
        self.words, self.used = [int(word) for word in words], 0
        self.halves, self.bits = [], []

    def word(self):
        self.used += 1
        return self.words[self.used - 1]

    def half(self):
        if not self.halves:
            word = self.word()
            self.halves = [word % 2**32, word // 2**32]
        return self.halves.pop(0)

    def bit(self):
        if not self.bits:
            word = self.word()
            self.bits = [word >> i & 1 for i in range(64)]
        return self.bits.pop(0)

    def below(self, bound):
        """The draw r out of 2**k falls into one of `bound` cells; the first (2**k mod bound) values of r * bound mod
        2**k are refused, so that every cell has the same number of draws."""
        k = 32 if bound < 2**32 else 64
        while True:
            draw = (self.half() if k == 32 else self.word()) * bound
            if draw % 2**k >= 2**k % bound:
                return draw // 2**k

    def coin(self, probability):
        """Of a fraction, by its denominator as it stands."""
        return self.below(probability[1]) < probability[0]

    def exp_game(self, coin):
        k = 1
        while coin(k):
            k += 1
        return k % 2 == 1

    def exp(self, part, whole):
        return self.exp_game(lambda k: (k == 1 or self.coin((1, k))) and self.coin((part, whole)))

    def exp_half_square(self, part, whole):
        return self.exp_game(
            lambda k: (
                (k == 1 or self.coin((1, k)))
                and self.bit() == 1
                and self.coin((part, whole))
                and self.coin((part, whole))
            )
        )

    def signed_geometric(self, scale):
        while True:
            part = self.below(scale)
            if not self.exp(part, scale):
                continue
            wholes = 0
            while self.exp_game(lambda k: k == 1 or self.coin((1, k))):
                wholes += 1
            sign = -1 if self.bit() else 1
            if sign == -1 and part == wholes == 0:
                continue
            return part, wholes, sign

    def decided(self, question):
        """question(least, beyond) of a uniform number in [least, beyond), with ever more digits until it answers."""
        number, size = 0, 1
        while True:
            number, size = number * 2**64 + self.word(), size * 2**64
            with localcontext(prec=120):
                answer = question(Decimal(number) / size, Decimal(number + 1) / size)
            if answer is not None:
                return answer

    def coin_of_exp(self, part, whole):
        def question(least, beyond):
            chance = (-Decimal(part) / whole).exp()
            return True if beyond <= chance else False if least >= chance else None

        return self.decided(question)

    def geometric(self, scale, most):
        """floor(-scale ln U)."""

        def question(least, beyond):
            low = min(most, math.floor(-scale * beyond.ln()))
            high = min(most, math.floor(-scale * least.ln())) if least else most
            return low if low == high else None

        return self.decided(question)

    def inverted(self, scale, most):
        while True:
            size, sign = self.geometric(scale, most), -1 if self.bit() else 1
            if size or sign == 1:
                return size, sign

    def laplace(self, value, bound, scale, most):
        if scale < 2**32:
            size, sign = self.inverted(scale, 2 * most)
            return clip(clip(value, bound) + sign * size, most)
        part, wholes, sign = self.signed_geometric(scale)
        return clip(clip(value, bound) + sign * (part + scale * wholes), most)

    def gaussian(self, value, bound, sigma, most):
        while sigma < 2**31:
            size, sign = self.inverted(sigma, 2 * most)
            if self.coin_of_exp((size - sigma) ** 2, 2 * sigma**2):
                return clip(clip(value, bound) + sign * size, most)
        while True:
            part, wholes, sign = self.signed_geometric(sigma)
            if wholes == 0:
                kept = self.exp_half_square(sigma - part, sigma)
            else:
                kept = all(self.exp_game(lambda k: self.coin((1, 2 * k))) for _ in range((wholes - 1) ** 2))
                kept = kept and all(self.exp(part, sigma) for _ in range(wholes - 1))
                kept = kept and self.exp_half_square(part, sigma)
            if kept:
                return clip(clip(value, bound) + sign * (part + sigma * wholes), most)

    def duchi(self, value, bound, magnitude):
        return magnitude if self.below(2 * magnitude) < magnitude + clip(value, bound) else -magnitude

    def piecewise(self, value, bound, slope, slope_bits, width, reach):
        draw = self.below(slope)
        if draw >= 2**slope_bits:
            return self.below(2 * reach + 1) - reach
        centre = math.floor(Fraction(clip(value, bound) * slope + draw, 2**slope_bits))
        return centre - (width - 1) // 2 + self.below(width)

    def hybrid(self, value, share, bound, slope, slope_bits, width, reach, magnitude):
        if self.half() < share:
            return self.piecewise(value, bound, slope, slope_bits, width, reach)
        return self.duchi(value, bound, magnitude)

    def response(self, value, classes, keep, other_bits):
        draw = self.below(keep + (classes - 1) * 2**other_bits)
        if draw < keep:
            return value
        others = [label for label in range(classes) if label != value]
        return others[(draw - keep) // 2**other_bits]


def clip(value, bound):
    return max(-bound, min(bound, value))


@pytest.mark.parametrize(
    "one",
    [
        Laplace(1.0),
        Laplace(1e-4),  # scale beyond 32 bits
        Laplace(8.0, grid_bits=4),
        Gaussian(1.0),
        Gaussian(0.01, delta=1e-9),  # sigma above 2**30
        Gaussian(0.001, delta=1e-9),  # and beyond 31 bits
        Gaussian(30.0, grid_bits=4),
        Duchi(1.0),
        Duchi(1e-4),
        Piecewise(1.0),
        Piecewise(1e-3),
        Piecewise(50.0, grid_bits=4),
        Hybrid(1.0),
        Hybrid(0.5),
        RandomisedResponse(1.0),
        RandomisedResponse(1e-7),
        RandomisedResponse(2.0, 33),
    ],
    ids=repr,
)
def test_native_draws_are_the_twins(one):
    generator = np.random.default_rng(7)
    words = generator.integers(0, 2**64, 40_000, dtype=np.uint64)
    words[generator.random(len(words)) < 0.02] = 0  # small products, where draws are refused
    words[generator.random(len(words)) < 0.02] = 2**64 - 1
    if isinstance(one, RandomisedResponse):
        values = generator.integers(0, one.classes, 300)
    else:
        bound = one.lattice.bound
        values = generator.integers(-2 * bound, 2 * bound + 1, 300)
    found, used = _native.noise.perturb_replay(one.name, list(one.parameters), values, words)
    twin = Twin(words)
    wanted = [getattr(twin, one.name)(int(value), *one.parameters) for value in values]
    assert found.tolist() == wanted
    assert used == twin.used


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [1, 7, 2**21 - 1, 2**31 - 1])
def test_draws_where_64_bits_leave_two_answers_open(name, scale):
    """Words on the very boundary between two outputs, and what follows decides: all zeros, all ones, or more digits."""
    words = []
    with localcontext(prec=120):
        for k in (1, 2, scale // 2 + 1, scale, 3 * scale + 1, 20 * scale):
            boundary = int((-Decimal(k) / scale).exp() * 2**256)
            digits = [boundary >> shift & 2**64 - 1 for shift in (192, 128, 64)]
            for follow in ([0], [2**64 - 1], digits[1:], [digits[1] + 1], [digits[1], 0], [digits[1], 2**64 - 1]):
                words += [digits[0], *follow]
            words += [digits[0] - 1, digits[0] + 1]
    words += np.random.default_rng(3).integers(0, 2**64, 300, dtype=np.uint64).tolist()
    tape = np.array(words, dtype=np.uint64)
    parameters = [4, scale, 60 * scale + 4]
    values = np.zeros(40, dtype=np.int64)
    found, used = _native.noise.perturb_replay(name, parameters, values, tape)
    twin = Twin(words)
    assert found.tolist() == [getattr(twin, name)(0, *parameters) for _ in values]
    assert used == twin.used


def test_pairs_are_rescaled_and_perturbed_in_one_pass():
    """Against passes of numpy: exactly where nothing is drawn, or the noise is known; by their mean otherwise."""
    generator = np.random.default_rng(5)
    pairs = generator.integers(-(2**40), 2**40, (20_000, 2))
    clear = _native.noise.release_pairs(pairs, ("", [], 5, 0, 0), ("", [], -3, 0, 0), 2)
    assert (clear == np.c_[(pairs[:, 0] + 16) >> 5, pairs[:, 1] << 3]).all()
    certain = ("duchi", [1, 1], 50, 0, 4)  # with K = B an input at an end is certain
    high = np.full((20_000, 2), 2**60)
    assert (_native.noise.release_pairs(high, certain, certain, 2) == 16).all()
    noisy = _native.noise.release_pairs(pairs, ("laplace", [2**40, 3, 2**50], 5, 7, 2), ("", [], 0, 0, 0), 2)
    assert (noisy[:, 1] == pairs[:, 1]).all()
    drawn = noisy[:, 0] / 4 - ((pairs[:, 0] + 16) >> 5)
    variance = 1 / (2 * math.sinh(1 / 6) ** 2)
    assert abs(drawn.mean()) < 8 * math.sqrt(variance / len(drawn))
    assert abs(drawn.var() - variance) < 1
    with pytest.raises(ValueError, match="columns"):
        _native.noise.release_pairs(pairs, ("", [], 63, 0, 0), ("", [], 0, 0, 0))
    with pytest.raises(ValueError, match="shape"):
        _native.noise.release_pairs(pairs[:, :1].copy(), ("", [], 0, 0, 0), ("", [], 0, 0, 0))


def noise(name, size):
    """Draws for the input 0 from a fixed tape of random words."""
    words = np.random.default_rng(20240601).integers(0, 2**64, 24 * DRAWS, dtype=np.uint64)
    return _native.noise.perturb_replay(name, [0, size, 1000], np.zeros(DRAWS, dtype=np.int64), words)[0]


def frequencies_agree(sample, chances):
    for value, p in chances.items():
        assert abs((sample == value).mean() - p) < 4 * math.sqrt(p * (1 - p) / len(sample)), value


@pytest.mark.parametrize("scale", [1, 2, 5])
def test_discrete_laplace_probabilities(scale):
    """P(x) = (1 - q) / (1 + q) q^|x| with q = e^(-1/s), for x = -3 .. 3."""
    sample = noise("laplace", scale)
    q = math.exp(-1 / scale)
    frequencies_agree(sample, {x: (1 - q) / (1 + q) * q ** abs(x) for x in range(-3, 4)})


@pytest.mark.parametrize("sigma", [1, 3, 8])
def test_discrete_gaussian_probabilities(sigma):
    sample = noise("gaussian", sigma)
    weights = {x: math.exp(-x * x / (2 * sigma**2)) for x in range(-20 * sigma, 20 * sigma + 1)}
    total = sum(weights.values())
    frequencies_agree(sample, {x: w / total for x, w in weights.items() if abs(x) <= 2 * sigma})
    tail = sum(w for x, w in weights.items() if abs(x) > 2 * sigma) / total
    assert abs((np.abs(sample) > 2 * sigma).mean() - tail) < 4 * math.sqrt(tail * (1 - tail) / DRAWS)


def test_threads_draw_different_noise():
    values = np.zeros(100_000, dtype=np.int64)
    first, second = (_native.noise.perturb("laplace", [0, 2**55, 2**60], values, 2) for _ in range(2))
    assert len(np.unique(np.concatenate([first, second]))) > 199_900


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("staircase", [1]),
        ("duchi", [1]),
        ("duchi", [2, 1]),
        ("duchi", [1, 2**62]),
        ("laplace", [1, 0, 5]),
        ("laplace", [5, 1, 4]),
        ("gaussian", [1, 0, 5]),
        ("piecewise", [4, 2**20, 20, 2, 9]),
        ("piecewise", [4, 2**21, 20, 3, 8]),
        ("piecewise", [4, 2**20 - 1, 20, 3, 9]),
        ("piecewise", [4, 2**20, 61, 3, 9]),
        ("piecewise", [2**60, 2**60, 20, 3, 2**60]),
        ("hybrid", [2**32 + 1, 4, 2**21, 20, 3, 9, 5]),
        ("response", [1, 1, 1]),
        ("response", [2, 1, 61]),
    ],
)
def test_parameters_no_draw_could_be_made_with(name, parameters):
    with pytest.raises(ValueError, match=r"mechanism|range|reach|parameters"):
        _native.noise.perturb(name, parameters, np.zeros(1, dtype=np.int64))


def test_labels_and_words_are_checked():
    with pytest.raises(ValueError, match="labels"):
        _native.noise.perturb("response", [2, 3, 1], np.array([2]))
    with pytest.raises(ValueError, match="too few words"):
        _native.noise.perturb_replay("duchi", [1, 2], np.zeros(3, dtype=np.int64), np.zeros(1, dtype=np.uint64))
