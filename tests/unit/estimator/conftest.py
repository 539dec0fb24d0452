"""A small problem of two parties, shared by the estimator's tests."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from vfxgb import VFXGBClassifier

Problem = tuple[NDArray[np.float32], NDArray[np.int64]]
PARTIES = {"bank": ["f0", "f1"], "shop": ["f2", "f3"]}


@pytest.fixture(scope="session")
def problem() -> Problem:
    """300 x 4 and labels 0, 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    y = (X[:, 0] + X[:, 2] * X[:, 1] + 0.3 * rng.normal(size=300) > 0).astype(np.int64)
    return X, y


@pytest.fixture
def make() -> Any:
    """make(**params): a small two-party classifier."""

    def make(**params: Any) -> VFXGBClassifier:
        settings: dict[str, Any] = {"n_estimators": 5, "max_depth": 3, "parties": PARTIES, "protocol": "plain"}
        return VFXGBClassifier(**{**settings, **params})

    return make
