"""What an attack of the server says it has learned. None of it is known to be right before judge.py has looked."""

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.users.view import Step


@dataclass(frozen=True)
class LoneCell:
    """Exactly one row lies on this path and in this bin of a feature, and its label is `label`; bin -1: no value."""

    path: tuple[Step, ...]
    feature: int
    bin: int
    label: bool


@dataclass(frozen=True)
class Rows:
    """The rows on this path are these: `bins` int64[n, F] (-1: no value), `labels` bool[n], in any order."""

    path: tuple[Step, ...]
    bins: NDArray[np.int64]
    labels: NDArray[np.bool_]


@dataclass(frozen=True)
class UsersTotal:
    """The rows of these users on this path, all of round 0: so many of them, and so many with label 1."""

    path: tuple[Step, ...]
    users: tuple[int, ...]
    rows: float
    ones: float


UserClaim: TypeAlias = LoneCell | Rows | UsersTotal


@dataclass(frozen=True)
class UsersOutcome:
    """Claims; `why_not`: why an attack could not be run."""

    claims: list[UserClaim] = field(default_factory=list)
    why_not: str = ""
