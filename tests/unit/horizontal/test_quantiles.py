"""The search for cut points finds what make_cuts finds in the pooled column."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.binning.cuts import LARGEST, make_cuts
from vfxgb.binning.keys import keys_of
from vfxgb.errors import MessageError
from vfxgb.horizontal.quantiles import (
    Asked,
    ColumnSearch,
    RangeCells,
    column_keys,
    count_cells,
    cuts_of_counts,
    fine_starts,
    pack_cells,
    values_of,
)
from vfxgb.transport.messages import pack_array

RNG = np.random.default_rng(5)
COLUMNS = {
    "normal": RNG.normal(size=900),
    "whole": RNG.integers(0, 16_384, 900),
    "negative": -RNG.integers(0, 300, 900),
    "few": RNG.integers(0, 3, 900),
    "constant": np.ones(900),
    "single": np.array([3.0]),
    "heavy": np.where(RNG.random(900) < 0.9, 0.0, RNG.normal(size=900)),
    "wide": np.exp(12 * RNG.normal(size=900)),
    "extreme": np.concatenate([[-LARGEST, LARGEST, -0.0, 0.0] * 50, RNG.normal(size=500)]),
    "none": np.zeros(0),
}


def rounded_down(column: np.ndarray, bits: int) -> np.ndarray:
    """Every value with all but the first bits of its key cleared."""
    mask = np.uint32(0xFFFFFFFF << (32 - bits) & 0xFFFFFFFF)
    return values_of(keys_of(column.astype(np.float32)) & mask)


def searched(column: np.ndarray, max_bin: int, bits: int, n_users: int = 4) -> tuple[np.ndarray, int]:
    """The cuts found over users, and the number of calls."""
    padded = np.append(column, np.nan).astype(np.float32)
    parts = [column_keys(part[:, None]) for part in np.array_split(padded, n_users)]
    search = ColumnSearch(0, max_bin, bits)
    calls = 0
    while (asked := search.ask()) is not None:
        calls += 1
        search.tell(sum(count_cells(part, pack_cells([asked], []), 1, "counting") for part in parts))
    return search.cuts(), calls


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("max_bin", [2, 16, 256])
@pytest.mark.parametrize("bits", [12, 22, 32])
def test_equals_make_cuts_of_rounded_values(name: str, max_bin: int, bits: int) -> None:
    column = COLUMNS[name].astype(np.float32)
    found, calls = searched(column, max_bin, bits)
    assert np.array_equal(found, make_cuts(rounded_down(column, bits), max_bin))
    assert calls <= 10


@given(
    st.lists(st.one_of(st.floats(width=32, allow_nan=False, allow_infinity=False), st.integers(-9, 9)), max_size=60),
    st.integers(2, 12),
    st.integers(1, 5),
)
def test_any_column(values: list[float], max_bin: int, n_users: int) -> None:
    column = np.array(values, dtype=np.float32)
    found, _ = searched(column, max_bin, 32, n_users)
    assert np.array_equal(found, make_cuts(column, max_bin))


def test_whole_numbers_are_exact() -> None:
    for name in ("whole", "few"):
        column = COLUMNS[name].astype(np.float32)
        assert np.array_equal(searched(column, 256, 22)[0], make_cuts(column, 256))
    # Negative ones are parted where they should be.
    column = COLUMNS["negative"].astype(np.float32)
    found, _ = searched(column, 64, 22)
    assert np.array_equal(np.searchsorted(found, column), np.searchsorted(make_cuts(column, 64), column, side="right"))


def test_keys_sort_as_numbers_do() -> None:
    values = np.array([-LARGEST, -1.5, -1e-40, 0.0, 1e-40, 1.0, 1.5, LARGEST], dtype=np.float32)
    keys = keys_of(values)
    assert (np.diff(keys.astype(np.int64)) > 0).all()
    assert np.array_equal(values_of(keys), values)
    assert keys_of(np.array([-0.0], np.float32)) == keys_of(np.array([0.0], np.float32))


def test_a_public_range_of_whole_numbers_is_exact() -> None:
    columns = [RNG.integers(0, 256, 500).astype(np.float32) for _ in range(3)]
    X = np.stack(columns, axis=1)
    X[RNG.random(X.shape) < 0.1] = np.nan
    ranges = [RangeCells(0, 0.0, 255.0, 256), RangeCells(2, 0.0, 255.0, 256)]
    counts = count_cells(column_keys(X), pack_cells([], ranges), 3, "counting").reshape(2, 256)
    for row, column in zip(counts, (0, 2), strict=True):
        found = cuts_of_counts(fine_starts(0, 255, 256), row, 64)
        assert np.array_equal(found, make_cuts(X[:, column], 64))


def test_values_outside_a_range_count_in_its_outermost_cells() -> None:
    X = np.array([[-5.0], [0.0], [0.4], [0.5], [1.0], [7.0]], dtype=np.float32)
    counts = count_cells(column_keys(X), pack_cells([], [RangeCells(0, 0.0, 1.0, 3)]), 1, "counting")
    assert counts.tolist() == [3, 1, 2]


def test_only_cells_that_matter_are_looked_into() -> None:
    column = RNG.normal(size=5_000).astype(np.float32)
    search = ColumnSearch(0, 4, 32)
    asked = search.ask()
    sizes = []
    while asked is not None:
        sizes.append(len(asked.starts))
        search.tell(count_cells(column_keys(column[:, None]), pack_cells([asked], []), 1, ""))
        asked = search.ask()
    # Three ranks and the outermost two values.
    assert sizes[-1] <= 5


def test_counts_that_change_from_call_to_call_do_no_harm() -> None:
    """Users come and go during the search: cuts are still ascending values near the quantiles."""
    columns = [RNG.normal(size=400).astype(np.float32) for _ in range(6)]
    search = ColumnSearch(0, 16, 22)
    turn = 0
    while (asked := search.ask()) is not None:
        there = [column for i, column in enumerate(columns) if i != turn % 6]
        search.tell(sum(count_cells(column_keys(column[:, None]), pack_cells([asked], []), 1, "") for column in there))
        turn += 1
    cuts = search.cuts()
    assert 10 <= len(cuts) <= 15
    assert (np.diff(cuts) > 0).all()
    exact = make_cuts(np.concatenate(columns), 16)
    assert (
        np.abs(
            np.interp(np.linspace(0, 1, 9), np.linspace(0, 1, len(cuts)), cuts)[1:-1]
            - np.interp(np.linspace(0, 1, 9), np.linspace(0, 1, len(exact)), exact)[1:-1]
        ).max()
        < 0.5
    )


def table(*rows: tuple[int, int, int, int]) -> memoryview:
    return pack_array(np.array(rows, dtype=np.int32))


@pytest.mark.parametrize(
    "changes",
    [
        {"columns": table((1, 0, 8, 1))},
        {"columns": table((0, 30, 8, 1))},
        {"columns": table((0, 0, 17, 1))},
        {"columns": table((0, 0, -1, 1))},
        {"columns": table((0, 0, 8, 2))},
        {"columns": table((0, 0, 8, 1))[:-4]},
        {"n_counts": 255},
        {"starts": pack_array(np.zeros(3, np.uint8))},
        {"starts": pack_array(np.ones(1, np.uint32)), "columns": table((0, 8, 8, 1))},
        {"starts": pack_array(np.zeros(2, np.uint32)), "columns": table((0, 8, 8, 2)), "n_counts": 512},
        {"starts": pack_array(np.array([1 << 24, 0], np.uint32)), "columns": table((0, 8, 8, 2)), "n_counts": 512},
        {"ranges": [RangeCells(0, 1.0, 0.0, 4)], "n_counts": 260},
        {"ranges": [RangeCells(0, 0.0, np.inf, 4)], "n_counts": 260},
        {"ranges": [RangeCells(0, 0.0, 1.0, 1)], "n_counts": 257},
        {"ranges": [RangeCells(0, 0.0, 1.0, 4)] * 2, "n_counts": 264},
    ],
)
def test_cells_that_cannot_be_are_refused(changes: dict) -> None:
    asked = ColumnSearch(0, 16, 22).ask()
    assert asked is not None
    cells = pack_cells([asked], [])
    keys = column_keys(np.ones((3, 1), np.float32))
    assert count_cells(keys, cells, 1, "counting").sum() == 3
    with pytest.raises(MessageError, match="counting"):
        count_cells(keys, msgspec.structs.replace(cells, **changes), 1, "counting")


@pytest.mark.parametrize("seed", range(5))
def test_counts_against_a_look_at_every_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    asked = []
    for column in (0, 2):
        prefixes = np.sort(rng.choice(16, size=5, replace=False)).astype(np.uint32) << np.uint32(28)
        asked.append(Asked(column, 4, 3, prefixes))
    ranges = [RangeCells(1, -1.0, 1.0, 7)]
    counts = count_cells(column_keys(X), pack_cells(asked, ranges), 3, "counting").tolist()
    naive = []
    for question in asked:
        values = X[:, question.column]
        keys = keys_of(values[~np.isnan(values)]).tolist()
        for start in question.starts.tolist():
            for part in range(8):
                begin = start + part * 2**25
                naive.append(sum(begin <= key < begin + 2**25 for key in keys))
    begins = np.linspace(-1.0, 1.0, 7).astype(np.float32)
    inside = X[~np.isnan(X[:, 1]), 1]
    naive += np.bincount(np.maximum((inside[:, None] >= begins).sum(axis=1) - 1, 0), minlength=7).tolist()
    assert counts == naive
