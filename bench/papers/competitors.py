"""The methods that papers/002 (MaskedXGBoost) compares, as protocols of ours, and what each spends its epsilon on.

`METHODS` is the list of dp.py. What epsilon means is the method's: for a whole training where that is how a mechanism
is used well, per tree or per message where the papers do it.

MaskedXGBoost is calibrated in two ways. `masked` and `masked_whole` follow theorem 2 to the letter: all gradients of a
message are protected at once, which takes noise that drowns every sum (E42). `masked_per_row` protects one row of a
message, which the paper does not say, but which takes far less noise: only sums over fewer than sigma2^2 rows drown.
Neither holds against the passive party, which made the noise (E41).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vfxgb.protocols.masked.calibration import LOGISTIC_RANGE, calibrate, largest_ratio, theorem2_right

DELTA = 1e-3
# papers/002's setting for the passive party, per message: theorem 3 covers no less than ln 2 (E43).
EPSILON_PASSIVE = 1.0
Params = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """What every cell has in common."""

    rows: int
    trees: int


@dataclass(frozen=True)
class Method:
    """`params(epsilon, settings)`: its protocol_params. `epsilon`: what the budget is spent on, in words."""

    protocol: str
    epsilon: str
    params: Callable[[float, Settings], Params]
    varies: bool = True


def masked(epsilon: float, settings: Settings) -> Params:
    """Parameters by the paper's theorems, for one message; epsilon of the passive party 1, as the paper has it."""
    noise = calibrate(epsilon, DELTA, EPSILON_PASSIVE, 1.0 / settings.rows, settings.rows)
    return {**noise.params(), "insecure": True}


def masked_whole(epsilon: float, rows: int, passive: float = EPSILON_PASSIVE, delta: float = DELTA) -> Params:
    """Theorems 2 and 3 for one message about a candidate that sends half of the rows left.

    With that many rows on the right sigma2 depends on the passive party's epsilon; where all may go left it does not.
    """
    noise = calibrate(epsilon, delta, passive, 1.0 / rows, rows, n_left=max(3, rows // 2))
    return {**noise.params(), "insecure": True}


def masked_per_row(epsilon: float, rows: int, passive: float = EPSILON_PASSIVE, delta: float = DELTA) -> Params:
    """As `masked_whole`, but one row of a message is protected and not all of them together.

    A gradient that moves by mu moves the message by mu^2 (S^-1)_ii, S the covariance of the noise. For a row on the
    left that is mu^2 / (C sigma2^2 sqrt(1 + 4 rho)) in a long circle, and less for a row on the right.
    """
    rho = largest_ratio(passive, 1.0 / rows, rows)
    energy = LOGISTIC_RANGE**2 / (theorem2_right(epsilon, delta) * math.sqrt(1 + 4 * rho))
    sigma2 = math.sqrt(energy)
    return {"sigma1": sigma2 * math.sqrt(rho), "sigma2": sigma2, "C": 1.0, "W": 1, "insecure": True}


def masked_own(epsilon: float, settings: Settings) -> Params:  # noqa: ARG001 - as in Method
    """Noise of the active party's own under the mask, which then need not be large."""
    noise = {"active_noise": "gaussian", "active_epsilon": epsilon, "active_delta": DELTA}
    return {"sigma1": 0.018, "sigma2": 0.1, **noise, "insecure": True}


def noise_of_sum(params: Params, rows_left: int) -> float:
    """Standard deviation of the error of a sum of gradients over `rows_left` rows (theorem 1's kappa, E39)."""
    return float(params["sigma2"]) * math.sqrt(rows_left * params["C"])


METHODS: dict[str, Method] = {
    "plain": Method("plain", "nothing is protected", lambda epsilon, settings: {}, varies=False),
    "ldp": Method(
        "ldp", "the whole training, for labels: randomised once", lambda epsilon, settings: {"epsilon": epsilon}
    ),
    "ldp, unbiased": Method(
        "ldp",
        "the same; `unbiased=True`",
        lambda epsilon, settings: {"epsilon": epsilon, "unbiased": True},
    ),
    "XGBoost-LDP": Method(
        "ldp",
        "the whole training, for gradients and hessians: Gaussian noise, order 2",
        lambda epsilon, settings: {
            "mechanism": "gaussian",
            "hessians": "noisy",
            "total_epsilon": epsilon,
            "delta": DELTA,
        },
    ),
    "FedXGBoost-LDP": Method(
        "ldp",
        "each tree, for labels, as papers/000 counts: Laplace noise, order 1",
        lambda epsilon, settings: {"mechanism": "laplace", "order": 1, "epsilon": epsilon},
    ),
    "FederBoost": Method("federboost", "each feature's buckets, once", lambda epsilon, settings: {"epsilon": epsilon}),
    "FederBoost, unbiased": Method(
        "federboost", "the same; `unbiased=True`", lambda epsilon, settings: {"epsilon": epsilon, "unbiased": True}
    ),
    "masked": Method("masked", "each message, and does not hold (E41): theorems 2 and 3", masked),
    "masked, per row": Method(
        "masked",
        "each message, for one of its rows, and does not hold (E41)",
        lambda epsilon, settings: masked_per_row(epsilon, settings.rows),
    ),
    "masked, own noise": Method("masked", "the whole training, for labels: `active_noise`", masked_own),
}
