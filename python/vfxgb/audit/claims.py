"""What an attack says it has learned, and what that turned out to be worth.

An attack makes claims without knowing whether they are right; truth.py judges them. A finding puts the success next to
the *guess*: how well a party does that saw nothing of the run.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.nodes import NodeSet

# labels        values bool[n]: the row's label is 1 (several outputs: the row is of class `tree`)
# leaf labels   values int[n]: rows of one number are said to share their label
# gradients     values float64[n]: g of each row, NaN where not known
# split matrix  values bool[k, n]: the row goes left at candidate tokens[i]
# buckets       values list of int arrays: each is said to be exactly the rows of one bucket in the node
# values        values int64[n]: the bucket of each row in the victim's feature `node`
# binned table  values int64[n, k]: the bin of each row in k features of the victim, which is which is not said
Target: TypeAlias = Literal["labels", "leaf labels", "gradients", "split matrix", "buckets", "values", "binned table"]

# How many standard errors above the guess count as more than luck.
ERRORS = 3.0


@dataclass(frozen=True, eq=False)
class Claim:
    """`rows`: the training rows it is about, in node `node` of tree `tree` of round `round` (-1: of no single one).

    `unnamed`: labels up to which class is which. `without`: the labels the attacker would have claimed without the run,
    from what it owns alone. `step`: the gradients are in units of the fixed point, which the attacker does not know.
    `budget`: (epsilon, delta) under which all it used was released.
    """

    target: Target
    victim: str
    round: int
    tree: int
    node: int
    rows: NDArray[Any]
    values: Any
    tokens: NDArray[np.int64] | None = None
    unnamed: bool = False
    without: NDArray[np.bool_] | None = None
    step: bool = False
    detail: str = ""
    budget: tuple[float, float] | None = None

    @classmethod
    def of_node(cls, target: Target, victim: str, node: NodeSet, values: Any, **more: Any) -> "Claim":
        """A claim about the rows of one node; `more`: the other fields."""
        return cls(target, victim, node.round, node.tree, node.node, node.rows, values, **more)


@dataclass(frozen=True)
class Judgement:
    """How right a claim is: see Finding."""

    success: float
    guess: float
    count: int
    detail: str = ""
    bound: float | None = None


@dataclass(frozen=True)
class Outcome:
    """What an attack returns. `why_not`: why it could not be run on this transcript. `remark`: what it left out."""

    claims: list[Claim] = field(default_factory=list)
    remark: str = ""
    why_not: str = ""


@dataclass(frozen=True)
class Finding:
    """A judged claim, or the mean of several.

    `success`, `guess`: shares, see README. `count`: independent things judged, which sets the margin of luck. `claims`:
    how many claims it sums up; `last_round`: the last of theirs, `round` being the first. `bound`: the most that
    epsilon allows (bounds.py), None where there is none.
    """

    attack: str
    attacker: str
    victim: str
    target: str
    round: int
    tree: int
    node: int
    rows: int
    success: float
    guess: float
    count: int
    claims: int = 1
    detail: str = ""
    last_round: int = -1
    bound: float | None = None

    @classmethod
    def of(cls, attack: str, attacker: str, claim: Claim, judged: Judgement) -> "Finding":
        """The finding that a judged claim is."""
        place = (claim.victim, claim.target, claim.round, claim.tree, claim.node, len(claim.rows))
        worth = (judged.success, judged.guess, judged.count)
        return cls(attack, attacker, *place, *worth, detail=judged.detail, bound=judged.bound)

    @property
    def rounds(self) -> str:
        """The round or rounds, counted from 1, in words."""
        if self.last_round > self.round >= 0:
            return f"{self.round + 1}-{self.last_round + 1}"
        return "all" if self.round < 0 else str(self.round + 1)

    @property
    def margin(self) -> float:
        """What luck may add to the guess: three standard errors of a binomial share."""
        return ERRORS * math.sqrt(self.guess * (1.0 - self.guess) / max(1, self.count))

    @property
    def better(self) -> bool:
        """Whether the attack beats guessing by more than luck explains."""
        return self.success > self.guess + self.margin + 1e-12

    @property
    def verdict(self) -> str:
        """Say in words whether the attack succeeded."""
        if not self.better:
            return "no better than guessing"
        if self.success >= 0.99:
            return "recovered"
        return "mostly recovered" if self.success >= 0.9 else "partly recovered"


def mean_finding(findings: list[Finding]) -> Finding:
    """Several findings of one attack, attacker, victim and target as one, weighted by what they judged."""
    first = findings[0]
    if len(findings) == 1:
        return first
    weights = np.array([max(1, finding.count) for finding in findings], dtype=np.float64)

    def common(name: str) -> int:
        values = {getattr(finding, name) for finding in findings}
        return int(values.pop()) if len(values) == 1 else -1

    bounds = [finding.bound for finding in findings if finding.bound is not None]
    best = max(findings, key=lambda finding: finding.success - finding.guess)
    return replace(
        first,
        round=min(finding.round for finding in findings),
        tree=common("tree"),
        node=common("node"),
        rows=max(finding.rows for finding in findings),
        success=float(np.average([finding.success for finding in findings], weights=weights)),
        guess=float(np.average([finding.guess for finding in findings], weights=weights)),
        count=int(weights.sum()),
        claims=sum(finding.claims for finding in findings),
        detail=f"best of {len(findings)}: {best.detail}" if best.detail else "",
        last_round=max(finding.round for finding in findings),
        bound=float(np.average(bounds, weights=weights)) if len(bounds) == len(findings) else None,
    )
