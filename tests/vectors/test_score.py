"""Known answer 1 of ERRATA section 4: gain and leaves of four rows, where papers/003 prints other formulas (E1, E2)."""

import numpy as np
import pytest

from vfxgb import _native

SCALE = 0.25  # g = (-.5, -.5, .5, .5) and h = .25 in whole numbers: (-2, -2, 2, 2) and 1


def test_gain_and_leaves() -> None:
    rule = _native.gbdt.SplitRule(SCALE, reg_lambda=1.0, min_child_weight=0.0, float32=False)
    gain, _, _ = rule.score(np.array([[[-4, 2]]]), np.array([[0, 4]]))
    # The paper's score has a factor of 1/2 that XGBoost's gain has not.
    assert gain[0] / 2 == pytest.approx(2 / 3, abs=1e-15)
    assert rule.weights(np.array([[-4, 2], [4, 2]])) == pytest.approx([2 / 3, -2 / 3], abs=1e-15)


def test_the_printed_formulas_say_something_else() -> None:
    g, h = np.array([-0.5, -0.5, 0.5, 0.5]), np.full(4, 0.25)
    left, right = slice(0, 2), slice(2, 4)
    score = (g[left].sum() ** 2 / (h[left].sum() + 1) + (g[right] ** 2).sum() / (h[right].sum() + 1)) / 2
    assert score == pytest.approx(0.5)
    assert -(g[left].sum() ** 2) / (h[left].sum() + 1) == pytest.approx(-2 / 3)
