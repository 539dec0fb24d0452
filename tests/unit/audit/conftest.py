"""Recorded runs, made once for all tests of the audit."""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from vfxgb import VFXGBClassifier
from vfxgb.errors import InsecureProtocolWarning

PARTIES = {"bank": [0, 1], "shop": [2, 3], "club": [4]}
QUICK_HE = {"key_bits": 256, "randomness": "short", "insecure": True}
QUICK_OT = {"group_bits": 768, "insecure": True}

Recorded = Callable[..., VFXGBClassifier]


def problem(rows: int, missing: float = 0.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(rows, 5))
    y = (X.sum(axis=1) + rng.normal(size=rows) > 0.8).astype(int)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


@cache
def _fit(rows: int, missing: float, settings: tuple[tuple[str, Any], ...], protocol: str, own: str) -> VFXGBClassifier:
    given: dict[str, Any] = {"n_estimators": 2, "max_depth": 3, "max_bin": 8, "n_jobs": 1, **dict(settings)}
    # The protocol's parameters travel as text, so that the cache can tell them apart.
    clf = VFXGBClassifier(parties=PARTIES, protocol=protocol, protocol_params=eval(own), record=True, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureProtocolWarning)
        return clf.fit(*problem(rows, missing))


@pytest.fixture(scope="session")
def recorded() -> Recorded:
    """recorded(protocol, protocol_params, rows, missing, **params): a fitted classifier with its transcript."""

    def recorded(
        protocol: str = "plain",
        own: dict[str, Any] | None = None,
        rows: int = 120,
        missing: float = 0.0,
        **params: Any,
    ) -> VFXGBClassifier:
        return _fit(rows, missing, tuple(sorted(params.items())), protocol, repr(own))

    return recorded
