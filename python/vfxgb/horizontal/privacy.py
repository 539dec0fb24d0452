"""What a run with differential privacy may release, and how much noise each release has: planned before it begins.

The unit is one row of one user: two tables are neighbours if one of them has one row more. Everything that the server
opens is a sum with noise (dp/distributed.py), planned for `honest` users: as many as every sum is over at least, less
those that are assumed to help the server. All releases together cost (epsilon, delta), however they depend on each
other; a run that ends early has spent less. Server and users make the same plan from what is agreed on before a run.

Notation: mu, the distance of means in standard deviations; squares of mu add up. Entries are in steps of 2^-GRID_BITS.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import msgspec

from vfxgb.dp.bounds import check_delta, check_noise_epsilon
from vfxgb.dp.distributed import Column, SharedGaussian, largest_mu
from vfxgb.dp.event import Event
from vfxgb.errors import ParameterError
from vfxgb.objective import make_objective
from vfxgb.params import TrainParams
from vfxgb.rows.sampling import ColumnSampler

Splits: TypeAlias = Literal["histogram", "random"]
Kind: TypeAlias = Literal["count", "start", "cells", "hessians", "level", "leaves"]

PROTECTS = "one row of one user"
GRID_BITS = 20
ONE = 1 << GRID_BITS
DEFAULT_DELTA = 1e-5
# Of epsilon, what is kept back for the lattice (SharedGaussian.slack).
_RESERVE = 1e-3
# Shares of the squares of mu. What the run does not need goes to the trees.
_SHARES: dict[Kind, float] = {"count": 0.01, "start": 0.01, "cells": 0.08, "hessians": 0.08}
_LEAVES = 0.2  # of the trees' share, where levels are summed too
HESSIAN_ROUNDS = 3


class PrivacySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What all sides agree on. `honest`: users that make the noise of a sum; `cut_calls`: calls that look for cuts.

    `start`: whether the start margin is estimated. `splits`: how trees get their splits.
    """

    epsilon: float
    delta: float
    splits: Splits
    honest: int
    cut_calls: int
    start: bool


@dataclass(frozen=True)
class PrivacyPlan:
    """The releases of a run over `n_features` columns, of which a tree uses `tree_features`.

    `bounds`: the largest |g| and h of a row. `rounds`, `depth`, `outputs`: of the training. Raises DpError for noise
    that does not fit, ParameterError for an epsilon or delta that cannot be.
    """

    settings: PrivacySettings
    rounds: int
    depth: int
    outputs: int
    n_features: int
    tree_features: int
    bounds: tuple[float, float]

    @staticmethod
    def of(settings: PrivacySettings, params: TrainParams, n_features: int) -> "PrivacyPlan":
        """The plan of a training. Raises ParameterError for one whose gradients have no bounds."""
        refuse_unbounded(params)
        objective = make_objective(params)
        assert objective.spec.bounds is not None  # noqa: S101 - refused above
        return PrivacyPlan(
            settings,
            params.n_estimators,
            params.max_depth,
            objective.n_outputs,
            n_features,
            len(ColumnSampler(n_features, params).tree(0, 0)),
            objective.spec.bounds,
        )

    def __post_init__(self) -> None:
        check_noise_epsilon(self.settings.epsilon, "planning the noise of a run")
        check_delta(self.settings.delta, "planning the noise of a run")
        for kind in self.releases:
            self.noise(kind)

    @cached_property
    def hessian_rounds(self) -> int:
        """Rounds at whose beginning hessians are summed, for the candidates of random splits."""
        return min(HESSIAN_ROUNDS, self.rounds) if self.settings.splits == "random" else 0

    @cached_property
    def releases(self) -> dict[Kind, int]:
        """How often a row can be in a release of each kind."""
        settings = self.settings
        trees = self.rounds * self.outputs
        counts: dict[Kind, int] = {
            "count": 1,
            "start": int(settings.start),
            "cells": settings.cut_calls,
            "hessians": self.hessian_rounds,
            "level": trees * self.depth if settings.splits == "histogram" else 0,
            "leaves": trees,
        }
        return {kind: count for kind, count in counts.items() if count}

    @cached_property
    def mu(self) -> float:
        """What all releases may cost together."""
        return largest_mu(self.settings.epsilon * (1 - _RESERVE), self.settings.delta)

    def share(self, kind: Kind) -> float:
        """Which part of the square of mu all releases of a kind have."""
        releases = self.releases
        rest = 1.0 - sum(part for name, part in _SHARES.items() if name in releases)
        if kind in _SHARES:
            return _SHARES[kind]
        leaves = _LEAVES if "level" in releases else 1.0
        return rest * (leaves if kind == "leaves" else 1.0 - leaves)

    def noise(self, kind: Kind) -> SharedGaussian:
        """The noise of one release."""
        mu = self.mu * (self.share(kind) / self.releases[kind]) ** 0.5
        return SharedGaussian(mu, self._columns(kind), self.settings.honest)

    def _columns(self, kind: Kind) -> tuple[Column, ...]:
        g, h = (int(bound * ONE) for bound in self.bounds)
        features = self.n_features
        if kind in ("level", "leaves"):
            # The total of the row's node, and a bucket of every feature.
            entries = 1 + (self.tree_features if kind == "level" else 0)
            return Column(g, entries), Column(h, entries)
        one = {
            "count": (ONE, 1 + features),
            "start": (ONE, 2),
            "cells": (ONE, features),
            "hessians": (h * self.outputs, features),
        }
        steps, entries = one[kind]
        return (Column(steps, entries),)

    def event(self, kind: Kind, round_: int, n_entries: int, reason: str) -> Event:
        """One release, for the accountant; `reason`: why the guarantee fails, empty where it holds."""
        settings = self.settings
        event = self.noise(kind).event(
            "server", PROTECTS, round_, settings.honest, n_entries, settings.delta, sum(self.releases.values())
        )
        if not reason:
            return event
        return Event(
            event.mechanism, event.epsilon, "server", PROTECTS, round_, event.delta, holds=False, reason=reason
        )


def refuse_unbounded(params: TrainParams) -> None:
    """Raise ParameterError for a loss whose gradients one row could make as large as it likes, or other weights."""
    objective = make_objective(params)
    if objective.spec.bounds is None or not objective.unit_gradients:
        raise ParameterError(
            f"reading parameters: epsilon with objective={objective.name!r}, whose gradients have no bound that is "
            "known beforehand; wanted 'binary:logistic' or 'multi:softprob', or train without epsilon"
        )
    if params.scale_pos_weight != 1.0:
        raise ParameterError(
            f"reading parameters: epsilon with scale_pos_weight={params.scale_pos_weight:g}, wanted 1: noise is "
            "planned for rows of weight 1"
        )
