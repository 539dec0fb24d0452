"""Joint prediction over tables that are read piece by piece, in this process and where engines have them: the bits of
a table in memory.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulated_runs import fit_tables
from vfxgb.data.parquet import ParquetSource
from vfxgb.data.source import Source, StackedSource
from vfxgb.data.table import Table
from vfxgb.engine.base import Engine
from vfxgb.engine.dask import DaskEngine
from vfxgb.engine.local import LocalEngine
from vfxgb.errors import (
    AlignmentError,
    ColumnNameError,
    ColumnValueError,
    EngineError,
    ParameterError,
    TableError,
)
from vfxgb.params import TrainParams
from vfxgb.predict.block import Column, read_block
from vfxgb.predict.joint import predict_leaves, predict_margin
from vfxgb.predict.split_evaluator import EngineTester, HereTester, split_tester
from vfxgb.runtime.ledger import Ledger
from vfxgb.train.simulate import FitResult

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N = 331
TREES = 3
PARTIES = ("bank", "shop", "mart")
# Rows of a row group, which differ between the parties and do not divide N.
GROUPS = {"bank": 50, "shop": 77, "mart": 331}


@dataclass(frozen=True)
class Case:
    """A model, the rows to predict, the same rows in files, and what a table in memory gives."""

    result: FitResult
    tables: dict[str, Table]
    files: dict[str, ParquetSource]
    margins: np.ndarray
    leaves: np.ndarray


CASES = {
    "two": (2, {}),
    "three": (3, {}),
    "classes": (3, {"objective": "multi:softprob", "num_class": 3}),
    "both ways": (3, {"missing_strategy": "probabilistic"}),
    "imputed": (2, {"missing_strategy": "mean"}),
    "regression": (2, {"missing_strategy": "regression"}),
    "conditional": (3, {"missing_strategy": "conditional"}),
}


def make_case(name: str, folder: Path) -> Case:
    n_parties, more = CASES[name]
    rng = np.random.default_rng(n_parties)
    X = np.round(rng.normal(size=(N, 2 * n_parties)), 1).astype(np.float32)
    X[rng.random(X.shape) < 0.15] = np.nan
    score = np.nansum(X[:, ::2], axis=1)
    y = np.digitize(score, [-1, 1]) if "num_class" in more else (score > 0).astype(np.float64)
    tables, files = {}, {}
    for place, party in enumerate(PARTIES[:n_parties]):
        names = [f"c{2 * place}", f"c{2 * place + 1}"]
        columns = X[:, 2 * place : 2 * place + 2]
        tables[party] = Table.read(columns, names=names, party=party)
        path = folder / name / f"{party}.parquet"
        path.parent.mkdir(exist_ok=True)
        # In another order, with a column that is none of the features.
        frame = {names[1]: columns[:, 1], "id": np.arange(N), names[0]: columns[:, 0]}
        pq.write_table(pa.table(frame), path, row_group_size=GROUPS[party])
        files[party] = ParquetSource.open(path, columns=[names[1], names[0]], party=party)
    settings = {"objective": "binary:logistic", "n_estimators": TREES, "max_depth": 4, "n_jobs": 1} | more
    result = fit_tables(tables, "bank", y, None, N, TrainParams(**settings))
    shares = (result.active_share, result.passive_shares, tables)
    return Case(result, tables, files, predict_margin(*shares), predict_leaves(*shares))


@pytest.fixture(scope="module", params=list(CASES))
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    return make_case(request.param, tmp_path_factory.mktemp("case"))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return make_case("two", tmp_path_factory.mktemp("two"))


MakeEngine = Callable[[], Engine]


@pytest.fixture(params=["local", "dask"])
def make_engine(request: pytest.FixtureRequest, dask_client: Any, tmp_path: Path) -> Iterator[MakeEngine]:
    """Makes engines; afterwards nothing may be left in their folders, nor by them in memory."""
    made: list[Engine] = []

    def make() -> Engine:
        if request.param == "local":
            made.append(LocalEngine(300 * 10**6, 1, tmp_path, shards=3))
        else:
            made.append(DaskEngine(dask_client, tmp_path, shards=3))
        return made[-1]

    yield make
    for engine in made:
        assert [one.name for one in engine.folder.iterdir() if one.name != "probe"] == []
        engine.close()
    assert list(tmp_path.iterdir()) == []


def both(
    case: Case,
    tables: Mapping[str, Table | Source],
    engines: Mapping[str, Engine] | None = None,
    observer: Any = None,
) -> None:
    """Margins and leaves are those of tables in memory, to the bit."""
    shares = (case.result.active_share, case.result.passive_shares)
    margins = predict_margin(*shares, tables, observer=observer, engines=engines)
    assert margins.dtype == np.float64
    assert np.array_equal(margins.view(np.uint64), case.margins.view(np.uint64))
    assert np.array_equal(predict_leaves(*shares, tables, engines=engines), case.leaves)


def test_the_cases_have_something_to_test(case: Case) -> None:
    shares = [case.result.active_share, *case.result.passive_shares.values()]
    assert all(len(share.records) > 1 for share in shares)
    assert len(np.unique(case.margins)) > 20


def test_sources_without_an_engine(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    both(case, case.files)
    both(case, {party: StackedSource((table,)) for party, table in case.tables.items()})
    stacked = {
        party: StackedSource((table.take(np.arange(100)), table.take(np.arange(100, N))))
        for party, table in case.tables.items()
    }
    monkeypatch.setattr("vfxgb.predict.active.BLOCK_PAIRS", TREES * 60)
    both(case, stacked)
    both(case, case.files)


def test_engines(case: Case, make_engine: MakeEngine) -> None:
    engines = {party: make_engine() for party in case.tables}
    both(case, case.tables, engines)
    both(case, case.files, engines)


def test_hidden_predictions_with_engines(case: Case, make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vfxgb.predict.hidden_line.PART_TRANSFERS", 500)
    shares = (case.result.active_share, case.result.passive_shares)
    engines = {party: make_engine() for party in case.tables}
    if case.result.active_share.missing_strategy == "conditional":
        with pytest.raises(ParameterError, match="found a hidden prediction with a model of missing_strategy='cond"):
            predict_margin(*shares, case.files, engines=engines, hidden=True)
        return
    margins = predict_margin(*shares, case.files, engines=engines, hidden=True)
    assert np.array_equal(margins.view(np.uint64), case.margins.view(np.uint64))


def test_blocks_and_calls_of_any_size(case: Case, make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vfxgb.predict.active.BLOCK_PAIRS", case.leaves.shape[1] * 120)
    monkeypatch.setattr("vfxgb.predict.split_evaluator.CALL_BYTES", 40)
    both(case, case.files, {"shop": make_engine()})


def test_some_parties_with_engines(two: Case, make_engine: MakeEngine) -> None:
    both(two, {"bank": two.tables["bank"], "shop": two.files["shop"]}, {"shop": make_engine()})
    engine = make_engine()
    both(two, {"bank": two.files["bank"], "shop": two.tables["shop"]}, {"bank": engine})
    # One engine for all, whose folder then holds the files of all.
    both(two, two.tables, {"bank": engine, "shop": engine})


def test_messages_are_those_without_engines(case: Case, make_engine: MakeEngine) -> None:
    here, there = Ledger(), Ledger()
    both(case, case.tables, None, here.record)
    both(case, case.files, {party: make_engine() for party in case.tables}, there.record)
    assert here.entries
    assert here.entries == there.entries


def test_a_party_without_splits(tmp_path: Path, make_engine: MakeEngine) -> None:
    rng = np.random.default_rng(0)
    tables = {
        "bank": Table.read(rng.normal(size=(N, 1)), names=["x"], party="bank"),
        "shop": Table.read(np.ones((N, 1)), names=["same"], party="shop"),
    }
    y = (tables["bank"].column(0) > 0).astype(np.float64)
    params = TrainParams(objective="binary:logistic", n_estimators=2, max_depth=2, n_jobs=1)
    result = fit_tables(tables, "bank", y, None, N, params)
    assert len(result.passive_shares["shop"].records) == 0
    wanted = predict_margin(result.active_share, result.passive_shares, tables)
    engines = {party: make_engine() for party in tables}
    assert np.array_equal(predict_margin(result.active_share, result.passive_shares, tables, engines=engines), wanted)


@dataclass(frozen=True)
class Watched:
    """A source that writes down what is read of it."""

    source: ParquetSource
    log: str

    def __getattr__(self, name: str) -> Any:
        if name in ("names", "n_rows", "party", "parts"):
            return getattr(self.source, name)
        raise AttributeError(name)

    def column(self, feature: str, first: int, stop: int) -> np.ndarray:
        with Path(self.log).open("a") as file:
            file.write(f"{feature} {first} {stop}\n")
        return self.source.column(feature, first, stop)


def test_what_is_read_and_where(two: Case, make_engine: MakeEngine, tmp_path: Path) -> None:
    """Every row of a column that splits test is read once per block, in parts that end with row groups."""
    watched = Watched(two.files["bank"], str(tmp_path.parent / f"{tmp_path.name}-read"))
    records = two.result.active_share.records
    rows = np.arange(3, 300, dtype=np.int32)
    with split_tester(records, watched, make_engine()) as tester:
        assert isinstance(tester, EngineTester)
        for _ in range(3):
            tester.test([0, 1, 0], [None, rows, rows[:1]], 0, 320, False)
    read = [line.split() for line in Path(watched.log).read_text().splitlines()]
    for name in {records.features[feature] for feature in records.feature.tolist()}:
        ranges = sorted((int(first), int(stop)) for feature, first, stop in read if feature == name)
        assert ranges == [(0, 100), (100, 200), (200, 320)]


def test_answers_of_both_testers_are_the_same(case: Case, make_engine: MakeEngine) -> None:
    rng = np.random.default_rng(5)
    records = case.result.active_share.records
    asked = rng.integers(0, len(records), 30).tolist()
    sets = [None, *(np.flatnonzero(rng.random(150) < share).astype(np.int32) for share in np.linspace(0.02, 1, 29))]
    sets = [rows if rows is None or len(rows) else np.array([7], dtype=np.int32) for rows in sets]
    table = case.tables["bank"]
    with split_tester(records, table, None) as here, split_tester(records, table, make_engine()) as there:
        assert isinstance(here, HereTester)
        for with_missing in (False, True):
            one = here.test(asked, sets, 100, 150, with_missing)
            other = there.test(asked, sets, 100, 150, with_missing)
            for rows, (left, missing), (same_left, same_missing) in zip(sets, one, other, strict=True):
                assert len(left) == (150 if rows is None else len(rows))
                assert np.array_equal(left, same_left)
                assert (missing is None) == (same_missing is None) == (not with_missing)
                assert missing is None or np.array_equal(missing, same_missing)


def test_a_naive_comparison(two: Case) -> None:
    records = two.result.active_share.records
    X = two.tables["bank"].matrix()
    with split_tester(records, two.tables["bank"], None) as tester:
        for record in range(len(records)):
            ((left, missing),) = tester.test([record], [None], 0, N, True)
            for row, value in enumerate(X[:, records.feature[record]]):
                goes = records.default_left[record] if math.isnan(value) else value < np.float32(records.cut[record])
                assert left[row] == goes
                assert missing is not None
                assert missing[row] == math.isnan(value)


def test_memory_bounds_blocks(two: Case, tmp_path: Path) -> None:
    """An engine with little memory asks about fewer rows at a time."""
    here, there = Ledger(), Ledger()
    shares = (two.result.active_share, two.result.passive_shares)
    predict_margin(*shares, two.tables, observer=here.record)
    engine = LocalEngine(4 * 16 * TREES * 100, 1, tmp_path)
    found = predict_margin(*shares, two.tables, observer=there.record, engines={"bank": engine, "shop": engine})
    engine.close()
    assert np.array_equal(found, two.margins)
    messages = [next(one.messages for one in ledger.entries if one.message == "route") for ledger in (here, there)]
    assert 3 * messages[0] <= messages[1] <= 4 * messages[0]


def test_features_of_another_table(two: Case, make_engine: MakeEngine) -> None:
    shares = (two.result.active_share, two.result.passive_shares)
    other = ParquetSource.open(two.files["shop"].files[0].path, columns=["c2", "id"], party="shop")
    for engines in (None, {"shop": make_engine()}):
        with pytest.raises(ColumnNameError, match=r"prediction of party 'shop'.* absent \['c3'\], unexpected \['id'\]"):
            predict_margin(*shares, two.tables | {"shop": other}, engines=engines)


def test_rows_of_another_table(two: Case, make_engine: MakeEngine) -> None:
    fewer = two.tables["shop"].take(np.arange(N - 1))
    with pytest.raises(AlignmentError, match="found 331 rows there and 330 here"):
        predict_margin(
            two.result.active_share,
            two.result.passive_shares,
            {"bank": two.files["bank"], "shop": fewer},
            engines={"shop": make_engine()},
        )


def test_ids_are_compared_where_there_are_some(two: Case) -> None:
    pd = pytest.importorskip("pandas")
    frames = {party: pd.DataFrame(table.matrix(), columns=list(table.names)) for party, table in two.tables.items()}
    named = {
        party: Table.read(frame.set_index(np.roll(np.arange(N), place + 1)), party=party)
        for place, (party, frame) in enumerate(frames.items())
    }
    shares = (two.result.active_share, two.result.passive_shares)
    with pytest.raises(AlignmentError, match="row ids or their order differ"):
        predict_margin(*shares, named)
    assert np.array_equal(predict_margin(*shares, named | {"shop": two.files["shop"]}), two.margins)


def test_values_that_are_refused_where_they_are_read(two: Case, make_engine: MakeEngine, tmp_path: Path) -> None:
    columns = {name: two.tables["shop"].column(name) for name in two.tables["shop"].names}
    for values in columns.values():
        values[300] = np.inf
    path = tmp_path.parent / f"{tmp_path.name}-bad.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=100)
    bad = ParquetSource.open(path, party="shop")
    shares = (two.result.active_share, two.result.passive_shares)
    with pytest.raises(ColumnValueError, match="of party 'shop': row 300 holds inf"):
        predict_margin(*shares, two.tables | {"shop": bad}, engines={"shop": make_engine()})
    path.unlink()
    with pytest.raises(TableError, match="there is no file"):
        predict_margin(*shares, two.tables | {"shop": bad}, engines={"shop": make_engine()})


def test_columns_in_a_mapped_file(two: Case, tmp_path: Path) -> None:
    source = two.tables["bank"]
    columns = {1: Column("c1", 2.5), 0: Column("c0", None)}
    here, mapped = (read_block(source, columns, 10, 200, folder) for folder in (None, str(tmp_path)))
    assert list(tmp_path.iterdir()) == []
    assert here.columns.keys() == mapped.columns.keys() == {0, 1}
    for _ in range(2):
        assert all(np.array_equal(here.columns[one], mapped.columns[one], equal_nan=True) for one in columns)
        mapped.drop()
    assert not np.isnan(here.columns[1]).any()
    assert np.isnan(here.columns[0]).any()
    assert here.__sizeof__() >= 2 * 4 * 190
    with pytest.raises(EngineError, match=r"1520 bytes of columns could not be written to .*absent.*engine_folder"):
        read_block(source, columns, 10, 200, str(tmp_path / "absent"))
