"""Which candidate of one tree is which of another, so that the equations about a cut of all trees come together.

A first tree gives a poor guess of who goes left at each of its candidates. It predicts the sums of another tree, and it
predicts the cuts of a feature, taken together as a chain, better than those of any other. Trees that are told apart
clearly are joined first; with their equations the guess improves, and the rest follows. In the end every half of the
trees is put in order once more by what the other half predicts, candidate by candidate.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.chains import Chain, chains_of, mean_share
from vfxgb.audit.cut_solver import left_shares
from vfxgb.audit.opened_sums import Flags, Matrix, OpenedTree
from vfxgb.audit.programs import assigned

# By how much of the spread the right chain must predict better than the next best.
MARGIN = 0.02
# How often each half is put in order by the other.
SWEEPS = 2
# A tree that the others predict worse than this, as a share of the spread, is left out.
WORST = 0.7

Positions = NDArray[np.int64]


@dataclass
class JoinedTrees:
    """Trees with one column for every candidate, whatever its position in each of them.

    `chains`: the columns of each feature. `members`: number of the tree -> position of each column there, -1 for none.
    """

    width: int = 0
    chains: list[Chain] = field(default_factory=list)
    members: dict[int, Positions] = field(default_factory=dict)

    def add_feature(self, chain: Chain) -> None:
        """New columns, for the candidates of a feature that no tree had before."""
        first, cuts = self.width, len(chain.cuts)
        self.width += cuts + len(chain.twin)
        self.chains.append(Chain(tuple(range(first, first + cuts)), tuple(range(first + cuts, self.width))))
        for number, positions in self.members.items():
            more = np.full(self.width - len(positions), -1)
            self.members[number] = np.concatenate([positions, more])

    def add_tree(self, number: int, chains: Sequence[Chain], places: Sequence[int]) -> None:
        """A tree whose chain i is that of feature places[i], or of none we know (-1)."""
        positions = np.full(self.width, -1)
        for chain, place in zip(chains, places, strict=True):
            if place >= 0:
                known = self.chains[place]
                positions[list(known.cuts + known.twin)] = chain.cuts + chain.twin
        self.members[number] = positions


def columns(tree: OpenedTree, positions: Positions) -> tuple[Matrix, Matrix, Flags]:
    """The equations of a tree, with the candidate at positions[i] in column i."""
    rows, sums, known = tree.equations()
    return rows, sums[:, positions], known[:, positions] & (positions >= 0)


def equations(trees: Sequence[OpenedTree], joined: JoinedTrees) -> tuple[Matrix, Matrix, Flags, Matrix]:
    """All equations of the joined trees; and a first guess, the share of rows that go left at each column."""
    parts = [columns(trees[number], positions) for number, positions in joined.members.items()]
    rows, sums, known = (np.concatenate([part[place] for part in parts]) for place in range(3))
    shares = [
        np.where(positions >= 0, trees[number].shares()[positions], np.nan)
        for number, positions in joined.members.items()
    ]
    return rows, sums, known, mean_share(shares)


def join(trees: Sequence[OpenedTree], features: Sequence[frozenset[int]]) -> JoinedTrees:
    """Join as many of `trees` as can be told apart. `features`: the party's features that each tree may use.

    Raises MissingPackageError.
    """
    common = _common_order(trees, max(len(held) for held in features))
    if common is not None:
        every = np.arange(trees[0].n_candidates)
        return JoinedTrees(len(every), common, dict.fromkeys(range(len(trees)), every))
    joined = _join_by_prediction(trees, features)
    if joined.members and all(tree.n_candidates == joined.width for tree in trees):
        _join_the_rest(trees, joined)
        for _ in range(SWEEPS):
            _put_in_order(trees, joined)
        joined.chains = chains_of([_reordered(trees[number], at) for number, at in joined.members.items()])
    return joined


def _common_order(trees: Sequence[OpenedTree], n_features: int) -> list[Chain] | None:
    """The chains, if candidates stand at the same positions in all trees: then they rise in all of them.

    Otherwise hardly any two candidates do, and there are far more chains than features.
    """
    if len({tree.n_candidates for tree in trees}) > 1:
        return None
    order = chains_of(trees)
    return order if len(order) <= n_features else None


def _reordered(tree: OpenedTree, positions: Positions) -> OpenedTree:
    return replace(
        tree,
        left=tree.left[:, positions],
        shown=tree.shown[:, positions],
        derived=tree.derived[:, positions],
        derived_shown=tree.derived_shown[:, positions],
    )


def _join_by_prediction(trees: Sequence[OpenedTree], features: Sequence[frozenset[int]]) -> JoinedTrees:
    chains = [chains_of([tree]) for tree in trees]
    # More chains than features means that a chain fell apart; a feature without a cut has none.
    waiting = [number for number in range(len(trees)) if len(chains[number]) <= len(features[number])]
    joined = JoinedTrees()
    if not waiting:
        return joined
    # Chains that came out wrong are of all lengths, right ones are not.
    lengths = [tuple(sorted(len(chain.cuts) for chain in of_tree)) for of_tree in chains]
    common = Counter(lengths[number] for number in waiting)
    first = max(waiting, key=lambda number: (common[lengths[number]], int(trees[number].shown.sum()), number))
    for chain in chains[first]:
        joined.add_feature(chain)
    joined.add_tree(first, chains[first], range(len(chains[first])))
    seen = features[first]
    waiting.remove(first)
    while waiting:
        guess, start = _guess(trees, joined)
        matches = []
        for number in waiting:
            costs = _chain_costs(trees[number], chains[number], guess, start, joined)
            matches.append((number, *_assign(costs, len(features[number] & seen))))
        matches.sort(key=lambda match: -match[2])
        clear = [match for match in matches if match[2] >= MARGIN][: max(1, len(joined.members))]
        if not clear:
            break
        for number, places, _ in clear:
            waiting.remove(number)
            fresh = features[number] - seen
            if fresh:
                for place, chain in enumerate(chains[number]):
                    if places[place] < 0:
                        joined.add_feature(chain)
                        places[place] = len(joined.chains) - 1
            joined.add_tree(number, chains[number], places)
            if fresh:
                # Predict anew before the next tree is joined: it may have the new features too.
                seen |= features[number]
                break
    return joined


def _guess(trees: Sequence[OpenedTree], joined: JoinedTrees) -> tuple[Matrix, Matrix]:
    rows, sums, known, start = equations(trees, joined)
    return left_shares(rows, sums, known, start), start


def _chain_costs(
    tree: OpenedTree, chains: Sequence[Chain], guess: Matrix, start: Matrix, joined: JoinedTrees
) -> Matrix:
    """float64[chains, features]: squared error of the prediction, as a share of that of the first guess."""
    rows, sums, known = tree.equations()
    predicted, plain = rows @ guess, rows.sum(axis=1)[:, None] * start[None, :]
    costs = np.full((len(chains), len(joined.chains)), np.inf)
    for place, chain in enumerate(chains):
        cuts = list(chain.cuts)
        shown = known[:, cuts]
        for feature, there in enumerate(joined.chains):
            if (len(there.cuts), len(there.twin)) == (len(cuts), len(chain.twin)):
                at = list(there.cuts)
                spread = ((sums[:, cuts] - plain[:, at]) ** 2)[shown].sum()
                costs[place, feature] = ((sums[:, cuts] - predicted[:, at]) ** 2)[shown].sum() / max(spread, 1e-30)
    return costs


def _assign(costs: Matrix, most: int) -> tuple[list[int], float]:
    """For each chain its feature, `most` of them, -1 for the rest; and the least lead over another choice.

    The lead is negative where not so many chains have a feature of their length.
    """
    places = [-1] * len(costs)
    free = costs.copy()
    margin = np.inf
    for _ in range(min(most, len(costs))):
        chain, feature = np.unravel_index(int(np.argmin(free)), free.shape)
        best = free[chain, feature]
        if not np.isfinite(best):
            return places, -np.inf
        others = np.concatenate([np.delete(free[chain], feature), np.delete(free[:, feature], chain)])
        margin = min(margin, float(np.min(others, initial=np.inf) - best))
        places[int(chain)] = int(feature)
        free[chain], free[:, feature] = np.inf, np.inf
    return places, margin


def _join_the_rest(trees: Sequence[OpenedTree], joined: JoinedTrees) -> None:
    """Trees whose chains were not told apart, candidate by candidate, those that are predicted best first."""
    while waiting := sorted(set(range(len(trees))) - set(joined.members)):
        guess, start = _guess(trees, joined)
        matched = {number: _matched(trees[number], guess, start) for number in waiting}
        good = sorted((number for number in waiting if matched[number][1] < WORST), key=lambda tree: matched[tree][1])
        if not good:
            break
        for number in good[: max(1, len(joined.members))]:
            joined.members[number] = matched[number][0]


def _put_in_order(trees: Sequence[OpenedTree], joined: JoinedTrees) -> None:
    """Order each half of the trees anew, by what the other half predicts; leave out what is not predicted."""
    numbers = sorted(joined.members)
    for half in (numbers[::2], numbers[1::2]):
        others = {
            number: joined.members[number] for number in numbers if number not in half and number in joined.members
        }
        if not others:
            continue
        guess, start = _guess(trees, replace(joined, members=others))
        for number in half:
            joined.members[number], error = _matched(trees[number], guess, start)
            if error >= WORST:
                del joined.members[number]


def _matched(tree: OpenedTree, guess: Matrix, start: Matrix) -> tuple[Positions, float]:
    """The position in `tree` of every column, and the error of the prediction as a share of that of the first guess."""
    rows, sums, known = tree.equations()
    shown = known.astype(np.float64)
    predicted, plain = rows @ guess, rows.sum(axis=1)[:, None] * start[None, :]

    def errors(expected: Matrix) -> Matrix:
        """float64[columns, positions]: squared errors over the sums that are shown."""
        size: Matrix = (expected**2).T @ shown + (shown * sums**2).sum(axis=0)[None, :]
        return size - 2.0 * expected.T @ (shown * sums)

    cost = errors(predicted)
    positions = assigned(cost)
    every = np.arange(len(positions))
    spread = float(errors(plain)[every, positions].sum())
    return positions, float(cost[every, positions].sum()) / max(spread, 1e-30)
