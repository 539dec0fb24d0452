"""The methods that papers/002 (MaskedXGBoost) compares, as protocols of ours, and what each spends its epsilon on.

`METHODS` is the list of dp.py, `WHOLE` that of its plot on a common axis. What epsilon means is the method's: for a
whole training where that is how a mechanism is used well, per tree or per message where the papers do it.

MaskedXGBoost is calibrated in two ways. `masked` and `masked_whole` follow theorem 2 to the letter: all gradients of a
message are protected at once, which takes noise as large as the largest sums at the root (E42), and adapted to the rows
of each node in the others (section 6.3); `masked_root` has the root's noise everywhere. `masked_per_row` protects one
row of a message, which the paper does not say, but which takes far less noise: only sums over fewer than sigma2^2 rows
drown. Neither holds against the passive party, which made the noise (E41).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trained import DEPTH

from vfxgb.protocols.masked.calibration import (
    LOGISTIC_RANGE,
    advanced_budget,
    calibrate,
    largest_ratio,
    theorem2_right,
)

DELTA = 1e-3
# papers/002's setting for the passive party, per message: theorem 3 covers no less than ln 2 (E43).
EPSILON_PASSIVE = 1.0
Params = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """What all cells of a table share. `candidates` counts the passive party's candidates at each node."""

    rows: int
    trees: int
    candidates: int = 1

    @property
    def messages(self) -> int:
        """How many messages of the active party a row is in: one for each candidate, level and tree."""
        return self.candidates * DEPTH * self.trees


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
    noise = {"sigma1": sigma2 * math.sqrt(rho), "sigma2": sigma2, "C": 1.0, "W": 1}
    return {**noise, "noise_scale": "root", "insecure": True}


def masked_root(epsilon: float, settings: Settings) -> Params:
    """Take `masked` with the noise of the root in every node."""
    return {**masked(epsilon, settings), "noise_scale": "root"}


def masked_composed(epsilon: float, settings: Settings) -> Params:
    """Take `masked` with epsilon for all messages of the training together, by advanced composition (section 6.2)."""
    rows = settings.rows
    noise = calibrate(epsilon, DELTA, EPSILON_PASSIVE, 1.0 / rows, rows, releases=settings.messages)
    return {**noise.params(), "insecure": True}


def per_row_composed(epsilon: float, settings: Settings) -> Params:
    """Take `masked_per_row` with epsilon for all messages that a row is in."""
    each, delta = advanced_budget(epsilon, DELTA, settings.messages)
    return masked_per_row(each, settings.rows, delta=delta)


def laplace_composed(epsilon: float, settings: Settings) -> Params:
    """FedXGBoost-LDP with epsilon for all trees, by basic or advanced composition, whichever leaves more for a tree."""
    each, _ = advanced_budget(epsilon, DELTA, settings.trees)
    return {"mechanism": "laplace", "order": 1, "epsilon": each}


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
    "masked": Method(
        "masked",
        "each message, and does not hold (E41): theorems 2 and 3, noise adapted to the rows of each node",
        masked,
    ),
    "masked, root noise": Method("masked", "the same, with the noise of the root in every node", masked_root),
    "masked, per row": Method(
        "masked",
        "each message, for one of its rows, and does not hold (E41)",
        lambda epsilon, settings: masked_per_row(epsilon, settings.rows),
    ),
    "masked, own noise": Method("masked", "the whole training, for labels: `active_noise`", masked_own),
}
# On a common axis: epsilon is for the whole training of the active party's secrets, delta DELTA.
WHOLE: dict[str, Method] = {
    "plain": METHODS["plain"],
    "masked": Method("masked", "all gradients, and does not hold (E41): theorem 2 for all messages", masked_composed),
    "masked, per row": Method(
        "masked", "one row, and does not hold (E41): all messages that it is in", per_row_composed
    ),
    "FedXGBoost-LDP": Method("ldp", "the label of one row: Laplace noise in every tree", laplace_composed),
    "XGBoost-LDP": METHODS["XGBoost-LDP"],
    "masked, own noise": METHODS["masked, own noise"],
    "ldp": METHODS["ldp"],
}
