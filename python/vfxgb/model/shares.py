"""What each party keeps of a model: the active party the trees, every party its own splits.

A split stands in two places. The tree, which the active party holds, says only (party, record): whose split it is and
under which number that party filed it. Feature, cut and default direction are in the owner's records and nowhere
else. Leaf weights are the active party's alone. So neither side can predict without the other.

The seal ties the shares of one run together (seal.py). What a file holds as it stands here is a msgspec.Struct
(file.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb.data.categories import Encoding, Split
from vfxgb.data.column_regressions import ColumnRegressions
from vfxgb.data.impute import StandIns
from vfxgb.model.leanings import Leanings

LEAF = -1
# Ways to treat missing values by which rows go down both branches: weighted by cover alone, or by the row's other
# values as well (leanings.py).
PROBABILISTIC, CONDITIONAL = BOTH_WAYS = ("probabilistic", "conditional")


class CategorySets(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which categories go right at a party's splits by categories. Never leaves the party but by its consent.

    `encodings`: per feature its categories, that of code 0 first, or None for numbers. The codes that go right at
    record i are codes[start[i]:start[i + 1]], ascending; there are none for a split by a cut point. `start`:
    int32[r + 1], `codes`: int32. A category that the encoding lacks counts as missing.
    """

    encodings: tuple[tuple[str | int | float | bool, ...] | None, ...]
    start: NDArray[np.int32]
    codes: NDArray[np.int32]

    def right(self, record: int) -> NDArray[np.int32] | None:
        """The codes that go right, or None for a split by a cut point."""
        first, stop = int(self.start[record]), int(self.start[record + 1])
        return self.codes[first:stop] if stop > first else None


