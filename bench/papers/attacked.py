"""Short recorded runs of `masked`, and what its attacks of vfxgb.audit claim about them, judged against the truth.

Unlike an audit's report, which says how much is right and what a guess would get, this also gives balanced accuracy:
papers/002 reports attacks near 0.5 on tables whose commoner label alone is more.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trained import model_of

from vfxgb.audit.attack import attack_by_name
from vfxgb.audit.auditor import view_of
from vfxgb.audit.claims import Claim
from vfxgb.audit.truth import Truth
from vfxgb.bench.datasets import ACTIVE, PASSIVE, Loaded
from vfxgb.train.transcript import Transcript


@dataclass(frozen=True)
class Recorded:
    """A run that was recorded, and all that is true of it."""

    transcript: Transcript
    truth: Truth


def record(data: Loaded, params: dict[str, Any], trees: int, bins: int, threads: int) -> Recorded:
    """Train trees of depth 1: the attacks are about the roots."""
    model = model_of(data, "masked", params, trees, threads, max_depth=1, max_bin=bins, random_state=0, record=True)
    model.fit(data.X, data.y, verbose=False)
    return Recorded(model.transcript_, Truth(model.transcript_))


def claims_of(recorded: Recorded, attack: str, target: str) -> list[Claim]:
    """What the party that can run the attack claims about `target`."""
    chosen = attack_by_name(attack)
    party = ACTIVE if chosen.attacker == "active" else PASSIVE
    view = view_of(recorded.transcript, party, recorded.truth, chosen)
    return [claim for claim in chosen.run(view).claims if claim.target == target]


def balanced_accuracy(claimed: NDArray[np.bool_], truth: NDArray[np.bool_]) -> float:
    """Mean of the shares of right answers among either label: 0.5 for who knows nothing, however rare a label is."""
    return float(
        np.mean([np.mean(claimed[truth == label] == label) for label in (True, False) if (truth == label).any()])
    )
