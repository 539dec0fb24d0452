"""Training and test rows of the two credit tables, for the scripts of papers/004 (Batch HE).

The test rows are FATE's, as those of the paper are not published: <table>.fate_test_rows.txt of the folder VFXGB_DATA.
Without that folder the tables are generated, and as many test rows are drawn. `paper_split` has as many rows as the
paper, drawn at random, and as many columns at the active party.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import common
import numpy as np
from numpy.typing import NDArray

from vfxgb.bench.datasets import DATA_SETS, DATA_VARIABLE, LABEL, Loaded
from vfxgb.data.table import Table

TEST_ROWS = {"default_credit": 6_000, "give_credit": 30_000}
# Of the paper's table I.
PAPER_TRAIN_ROWS = {"default_credit": 18_300, "give_credit": 91_500}
PAPER_TEST_ROWS = {"default_credit": 5_699, "give_credit": 30_000}
PAPER_ACTIVE_COLUMNS = 5


@dataclass(frozen=True)
class Split:
    """Training and test rows of a table."""

    train: Loaded
    test: Loaded


def split(name: str, sample: int | None = None) -> Split:
    """FATE's test rows and the others, or `sample` of these, drawn once."""
    data = common.rows_of(name)
    test = np.zeros(len(data.y), dtype=bool)
    test[test_rows(name)] = True
    train = np.flatnonzero(~test)
    if sample is not None:
        train = np.sort(np.random.default_rng(0).choice(train, sample, replace=False))
    return Split(common.choose(data, train), common.choose(data, np.flatnonzero(test)))


def test_rows(name: str) -> NDArray[np.int64]:
    """FATE's, or as many drawn at random where its list is not there."""
    folder = os.environ.get(DATA_VARIABLE)
    path = Path(folder) / f"{name}.fate_test_rows.txt" if folder else None
    if path is not None and path.is_file():
        return np.loadtxt(path, dtype=np.int64)
    return np.random.default_rng(0).choice(DATA_SETS[name].rows, TEST_ROWS[name], replace=False)


def paper_split(name: str, seed: int) -> Split:
    """Draw as many rows as the paper has, by seed, and five columns at the active party.

    Of default_credit these are the five that describe a person, the first of FATE's host; the paper counts 20 more, two
    of which can only be the id and the label: the table has 18 others.
    """
    data = common.rows_of(name)
    if name == "default_credit":
        order = [*range(data.n_active, data.X.shape[1]), *range(data.n_active)]
        data = Loaded(np.ascontiguousarray(data.X[:, order]), data.y, PAPER_ACTIVE_COLUMNS, data.source)
    train, test = PAPER_TRAIN_ROWS[name], PAPER_TEST_ROWS[name]
    drawn = np.random.default_rng(seed).permutation(len(data.y))[: train + test]
    return Split(common.choose(data, np.sort(drawn[:train])), common.choose(data, np.sort(drawn[train:])))


def column_names(name: str) -> list[str]:
    """The columns of a table in the order of `common.rows_of`; numbers where the table is generated."""
    folder = os.environ.get(DATA_VARIABLE)
    path = Path(folder) / f"{name}.csv.gz" if folder else None
    if path is None or not path.is_file():
        return [f"column {place}" for place in range(DATA_SETS[name].columns)]
    active = DATA_SETS[name].active
    return [*active, *(column for column in Table.read(path).names if column not in (LABEL, *active))]
