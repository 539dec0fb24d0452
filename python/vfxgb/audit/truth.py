"""The truth of a recorded run, and the judgement of claims against it. Attacks never see this."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.audit.bounds import several_values, two_labels
from vfxgb.audit.claims import Claim, Judgement, Target
from vfxgb.audit.nodes import NodeSet
from vfxgb.audit.view import AttackerView, CutsOf, KnownLabels
from vfxgb.contract.messages import BeginRound, Ready
from vfxgb.objective import is_objective, spec_of
from vfxgb.rows.shown_cuts import inner_cuts, merged_cuts
from vfxgb.train.arrays import unpack_bits
from vfxgb.train.transcript import Transcript

# Gradients count as recovered when they are right to this share of the largest of them.
RELATIVE = 1e-6
# Random fillings of the leaves that the guess of "leaf labels" is a mean of.
FILLINGS = 20


class Truth:
    """Everything that is true of a run."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._notes = {
            (party, note.name, note.round, note.tree): note.array
            for party, record in transcript.records.items()
            for note in record.notes
        }
        self._columns: dict[tuple[str, int, int], SplitColumns] = {}
        self._views: dict[str, AttackerView] = {}

    def note(self, party: str, name: str, round_index: int = -1, tree: int = -1) -> NDArray[Any]:
        """A note of any party."""
        return self._notes[party, name, round_index, tree]

    @cached_property
    def labels(self) -> NDArray[np.float64]:
        """The training rows have these labels, as the objective sees them."""
        return self.note(self._transcript.active, "labels")

    @property
    def classes(self) -> bool:
        """Whether labels are classes."""
        objective = str(self._transcript.params["objective"])
        return is_objective(objective) and spec_of(objective).classifies

    def some_labels(self, count: int, seed: int) -> KnownLabels:
        """`count` random rows with their labels, or half of all if there are fewer."""
        n = len(self.labels)
        rows = np.sort(np.random.default_rng(seed).choice(n, size=min(count, n // 2), replace=False))
        return KnownLabels(rows, self.labels[rows])

    def cuts(self) -> dict[str, CutsOf]:
        """What every passive party has won, where nodes are hidden."""
        known = {}
        for party, record in self._transcript.records.items():
            won = {
                (note.round, note.tree, int(note.name.removeprefix("won:"))): note.array.copy()
                for note in record.notes
                if note.name.startswith("won:")
            }
            if won:
                known[party] = CutsOf(self.note(party, "n-bins").copy(), self.note(party, "has-missing").copy(), won)
        return known

    def judge(self, claim: Claim, seed: int) -> Judgement | str:
        """How right a claim is, or why that cannot be said."""
        if claim.target in ("labels", "leaf labels") and not self.classes:
            return "the labels of this run are numbers, not classes"
        judges: dict[Target, Callable[[Claim], Judgement | str]] = {
            "labels": self._judge_labels,
            "leaf labels": lambda leaves: self._judge_leaves(leaves, seed),
            "gradients": self._judge_gradients,
            "split matrix": self._judge_splits,
            "buckets": self._judge_buckets,
            "values": self._judge_values,
            "binned table": self._judge_table,
        }
        return judges[claim.target](claim)

    def _is_class(self, rows: NDArray[Any], tree: int) -> NDArray[np.bool_]:
        outputs = len(self.note(self._transcript.active, "base-margin"))
        in_class: NDArray[np.bool_] = self.labels[rows] == (max(tree, 0) if outputs > 1 else 1)
        return in_class

    def _judge_labels(self, claim: Claim) -> Judgement:
        truth = self._is_class(claim.rows, claim.tree)
        success = _share(claim.values == truth)
        guess = max(_share(truth), 1.0 - _share(truth))
        detail = claim.detail
        if claim.unnamed:
            success = max(success, 1.0 - success)
        if claim.without is not None:
            own = _share(claim.without == truth)
            detail = f"{detail}; majority {guess:.3f}, own features {own:.3f}"
            guess = max(guess, own)
        bound = None if claim.budget is None else two_labels(max(_share(truth), 1.0 - _share(truth)), *claim.budget)
        return Judgement(success, guess, len(truth), _with_bound(detail, bound, claim), bound)

    def _judge_values(self, claim: Claim) -> Judgement:
        """Success: right buckets. Guess: the commonest bucket."""
        truth = self.note(claim.victim, "bins")[claim.rows, claim.node]
        shares = np.bincount(truth) / max(1, len(truth))
        bound = None if claim.budget is None else several_values(shares, claim.budget[0])
        detail = _with_bound(claim.detail, bound, claim)
        return Judgement(_share(claim.values == truth), float(shares.max()), len(truth), detail, bound)

    def _judge_table(self, claim: Claim) -> Judgement:
        """Success: right bins, of all rows and features of two bins or more. Guess: each feature's commonest bin.

        A claimed column is judged as the feature it fits best, each feature taken once; one that is not claimed is not
        found.
        """
        bins = self.note(claim.victim, "bins")[claim.rows].astype(np.int64)
        counts = [np.unique(column, return_counts=True)[1] for column in bins.T]
        told = [feature for feature, sizes in enumerate(counts) if len(sizes) > 1]
        bins = bins[:, told]
        right = (claim.values[:, :, None] == bins[:, None, :]).mean(axis=0)
        near = (np.abs(claim.values[:, :, None] - bins[:, None, :]) <= 1).mean(axis=0)
        success = within = 0.0
        for _ in range(min(right.shape)):
            column, feature = np.unravel_index(int(np.argmax(right)), right.shape)
            success, within = success + float(right[column, feature]), within + float(near[column, feature])
            right[column], right[:, feature] = -1.0, -1.0
        chosen = [counts[feature] for feature in told]
        guess = float(np.mean([sizes.max() / sizes.sum() for sizes in chosen])) if chosen else 0.0
        chance = float(np.mean([1.0 / len(sizes) for sizes in chosen])) if chosen else 0.0
        detail = f"{claim.detail}; within one bin {within / max(1, len(told)):.4f}, one bin at random {chance:.4f}"
        # Bins of one row are drawn together by what the rows have in common: only rows count as independent.
        return Judgement(success / max(1, len(told)), guess, len(bins), detail)

    def _judge_leaves(self, claim: Claim, seed: int) -> Judgement:
        """Success: rows whose label is the commoner one of their leaf. Guess: the same with leaves filled at random."""
        truth = self._is_class(claim.rows, claim.tree)
        random = np.random.default_rng(seed)
        guess = np.mean([_purity(claim.values, random.permutation(truth)) for _ in range(FILLINGS)])
        return Judgement(_purity(claim.values, truth), float(guess), len(truth), claim.detail)

    def _judge_gradients(self, claim: Claim) -> Judgement:
        active = self._transcript.active
        truth = self.note(active, "pairs", claim.round, claim.tree)[claim.rows, 0].astype(np.float64)
        if not claim.step:
            truth = truth * float(self.note(active, "step", claim.round)[0])
        tolerance = RELATIVE * float(np.abs(truth).max(initial=0.0))
        near = np.abs(np.nan_to_num(claim.values, nan=np.inf) - truth) <= tolerance
        _, counts = np.unique(truth, return_counts=True)
        return Judgement(_share(near), float(counts.max(initial=0)) / max(1, len(truth)), len(truth), claim.detail)

    def _judge_splits(self, claim: Claim) -> Judgement | str:
        """Success: right entries. Guess: of one who knows how many rows go left at each candidate, but not which."""
        columns = self.columns(claim.victim, claim.round, claim.tree)
        truth = columns.matrix(claim.rows)
        tokens = np.arange(len(truth)) if claim.tokens is None else claim.tokens
        shown = columns.available(self._node(claim))[tokens]
        if not shown.any():
            return "no candidate of this node is available"
        truth, values = truth[tokens][shown], claim.values[shown]
        density = truth.mean(axis=1)
        guess = float(np.maximum(density, 1.0 - density).mean())
        # Columns of a feature are nested, so that only rows count as independent.
        return Judgement(float((values == truth).mean()), guess, truth.shape[1], claim.detail)

    def _judge_buckets(self, claim: Claim) -> Judgement:
        """Success: buckets claimed exactly, of all in the node. Guess: 0, since sets of rows are not hit by chance."""
        columns = self.columns(claim.victim, claim.round, claim.tree)
        buckets = columns.buckets(claim.rows)
        ranges = columns.ranges(claim.rows)
        claimed = {frozenset(np.asarray(rows).tolist()) for rows in claim.values}
        right = len(claimed & ranges)
        share = len(claimed & buckets) / max(1, len(buckets))
        detail = (
            f"{len(claimed)} sets claimed, {right} of them right; {sum(len(bucket) <= 4 for bucket in buckets)} of "
            f"{len(buckets)} buckets hold at most 4 rows"
        )
        return Judgement(share, 0.0, len(buckets), f"{claim.detail}; {detail}" if claim.detail else detail)

    def columns(self, party: str, round_index: int, tree: int) -> "SplitColumns":
        """The candidates of a passive party in one tree, in the order in which it showed them."""
        place = (party, round_index, tree)
        if place not in self._columns:
            view = self._view(party)
            peer = view.peers[0]
            begin = next(
                message for message in view.messages(peer, BeginRound.TAG, BeginRound) if message.round == round_index
            )
            (ready,) = view.messages(peer, Ready.TAG, Ready)
            chosen = unpack_bits(begin.features[tree], ready.n_features, "reading a transcript")
            features = np.arange(ready.n_features) if chosen is None else np.flatnonzero(chosen)
            held = self._notes.get((party, "columns", -1, -1))
            if held is not None:
                features = np.flatnonzero(np.isin(held, features))
            self._columns[place] = SplitColumns(
                self.note(party, "bins"),
                self.note(party, "n-bins"),
                self.note(party, "has-missing"),
                features.astype(np.int32),
                self._notes.get((party, "order", round_index, tree)),
                view.setup.min_bucket_rows,
                [node for node in view.nodes(peer) if (node.round, node.tree) == (round_index, tree)],
            )
        return self._columns[place]

    def _view(self, party: str) -> AttackerView:
        transcript = self._transcript
        if party not in self._views:
            record = transcript.records[party]
            self._views[party] = AttackerView(record, transcript.catalogue, transcript.protocol, None)
        return self._views[party]

    def _node(self, claim: Claim) -> NodeSet:
        view = self._view(claim.victim)
        wanted = (claim.round, claim.tree, claim.node)
        return next(node for node in view.nodes(view.peers[0]) if (node.round, node.tree, node.node) == wanted)


class SplitColumns:
    """The split matrix M of one tree at one passive party: which row goes left at which candidate.

    `nodes`: all of the tree.
    """

    def __init__(
        self,
        bins: NDArray[np.uint16],
        n_bins: NDArray[np.int32],
        has_missing: NDArray[np.bool_],
        features: NDArray[np.int32],
        order: NDArray[np.int64] | None,
        min_bucket_rows: int,
        nodes: Sequence[NodeSet],
    ) -> None:
        self._bins = bins[:, features]
        self._n_bins = np.ascontiguousarray(n_bins[features])
        self._least = min_bucket_rows
        missing = np.ascontiguousarray(has_missing[features])
        local, cut, default_left = _native.gbdt.candidates(self._n_bins, missing)
        # Without a secret order candidates were never shown, or as they are.
        self._order = order = np.arange(len(local)) if order is None else order
        self._local, self._cut, self._default_left = local[order], cut[order], default_left[order]
        self._families: dict[int, list[NodeSet]] = {}
        for node in nodes:
            self._families.setdefault(node.parent, []).append(node)
        self._nodes = {node.node: node for node in nodes}
        # What the children of a node show, by the node's number, -1 for the root.
        self._shown: dict[int, tuple[NDArray[np.bool_], NDArray[np.bool_]]] = {}

    @property
    def candidates(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
        """Feature (counted within the tree's), bin and default direction at each position shown."""
        return self._local, self._cut, self._default_left

    def matrix(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """bool[candidates, len(rows)]: row goes left at the candidate shown at that position."""
        held = self._bins[rows][:, self._local].T
        missing = held == self._n_bins[self._local][:, None]
        goes_left: NDArray[np.bool_] = np.where(missing, self._default_left[:, None], held <= self._cut[:, None])
        return goes_left

    def available(self, node: NodeSet) -> NDArray[np.bool_]:
        """bool[candidates]: the node showed the candidate at that position."""
        allowed = np.ones(len(self._order), dtype=np.bool_) if node.allowed is None else node.allowed[self._local]
        if self._least == 1:
            return allowed
        ends, apart = self._cuts(node.parent)
        return allowed & ends[self._local, self._cut] & (~self._default_left | apart[self._local])

    def _cuts(self, parent: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """ends bool[F, most bins] and apart bool[F] of a node's children (rows/shown_cuts.py)."""
        if parent not in self._shown:
            if parent == -1:
                above = inner_cuts(self._n_bins), np.ones(len(self._n_bins), dtype=np.bool_)
            else:
                above = self._cuts(self._nodes[parent].parent)
            widest = above[0].shape[1]
            held = [self._bins[child.rows] for child in self._families[parent]]
            counts = np.array([[np.sum(rows == bin_, axis=0) for bin_ in range(widest)] for rows in held])
            # The bin after a feature's last one stands for missing values.
            inside = np.arange(widest)[:, None] < self._n_bins
            missing = np.array([np.sum(rows == self._n_bins, axis=0) for rows in held])
            ends, apart = merged_cuts(
                np.where(inside, counts, 0).transpose(0, 2, 1)[None],
                missing[None],
                above[0][None],
                above[1][None],
                self._least,
            )
            self._shown[parent] = ends[0], apart[0]
        return self._shown[parent]

    def buckets(self, rows: NDArray[Any]) -> set[frozenset[int]]:
        """The rows of every bucket of the node that is not empty, missing values included."""
        sets = set()
        for feature in range(self._bins.shape[1]):
            held = self._bins[rows, feature]
            sets |= {frozenset(rows[held == bin_].tolist()) for bin_ in np.unique(held)}
        return sets

    def ranges(self, rows: NDArray[Any]) -> set[frozenset[int]]:
        """The rows of every run of neighbouring buckets of one feature, missing values anywhere."""
        sets = set()
        for feature, count in enumerate(self._n_bins.tolist()):
            held = self._bins[rows, feature]
            present = np.unique(held[held < count])
            missing = frozenset(rows[held == count].tolist())
            for first in range(len(present)):
                run: frozenset[int] = frozenset()
                for bin_ in present[first : first + RANGE_BUCKETS]:
                    run |= frozenset(rows[held == bin_].tolist())
                    sets |= {run, run | missing}
            sets.add(missing)
        return sets - {frozenset()}


# Sets of at most 4 rows are claimed; no run of more buckets than that can be one.
RANGE_BUCKETS = 4


def _with_bound(detail: str, bound: float | None, claim: Claim) -> str:
    if bound is None or claim.budget is None:
        return detail
    epsilon, delta = claim.budget
    stated = f"epsilon {epsilon:g}" + (f" at delta {delta:g}" if delta else "")
    return f"{detail}; {stated} allows at most {bound:.4f}" if detail else f"{stated} allows at most {bound:.4f}"


def _share(hits: NDArray[np.bool_]) -> float:
    return float(np.mean(hits)) if len(hits) else 0.0


def _purity(leaf: NDArray[Any], truth: NDArray[np.bool_]) -> float:
    _, place = np.unique(leaf, return_inverse=True)
    positive = np.bincount(place, weights=truth)
    return float(np.maximum(positive, np.bincount(place) - positive).sum() / max(1, len(truth)))
