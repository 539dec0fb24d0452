"""The truth about claims: the users' rows, which no attack sees.

A claimed row is *found* if a true row on its path has the same bin in every column and the same label; no true row
counts twice. Its *values* are compared with those of the true row that it has most in common with, of the same label if
there is one, each true row again being taken once. The guess is that of a server which has opened nothing: it deals
rows out with bins drawn evenly, on paths drawn among those claimed, and says the commoner label.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.claims import Judgement
from vfxgb.audit.users.claims import LoneCell, Rows, UserClaim, UsersTotal
from vfxgb.audit.users.view import Step
from vfxgb.horizontal.transcript import TrueRows

# A total counts as right if rows and labels are within this of the truth.
NEAR = 0.5
# So many claimed rows of a node are matched with true ones; further ones count as wrong.
MOST_MATCHED = 2000


@dataclass
class UsersTruth:
    """Holds all users' rows, binned by the published `cuts`. `seed` decides the guesses."""

    rows: Sequence[TrueRows]
    cuts: Sequence[NDArray[np.float32]]
    seed: int = 0

    @cached_property
    def labels(self) -> NDArray[np.bool_]:
        """Whether the label is 1, of all users' rows one after the other."""
        return np.concatenate([user.labels for user in self.rows]) > 0.5

    @cached_property
    def owner(self) -> NDArray[np.int64]:
        """The user of every row."""
        return np.repeat(np.arange(len(self.rows)), [len(user.X) for user in self.rows])

    @cached_property
    def bins(self) -> NDArray[np.int64]:
        """int64[n, F]; -1 for a missing value."""
        X = np.concatenate([user.X for user in self.rows])
        bins = np.stack([np.searchsorted(c, X[:, f], side="right") for f, c in enumerate(self.cuts)], axis=1)
        bins[np.isnan(X)] = -1
        return bins.astype(np.int64)

    def on(self, path: Sequence[Step]) -> NDArray[np.bool_]:
        """Which rows are on a path."""
        there = np.ones(len(self.labels), dtype=np.bool_)
        for step in path:
            column = self.bins[:, step.feature]
            left = np.where(column < 0, step.missing_left, column <= step.cut)
            there &= left == step.left
        return there

    def judge(self, claims: Sequence[UserClaim]) -> dict[str, Judgement]:
        """How right the claims of one attack are, all together, by what they are about."""
        first = claims[0]
        if isinstance(first, LoneCell):
            return {"lone rows": self._lone([claim for claim in claims if isinstance(claim, LoneCell)])}
        if isinstance(first, Rows):
            return self._rebuilt([claim for claim in claims if isinstance(claim, Rows)])
        return {"totals of users": self._totals([claim for claim in claims if isinstance(claim, UsersTotal)])}

    def _lone(self, claims: Sequence[LoneCell]) -> Judgement:
        found, right = self._lone_rows(claims)
        rng = np.random.default_rng(self.seed)
        common = bool(self.labels.mean() > 0.5)
        blind = [
            LoneCell(claims[i].path, f, int(rng.integers(-1, len(self.cuts[f]) + 1)), common)
            for i, f in zip(
                rng.integers(0, len(claims), len(claims)), rng.integers(0, len(self.cuts), len(claims)), strict=True
            )
        ]
        guess, _ = self._lone_rows(blind)
        n = len(self.labels)
        return Judgement(found / n, guess / n, n, f"{right:,} of {len(claims):,} claims are right")

    def _lone_rows(self, claims: Sequence[LoneCell]) -> tuple[int, int]:
        rows: set[int] = set()
        right = 0
        paths = {claim.path: np.flatnonzero(self.on(claim.path)) for claim in claims}
        for claim in claims:
            there = paths[claim.path]
            inside = there[self.bins[there, claim.feature] == claim.bin]
            if len(inside) == 1 and self.labels[inside[0]] == claim.label:
                right += 1
                rows.add(int(inside[0]))
        return len(rows), right

    def _rebuilt(self, claims: Sequence[Rows]) -> dict[str, Judgement]:
        rng = np.random.default_rng(self.seed)
        common = bool(self.labels.mean() > 0.5)
        highs = [len(column) + 1 for column in self.cuts]
        blind = [
            Rows(
                claim.path,
                np.stack([rng.integers(0, high, len(claim.bins)) for high in highs], axis=1),
                np.full(len(claim.bins), common),
            )
            for claim in claims
        ]
        n, said = len(self.labels), sum(len(claim.bins) for claim in claims)
        detail = f"{said:,} rows were claimed in {len(claims):,} nodes, of {n:,}"
        found, guess = (sum(map(self._hits, rows)) / n for rows in (claims, blind))
        values, dealt = (sum(map(self._alike, rows)) / (n * len(self.cuts)) for rows in (claims, blind))
        return {
            "rows": Judgement(found, guess, n, detail),
            "values": Judgement(values, dealt, n * len(self.cuts), detail),
        }

    def _alike(self, claim: Rows) -> int:
        """Right bins over all claimed rows, each beside a true row of its own."""
        there = self.on(claim.path)
        bins, labels = self.bins[there], self.labels[there]
        free = np.ones(len(labels), dtype=np.bool_)
        right = 0
        for row, label in zip(claim.bins[:MOST_MATCHED], claim.labels[:MOST_MATCHED], strict=True):
            if not free.any():
                break
            alike = (bins == row).sum(axis=1)
            best = int(np.argmax(np.where(free, 2 * alike + (labels == label) * (2 * len(row) + 1), -1)))
            free[best] = False
            right += int(alike[best])
        return right

    def _hits(self, claim: Rows) -> int:
        there = self.on(claim.path)
        true = Counter(map(bytes, np.column_stack([self.bins[there], self.labels[there]]).astype(np.int64)))
        said = Counter(map(bytes, np.column_stack([claim.bins, claim.labels]).astype(np.int64)))
        return (true & said).total()

    def _totals(self, claims: Sequence[UsersTotal]) -> Judgement:
        right = 0
        for claim in claims:
            there = self.on(claim.path) & np.isin(self.owner, claim.users)
            off = abs(claim.rows - there.sum()), abs(claim.ones - self.labels[there].sum())
            right += max(off) < NEAR
        fewest = min(len(claim.users) for claim in claims)
        return Judgement(right / len(claims), 0.0, len(claims), f"of {fewest:,} users together at least")
