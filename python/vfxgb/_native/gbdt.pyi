"""Trees (cpp/gbdt).

Whatever takes `threads` releases the GIL. Sums are int64 fixed point: exact, and the same for every thread count. Node
ids are chosen by the caller; node 0 is the root. Arrays of another kind are a TypeError.
"""

from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from . import Buffer

@final
class Bins:
    """The binned features of one party, row-major; uint8 per value where a feature needs at most 255 bins, else uint16.

    cuts[f] are strictly ascending, not NaN, at most 65533. A value x lies in bin b = number of cuts <= x, so
    x < cuts[f][b] if and only if its bin is <= b; feature f has n_bins[f] = len(cuts[f]) + 1 bins, and NaN is bin
    n_bins[f]. All rows are missing until they are filled. XGBoost's cuts (get_quantile_cut) begin below the lowest
    value and end above the highest: with them, and only then, "missing against all others" is a candidate split too.

    With `path` the bins are kept in a file that is mapped into memory, instead of in memory alone. The file is created
    new, for its owner alone, with room for all bins (OSError if there is none, or if the file exists), and its name is
    removed at once: nothing is left behind, however the process ends. What it held is not overwritten on the disk.
    """

    def __init__(self, n_rows: int, cuts: list[NDArray[np.float64]], path: str | None = None) -> None: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_bins(self) -> NDArray[np.int32]:
        """Bins per feature without the missing one, int32[n_features] (a copy)."""
    @property
    def nbytes(self) -> int:
        """Bytes the binned values take, in memory or in the file."""
    def fill(
        self, feature: int, values: NDArray[np.float64] | NDArray[np.float32], first_row: int = 0, threads: int = 1
    ) -> int:
        """Bins values into rows first_row, first_row + 1, ... of a feature; values may be strided.

        Returns how many are NaN. Not while another thread uses the object.
        """
    def column(self, feature: int, first: int = 0, stop: int | None = None) -> NDArray[np.uint16]:
        """The bins of one feature in rows first to stop - 1 (None: all the rest), uint16 (a copy)."""
    def drop(self) -> None:
        """Give the memory that holds the file back: it is read again when wanted. Without a file: nothing."""
    def __getstate__(self) -> tuple[int, int, tuple[bytes, ...], bytes]:
        """For copies in a party's other processes: a version, rows, cuts, bins. A copy is in memory, without a file."""
    def __setstate__(self, state: tuple[int, int, tuple[bytes, ...], bytes], /) -> None:
        """ValueError if the sizes do not fit or something is no bin."""

