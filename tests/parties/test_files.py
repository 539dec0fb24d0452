"""Parties whose features stay in folders of Parquet files, each with an engine: model and scores are those of the same
tables read from CSV into memory, and nothing of the rows is left behind.
"""

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from processes import SIZES, Served, exported, joined, last_run
from vfxgb.protocols import protocol_by_name
from vfxgb.train.checkpoint import save_state

PROTOCOL = {"name": "batch_he", "params": dict(protocol_by_name("batch_he").quick_params)}
STOPPING = {**SIZES, "n_estimators": 40, "early_stopping_rounds": 2, "learning_rate": 0.8}


def convert(file: Path, folder: Path, rows: int) -> None:
    """A CSV as a folder of Parquet files of so many rows, each in some row groups."""
    with file.open() as text:
        lines = list(csv.DictReader(text))
    columns = {name: [line[name] for line in lines] for name in lines[0]}
    table = pa.table(
        {
            name: cells if name == "id" else [float(cell) if cell else None for cell in cells]
            for name, cells in columns.items()
        }
    )
    folder.mkdir()
    for part, first in enumerate(range(0, len(lines), rows)):
        pq.write_table(table.slice(first, rows), folder / f"{part:02d}.parquet", row_group_size=rows // 3)


@pytest.fixture(scope="module")
def tables(world):
    """The bank's rows for training and for validation, and the shop's: as CSV, and as folders."""
    lines = (world.folder / "bank.csv").read_text().splitlines()
    rows = [f"{line},{1 + place % 3}" for place, line in enumerate(lines[1:])]
    for name, some in (("files-train", rows[:150]), ("files-valid", rows[150:])):
        (world.folder / f"{name}.csv").write_text("\n".join([lines[0] + ",w", *some]))
        convert(world.folder / f"{name}.csv", world.folder / name, 70)
    convert(world.folder / "shop.csv", world.folder / "files-shop", 41)


@pytest.fixture(scope="module")
def engine(world):
    folder = world.folder / "files-engines"
    folder.mkdir()
    yield {"memory_limit": "300MB", "shards": 3, "engine_folder": str(folder)}
    assert list(folder.iterdir()) == []


@pytest.fixture(scope="module")
def shop(world, tables, engine):
    """The shop over its folder."""
    served = Served(
        world.passive("shop", name="files-shop", folder="files-shop-runs", data={"train": "files-shop"}, engine=engine)
    )
    yield served
    assert served.stop() == 0


@pytest.fixture(scope="module")
def configurations(world, served, shop, engine):
    """In memory, and in files."""
    return [
        world.active(
            {"shop": address},
            name=f"files-bank{ending}",
            folder=f"files-bank{ending}-runs",
            data={"train": f"files-train{ending}", "valid": f"files-valid{ending}", "weight": "w"},
            train=STOPPING,
            protocol=PROTOCOL,
            **more,
        )
        for ending, address, more in ((".csv", served["shop"].address, {}), ("", shop.address, {"engine": engine}))
    ]


def test_the_model_and_the_scores_of_tables_in_memory(world, configurations, vfxgb, tmp_path):
    records, models = [], []
    for config in configurations:
        assert vfxgb("train", config, "--quiet") == 0
        records.append(last_run(config).read())
        models.append(exported(joined(world, records[-1].run, ("bank", "shop")), tmp_path))
    here, there = records
    assert models[0] == models[1]
    assert here.best_iteration == there.best_iteration is not None
    assert there.rows == here.rows
    # Rows stand in another order in every run, and metrics are sums of floats.
    for name in ("train", "valid"):
        np.testing.assert_allclose(there.evals[name]["logloss"], here.evals[name]["logloss"], rtol=1e-12)
        assert there.curves[name].keys() == here.curves[name].keys()
    for how in ((), ("--lookup",)):
        found = []
        for config, given in zip(configurations, ("files-valid.csv", "files-valid"), strict=True):
            output = tmp_path / "scores.csv"
            assert vfxgb("predict", config, world.folder / given, output, *how) == 0
            found.append(output.read_bytes())
        assert found[0] == found[1]
        assert found[0].count(b"\n") == 1 + len((world.folder / "files-valid.csv").read_text().splitlines()[1:])


def test_a_bank_with_a_cluster(world, shop, configurations, vfxgb, dask_client, tmp_path):
    """The same rows as in memory, trained and scored by Dask's workers."""
    folder = tmp_path / "shared"
    config = world.active(
        {"shop": shop.address},
        name="files-dask",
        folder="files-dask-runs",
        data={"train": "files-train", "valid": "files-valid", "weight": "w"},
        train=STOPPING,
        protocol=PROTOCOL,
        engine={"engine": "dask", "engine_address": dask_client.scheduler.address, "engine_folder": str(folder)},
    )
    found = []
    for one, given in ((configurations[0], "files-valid.csv"), (config, "files-valid")):
        assert vfxgb("train", one, "--quiet") == 0
        assert vfxgb("predict", one, world.folder / given, tmp_path / "scores.csv") == 0
        model = joined(world, last_run(one).run, ("bank", "shop"))
        found.append((exported(model, tmp_path), (tmp_path / "scores.csv").read_bytes()))
    assert found[0] == found[1]
    assert list(folder.iterdir()) == []


def test_masks_in_shards_at_either_side(world, served, shop, vfxgb, dask_client, tmp_path):
    """`ot_shares` between a bank on a cluster and a shop in mapped files, against tables in memory at both."""
    folder = tmp_path / "shared"
    dask = {"engine": "dask", "engine_address": dask_client.scheduler.address, "engine_folder": str(folder)}
    ways = [
        (".csv", served["shop"].address, {}),
        ("", shop.address, {"engine": {**dask, "workers_hold_key": True}}),
        (".csv", shop.address, {}),
    ]
    models = []
    for place, (ending, address, more) in enumerate(ways):
        config = world.active(
            {"shop": address},
            name=f"files-masks-{place}",
            folder=f"files-masks-{place}-runs",
            data={"train": f"files-train{ending}", "valid": f"files-valid{ending}", "weight": "w"},
            train=SIZES,
            protocol={"name": "ot_shares", "params": dict(protocol_by_name("ot_shares").quick_params)},
            **more,
        )
        assert vfxgb("train", config, "--quiet") == 0
        models.append(exported(joined(world, last_run(config).run, ("bank", "shop")), tmp_path))
    assert models[0] == models[1] == models[2]
    assert list(folder.iterdir()) == []


def test_check_says_the_same(configurations, vfxgb, capsys):
    said = []
    for config in configurations:
        assert vfxgb("check", config) == 0
        said.append([line for line in capsys.readouterr().out.splitlines() if " data: " in line or "rows" in line])
    assert said[0] == said[1]
    assert any("150 rows, 3 features, every id once" in line for line in said[0])


def test_a_run_goes_on_over_the_same_files_only(world, configurations, vfxgb, monkeypatch, capsys, tmp_path):
    def save(state, path):
        save_state(state, path)
        if state.rounds == 2:
            raise KeyboardInterrupt

    config = configurations[1]
    assert vfxgb("train", config, "--quiet") == 0
    wanted = exported(joined(world, last_run(config).run, ("bank", "shop")), tmp_path)
    monkeypatch.setattr("vfxgb.party.train.save_state", save)
    assert vfxgb("train", config, "--quiet") == 130
    monkeypatch.undo()
    run = last_run(config).run
    file = world.folder / "files-train" / "01.parquet"
    file.rename(file.with_name("0.parquet"))
    assert vfxgb("train", config, "--quiet", "--resume", run) == 2
    assert "has changed since the run began" in capsys.readouterr().err
    file.with_name("0.parquet").rename(file)
    assert vfxgb("train", config, "--quiet", "--resume", run) == 0
    assert exported(joined(world, run, ("bank", "shop")), tmp_path) == wanted