class SplitRecords(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A party's own splits, record i at position i. Never leaves the party but by its consent.

    `features`: the party's columns in their order. `feature`: int32[r], positions in `features`. `cut`: float64[r]; a
    row goes left when x < cut. `default_left`: bool[r], the way of a row whose value is missing. `fill`: what stands in
    for a missing value of each feature (imputation), or None when missing stays missing. `regressions`: what predicts
    missing values from the row's others and stands in for them, or None. `leanings`: which way a row with a missing
    value leans, of a party whose rows go both ways by what it observes of them, else None. `categories`: of a party
    with features of categories; the cuts of splits by categories are 0.
    """

    features: tuple[str, ...]
    feature: NDArray[np.int32]
    cut: NDArray[np.float64]
    default_left: NDArray[np.bool_]
    fill: tuple[float, ...] | None = None
    regressions: ColumnRegressions | None = None
    leanings: Leanings | None = None
    categories: CategorySets | None = None

    @classmethod
    def of(
        cls,
        features: tuple[str, ...],
        splits: Sequence[Split],
        fill: StandIns | None,
        encodings: tuple[Encoding | None, ...] = (),
    ) -> "SplitRecords":
        """The records of splits, and what stood in for missing values in training. `encodings`: see CategorySets; ()
        where no feature holds categories.
        """
        feature, way, left = zip(*splits, strict=True) if splits else ((), (), ())
        cut = [0.0 if isinstance(each, tuple) else each for each in way]
        arrays = np.array(feature, np.int32), np.array(cut, np.float64), np.array(left, np.bool_)
        categories = None
        if encodings:
            sets = [each if isinstance(each, tuple) else () for each in way]
            start = np.cumsum([0, *map(len, sets)]).astype(np.int32)
            categories = CategorySets(encodings, start, np.array([c for each in sets for c in each], np.int32))
        if isinstance(fill, ColumnRegressions):
            return cls(features, *arrays, regressions=fill, categories=categories)
        return cls(features, *arrays, fill, categories=categories)

    @property
    def imputed(self) -> bool:
        """Whether something stands in for missing values, so that no row is without a value at a split."""
        return self.fill is not None or self.regressions is not None

    def right(self, record: int) -> NDArray[np.int32] | None:
        """The codes of the categories that go right at a split, or None for a split by a cut point."""
        return None if self.categories is None else self.categories.right(record)

    def condition(self, record: int) -> str:
        """What a row that goes left fulfils, after the feature's name: "< 3.5" or "not in {red, blue}"."""
        right = self.right(record)
        if right is None or self.categories is None:
            return f"< {self.cut[record]:.9g}"
        known = self.categories.encodings[self.feature[record]] or ()
        return f"not in {{{', '.join(str(known[code]) for code in right.tolist())}}}"

    def __len__(self) -> int:
        return len(self.feature)


class SplitPaths(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a passive party's splits stand in the trees, record i at position i, as it saw the trees grow.

    With these a passive party can tell which questions of a prediction may concern one row (predict/paths.py).
    `missing_strategy`: what the run was set up with. `tree`: int32[r], numbers within the model. `depth`: int32[r], 0
    for the root. `above`: int32[r], the next split of the same party on the way to the root and the side on which this
    one lies: 2 k left of record k, 2 k + 1 right of it, -1 where no split of the party is above.
    """

    missing_strategy: str
    tree: NDArray[np.int32]
    depth: NDArray[np.int32]
    above: NDArray[np.int32]

    @property
    def both_ways(self) -> bool:
        """Whether a row whose value is missing goes down both branches, so that answers say what is missing."""
        return self.missing_strategy in BOTH_WAYS


class TreeShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tree as the active party knows it, one entry per node, the root first, children after their parent.

    `party`: int16, position in `ActiveShare.parties`, or -1 for a leaf; `record`: int32, the split's number at that
    party, or -1; `left`, `right`, `parent`: int32, -1 where there is none; `value`: float64, the weight of the node,
    learning rate applied and rounded to float32 (of a leaf: what it adds to the margin; of an inner node: what it would
    have added); `gain`: float64, XGBoost's loss change, 0 for a leaf; `cover`: float64, sum of hessians.
    """

    party: NDArray[np.int16]
    record: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    parent: NDArray[np.int32]
    value: NDArray[np.float64]
    gain: NDArray[np.float64]
    cover: NDArray[np.float64]

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.party)


class Seal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ties the shares of one run together; hexadecimal strings, empty until the run is finished.

    `salt` and `own` are this party's: its secret salt and the commitment to its records. `parties` maps every party to
    its commitment, `trees` is the digest of the active party's trees, and `model` that of all of these; the three are
    equal in all shares of a run.
    """

    salt: str = ""
    own: str = ""
    parties: tuple[tuple[str, str], ...] = ()
    trees: str = ""
    model: str = ""

    def __repr__(self) -> str:
        return f"Seal(own={self.own!r}, parties={self.parties!r}, trees={self.trees!r}, model={self.model!r})"


UNSEALED = Seal()


@dataclass(frozen=True)
class PassiveShare:
    """A passive party's part of a model. `paths`: None in files that an earlier version wrote."""

    run: str
    party: str
    records: SplitRecords
    seal: Seal = UNSEALED
    paths: SplitPaths | None = None


@dataclass(frozen=True)
class ActiveShare:
    """The active party's part of a model.

    `parties` in party order (global feature ids follow it); `trees` by round, and within a round by output:
    tree t belongs to round t // n_outputs and output t % n_outputs. `base_margin`: float64[n_outputs], the margin
    before the first tree; `base_score`: the same in the units of the label, or the margins where there are several
    outputs. `objective`: its name, "custom" for a callable. `params`: the training parameters that JSON can hold.
    `best_iteration`: what early stopping found. `private_stage`: trees that this party grew alone, on its own columns
    and the margins of this model; predictions are then its (train/private_stage.py). Neither the seal nor any message
    knows of it.
    """

    run: str
    party: str
    parties: tuple[str, ...]
    n_outputs: int
    objective: str
    base_margin: NDArray[np.float64]
    base_score: NDArray[np.float64]
    missing_strategy: str
    params: Mapping[str, Any]
    trees: tuple[TreeShape, ...]
    records: SplitRecords
    best_iteration: int | None = None
    seal: Seal = UNSEALED
    private_stage: "ActiveShare | None" = None

    @property
    def joint(self) -> "ActiveShare":
        """The share without its private last stage: what a copy for others must be made of."""
        return replace(self, private_stage=None)

    @property
    def gains_shared(self) -> bool:
        """Whether gains and covers are in the share. Users of a server get a copy without: they are sums over all."""
        return not self.trees or any(float(tree.cover.sum()) > 0.0 for tree in self.trees)

    @property
    def n_rounds(self) -> int:
        """Boosting rounds in the model."""
        return len(self.trees) // self.n_outputs