@final
class RowPartition:
    """Which node each row is in, while a tree grows. At first all rows are in node 0.

    `sampled`, ascending, are the rows whose gradients count (subsampling; not eval rows); None means all. The others
    travel along, so that their leaf is known, but are in no sum. A node's rows are its sampled rows, ascending,
    followed by its other rows, ascending.
    """

    def __init__(self, n_rows: int, sampled: NDArray[np.int32] | None = None) -> None: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_sampled(self) -> int: ...
    def nodes(self) -> NDArray[np.int32]:
        """The nodes that have not been split, ascending."""
    def has(self, nodes: NDArray[np.int32]) -> bool:
        """Whether every node exists and has not been split."""
    def counts(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        """int64[len(nodes), 2]: sampled rows and other rows of each node."""
    def rows(self, node: int) -> NDArray[np.int32]:
        """The sampled rows of a node (a copy)."""
    def other_rows(self, node: int) -> NDArray[np.int32]:
        """The other rows of a node (a copy)."""
    def left_bits_size(self, nodes: NDArray[np.int32]) -> int:
        """Bytes of left bits for these nodes."""
    def split(
        self,
        nodes: NDArray[np.int32],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        bits: Buffer,
        threads: int = 1,
    ) -> None:
        """Replaces each node by its children left[i] and right[i] (new ids, all distinct).

        `bits` as left_bits() makes them: node after node, bit j (lowest bit of a byte first) says that the j-th sampled
        row goes left; then, starting on a new byte, the same for the other rows; each node starts on a new byte and
        spare bits are 0. Nothing changes when the arguments are refused.
        """
    def plan_split(
        self, nodes: NDArray[np.int32], left: NDArray[np.int32], right: NDArray[np.int32], bits: Buffer
    ) -> None:
        """The first half of split(): nodes and their sizes are those after it, and rows stay where they are.

        Until settle() is called, whatever looks at rows raises RuntimeError, and so does another plan_split().
        """
    def settle(self, threads: int = 1) -> None:
        """The second half of split(): move the rows, if a split was planned."""
    def gather_bits(self, nodes: NDArray[np.int32], bits: Buffer, threads: int = 1) -> bytes:
        """The left bits of these nodes, as split() takes them, out of bits of all rows.

        `bits` say of every row, in row order and lowest bit of a byte first, whether it goes left: a vector of
        ceil(n_rows / 8) bytes for each node, or a single one for all. ValueError for another size or a spare bit set.
        """
    def leaves(self, threads: int = 1) -> NDArray[np.int32]:
        """The node of every row, int32[n_rows]."""
    def add_values(self, values: NDArray[np.float32], out: NDArray[np.float32], column: int, threads: int = 1) -> None:
        """out[row, column] += values[node of the row]. `out`: float32[n_rows, K], C-ordered, changed in place."""
    def copy(self) -> RowPartition:
        """A partition of its own: splits of one do not change the other."""
    def __getstate__(self) -> tuple[int, bytes, bytes]:
        """For copies in a party's other processes: a version, the nodes with their numbers of rows, all rows."""
    def __setstate__(self, state: tuple[int, bytes, bytes], /) -> None:
        """ValueError unless every row is in one node, and a node's rows ascend."""

# Rows in shards: contiguous ascending ranges of rows, each with a partition of its own. A node's sampled rows are those
# of shard 0, then those of shard 1, ...; so are its other rows.

def split_left_bits(bits: Buffer, counts: NDArray[np.int64]) -> tuple[list[bytes], NDArray[np.int64]]:
    """The left bits of each shard, and how many rows go left, int64[m, S, 2], out of left bits of all rows.

    counts int64[m, S, 2]: sampled and other rows of each of m nodes in each of S shards. Bits are laid out as
    RowPartition.split says. ValueError if the number of bytes does not fit or a spare bit is set.
    """

def join_left_bits(parts: Sequence[Buffer], counts: NDArray[np.int64]) -> bytes:
    """The left bits of all rows out of those of each shard: the inverse of split_left_bits, and refuses the same."""

def logistic(
    margins: NDArray[np.float32],
    labels: NDArray[np.float32],
    weights: NDArray[np.float32] | None = None,
    threads: int = 1,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(g, h) of binary:logistic, float32[n] each, in XGBoost's arithmetic."""

def encode_pairs(
    gradients: NDArray[np.floating],
    hessians: NDArray[np.floating],
    scale: float,
    step: float,
    rows: NDArray[np.int32] | None,
    out: NDArray[np.int64],
    threads: int = 1,
    words: NDArray[np.uint64] | None = None,
) -> bool:
    """Writes gradients / step and hessians / step as integers to `out`, int64[n, 2], for `rows` or all.

    Both float32[n] or both float64[n], possibly strided. The integers are the nearest ones, or with `words`, uint64[n],
    one of the two neighbours at random. False, with `out` undefined, when a magnitude is above scale.
    """

def goss_rows(
    magnitudes: NDArray[np.float64], words: NDArray[np.uint64], n_top: int, n_other: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The n_top rows of largest magnitude, and the n_other of the rest with the smallest words; each int32, ascending.

    The lower row wins a tie. Magnitudes are not negative. ValueError for more rows than there are.
    """

def left_bits(
    bins: Bins,
    partition: RowPartition,
    nodes: NDArray[np.int32],
    features: NDArray[np.int32],
    split_bins: NDArray[np.int32],
    default_left: NDArray[np.bool_],
    threads: int = 1,
) -> bytes:
    """Who goes left when nodes[i] is split: bin of features[i] <= split_bins[i], or missing and default_left[i].

    For RowPartition.split, which documents the layout. 0 <= split_bins[i] < n_bins (the cut's index).
    """

def histogram(
    bins: Bins,
    partition: RowPartition,
    nodes: NDArray[np.int32],
    gh: NDArray[np.int64],
    features: NDArray[np.int32] | None = None,
    threads: int = 1,
) -> NDArray[np.int64]:
    """Gradient sums per node and bin over sampled rows, int64[len(nodes), total_bins, 2].

    gh is int64[m, 2] with m > every sampled row. Bins of the given features (ascending ids; None means all) follow each
    other; total_bins = sum of their n_bins. The missing bin is left out: it is the node's sum minus the rest.
    """

def survey_keys(column: NDArray[np.float32]) -> tuple[int, tuple[int, int], tuple[int, int], NDArray[np.int64]]:
    """Of a column, float32[n], contiguous, without NaN: (numbers, (smallest key, rows), (largest, rows), counts).

    counts: int64[65536], keys (vfxgb.binning.keys) by their upper 16 bits.
    """

def refine_keys(column: NDArray[np.float32], prefixes: NDArray[np.uint32], level: int) -> NDArray[np.int64]:
    """How keys that begin with `prefixes`, ascending, go on: int64[len(prefixes), 256], by their next 8 bits.

    `level`: 1 for prefixes of 16 bits, 2 for 24. Raises ValueError for others.
    """

def count_cells(
    keys: NDArray[np.uint64], first: NDArray[np.uint64], part_bits: NDArray[np.int32], parts: NDArray[np.int32]
) -> NDArray[np.int64]:
    """How many of `keys`, ascending, lie in each part of each cell, cell after cell: int64[parts.sum()].

    Cell i begins at first[i] and has parts[i] parts of 2**part_bits[i] keys each. Raises ValueError for cells that do
    not ascend, or that overlap.
    """

def histogram_counts(
    bins: Bins,
    partition: RowPartition,
    nodes: NDArray[np.int32],
    features: NDArray[np.int32] | None = None,
    threads: int = 1,
) -> NDArray[np.int64]:
    """Sampled rows per node and bin, int64[len(nodes), total_bins]."""

def node_sums(
    partition: RowPartition, nodes: NDArray[np.int32], gh: NDArray[np.int64], threads: int = 1
) -> NDArray[np.int64]:
    """Gradient sums over the sampled rows of each node, int64[len(nodes), 2]."""

def left_node_sums(
    partition: RowPartition, nodes: NDArray[np.int32], bits: Buffer, gh: NDArray[np.int64], threads: int = 1
) -> NDArray[np.int64]:
    """Gradient sums over the sampled rows of each node that go left, by `bits` of left_bits(), int64[len(nodes), 2]."""

def candidates(
    n_bins: NDArray[np.int32], has_missing: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """The candidate splits in XGBoost's order: feature, bin (index of the cut), default_left, one entry each.

    Per feature (index into n_bins): cuts ascending with missing right; then, if has_missing, cuts descending with
    missing left. A feature of n bins has n - 1 cuts.
    """

def left_sums(
    histograms: NDArray[np.int64],
    totals: NDArray[np.int64],
    n_bins: NDArray[np.int32],
    has_missing: NDArray[np.bool_],
    order: NDArray[np.int64] | None = None,
    threads: int = 1,
) -> NDArray[np.int64]:
    """Sums left of each candidate, int64[m, c, 2], from histograms int64[m, sum(n_bins), 2] and totals int64[m, 2].

    out[:, j] belongs to candidate j of candidates(n_bins, has_missing), or to candidate order[j] (a permutation).
    """

@final
class CandidateList:
    """The candidates of some features of a party's bins, for node_left_sums: in their true order, or in `order`.

    Arrays of one length: `features`, `n_bins` and `has_missing` of each. An order is one as left_sums takes it;
    ValueError for one that is no permutation.
    """

    def __init__(
        self,
        features: NDArray[np.int32],
        n_bins: NDArray[np.int32],
        has_missing: NDArray[np.bool_],
        order: NDArray[np.int64] | None = None,
    ) -> None: ...
    def __len__(self) -> int:
        """Count the candidates."""

def node_left_sums(
    bins: Bins,
    partition: RowPartition,
    nodes: NDArray[np.int32],
    gh: NDArray[np.int64],
    candidates: CandidateList,
    threads: int = 1,
) -> NDArray[np.int64]:
    """left_sums() of histogram() and node_sums() in one pass over the rows, int64[len(nodes), c, 2].

    ValueError as these raise it, and where bins and candidates differ in features or numbers of bins.
    """

def complete_and_score(
    rule: SplitRule,
    built: NDArray[np.int64],
    build: NDArray[np.int64],
    sibling: NDArray[np.int64],
    parent: NDArray[np.int64],
    previous: NDArray[np.int64],
    totals: NDArray[np.int64],
    constraint: NDArray[np.int8] | None = None,
    bounds: NDArray[np.float64] | None = None,
    threads: int = 1,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """complete_sums() and what rule.score() says of the sums: (sums, gain, start, tokens)."""

def share_nodes(
    gains: Sequence[NDArray[np.float64]], least: float, gamma: float
) -> tuple[NDArray[np.float64], list[NDArray[np.int64]]]:
    """(best, won): the largest of each party's gains for every node, and for each party the nodes that it wins.

    Of equal gains the first party's wins. Nobody wins a node whose best gain is not above `least` or below `gamma`.
    """

def chosen_sums(
    sums: NDArray[np.int64],
    start: NDArray[np.int64],
    tied: NDArray[np.int64],
    positions: NDArray[np.int64],
    tokens: NDArray[np.int64],
) -> NDArray[np.int64]:
    """int64[k, 2]: sums[positions[i], tokens[i]], of sums int64[m, c, 2].

    ValueError for a token that is not among tied[start[p]:start[p + 1]], ascending, of its position p.
    """

def make_children(
    rule: SplitRule,
    totals: NDArray[np.int64],
    bounds: NDArray[np.float64] | None,
    positions: NDArray[np.int64],
    left_sums: NDArray[np.int64],
    constraint: NDArray[np.int8],
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.float64],
    NDArray[np.float64] | None,
    NDArray[np.float64] | None,
]:
    """(place, parent, totals, weights, inherited, bounds) of the children of k of a level's m nodes.

    Children stand in the order of their parents, left before right: 2 k of everything but `place`, which says for each
    split where its left child stands. `parent` are positions in the level. `inherited` are the limits float64[2 k, 2]
    that the children's weights obey, `bounds` those of the weights below; None where nothing is constrained.
    ValueError for a position that does not exist or is split twice.
    """

def complete_sums(
    built: NDArray[np.int64],
    build: NDArray[np.int64],
    sibling: NDArray[np.int64],
    parent: NDArray[np.int64],
    previous: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Sums int64[m, c, 2] of all nodes of a level: built[i] for node build[i]; elsewhere (sibling[k] >= 0)
    previous[parent[k]] minus those of node sibling[k]."""

def select_tokens(
    start: NDArray[np.int64], tokens: NDArray[np.int64], positions: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(start, tokens) of the lists at `positions` alone; list i is tokens[start[i]:start[i + 1]]."""

def first_tokens(
    start: NDArray[np.int64], tokens: NDArray[np.int64], order: NDArray[np.int64] | None, count: int
) -> NDArray[np.int64]:
    """Of each list the token that stands first in true order, order[token] (None: the token itself).

    ValueError for a list that is empty or has a token twice, and for a token that is not below `count`.
    """

def merge_cuts(
    rows: NDArray[np.int64],
    missing: NDArray[np.int64],
    cuts: NDArray[np.bool_],
    apart: NDArray[np.bool_],
    least: int,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The cuts that families of nodes may show (vfxgb.rows.shown_cuts): m families with k members each.

    rows int64[m, k, F, W]: rows per bin; missing int64[m, k, F]. cuts bool[m, F, W] and apart bool[m, F]: what the
    parents showed. Returns the same two for the members.
    """

def count_few(
    rows: NDArray[np.int64],
    missing: NDArray[np.int64],
    cuts: NDArray[np.bool_],
    apart: NDArray[np.bool_],
    below: int,
) -> NDArray[np.int64]:
    """Buckets between shown cuts that hold 1 to below - 1 rows, int64[m, F]; 0 where no cut is shown.

    rows int64[m, F, W]; missing int64[m, F], a bucket of its own where apart bool[m, F], else part of the last one;
    cuts bool[m, F, W].
    """

@final
class SplitRule:
    """How splits are scored: XGBoost's parameters, and scale, the value of the integer 1 in a gradient sum.

    All finite and not negative, scale positive. With float32=True every term is rounded as XGBoost's hist rounds it
    (parameters, weights, the gains of children and parent, the loss change), so that near-ties are decided alike: from
    equal sums the gains are XGBoost's to the last bit. With False everything is double. With first_order=True hessians
    play no part in scores: the loss change is -2 G_left G_right / reg_lambda, never 0; weights are the same.
    """

    def __init__(
        self,
        scale: float,
        reg_lambda: float = 1.0,
        reg_alpha: float = 0.0,
        min_child_weight: float = 1.0,
        max_delta_step: float = 0.0,
        float32: bool = True,
        first_order: bool = False,
    ) -> None: ...
    def score(
        self,
        left: NDArray[np.int64],
        totals: NDArray[np.int64],
        allowed: NDArray[np.bool_] | None = None,
        constraint: NDArray[np.int8] | None = None,
        bounds: NDArray[np.float64] | None = None,
        threads: int = 1,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """The best loss change (XGBoost's loss_chg) of each of m nodes over c candidates, and who reaches it.

        left int64[m, c, 2], totals int64[m, 2]; allowed bool[m, c]; constraint int8[c], the monotone direction (-1, 0,
        1) of the candidate's feature; bounds float64[m, 2], lower and upper limit of the node's weight (give both or
        neither: XGBoost scores differently once any feature is constrained).
        Returns gain float64[m]; start int64[m + 1]; tied int64[start[m]]: node i's best candidates are
        tied[start[i]:start[i + 1]], ascending. A candidate counts if both children have hessian >= min_child_weight and
        > 0 and its gain is > 0 (finite); with none, the gain is 0 and nothing is tied. The caller still has to refuse
        gain <= 1e-6 (XGBoost's kRtEps) and gain < gamma.
        """
    def weights(self, totals: NDArray[np.int64], bounds: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Optimal weight of each node before the learning rate, float64[m], within bounds float64[m, 2] if given."""

# The split rule `centred` (python/vfxgb/tree/CENTRED.md).

def centred_scores(
    left: NDArray[np.int64], totals: NDArray[np.int64], weights: NDArray[np.uint8], threads: int = 1
) -> NDArray[np.float64]:
    """weight * |G_left H - G H_left| of each candidate, float64[m, c]: an exact integer, rounded once to a double.

    left int64[m, c, 2], any numbers; totals int64[m, 2], at most 2**56 in magnitude; weights uint8[c], at most 127.
    """

def best_by_score(
    rule: SplitRule,
    left: NDArray[np.int64],
    totals: NDArray[np.int64],
    scores: NDArray[np.float64],
    constraint: NDArray[np.int8] | None = None,
    bounds: NDArray[np.float64] | None = None,
    threads: int = 1,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """The best candidate of each node by score and, of equal scores, by gain: (gain, start, tied, score).

    A candidate counts if its score is positive. The gain is SplitRule.score's, and 0 for a candidate that does not
    count there. scores float64[m, c], not negative; the others as there. With none, gain and score are 0 and nothing is
    tied.
    """

def centre_rows(
    gh: NDArray[np.int64], place: NDArray[np.int32], totals: NDArray[np.int64], threads: int = 1
) -> NDArray[np.int64]:
    """g - (G / H) h of each row to the nearest integer, int64[n]: floor((2 (g H - G h) + H) / (2 H)).

    gh int64[n, 2]; place int32[n], the row's node among m, or -1 for none, which gives 0; totals int64[m, 2], G and H
    of the nodes. 0 also where H is not positive.
    """

def round_rows(
    centred: NDArray[np.int64],
    place: NDArray[np.int32],
    shift: NDArray[np.int32],
    sign: NDArray[np.int32],
    words: NDArray[np.uint64],
    threads: int = 1,
) -> NDArray[np.int64]:
    """sign[place] floor((v + r) / 2**s) of each row, int64[n]: s = shift[place], r the lowest s bits of the row's word.

    shift int32[m], 0 to 62; sign int32[m], 1 or -1. 0 for rows of no node.
    """

def node_norms(
    values: NDArray[np.int64], place: NDArray[np.int32], nodes: int
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Per node the sum of its rows' values, int64[nodes], and of their squares, uint64[nodes, 2]: low and high word."""

@final
class Forest:
    """Trees over raw features, for local prediction with a pooled model.

    Nodes of tree t are tree_start[t]:tree_start[t + 1], the root first; feature < 0 marks a leaf; left and right count
    from the tree's root and are greater than the node's own number; x < threshold goes left, NaN by default_left.
    """

    def __init__(
        self,
        tree_start: NDArray[np.int64],
        feature: NDArray[np.int32],
        threshold: NDArray[np.float64],
        default_left: NDArray[np.bool_],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        n_features: int,
    ) -> None: ...
    @property
    def n_trees(self) -> int: ...
    def leaves(
        self, X: NDArray[np.float64] | NDArray[np.float32], first_tree: int = 0, n_trees: int = -1, threads: int = 1
    ) -> NDArray[np.int32]:
        """The leaf of every row in the trees, int32[n_rows, n_trees], numbers within the tree. X may be strided."""
    def margins(
        self,
        X: NDArray[np.float64] | NDArray[np.float32],
        values: NDArray[np.float64],
        group: NDArray[np.int32],
        n_groups: int,
        first_tree: int = 0,
        n_trees: int = -1,
        threads: int = 1,
    ) -> NDArray[np.float64]:
        """Sums of values[node] over the leaves of each group[tree], in tree order, float64[n_rows, n_groups]."""
