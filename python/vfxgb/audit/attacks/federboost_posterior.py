"""federboost: the most probable true bucket of each row, given the randomised one and how common each is.

True shares are estimated from the randomised ones by the inverse of the response matrix, and drawn towards equal ones
as far as their differences are noise. Features are attacked one by one: what correlations between them would add is
bounded by the sum of their epsilons.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.view import AttackerView
from vfxgb.dp import RandomisedResponse
from vfxgb.protocols import make_protocol_params, protocol_by_name
from vfxgb.protocols.federboost.messages import Buckets
from vfxgb.transport.messages import unpack_array


def run(view: AttackerView) -> Outcome:
    """Every feature of every passive party; `node` of a claim is the feature."""
    params = make_protocol_params(protocol_by_name(view.protocol), view.setup.protocol_params)
    n = view.setup.n_train
    claims = []
    for peer in view.peers:
        for message in view.messages(peer, Buckets.TAG, Buckets):
            buckets = message.n_bins + 1
            reported = unpack_array(message.buckets, np.uint16, (n,), "reading a transcript").astype(np.int64)
            response = params.response(buckets, message.n_features)
            posterior = response.response_matrix() * _shares(response, reported)[:, None]  # true, reported
            guess = posterior.argmax(axis=0)[reported]
            place, stated = (peer, -1, -1, message.feature, np.arange(n)), (response.epsilon, 0.0)
            claims.append(Claim("values", *place, guess, detail=f"{buckets} buckets", budget=stated))
    return Outcome(claims, why_not="" if claims else "no buckets in this run")


def _shares(response: RandomisedResponse, reported: NDArray[np.int64]) -> NDArray[np.float64]:
    """Estimate the shares of the true buckets."""
    shares = np.bincount(reported, minlength=response.classes) / len(reported)
    differences = response.unbiased(shares) - 1 / response.classes
    per_row = (response.keep_probability - response.other_probability) ** 2 * len(reported)
    noise = float((shares * (1 - shares)).sum()) / per_row
    kept = max(0.0, 1.0 - noise / max(float((differences**2).sum()), noise))
    return np.maximum(1 / response.classes + kept * differences, 0.0)


ATTACK = Attack("federboost-posterior", "the bucket of each row, the most probable", "active", (Buckets.TAG,), run)
